"""DataFrames to records and back, with Spark."""

from __future__ import annotations

import datetime
import decimal
import pickle
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from firesteel.common import Instant, Row, Types
from firesteel.connectors.dataframe import DataFrameSource, rows_to_dataframe
from firesteel.errors import CheckpointError, ConfigurationError, JobError, TypeMismatchError
from firesteel.model.source import Boundedness, ReaderContext, SourceSplit, SplitEnumerator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def read(source: DataFrameSource, splits: list[SourceSplit]) -> list[Any]:
    reader = pickle.loads(pickle.dumps(source)).create_reader()
    reader.open(ReaderContext(0, 1))
    values = []
    for split in splits:
        position, finished = source.initial_position(split), False
        while not finished:
            result = reader.read(split, position, 700, 0)
            values.extend(result.values)
            position, finished = result.position, result.finished
    reader.close()
    return values


def start(source: DataFrameSource, restored: Any = None) -> SplitEnumerator:
    enumerator = source.create_enumerator(2)
    enumerator.start(pickle.loads(pickle.dumps(restored)))
    return enumerator


def test_a_static_dataframe_gives_its_rows(spark: SparkSession) -> None:
    df = spark.range(0, 5_000, 1, 3).selectExpr("id", "cast(id as string) as text")
    source = DataFrameSource(df)
    assert source.boundedness is Boundedness.BOUNDED
    enumerator = start(source)
    splits = list(enumerator.discover_splits(0))
    assert len(splits) == 3 and enumerator.no_more_splits()
    rows = read(source, splits)
    assert sorted(row.id for row in rows) == list(range(5_000))
    assert rows[17] == Row(id=rows[17].id, text=str(rows[17].id))


def test_values_are_those_of_collect(spark: SparkSession) -> None:
    df = spark.sql(
        """SELECT true AS b, CAST(1 AS TINYINT) AS i8, CAST(2 AS INT) AS i32, CAST(1.5 AS FLOAT) AS f, 2.5D AS d,
        CAST(1.25 AS DECIMAL(20, 4)) AS dec, 'text' AS s, X'00FF' AS bin, DATE '2024-02-29' AS day,
        TIMESTAMP '2024-02-29 12:34:56.789012' AS ts, TIMESTAMP_NTZ '2024-02-29 12:34:56.789012' AS ntz,
        array(1, NULL) AS arr, map('k', TIMESTAMP '1999-12-31 23:59:59') AS m,
        named_struct('x', 1, 'y', array(named_struct('z', 2))) AS st, CAST(NULL AS STRING) AS nothing"""
    )
    source = DataFrameSource(df)
    (row,) = read(source, list(start(source).discover_splits(0)))
    expected = df.collect()[0].asDict(recursive=True)
    expected["bin"] = bytes(expected["bin"])
    assert row.as_dict(recursive=True) == expected
    assert isinstance(row.st, Row) and row.st.y[0].z == 2


def test_a_restart_reads_the_same_rows_though_the_dataframe_is_random(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(10).selectExpr("rand() AS x")
    source = DataFrameSource(df, work_directory=str(tmp_path))
    enumerator = start(source)
    splits = list(enumerator.discover_splits(0))
    again = start(source, enumerator.snapshot())
    assert list(again.discover_splits(0)) == []
    assert read(source, splits) == read(source, splits)
    afresh = list(start(source).discover_splits(0))
    assert afresh == splits, "a job that is restarted from the beginning does not compute the DataFrame again"


def test_a_checkpoint_whose_files_are_gone_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    source = DataFrameSource(spark.range(1))
    with pytest.raises(CheckpointError, match="work_directory"):
        start(source, {"directory": str(tmp_path / "gone")})


def streaming_frame(spark: SparkSession, directory: Path) -> Any:
    directory.mkdir(exist_ok=True)
    reader = spark.readStream.schema("x LONG").option("maxFilesPerTrigger", 1)
    return reader.json(str(directory))


def drop(directory: Path, name: str, *numbers: int) -> None:
    hidden = directory / f".{name}"
    hidden.write_text("".join(f'{{"x": {number}}}\n' for number in numbers))
    hidden.rename(directory / name)


def test_a_streaming_dataframe_that_ends(spark: SparkSession, tmp_path: Path) -> None:
    df = streaming_frame(spark, tmp_path / "in")
    for number in range(6):
        drop(tmp_path / "in", f"{number}.json", number, number + 100)
    source = DataFrameSource(df, available_now=True)
    assert source.boundedness is Boundedness.BOUNDED
    enumerator = start(source)
    try:
        splits: list[SourceSplit] = []
        while not enumerator.no_more_splits():
            splits.extend(enumerator.discover_splits(0))
        assert sorted(row.x for row in read(source, splits)) == [*range(6), *range(100, 106)]
    finally:
        enumerator.close()


def test_a_streaming_dataframe_goes_on_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    df = streaming_frame(spark, tmp_path / "in")
    source = DataFrameSource(df, work_directory=str(tmp_path))
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    drop(tmp_path / "in", "1.json", 1)
    enumerator = start(source)
    first = next_splits(enumerator)
    snapshot = enumerator.snapshot()
    assert enumerator.next_data_time(1_000) == 1_100
    drop(tmp_path / "in", "2.json", 2)
    lost = next_splits(enumerator)  # handed out after the checkpoint: has to come again
    enumerator.close()
    assert not enumerator._query.isActive  # type: ignore[attr-defined]

    enumerator = start(source, snapshot)
    try:
        second = next_splits(enumerator)
        assert [row.x for row in read(source, [*first, *second])] == [1, 2]
        assert second == lost
        enumerator.committed({split.split_id: 1 for split in second})
        assert not Path(second[0].payload["file"]).exists(), "what is read and checkpointed is deleted"
        drop(tmp_path / "in", "3.json", 3)
        assert [row.x for row in read(source, next_splits(enumerator))] == [3]
    finally:
        enumerator.close()


def next_splits(enumerator: SplitEnumerator) -> list[SourceSplit]:
    for _ in range(3_000):
        splits = list(enumerator.discover_splits(0))
        if splits:
            return splits
        time.sleep(0.01)
    raise AssertionError("no micro-batch came")


def test_a_failed_query_fails_the_job(spark: SparkSession, tmp_path: Path) -> None:
    df = streaming_frame(spark, tmp_path / "in").selectExpr("cast(raise_error('broken') as string) as x")
    drop(tmp_path / "in", "1.json", 1)
    enumerator = start(DataFrameSource(df))
    with pytest.raises(JobError, match="streaming query"):
        next_splits(enumerator)
    enumerator.close()


class Point(NamedTuple):
    x: int
    y: float


@dataclass
class Place:
    name: str
    point: Point
    tags: list[str]


def rows_of(df: Any) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in df.collect()]


def test_declared_types_become_columns(spark: SparkSession) -> None:
    declared = Types.ROW_NAMED(
        ["s", "i", "d", "big", "dec", "at", "day", "bin", "arr", "m", "t"],
        [
            Types.STRING(),
            Types.INT(),
            Types.DOUBLE(),
            Types.BIG_INT(),
            Types.BIG_DEC(),
            Types.INSTANT(),
            Types.SQL_DATE(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.BASIC_ARRAY(Types.LONG()),
            Types.MAP(Types.STRING(), Types.DOUBLE()),
            Types.TUPLE([Types.INT(), Types.STRING()]),
        ],
    )
    day = datetime.date(2024, 1, 1)
    row = Row("a", 1, 2, 10**30, decimal.Decimal("1.5"), Instant(0, 0), day, b"\x00\xff", [1, None], {"k": 1}, (7, "x"))
    df = rows_to_dataframe([row, Row(*[None] * 11)], declared, spark)
    types = dict(df.dtypes)
    assert (types["i"], types["d"], types["big"], types["m"]) == (
        "int",
        "double",
        "decimal(38,0)",
        "map<string,double>",
    )
    assert types["t"] == "struct<f0:int,f1:string>"
    found, empty = rows_of(df)
    assert found["d"] == 2.0 and found["big"] == decimal.Decimal(10**30) and found["dec"] == decimal.Decimal("1.5")
    assert found["at"] == datetime.datetime.fromtimestamp(0)
    assert (found["bin"], found["arr"], found["m"], found["t"]) == (
        b"\x00\xff",
        [1, None],
        {"k": 1.0},
        {"f0": 7, "f1": "x"},
    )
    assert set(empty.values()) == {None}


@pytest.mark.parametrize(
    ("records", "rows"),
    [
        ([1, 2], [{"value": 1}, {"value": 2}]),
        ([(1, "a"), (2, None)], [{"f0": 1, "f1": "a"}, {"f0": 2, "f1": None}]),
        ([{"a": 1}, {"b": "x"}], [{"a": 1, "b": None}, {"a": None, "b": "x"}]),
        ([Row(a=None, b=1), Row(b=2, a="x")], [{"a": None, "b": 1}, {"a": "x", "b": 2}]),
        ([Point(1, 2)], [{"x": 1, "y": 2.0}]),
        ([Place("p", Point(1, 2.5), ["t"])], [{"name": "p", "point": {"x": 1, "y": 2.5}, "tags": ["t"]}]),
    ],
)
def test_undeclared_records_become_columns(spark: SparkSession, records: list[Any], rows: list[Any]) -> None:
    assert rows_of(rows_to_dataframe(records, None, spark)) == rows


def test_an_empty_stream_needs_a_declared_type(spark: SparkSession) -> None:
    assert rows_to_dataframe([], Types.TUPLE([Types.LONG()]), spark).dtypes == [("f0", "bigint")]
    with pytest.raises(ConfigurationError, match="Declare"):
        rows_to_dataframe([], None, spark)


@pytest.mark.parametrize(
    ("records", "declared", "message"),
    [
        ([(1,), ("x",)], Types.TUPLE([Types.LONG()]), "record 1 of the stream .* f0: expected Long, got 'x'"),
        ([1, "x"], None, "record 1 of the stream .* expected Long"),
        ([2**40], Types.INT(), "expected Integer"),
        ([10**38], Types.BIG_INT(), "38 digits"),
        ([decimal.Decimal("1e-30")], Types.BIG_DEC(), "without loss"),
        ([datetime.time(1)], Types.SQL_TIME(), "Spark has no column type for"),
        ([object()], None, "column 'value' .* Declare a narrower type"),
    ],
)
def test_values_that_do_not_fit_are_named(spark: SparkSession, records: Any, declared: Any, message: str) -> None:
    with pytest.raises(TypeMismatchError, match=message):
        rows_to_dataframe(records, declared, spark)
