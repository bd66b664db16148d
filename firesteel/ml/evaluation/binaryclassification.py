"""PyFlink's module of the evaluator for two classes."""

from firesteel.ml.evaluation.evaluators import BinaryClassificationEvaluator

__all__ = ["BinaryClassificationEvaluator"]
