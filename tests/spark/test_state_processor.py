"""State of savepoints as Spark DataFrames."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firesteel.common import Configuration, Time, Types, WatermarkStrategy
from firesteel.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.state_processor import SavepointReader, SavepointWriter
from tests.chaos.program import StaysOpen, Sum

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Totals(KeyedProcessFunction):
    """Adds amounts up by name."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self.total.update((self.total.value() or 0) + value["amount"])


def stopped_with_windows(directory: Path, spark: SparkSession) -> str:
    """A job on Spark with open windows, stopped with a savepoint when all records are in."""
    settings = {"execution.checkpointing.interval": "1 ms", "execution.checkpointing.dir": str(directory / "chk")}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings)).set_parallelism(2)
    source = StaysOpen(lambda index: ("ab"[index % 2], index), 20, None, all_in := threading.Event())
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])
    words = env.from_source(source, strategy, "words").uid("words").key_by(lambda value: value[0])
    windows = words.window(TumblingEventTimeWindows.of(Time.milliseconds(8)))
    windows.aggregate(Sum()).uid("windows").add_sink(lambda _: None)
    client = env.execute_async()
    assert all_in.wait(60)
    return client.stop_with_savepoint(False, str(directory)).result(60)


def test_open_windows_are_a_dataframe(spark: SparkSession, tmp_path: Path) -> None:
    reader = SavepointReader.read(stopped_with_windows(tmp_path, spark))

    windows = reader.read_window_state("windows", Types.STRING(), Types.LONG(), spark)

    assert windows.columns == ["key", "window_start", "window_end", "value"]
    # The watermark stands at 17: the windows before 16 have fired and are gone.
    totals = {("a", 16, 24, 16 + 18), ("b", 16, 24, 17 + 19)}
    assert set(map(tuple, windows.collect())) == totals
    assert windows.where("key = 'b'").select("value").first().value == 36
    assert reader.read_window_state("windows", spark=spark).schema["value"].dataType.simpleString() == "bigint"


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
