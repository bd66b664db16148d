"""Logistic regression."""

from __future__ import annotations

from typing import Any

from firesteel.ml.classification.onlinelogisticregression import (
    OnlineLogisticRegression,
    OnlineLogisticRegressionModel,
)
from firesteel.ml.common.param import (
    HasElasticNet,
    HasFeaturesCol,
    HasFitIntercept,
    HasLabelCol,
    HasMaxIter,
    HasMultiClass,
    HasPredictionCol,
    HasRawPredictionCol,
    HasReg,
    HasTol,
    HasWeightCol,
    OptimizedBySpark,
)
from firesteel.ml.mllib import SparkEstimator, SparkModel, matrix, number_rows, numbers, vector

__all__ = ["LogisticRegression", "LogisticRegressionModel", "OnlineLogisticRegression", "OnlineLogisticRegressionModel"]


class _ModelParams(HasFeaturesCol, HasPredictionCol, HasRawPredictionCol):
    """Parameters of :class:`LogisticRegressionModel`."""


class LogisticRegressionModel(SparkModel, _ModelParams):
    """Predicts the class of a vector; ``raw_prediction_col`` has the probability of each."""

    spark_class = "classification.LogisticRegressionModel"
    spark_names = {"raw_prediction_col": "probabilityCol"}
    spark_constants = {"rawPredictionCol": ""}
    model_fields = {
        "coefficients": "array<array<double>>",
        "intercepts": "array<double>",
        "num_classes": "int",
        "multinomial": "boolean",
    }

    def java_arguments(self) -> tuple[Any, ...]:
        learned = self.learned
        coefficients, intercepts = matrix(learned["coefficients"]), vector(learned["intercepts"])
        return coefficients, intercepts, learned["num_classes"], learned["multinomial"]


class LogisticRegression(
    SparkEstimator,
    _ModelParams,
    HasLabelCol,
    HasWeightCol,
    HasMaxIter,
    HasReg,
    HasElasticNet,
    HasTol,
    HasMultiClass,
    HasFitIntercept,
    OptimizedBySpark,
):
    """Learns how features change the probability of each class. Labels are 0, 1, ..."""

    spark_class = "classification.LogisticRegression"
    spark_names = {
        "raw_prediction_col": "probabilityCol",
        "reg": "regParam",
        "elastic_net": "elasticNetParam",
        "multi_class": "family",
    }
    spark_constants = {"rawPredictionCol": ""}
    model_class = LogisticRegressionModel

    def read(self, fitted: Any) -> dict[str, Any]:
        rows = number_rows(fitted.coefficientMatrix)
        return {
            "coefficients": rows,
            "intercepts": numbers(fitted.interceptVector),
            "num_classes": fitted.numClasses,
            "multinomial": len(rows) > 1 or self.multi_class == "multinomial",
        }
