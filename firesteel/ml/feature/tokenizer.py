"""Words of a text."""

from __future__ import annotations

from firesteel.ml.common.param import HasInputCol, HasOutputCol
from firesteel.ml.mllib import SparkTransformer

__all__ = ["Tokenizer"]


class Tokenizer(SparkTransformer, HasInputCol, HasOutputCol):
    """Splits a text into its words, in lower case, at white space."""

    spark_class = "feature.Tokenizer"
