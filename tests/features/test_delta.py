"""Delta tables end to end: each row once wherever the job fails, partitions, snapshots and what is added later."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from firesteel.common import Row, Types, WatermarkStrategy
from firesteel.datastream import MapFunction
from firesteel.datastream.connectors.delta import DeltaSink, DeltaSource
from firesteel.errors import ConfigurationError, JobError
from firesteel.testing import InjectedFailure, use_clock
from tests.features.executors import MakeEnv, collect
from tests.features.kill_points import POINTS, FailsAt
from tests.features.scripts import checkpoint_each_epoch, recovering

deltalake = pytest.importorskip("deltalake")
COUNT = 40
VALUE = Types.ROW_NAMED(["value"], [Types.LONG()])
NOTHING = WatermarkStrategy.no_watermarks()


def values(path: Path) -> list[Any]:
    return sorted(row["value"] for row in deltalake.DeltaTable(str(path)).to_pyarrow_table().to_pylist())


def numbers(env: Any, count: int = COUNT) -> Any:
    return env.from_collection([Row(value=number) for number in range(count)], VALUE)


@pytest.mark.feature("CN-10", "EO-02")
@pytest.mark.parametrize("point", POINTS)
def test_each_row_is_in_the_table_once_wherever_the_job_fails(make_env: MakeEnv, tmp_path: Path, point: str) -> None:
    env = recovering(make_env(2, {"firesteel.epoch.max-records": 8}))
    sink = DeltaSink.for_row_type(str(tmp_path / "table"), VALUE).build()
    numbers(env).sink_to(FailsAt(sink, point, tmp_path / "mark"))
    with use_clock(checkpoint_each_epoch()):
        env.execute()
    assert (tmp_path / "mark").exists()
    assert values(tmp_path / "table") == list(range(COUNT))


KINDS = Types.ROW_NAMED(
    ["day", "name", "at", "price", "flag"],
    [Types.SQL_DATE(), Types.STRING(), Types.SQL_TIMESTAMP(), Types.DOUBLE(), Types.BOOLEAN()],
)
DAY, MOMENT = datetime.date(2024, 5, 17), datetime.datetime(2024, 5, 17, 12, 30)
ROWS = [
    Row(day=DAY, name="a b/c=d%", at=MOMENT, price=1.5, flag=True),
    Row(day=DAY, name="ü", at=None, price=None, flag=None),
    Row(day=None, name=None, at=MOMENT, price=2.5, flag=False),
]


@pytest.mark.feature("CN-10")
def test_partitions_become_folders_and_come_back_as_columns(make_env: MakeEnv, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    env = make_env(1)
    sink = DeltaSink.for_row_type(path, KINDS).with_partition_columns("day", "name").build()
    env.from_collection(ROWS, KINDS).sink_to(sink)
    env.execute()
    table = deltalake.DeltaTable(path)
    assert table.metadata().partition_columns == ["day", "name"]
    found = sorted(table.to_pyarrow_table().to_pylist(), key=lambda row: str(row["name"]))
    assert [(row["day"], row["name"]) for row in found] == [(None, None), (DAY, "a b/c=d%"), (DAY, "ü")]
    source = DeltaSource.for_bounded_row_data(path).build()
    rows = sorted(collect(make_env(2).from_source(source, NOTHING, "table")), key=lambda row: str(row.name))
    assert [(row.day, row.name, row.price, row.flag) for row in rows] == [
        (None, None, 2.5, False),
        (DAY, "a b/c=d%", 1.5, True),
        (DAY, "ü", None, None),
    ]


@pytest.mark.feature("CN-10")
def test_a_source_reads_a_version_or_follows(make_env: MakeEnv, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    for _ in range(2):
        env = make_env(1)
        numbers(env, 3).sink_to(DeltaSink.for_row_type(path, VALUE).build())
        env.execute()
    first = DeltaSource.for_bounded_row_data(path).version_as_of(1).build()
    assert [row.value for row in collect(make_env(1).from_source(first, NOTHING, "table"))] == [0, 1, 2]
    follow = DeltaSource.for_continuous_row_data(path).version_as_of(1).update_check_interval(1).build()
    with make_env(1).from_source(follow, NOTHING, "table").execute_and_collect() as results:
        assert [next(results).value for _ in range(6)] == [0, 1, 2] * 2
        deltalake.write_deltalake(path, pyarrow.table({"value": [7]}), mode="append")
        assert next(results).value == 7


class FailsOnce(MapFunction):
    def __init__(self, mark: Path) -> None:
        self.mark, self.seen = mark, 0

    def map(self, value: Row) -> int:
        self.seen += 1
        if self.seen == COUNT // 2 and not self.mark.exists():
            self.mark.touch()
            raise InjectedFailure("in the middle")
        return int(value.value)


@pytest.mark.feature("CN-10", "EO-05")
def test_a_source_that_fails_gives_each_row_once(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(2)
    numbers(env).sink_to(DeltaSink.for_row_type(str(tmp_path / "table"), VALUE).build())
    env.execute()
    env = recovering(make_env(1, {"firesteel.epoch.max-records": 3}))
    source = DeltaSource.for_bounded_row_data(str(tmp_path / "table")).build()
    with use_clock(checkpoint_each_epoch()):
        found = collect(env.from_source(source, NOTHING, "table").map(FailsOnce(tmp_path / "mark")))
    assert (tmp_path / "mark").exists()
    assert sorted(found) == list(range(COUNT))


@pytest.mark.feature("CN-10")
def test_what_cannot_work_is_told(make_env: MakeEnv, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    with pytest.raises(ConfigurationError, match="some of value, and not all"):
        DeltaSink.for_row_type(path, VALUE).with_partition_columns("value")
    with pytest.raises(ConfigurationError, match="path or URL"):
        DeltaSink.for_row_type("", VALUE)
    with pytest.raises(JobError, match="there is no Delta table at"):
        collect(make_env(1).from_source(DeltaSource.for_bounded_row_data(path).build(), NOTHING, "table"))
    other = Types.ROW_NAMED(["value"], [Types.STRING()])
    env = make_env(1)
    numbers(env, 1).sink_to(DeltaSink.for_row_type(path, VALUE).build())
    env.execute()
    env = make_env(1)
    env.from_collection([Row(value="a")], other).sink_to(DeltaSink.for_row_type(path, other).build())
    with pytest.raises(
        JobError, match=r"the Delta table .*table: committing checkpoint .*its columns are others: value"
    ):
        env.execute()
