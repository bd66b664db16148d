"""Counts of words, by their hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.ml.common.param import HasInputCol, HasNumFeatures, HasOutputCol
from firesteel.ml.mllib import SparkTransformer
from firesteel.ml.param import BooleanParam, Param

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["HashingTF"]


class _Params(HasInputCol, HasOutputCol, HasNumFeatures):
    """Parameters of :class:`HashingTF`."""

    BINARY: Param[bool] = BooleanParam(
        "binary", "Whether a word that occurs counts once, however often it does.", False
    )

    def set_binary(self, value: bool) -> Self:
        """Whether a word that occurs counts once, however often it does."""
        return self.set(self.BINARY, value)

    def get_binary(self) -> bool:
        """Whether a word that occurs counts once, however often it does."""
        return self.get(self.BINARY)

    @property
    def binary(self) -> bool:
        """Whether a word that occurs counts once, however often it does."""
        return self.get(self.BINARY)


class HashingTF(SparkTransformer, _Params):
    """Counts the words of a list in a vector, each at the place that its hash says.

    The hash is that of Spark, so places differ from those of Flink ML.
    """

    spark_class = "feature.HashingTF"
