"""The sink into Spark, on Spark: a job that fails, its batches as DataFrames and as files of a format."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.spark import SparkSink
from firesteel.testing import use_clock
from tests.features.kill_points import FailsAt
from tests.features.scripts import checkpoint_each_epoch, recovering

COUNT = 12
PAIR = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


@pytest.mark.feature("CN-15", "EO-02")
def test_batches_come_once_per_checkpoint_and_to_any_format(spark: Any, tmp_path: Path) -> None:
    batches: dict[int, list[int]] = {}

    def keep(df: Any, number: int) -> None:
        batches[number] = sorted(row.id for row in df.collect())  # by number: coming again changes nothing

    settings = {"execution.target": "in-process", "firesteel.epoch.max-records": 6}
    env = recovering(StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings)))
    env.set_parallelism(1)
    rows = env.from_collection([(n, f"n{n}") for n in range(COUNT)], Types.TUPLE([Types.LONG(), Types.STRING()]))
    named = rows.map(lambda pair: pair, PAIR)
    named.sink_to(FailsAt(SparkSink.for_each_batch(keep, PAIR), "after the commit", tmp_path / "mark"))
    named.sink_to(SparkSink.for_format("parquet", {"path": str(tmp_path / "out")}))
    with use_clock(checkpoint_each_epoch()):
        env.execute()
    assert Counter(number for batch in batches.values() for number in batch) == Counter(range(COUNT))
    found = spark.read.parquet(str(tmp_path / "out"))
    assert {(row.id, row.name) for row in found.collect()} == {(n, f"n{n}") for n in range(COUNT)}
