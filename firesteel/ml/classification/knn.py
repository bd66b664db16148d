"""k nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from firesteel.errors import ConfigurationError
from firesteel.ml.api import Estimator, Table
from firesteel.ml.common.param import HasFeaturesCol, HasLabelCol, HasPredictionCol
from firesteel.ml.mllib import SparkModel, one_table, session, spark_class, spark_errors
from firesteel.ml.param import IntParam, Param, ParamValidators

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Knn", "KnnModel"]


class _ModelParams(HasFeaturesCol, HasPredictionCol):
    """Parameters of :class:`KnnModel`."""

    K: Param[int] = IntParam("k", "How many neighbours decide.", 5, ParamValidators.gt(0))

    def set_k(self, value: int) -> Self:
        """How many neighbours decide."""
        return self.set(self.K, value)

    def get_k(self) -> int:
        """How many neighbours decide."""
        return self.get(self.K)

    @property
    def k(self) -> int:
        """How many neighbours decide."""
        return self.get(self.K)


class KnnModel(SparkModel, _ModelParams):
    """Predicts the label that most of the nearest vectors have; of several, the smallest.

    MLlib has none: every task compares its vectors with all that were learned from, which it holds in memory.
    """

    reads = ("features_col",)
    model_fields = {"features": "array<array<double>>", "labels": "array<double>"}

    def transform(self, *inputs: Table) -> list[Table]:
        table = one_table(self, inputs)
        if self.prediction_col in table.columns:
            raise ConfigurationError(f"{self!r}: the table has a column {self.prediction_col!r} already.")
        from pyspark.sql.functions import pandas_udf

        learned = session().sparkContext.broadcast((self.learned["features"], self.learned["labels"]))
        predict = pandas_udf(_predictor(learned, self.k), "double")
        with spark_errors(self):
            values = spark_class("functions.vector_to_array")(table[self.features_col])
            return [table.withColumn(self.prediction_col, predict(values))]


class Knn(Estimator, _ModelParams, HasLabelCol):
    """Learns by heart: the model keeps all vectors and their labels."""

    reads = ("features_col", "label_col")

    def fit(self, *inputs: Table) -> KnnModel:
        table = one_table(self, inputs)
        with spark_errors(self):
            values = spark_class("functions.vector_to_array")(table[self.features_col])
            rows = table.select(values.alias("features"), table[self.label_col].cast("double").alias("label")).collect()
        if not rows:
            raise ConfigurationError("Knn: there is nothing to learn from: the table has no rows.")
        learned = {"features": [list(row.features) for row in rows], "labels": [row.label for row in rows]}
        return KnnModel.of(self, learned)


def _predictor(learned: Any, k: int) -> Callable[[Any], Any]:
    # Spark sends this function whole, so that workers need no Firesteel: all that it uses is inside.
    def predict(vectors: Any) -> Any:
        import numpy as np
        import pandas as pd

        features, labels = (np.asarray(each) for each in learned.value)
        classes, codes = np.unique(labels, return_inverse=True)
        nearest = min(k, len(labels))
        rows_at_once = max(1, 4_000_000 // len(labels))
        found = []
        for start in range(0, len(vectors), rows_at_once):
            part = np.stack(vectors.iloc[start : start + rows_at_once])
            distances = (part**2).sum(axis=1)[:, None] - 2 * part @ features.T + (features**2).sum(axis=1)[None, :]
            neighbours = codes[np.argsort(distances, axis=1, kind="stable")[:, :nearest]]
            votes = (neighbours[:, :, None] == np.arange(len(classes))).sum(axis=1)
            found.append(classes[votes.argmax(axis=1)])
        return pd.Series(np.concatenate(found) if found else [], dtype="float64")

    # The annotations say to pandas_udf what it gets; those above would only be known here.
    import pandas

    predict.__annotations__ = {"vectors": pandas.Series, "return": pandas.Series}
    return predict
