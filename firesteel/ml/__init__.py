"""Learning: pipelines of stages on Spark's MLlib, and models that learn from streams.

Names and modules are those of PyFlink's ``pyflink.ml``: stages in :mod:`firesteel.ml.feature`,
:mod:`~firesteel.ml.classification`, :mod:`~firesteel.ml.clustering`, :mod:`~firesteel.ml.regression` and
:mod:`~firesteel.ml.evaluation`. Tables are DataFrames of Spark.
"""

from firesteel.ml.api import AlgoOperator, Estimator, Model, Stage, Transformer
from firesteel.ml.builder import Graph, GraphBuilder, GraphModel, Pipeline, PipelineModel, TableId
from firesteel.ml.linalg import Vectors
from firesteel.ml.param import Param, ParamValidator, ParamValidators, WithParams

__all__ = [
    "AlgoOperator",
    "Estimator",
    "Graph",
    "GraphBuilder",
    "GraphModel",
    "Model",
    "Param",
    "ParamValidator",
    "ParamValidators",
    "Pipeline",
    "PipelineModel",
    "Stage",
    "TableId",
    "Transformer",
    "Vectors",
    "WithParams",
]
