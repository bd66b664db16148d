"""How good predictions are."""

from firesteel.ml.evaluation.evaluators import (
    BinaryClassificationEvaluator,
    ClusteringEvaluator,
    MulticlassClassificationEvaluator,
    RegressionEvaluator,
)

__all__ = [
    "BinaryClassificationEvaluator",
    "ClusteringEvaluator",
    "MulticlassClassificationEvaluator",
    "RegressionEvaluator",
]
