"""Numbers as the ranges they are in."""

from __future__ import annotations

from collections.abc import Sequence
from operator import lt
from typing import TYPE_CHECKING, Any

from firesteel.ml.common.param import HasHandleInvalid, HasInputCols, HasOutputCols
from firesteel.ml.mllib import SparkTransformer
from firesteel.ml.param import FloatArrayArrayParam, Param, ParamValidator

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Bucketizer"]


class _Splits(ParamValidator[Any]):
    """Bounds that grow."""

    def validate(self, value: Any) -> bool:
        return bool(value) and all(len(splits) > 2 and all(map(lt, splits, splits[1:])) for splits in value)

    def __str__(self) -> str:
        return "at least three bounds for each column, each greater than the one before"


class _Params(HasInputCols, HasOutputCols, HasHandleInvalid):
    """Parameters of :class:`Bucketizer`."""

    SPLITS_ARRAY: Param[tuple[tuple[float, ...], ...]] = FloatArrayArrayParam(
        "splits_array",
        "For each column, the bounds of its buckets, which grow; at least three.",
        None,
        _Splits(),
    )

    def set_splits_array(self, value: Sequence[Sequence[float]]) -> Self:
        """For each column, the bounds of its buckets, which grow; at least three."""
        return self.set(self.SPLITS_ARRAY, tuple(tuple(each) for each in value))

    def get_splits_array(self) -> tuple[tuple[float, ...], ...]:
        """For each column, the bounds of its buckets, which grow; at least three."""
        return self.get(self.SPLITS_ARRAY)

    @property
    def splits_array(self) -> tuple[tuple[float, ...], ...]:
        """For each column, the bounds of its buckets, which grow; at least three."""
        return self.get(self.SPLITS_ARRAY)


class Bucketizer(SparkTransformer, _Params):
    """Numbers buckets: a number becomes that of the bucket it is in, of which the lower bound belongs to it.

    ``handle_invalid`` is about numbers outside all buckets, and NaN: ``keep`` puts NaN into a bucket of its own.
    """

    spark_class = "feature.Bucketizer"
