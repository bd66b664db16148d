"""Features between two bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.ml.common.param import HasInputCol, HasOutputCol
from firesteel.ml.mllib import SparkEstimator, SparkModel, numbers, vector
from firesteel.ml.param import FloatParam, Param, ParamValidators

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["MinMaxScaler", "MinMaxScalerModel"]


class _Params(HasInputCol, HasOutputCol):
    """Parameters of :class:`MinMaxScaler` and of its model."""

    MIN: Param[float] = FloatParam("min", "The least value afterwards.", 0.0, ParamValidators.not_null())

    def set_min(self, value: float) -> Self:
        """The least value afterwards."""
        return self.set(self.MIN, value)

    def get_min(self) -> float:
        """The least value afterwards."""
        return self.get(self.MIN)

    @property
    def min(self) -> float:
        """The least value afterwards."""
        return self.get(self.MIN)

    MAX: Param[float] = FloatParam("max", "The greatest value afterwards.", 1.0, ParamValidators.not_null())

    def set_max(self, value: float) -> Self:
        """The greatest value afterwards."""
        return self.set(self.MAX, value)

    def get_max(self) -> float:
        """The greatest value afterwards."""
        return self.get(self.MAX)

    @property
    def max(self) -> float:
        """The greatest value afterwards."""
        return self.get(self.MAX)


class MinMaxScalerModel(SparkModel, _Params):
    """Moves features into a range by what :class:`MinMaxScaler` has learned."""

    spark_class = "feature.MinMaxScalerModel"
    model_fields = {"min": "array<double>", "max": "array<double>"}

    def java_arguments(self) -> tuple[Any, ...]:
        return vector(self.learned["min"]), vector(self.learned["max"])


class MinMaxScaler(SparkEstimator, _Params):
    """Learns the least and the greatest value of each feature."""

    spark_class = "feature.MinMaxScaler"
    model_class = MinMaxScalerModel

    def read(self, fitted: Any) -> dict[str, Any]:
        return {"min": numbers(fitted.originalMin), "max": numbers(fitted.originalMax)}
