"""Numbers of categories as vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.ml.common.param import HasInputCols, HasOutputCols
from firesteel.ml.mllib import SparkEstimator, SparkModel, java_array
from firesteel.ml.param import BooleanParam, Param, ParamValidators, StringParam

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["OneHotEncoder", "OneHotEncoderModel"]


class _Params(HasInputCols, HasOutputCols):
    """Parameters of :class:`OneHotEncoder` and of its model."""

    DROP_LAST: Param[bool] = BooleanParam("drop_last", "Whether the last category is the vector of zeros.", True)

    def set_drop_last(self, value: bool) -> Self:
        """Whether the last category is the vector of zeros."""
        return self.set(self.DROP_LAST, value)

    def get_drop_last(self) -> bool:
        """Whether the last category is the vector of zeros."""
        return self.get(self.DROP_LAST)

    @property
    def drop_last(self) -> bool:
        """Whether the last category is the vector of zeros."""
        return self.get(self.DROP_LAST)

    HANDLE_INVALID: Param[str] = StringParam(
        "handle_invalid",
        "What is done with numbers that were not seen: error, or keep (a category of their own).",
        "error",
        ParamValidators.in_array(["error", "keep"]),
    )

    def set_handle_invalid(self, value: str) -> Self:
        """What is done with numbers that were not seen: error, or keep (a category of their own)."""
        return self.set(self.HANDLE_INVALID, value)

    def get_handle_invalid(self) -> str:
        """What is done with numbers that were not seen: error, or keep (a category of their own)."""
        return self.get(self.HANDLE_INVALID)

    @property
    def handle_invalid(self) -> str:
        """What is done with numbers that were not seen: error, or keep (a category of their own)."""
        return self.get(self.HANDLE_INVALID)


class OneHotEncoderModel(SparkModel, _Params):
    """Makes a vector of the number of a category: 1 at its place, else 0."""

    spark_class = "feature.OneHotEncoderModel"
    model_fields = {"category_sizes": "array<int>"}

    def java_arguments(self) -> tuple[Any, ...]:
        return (java_array(self.learned["category_sizes"], "int"),)


class OneHotEncoder(SparkEstimator, _Params):
    """Learns how many categories the columns have, whose values are their numbers from 0."""

    spark_class = "feature.OneHotEncoder"
    model_class = OneHotEncoderModel

    def read(self, fitted: Any) -> dict[str, Any]:
        return {"category_sizes": [int(size) for size in fitted.categorySizes]}
