"""Features with mean 0 and standard deviation 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.ml.common.param import HasInputCol, HasOutputCol
from firesteel.ml.mllib import SparkEstimator, SparkModel, numbers, vector
from firesteel.ml.param import BooleanParam, Param

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["StandardScaler", "StandardScalerModel", "StandardScalerParams"]


class StandardScalerParams(HasInputCol, HasOutputCol):
    """Parameters of :class:`StandardScaler` and of its model."""

    WITH_MEAN: Param[bool] = BooleanParam(
        "with_mean", "Whether the mean is subtracted, which makes sparse vectors dense.", False
    )

    def set_with_mean(self, value: bool) -> Self:
        """Whether the mean is subtracted, which makes sparse vectors dense."""
        return self.set(self.WITH_MEAN, value)

    def get_with_mean(self) -> bool:
        """Whether the mean is subtracted, which makes sparse vectors dense."""
        return self.get(self.WITH_MEAN)

    @property
    def with_mean(self) -> bool:
        """Whether the mean is subtracted, which makes sparse vectors dense."""
        return self.get(self.WITH_MEAN)

    WITH_STD: Param[bool] = BooleanParam("with_std", "Whether features are divided by their standard deviation.", True)

    def set_with_std(self, value: bool) -> Self:
        """Whether features are divided by their standard deviation."""
        return self.set(self.WITH_STD, value)

    def get_with_std(self) -> bool:
        """Whether features are divided by their standard deviation."""
        return self.get(self.WITH_STD)

    @property
    def with_std(self) -> bool:
        """Whether features are divided by their standard deviation."""
        return self.get(self.WITH_STD)


class StandardScalerModel(SparkModel, StandardScalerParams):
    """Scales features by what :class:`StandardScaler` has learned."""

    spark_class = "feature.StandardScalerModel"
    model_fields = {"mean": "array<double>", "std": "array<double>"}

    def java_arguments(self) -> tuple[Any, ...]:
        return vector(self.learned["std"]), vector(self.learned["mean"])


class StandardScaler(SparkEstimator, StandardScalerParams):
    """Learns mean and standard deviation of each feature."""

    spark_class = "feature.StandardScaler"
    model_class = StandardScalerModel

    def read(self, fitted: Any) -> dict[str, Any]:
        return {"mean": numbers(fitted.mean), "std": numbers(fitted.std)}
