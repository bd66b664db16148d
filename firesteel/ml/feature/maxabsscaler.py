"""Features between -1 and 1."""

from __future__ import annotations

from typing import Any

from firesteel.ml.common.param import HasInputCol, HasOutputCol
from firesteel.ml.mllib import SparkEstimator, SparkModel, numbers, vector

__all__ = ["MaxAbsScaler", "MaxAbsScalerModel"]


class MaxAbsScalerModel(SparkModel, HasInputCol, HasOutputCol):
    """Divides features by what :class:`MaxAbsScaler` has learned; zeros stay zeros."""

    spark_class = "feature.MaxAbsScalerModel"
    model_fields = {"max_abs": "array<double>"}

    def java_arguments(self) -> tuple[Any, ...]:
        return (vector(self.learned["max_abs"]),)


class MaxAbsScaler(SparkEstimator, HasInputCol, HasOutputCol):
    """Learns the greatest absolute value of each feature."""

    spark_class = "feature.MaxAbsScaler"
    model_class = MaxAbsScalerModel

    def read(self, fitted: Any) -> dict[str, Any]:
        return {"max_abs": numbers(fitted.maxAbs)}
