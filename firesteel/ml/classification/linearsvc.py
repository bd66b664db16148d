"""Support vector machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.ml.common.param import (
    HasFeaturesCol,
    HasFitIntercept,
    HasLabelCol,
    HasMaxIter,
    HasPredictionCol,
    HasRawPredictionCol,
    HasReg,
    HasTol,
    HasWeightCol,
    OptimizedBySpark,
)
from firesteel.ml.mllib import SparkEstimator, SparkModel, numbers, vector
from firesteel.ml.param import FloatParam, Param, ParamValidators

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["LinearSVC", "LinearSVCModel"]


class _ModelParams(HasFeaturesCol, HasPredictionCol, HasRawPredictionCol):
    """Parameters of :class:`LinearSVCModel`."""

    THRESHOLD: Param[float] = FloatParam(
        "threshold", "From which raw prediction on the class is 1.", 0.0, ParamValidators.not_null()
    )

    def set_threshold(self, value: float) -> Self:
        """From which raw prediction on the class is 1."""
        return self.set(self.THRESHOLD, value)

    def get_threshold(self) -> float:
        """From which raw prediction on the class is 1."""
        return self.get(self.THRESHOLD)

    @property
    def threshold(self) -> float:
        """From which raw prediction on the class is 1."""
        return self.get(self.THRESHOLD)


class LinearSVCModel(SparkModel, _ModelParams):
    """Predicts the class of a vector by the side of the plane that it is on."""

    spark_class = "classification.LinearSVCModel"
    model_fields = {"coefficients": "array<double>", "intercept": "double"}

    def java_arguments(self) -> tuple[Any, ...]:
        return vector(self.learned["coefficients"]), self.learned["intercept"]


class LinearSVC(
    SparkEstimator,
    _ModelParams,
    HasLabelCol,
    HasWeightCol,
    HasMaxIter,
    HasReg,
    HasTol,
    HasFitIntercept,
    OptimizedBySpark,
):
    """Learns the plane that separates two classes best, with L2 regularization. Labels are 0 and 1."""

    spark_class = "classification.LinearSVC"
    model_class = LinearSVCModel
    spark_names = {"reg": "regParam"}

    def read(self, fitted: Any) -> dict[str, Any]:
        return {"coefficients": numbers(fitted.coefficients), "intercept": float(fitted.intercept)}
