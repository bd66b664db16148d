"""Linear regression."""

from __future__ import annotations

from typing import Any

from firesteel.ml.common.param import (
    HasElasticNet,
    HasFeaturesCol,
    HasFitIntercept,
    HasLabelCol,
    HasMaxIter,
    HasPredictionCol,
    HasReg,
    HasTol,
    HasWeightCol,
    OptimizedBySpark,
)
from firesteel.ml.mllib import SparkEstimator, SparkModel, numbers, vector

__all__ = ["LinearRegression", "LinearRegressionModel"]


class LinearRegressionModel(SparkModel, HasFeaturesCol, HasPredictionCol):
    """Predicts a number: a linear function of the features."""

    spark_class = "regression.LinearRegressionModel"
    model_fields = {"coefficients": "array<double>", "intercept": "double"}

    def java_arguments(self) -> tuple[Any, ...]:
        return vector(self.learned["coefficients"]), self.learned["intercept"], 1.0


class LinearRegression(
    SparkEstimator,
    HasFeaturesCol,
    HasPredictionCol,
    HasLabelCol,
    HasWeightCol,
    HasMaxIter,
    HasReg,
    HasElasticNet,
    HasTol,
    HasFitIntercept,
    OptimizedBySpark,
):
    """Learns the linear function of the features whose squared errors are least."""

    spark_class = "regression.LinearRegression"
    model_class = LinearRegressionModel
    spark_names = {"reg": "regParam", "elastic_net": "elasticNetParam"}

    def read(self, fitted: Any) -> dict[str, Any]:
        return {"coefficients": numbers(fitted.coefficients), "intercept": float(fitted.intercept)}
