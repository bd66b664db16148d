"""Features scaled by quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.ml.common.param import HasInputCol, HasOutputCol, HasRelativeError
from firesteel.ml.mllib import SparkEstimator, SparkModel, numbers, vector
from firesteel.ml.param import BooleanParam, FloatParam, Param, ParamValidators

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["RobustScaler", "RobustScalerModel"]


class _ModelParams(HasInputCol, HasOutputCol):
    """Parameters of :class:`RobustScalerModel`."""

    WITH_CENTERING: Param[bool] = BooleanParam(
        "with_centering", "Whether the median is subtracted, which makes sparse vectors dense.", False
    )

    def set_with_centering(self, value: bool) -> Self:
        """Whether the median is subtracted, which makes sparse vectors dense."""
        return self.set(self.WITH_CENTERING, value)

    def get_with_centering(self) -> bool:
        """Whether the median is subtracted, which makes sparse vectors dense."""
        return self.get(self.WITH_CENTERING)

    @property
    def with_centering(self) -> bool:
        """Whether the median is subtracted, which makes sparse vectors dense."""
        return self.get(self.WITH_CENTERING)

    WITH_SCALING: Param[bool] = BooleanParam(
        "with_scaling", "Whether features are divided by the range between the quantiles.", True
    )

    def set_with_scaling(self, value: bool) -> Self:
        """Whether features are divided by the range between the quantiles."""
        return self.set(self.WITH_SCALING, value)

    def get_with_scaling(self) -> bool:
        """Whether features are divided by the range between the quantiles."""
        return self.get(self.WITH_SCALING)

    @property
    def with_scaling(self) -> bool:
        """Whether features are divided by the range between the quantiles."""
        return self.get(self.WITH_SCALING)


class _Params(_ModelParams, HasRelativeError):
    """Parameters of :class:`RobustScaler`."""

    LOWER: Param[float] = FloatParam(
        "lower", "The lower quantile.", 0.25, ParamValidators.in_range(0.0, 1.0, False, False)
    )

    def set_lower(self, value: float) -> Self:
        """The lower quantile."""
        return self.set(self.LOWER, value)

    def get_lower(self) -> float:
        """The lower quantile."""
        return self.get(self.LOWER)

    @property
    def lower(self) -> float:
        """The lower quantile."""
        return self.get(self.LOWER)

    UPPER: Param[float] = FloatParam(
        "upper", "The upper quantile.", 0.75, ParamValidators.in_range(0.0, 1.0, False, False)
    )

    def set_upper(self, value: float) -> Self:
        """The upper quantile."""
        return self.set(self.UPPER, value)

    def get_upper(self) -> float:
        """The upper quantile."""
        return self.get(self.UPPER)

    @property
    def upper(self) -> float:
        """The upper quantile."""
        return self.get(self.UPPER)


class RobustScalerModel(SparkModel, _ModelParams):
    """Scales features by what :class:`RobustScaler` has learned."""

    spark_class = "feature.RobustScalerModel"
    model_fields = {"ranges": "array<double>", "medians": "array<double>"}

    def java_arguments(self) -> tuple[Any, ...]:
        return vector(self.learned["ranges"]), vector(self.learned["medians"])


class RobustScaler(SparkEstimator, _Params):
    """Learns median and range between two quantiles of each feature, which outliers hardly change."""

    spark_class = "feature.RobustScaler"
    model_class = RobustScalerModel

    def read(self, fitted: Any) -> dict[str, Any]:
        return {"ranges": numbers(fitted.range), "medians": numbers(fitted.median)}
