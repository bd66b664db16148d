"""How good predictions are: operators whose output is a table of one row, with a column for each metric."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from firesteel.errors import ConfigurationError
from firesteel.ml.api import AlgoOperator, Table
from firesteel.ml.common.param import (
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasRawPredictionCol,
    HasWeightCol,
)
from firesteel.ml.mllib import one_table, session, spark_class, spark_errors
from firesteel.ml.param import Param, ParamValidators, StringArrayParam

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "BinaryClassificationEvaluator",
    "ClusteringEvaluator",
    "MulticlassClassificationEvaluator",
    "RegressionEvaluator",
]


def _metrics(default: Sequence[str], known: Sequence[str]) -> Param[tuple[str, ...]]:
    return StringArrayParam("metrics_names", "Which metrics are computed.", default, ParamValidators.is_sub_set(known))


class _Evaluator(AlgoOperator):
    """Asks MLlib for each metric."""

    METRICS_NAMES: ClassVar[Param[tuple[str, ...]]]
    spark_class: ClassVar[str]
    reads: ClassVar[tuple[str, ...]] = (
        "label_col",
        "raw_prediction_col",
        "prediction_col",
        "weight_col",
        "features_col",
    )

    def set_metrics_names(self, *value: str) -> Self:
        """Which metrics are computed."""
        return self.set(self.METRICS_NAMES, value)

    def get_metrics_names(self) -> tuple[str, ...]:
        """Which metrics are computed."""
        return self.get(self.METRICS_NAMES)

    @property
    def metrics_names(self) -> tuple[str, ...]:
        """Which metrics are computed."""
        return self.get(self.METRICS_NAMES)

    def transform(self, *inputs: Table) -> list[Table]:
        values = self.evaluate(*inputs)
        schema = ", ".join(f"`{name}` double" for name in self.metrics_names)
        return [session().createDataFrame([tuple(values[name] for name in self.metrics_names)], schema)]

    def evaluate(self, *inputs: Table) -> dict[str, float]:
        """The metrics as numbers, by name."""
        table = one_table(self, inputs)
        with spark_errors(self):
            return {name: float(self._metric(name, table)) for name in self.metrics_names}

    def _metric(self, name: str, table: Any) -> float:
        columns = {
            _SPARK_COLUMNS[param.name]: value
            for param, value in self.get_param_map().items()
            if param.name in _SPARK_COLUMNS and value is not None
        }
        value: float = spark_class(self.spark_class)(metricName=name, **columns).evaluate(table)
        return value


_SPARK_COLUMNS = {
    "label_col": "labelCol",
    "raw_prediction_col": "rawPredictionCol",
    "prediction_col": "predictionCol",
    "weight_col": "weightCol",
    "features_col": "featuresCol",
}


class BinaryClassificationEvaluator(_Evaluator, HasLabelCol, HasRawPredictionCol, HasWeightCol):
    """Two classes: ``areaUnderROC``, ``areaUnderPR``, ``areaUnderLorenz`` and ``ks`` (Kolmogorov-Smirnov).

    The last two are computed in the driver, from the weights of each distinct raw prediction.
    """

    METRICS_NAMES = _metrics(("areaUnderROC", "areaUnderPR"), ("areaUnderROC", "areaUnderPR", "areaUnderLorenz", "ks"))
    spark_class = "evaluation.BinaryClassificationEvaluator"

    def _metric(self, name: str, table: Any) -> float:
        if name in ("areaUnderROC", "areaUnderPR"):
            return super()._metric(name, table)
        shares = list(_shares(self._distinct(table)))
        if name == "ks":
            return max(abs(true - false) for _, true, false in shares)
        points = [(0.0, 0.0), *((all_, true) for all_, true, _ in shares)]
        return sum((x - before_x) * (y + before_y) / 2 for (before_x, before_y), (x, y) in itertools.pairwise(points))

    def _distinct(self, table: Any) -> list[tuple[float, float]]:
        """(weight of label 1, weight of label 0) of each distinct raw prediction, the greatest first."""
        from pyspark.sql import functions

        raw = table[self.raw_prediction_col]
        if dict(table.dtypes)[self.raw_prediction_col] == "vector":
            raw = spark_class("functions.vector_to_array")(raw)[1]
        weight = functions.lit(1.0) if self.weight_col is None else table[self.weight_col]
        positive = functions.when(table[self.label_col] > 0.5, weight).otherwise(0.0)
        sums = table.groupBy(raw.alias("raw")).agg(
            functions.sum(positive).alias("ones"), functions.sum(weight - positive).alias("zeros")
        )
        return [(row.ones, row.zeros) for row in sums.orderBy(functions.desc("raw")).collect()]


def _shares(weights: list[tuple[float, float]]) -> Iterable[tuple[float, float, float]]:
    """Of all, of the ones and of the zeros: the share that is predicted to be one, for each threshold."""
    ones, zeros = sum(one for one, _ in weights), sum(zero for _, zero in weights)
    if not ones or not zeros:
        raise ConfigurationError(
            "BinaryClassificationEvaluator: there must be rows with label 1 and rows with label 0."
        )
    some_ones = some_zeros = 0.0
    for one, zero in weights:
        some_ones, some_zeros = some_ones + one, some_zeros + zero
        yield (some_ones + some_zeros) / (ones + zeros), some_ones / ones, some_zeros / zeros


class MulticlassClassificationEvaluator(_Evaluator, HasLabelCol, HasPredictionCol, HasWeightCol):
    """Any number of classes: ``accuracy``, ``f1``, ``weightedPrecision`` and ``weightedRecall``."""

    METRICS_NAMES = _metrics(("accuracy", "f1"), ("accuracy", "f1", "weightedPrecision", "weightedRecall"))
    spark_class = "evaluation.MulticlassClassificationEvaluator"


class RegressionEvaluator(_Evaluator, HasLabelCol, HasPredictionCol, HasWeightCol):
    """Numbers: ``rmse``, ``mse``, ``mae`` and ``r2``."""

    METRICS_NAMES = _metrics(("rmse", "r2"), ("rmse", "mse", "mae", "r2"))
    spark_class = "evaluation.RegressionEvaluator"


class ClusteringEvaluator(_Evaluator, HasFeaturesCol, HasPredictionCol, HasWeightCol):
    """Clusters: the ``silhouette``, which is near 1 where vectors are near to their own cluster only."""

    METRICS_NAMES = _metrics(("silhouette",), ("silhouette",))
    spark_class = "evaluation.ClusteringEvaluator"
