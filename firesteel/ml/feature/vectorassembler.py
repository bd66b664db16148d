"""Columns put together."""

from __future__ import annotations

from firesteel.ml.common.param import HasHandleInvalid, HasInputCols, HasOutputCol
from firesteel.ml.mllib import SparkTransformer

__all__ = ["VectorAssembler"]


class VectorAssembler(SparkTransformer, HasInputCols, HasOutputCol, HasHandleInvalid):
    """Puts numbers and vectors of several columns into one vector.

    ``handle_invalid`` is about missing values and NaN: ``keep`` makes them NaN.
    """

    spark_class = "feature.VectorAssembler"
