"""State of savepoints as Spark DataFrames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from firesteel.common import Types
from firesteel.datastream import KeyedProcessFunction, RuntimeContext
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.state_processor import SavepointReader, SavepointWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Totals(KeyedProcessFunction):
    """Adds amounts up by name."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self.total.update((self.total.value() or 0) + value["amount"])


def test_keyed_and_operator_state_are_dataframes_and_come_from_dataframes(spark: SparkSession, tmp_path: Path) -> None:
    amounts = spark.createDataFrame([("a", 1), ("b", 2), ("a", 3)], "name string, amount long")
    path = (
        SavepointWriter.new_savepoint()
        .with_keyed_operator("totals", amounts.toLocalIterator(), lambda row: row["name"], Totals())
        .with_list_state("sink", "buffered", ["x", "y"])
        .with_broadcast_state("rules", "rules", {"limit": 10})
        .write(str(tmp_path / "savepoint"))
    )
    reader = SavepointReader.read(path)

    totals = reader.read_keyed_state("totals", "total", Types.STRING(), Types.LONG(), spark)
    assert sorted(map(tuple, totals.where("value > 2").collect())) == [("a", 4)]
    assert totals.columns == ["key", "value"]
    buffered = reader.read_list_state("sink", "buffered", spark=spark)
    assert [row.value for row in buffered.orderBy("value").collect()] == ["x", "y"]
    assert list(map(tuple, reader.read_broadcast_state("rules", "rules", spark=spark).collect())) == [("limit", 10)]
