"""Columns from source to sink: the same programs with columns and rows, through failures, in-process and on Spark."""

from __future__ import annotations

import datetime
import itertools
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from firesteel.common import Row, RowKind, Types, WatermarkStrategy
from firesteel.common.time import Time
from firesteel.common.watermark_strategy import FieldTimestampAssigner
from firesteel.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource
from firesteel.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.errors import JobFailedError, ProgramError
from firesteel.runtime.columns import AggregateColumns, FilterColumns, MapColumns, Total
from firesteel.testing import use_clock
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.scripts import checkpoint_each_epoch, recovering

RIDES = Types.ROW_NAMED(["taxi", "km", "at"], [Types.STRING(), Types.LONG(), Types.LONG()])
RECORDS = [(f"taxi-{index * 7 % 5}", index % 11, index * 10) for index in range(400)]
SMALL_EPOCHS = {"firesteel.epoch.max-records": "100", "firesteel.chunk.max-records": "2"}


@pytest.fixture
def files(tmp_path: Path) -> str:
    folder = tmp_path / "in"
    folder.mkdir()
    for number, start in enumerate(range(0, len(RECORDS), 100)):
        taxis, lengths, times = zip(*RECORDS[start : start + 100])
        table = pa.table({"extra": [0] * 100, "taxi": taxis, "km": pa.array(lengths, pa.int32()), "at": times})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=40)
    return str(folder)


def rides(env: StreamExecutionEnvironment, folder: str) -> DataStream:
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(RIDES), folder).build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "rides", RIDES)


class FailsOnce:
    """Keeps rides of more than one kilometre; fails once, at a batch after the first checkpoint."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __call__(self, batch: Any) -> Any:
        if 3500 in batch["at"].to_pylist() and not self.mark.exists():
            self.mark.touch()
            raise ValueError("fails once")
        return pc.greater(batch["km"], 1)


def metres(batch: Any) -> Any:
    return pa.record_batch([batch["taxi"], pc.multiply(batch["km"], 1000)], names=["taxi", "m"])


TOTALS = [Total.sum("m"), Total.count(), Total.min("m", "least"), Total.max("m", "most"), Total.avg("m", "mean")]


def expected_totals() -> dict[str, tuple[Any, ...]]:
    lengths: dict[str, list[int]] = {}
    for taxi, km, _ in RECORDS:
        if km > 1:
            lengths.setdefault(taxi, []).append(km * 1000)
    return {taxi: (sum(ms), len(ms), min(ms), max(ms), sum(ms) / len(ms)) for taxi, ms in lengths.items()}


def per_taxi(stream: DataStream, mark: Path, **options: Any) -> DataStream:
    long_ones = stream.transform("Long", None, partial(FilterColumns, FailsOnce(mark)))
    projected = long_ones.transform("Metres", None, partial(MapColumns, metres))
    return projected.key_by("taxi").transform("Totals", None, partial(AggregateColumns, TOTALS, **options))


def table_of(changes: list[Row]) -> dict[str, tuple[Any, ...]]:
    """The table that a changelog leaves."""
    return {row.taxi: tuple(row)[1:] for row in changes if row.get_row_kind() is not RowKind.UPDATE_BEFORE}


@on_both
def test_totals_of_columns_go_on_after_a_failure(make_env: MakeEnv, files: str, tmp_path: Path) -> None:
    env = recovering(make_env(2, SMALL_EPOCHS))
    with use_clock(checkpoint_each_epoch()):
        changes = collect(per_taxi(rides(env, files), tmp_path / "failed"))
    assert (tmp_path / "failed").exists()
    assert table_of(changes) == expected_totals()
    assert len(changes) > len(expected_totals())


def test_a_changelog_tells_old_values_before_new_ones(make_env: MakeEnv, files: str, tmp_path: Path) -> None:
    stream = per_taxi(rides(make_env(1, SMALL_EPOCHS), files), tmp_path / "failed", with_old_values=True)
    (tmp_path / "failed").touch()
    table: Counter[tuple[Any, ...]] = Counter()
    for row in collect(stream):
        table[tuple(row)] += -1 if row.get_row_kind() in (RowKind.UPDATE_BEFORE, RowKind.DELETE) else 1
        assert min(table.values()) >= 0
    assert {key[0]: key[1:] for key, count in table.items() if count} == expected_totals()


def test_in_batch_mode_each_key_has_one_result(make_env: MakeEnv, files: str, tmp_path: Path) -> None:
    env = make_env(2)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    (tmp_path / "failed").touch()
    changes = collect(per_taxi(rides(env, files), tmp_path / "failed"))
    assert table_of(changes) == expected_totals() and len(changes) == len(expected_totals())


def test_state_beyond_memory_gives_the_same_totals(make_env: MakeEnv, files: str, tmp_path: Path) -> None:
    env = recovering(make_env(2, {**SMALL_EPOCHS, "state.backend.type": "rocksdb"}))
    with use_clock(checkpoint_each_epoch()):
        changes = collect(per_taxi(rides(env, files), tmp_path / "failed"))
    assert table_of(changes) == expected_totals()


@on_both
def test_files_of_columns_are_copied_exactly_once_without_becoming_rows(
    make_env: MakeEnv, files: str, tmp_path: Path, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = recovering(make_env(2, SMALL_EPOCHS))
    if executor == "in-process":
        monkeypatch.setattr("firesteel.runtime.columns.batch.ColumnBatch.rows", _never)
        monkeypatch.setattr("firesteel.connectors.files.columns.decoded", _never)
    kept = rides(env, files).transform("Long", None, partial(FilterColumns, FailsOnce(tmp_path / "failed")))
    builder = FileSink.for_bulk_format(str(tmp_path / "out"), ParquetBulkWriters.for_row_type(RIDES))
    kept.sink_to(builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    with use_clock(checkpoint_each_epoch()):
        env.execute()
    assert (tmp_path / "failed").exists()
    written = pq.read_table(tmp_path / "out")
    assert sorted(map(tuple, zip(*written.to_pydict().values()))) == sorted(r for r in RECORDS if r[1] > 1)


def _never(*_: Any) -> None:
    raise AssertionError("nobody has asked for rows")


def test_rows_become_columns_where_an_operator_asks_for_them(make_env: MakeEnv) -> None:
    env = make_env(2)
    stream = env.from_collection(RECORDS, RIDES).map(lambda ride: (ride[0], ride[1] * 1000, ride[2]), RIDES)
    counted = stream.key_by("taxi").transform("Sum", None, partial(AggregateColumns, [Total.sum("km")]))
    sums: Counter[str] = Counter()
    for taxi, km, _ in RECORDS:
        sums[taxi] += km * 1000
    assert table_of(collect(counted)) == {taxi: (km,) for taxi, km in sums.items()}


def test_columns_become_rows_with_keys_for_functions(make_env: MakeEnv, files: str) -> None:
    long_ones = rides(make_env(2), files).transform("F", None, partial(FilterColumns, lambda b: pc.greater(b["km"], 1)))
    by_name = long_ones.key_by("taxi").map(lambda ride: (ride.taxi, 1)).key_by(0).sum(1)
    by_function = long_ones.key_by(lambda ride: ride.taxi).map(lambda ride: (ride.taxi, 1)).key_by(0).sum(1)
    counts = Counter(taxi for taxi, km, _ in RECORDS if km > 1)
    assert dict(sorted(collect(by_name))) == dict(counts)
    assert dict(sorted(collect(by_function))) == dict(counts)


@pytest.mark.parametrize("way", ["rebalance", "rescale", "shuffle", "broadcast", "global_", "forward"])
def test_columns_travel_every_way(make_env: MakeEnv, files: str, way: str) -> None:
    kept = rides(make_env(2), files).transform("All", None, partial(FilterColumns, lambda b: pc.is_valid(b["km"])))
    spread = getattr(kept, way)().transform("Again", None, partial(MapColumns, lambda batch: batch))
    expected = RECORDS * (2 if way == "broadcast" else 1)
    assert sorted(map(tuple, collect(spread))) == sorted(expected)


@on_both
def test_event_times_come_from_a_column(make_env: MakeEnv, files: str) -> None:
    env = make_env(1, {"firesteel.chunk.max-records": "2"})
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(FieldTimestampAssigner("at"))
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(RIDES), files).build()
    stamped = env.from_source(source, strategy, "rides", RIDES)
    projected = stamped.transform("Project", None, partial(MapColumns, lambda batch: batch.select(["taxi", "km"])))
    windows = projected.key_by("taxi").window(TumblingEventTimeWindows.of(Time.milliseconds(1000))).sum("km")
    expected: Counter[tuple[str, int]] = Counter()
    for taxi, km, at in RECORDS:
        expected[taxi, at // 1000] += km
    assert Counter((row.taxi, row.km) for row in collect(windows)) == Counter((t, s) for (t, _), s in expected.items())


def test_a_strategy_in_the_middle_leaves_columns_as_they_are(make_env: MakeEnv, files: str) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(FieldTimestampAssigner("at"))
    kept = rides(make_env(1), files).transform("All", None, partial(MapColumns, lambda batch: batch))
    stamped = kept.assign_timestamps_and_watermarks(strategy)
    seen = stamped.transform("Again", None, partial(MapColumns, lambda batch: batch)).process(
        lambda value, ctx: [(value.at, ctx.timestamp())]
    )
    assert sorted(collect(seen)) == [(at, at) for _, _, at in RECORDS]


def test_any_assigner_and_generator_work_on_columns(make_env: MakeEnv, files: str) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda ride, _: ride.at + 1)
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(RIDES), files).build()
    stream = make_env(1).from_source(source, strategy, "rides", RIDES)
    same = stream.transform("Same", None, partial(MapColumns, lambda batch: batch))
    assert collect(same.process(lambda value, ctx: [ctx.timestamp() - value.at])) == [1] * len(RECORDS)


# ---- what cannot be --------------------------------------------------------------------------------------------------


def test_rows_of_no_declared_type_cannot_become_columns(make_env: MakeEnv) -> None:
    stream = make_env().from_collection([(1, 2)]).map(lambda pair: pair)
    with pytest.raises(
        ProgramError, match=r"'Same' \(made at .*\) works on columns, but 'Map' .* no declared row type"
    ):
        collect(stream.transform("Same", None, partial(MapColumns, lambda batch: batch)))


def test_state_per_key_needs_a_key_of_fields(make_env: MakeEnv, files: str) -> None:
    keyed = rides(make_env(), files).key_by(lambda ride: ride.taxi)
    with pytest.raises(JobFailedError, match="must be keyed by fields: key_by"):
        collect(keyed.transform("Sum", None, partial(AggregateColumns, [Total.sum("km")])))


def test_a_factory_that_hides_its_operator_says_what_to_do(make_env: MakeEnv, files: str) -> None:
    stream = rides(make_env(), files)
    with pytest.raises(JobFailedError, match=r"MapColumns, which works on columns.*functools\.partial"):
        collect(stream.transform("Same", None, lambda: MapColumns(lambda batch: batch)))


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (partial(FilterColumns, lambda batch: [True]), "must return an Arrow array of .* booleans"),
        (partial(MapColumns, lambda batch: batch.slice(1)), "as many as it was given"),
        (partial(MapColumns, lambda batch: batch["nothing"]), "nothing"),
    ],
)
def test_a_function_that_returns_something_else_is_named(
    make_env: MakeEnv, files: str, operator: Any, message: str
) -> None:
    with pytest.raises(JobFailedError, match=f"(?s){message}.*") as failure:
        collect(rides(make_env(), files).transform("Wrong One", None, operator))
    assert "Wrong One" in str(failure.value)


@pytest.mark.parametrize(
    ("key", "total", "message"),
    [
        ("driver", Total.sum("km"), r"key_by\('driver'\): there is no such column; the columns are: taxi, km, at"),
        ("taxi", Total.sum("miles"), r"there is no column 'miles' for sum\('miles'\)"),
        ("km", Total.sum("taxi"), r"the sum of the column 'taxi', which is string, means nothing"),
    ],
)
def test_columns_that_are_not_there_are_named(
    make_env: MakeEnv, files: str, key: str, total: Total, message: str
) -> None:
    kept = rides(make_env(), files).transform("All", None, partial(MapColumns, lambda batch: batch))
    with pytest.raises(JobFailedError, match=message):
        collect(kept.key_by(key).transform("Sum", None, partial(AggregateColumns, [total])))


def test_sums_that_do_not_fit_64_bits_are_an_error_and_not_another_number(make_env: MakeEnv, tmp_path: Path) -> None:
    (tmp_path / "large").mkdir()
    pq.write_table(pa.table({"k": ["a"] * 4, "v": [2**62] * 4}), tmp_path / "large" / "a.parquet")
    row_type = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.LONG()])
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(row_type), str(tmp_path / "large")).build()
    stream = make_env().from_source(source, WatermarkStrategy.no_watermarks(), "large", row_type)
    with pytest.raises(JobFailedError, match="does not fit its type int64"):
        collect(stream.key_by("k").transform("Sum", None, partial(AggregateColumns, [Total.sum("v")])))


def test_nulls_are_left_out_as_sql_does(make_env: MakeEnv) -> None:
    row_type = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.LONG()])
    stream = make_env().from_collection([("a", None), ("b", 1), ("b", None), (None, 5)], row_type)
    totals = [
        Total.sum("v"),
        Total.count(),
        Total.count("v", "values"),
        Total.min("v", "least"),
        Total.avg("v", "mean"),
    ]
    rows = collect(stream.key_by("k").transform("Totals", None, partial(AggregateColumns, totals)))
    assert {row.k: tuple(row)[1:] for row in rows} == {
        "a": (None, 1, 0, None, None),
        "b": (1, 2, 1, 1, 1.0),
        None: (5, 1, 1, 5, 5.0),
    }


# ---- DataFrames ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", ["spark"], indirect=True)
def test_a_dataframe_gives_the_same_rows_by_way_of_columns(make_env: MakeEnv, spark: Any) -> None:
    moment = datetime.datetime(2024, 5, 6, 7, 8, 9, 250000)
    frame = spark.createDataFrame(
        [(number, f"k{number % 3}", moment, [moment], (number, moment)) for number in range(20)],
        "id long, k string, at timestamp, list array<timestamp>, inner struct<n: long, at: timestamp>",
    )
    env = make_env(2)
    kept = env.from_dataframe(frame).transform("Few", None, partial(FilterColumns, lambda b: pc.less(b["id"], 6)))
    rows = sorted(collect(kept), key=lambda row: row.id)
    assert rows == sorted(
        collect(make_env(2).from_dataframe(frame).filter(lambda row: row.id < 6)), key=lambda row: row.id
    )
    counted = make_env(2).from_dataframe(frame).key_by("k")
    totals = counted.transform("Totals", None, partial(AggregateColumns, [Total.sum("id"), Total.count()]))
    assert {row.k: (row.id, row["count"]) for row in collect(totals)} == {"k0": (63, 7), "k1": (70, 7), "k2": (57, 6)}


def test_positions_of_columns_and_rows_are_the_same(files: str) -> None:
    """A job may be restored with other operators behind the source, which ask for the other format."""
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(RIDES), files).build()
    (split, *_) = sorted(source.create_enumerator(1).discover_splits(0), key=lambda each: each.split_id)
    as_columns, as_rows = source.create_column_reader(), source.create_reader()
    position: Any = None
    for reader, count in itertools.islice(zip(itertools.cycle([as_columns, as_rows]), [7, 30, 1, 50, 100]), 4):
        result = reader.read(split, position, count, 0)
        values = (
            [row[2] for row in result.values] if isinstance(result.values, list) else result.values["at"].to_pylist()
        )
        start = position or 0
        assert values == [index * 10 for index in range(start, start + len(values))]
        position = result.position
    as_columns.close()
    as_rows.close()
