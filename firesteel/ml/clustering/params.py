"""Parameters that k-means has over tables and over streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.ml.common.param import HasDistanceMeasure, HasFeaturesCol, HasPredictionCol
from firesteel.ml.param import IntParam, Param, ParamValidators

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["KMeansModelParams"]


class KMeansModelParams(HasDistanceMeasure, HasFeaturesCol, HasPredictionCol):
    """Parameters of :class:`KMeansModel`."""

    K: Param[int] = IntParam("k", "How many clusters there are at most.", 2, ParamValidators.gt(1))

    def set_k(self, value: int) -> Self:
        """How many clusters there are at most."""
        return self.set(self.K, value)

    def get_k(self) -> int:
        """How many clusters there are at most."""
        return self.get(self.K)

    @property
    def k(self) -> int:
        """How many clusters there are at most."""
        return self.get(self.K)
