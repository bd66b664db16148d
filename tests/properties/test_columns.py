"""Columns and rows are two forms of the same records: keys, routes and results agree, whatever carries them."""

from __future__ import annotations

import datetime
import decimal
import tempfile
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.common import RowKind, Types, WatermarkStrategy
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSource
from firesteel.datastream.formats.parquet import ParquetColumnarRowInputFormat
from firesteel.model.functions.adapt import as_key_selector, bound_call
from firesteel.runtime.batch import Format
from firesteel.runtime.columns import AggregateColumns, ColumnBatch, FilterColumns, MapColumns, Total
from firesteel.runtime.columns.batch import from_bytes, to_bytes
from firesteel.runtime.columns.keys import KeyTargets, key_arrays, python_keys
from firesteel.runtime.emitters import HashEmitter
from firesteel.runtime.failure import OperatorInfo
from firesteel.runtime.partitioners import HASH, Partitioning
from firesteel.runtime.routing import make_emitter
from firesteel.state import codec
from firesteel.state.key_groups import subtask_of_key
from tests.properties.test_core import Setting, collect, failing_setting

whole = st.integers(-(2**63), 2**63 - 1)
KINDS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (pa.int64(), whole),
    (pa.int8(), st.integers(-128, 127)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.float32(), st.floats(allow_nan=False, width=32)),
    (pa.string(), st.text(max_size=4)),
    (pa.large_string(), st.text(max_size=4)),
    (pa.binary(), st.binary(max_size=4)),
    (pa.bool_(), st.booleans()),
    (pa.date32(), st.dates()),
    (pa.time64("us"), st.times()),
    (pa.decimal128(20, 2), st.decimals(-(10**6), 10**6, places=2).map(lambda d: d.quantize(decimal.Decimal("0.01")))),
    (pa.timestamp("us"), st.datetimes()),
    (pa.timestamp("us", "UTC"), st.datetimes(datetime.datetime(1971, 1, 1), datetime.datetime(2100, 1, 1))),
    (pa.list_(pa.int64()), st.lists(whole, max_size=2)),
    (pa.dictionary(pa.int32(), pa.string()), st.sampled_from("abc")),
]


@st.composite
def columns(draw: st.DrawFn, size: int) -> Any:
    kind, values = draw(st.sampled_from(KINDS))
    few = draw(st.lists(st.one_of(st.none(), values), min_size=1, max_size=4))
    return pa.array(draw(st.lists(st.sampled_from(few), min_size=size, max_size=size)), kind)


@st.composite
def keyed_batches(draw: st.DrawFn) -> tuple[ColumnBatch, Any]:
    size = draw(st.integers(1, 12))
    names = ["a", "b", "c"]
    batch = pa.record_batch([draw(columns(size)) for _ in names], names=names)
    key = draw(st.sampled_from(["a", 1, ("a",), ("b", "a"), ("c", 0, "b")]))
    return ColumnBatch(batch, pa.array(range(size), pa.int64())), key


@given(keyed_batches(), st.sampled_from([1, 2, 3, 4]), st.sampled_from([4, 128]))
def test_a_key_has_the_same_key_group_whichever_format_carries_it(
    keyed: tuple[ColumnBatch, Any], targets: int, groups: int
) -> None:
    batch, key = keyed
    select = bound_call(as_key_selector(key), "get_key")
    fields = Partitioning(HASH, select).required_key_fields
    rows = batch.rows()
    by_row: list[list[Any]] = [[] for _ in range(targets)]
    emitter = make_emitter(
        Partitioning(HASH, select),
        edge=0,
        level=1,
        subtask=0,
        producers=1,
        targets=targets,
        max_parallelism=groups,
        chunk_records=4096,
        producer=OperatorInfo("producer", "uid", "here"),
    )
    assert isinstance(emitter, HashEmitter)
    emitter.emit(rows)
    for _, target, _, _, _, _, payload in emitter.take_rows(""):
        for values, _, keys in codec.loads(payload):
            by_row[target] += list(zip(map(repr, values), keys))
    chosen = KeyTargets(fields, targets, groups)(batch)
    keys = python_keys(key_arrays(batch, fields), fields.single)
    by_column: list[list[Any]] = [[] for _ in range(targets)]
    for row, one_key, target in zip(rows.values, keys, chosen.tolist()):
        assert target == subtask_of_key(one_key, targets, groups)
        by_column[target].append((repr(row), one_key))
    assert by_column == by_row


@given(keyed_batches(), st.sampled_from([1, 2, 4]))
def test_columns_are_routed_in_order_and_nothing_is_lost(keyed: tuple[ColumnBatch, Any], targets: int) -> None:
    batch, key = keyed
    emitter = make_emitter(
        Partitioning(HASH, bound_call(as_key_selector(key), "get_key")),
        edge=0,
        level=1,
        subtask=0,
        producers=1,
        targets=targets,
        max_parallelism=128,
        chunk_records=4096,
        producer=OperatorInfo("producer", "uid", "here"),
        format=Format.COLUMNS,
    )
    emitter.emit(batch)
    seen = []
    for _, _, _, _, _, _, payload in emitter.take_rows(""):
        parts = [part for entry in codec.loads(payload) for part in from_bytes(entry)]
        stamps = [stamp for part in parts for stamp in part.timestamps.to_pylist()]
        assert stamps == sorted(stamps)
        seen += [(stamp, repr(row)) for part in parts for stamp, row in zip(stamps, part.rows().values)]
    assert sorted(seen) == [(stamp, repr(row)) for stamp, row in enumerate(batch.rows().values)]


@given(keyed_batches())
def test_bytes_come_back_as_the_same_rows(keyed: tuple[ColumnBatch, Any]) -> None:
    batch, _ = keyed
    (back,) = from_bytes(to_bytes([batch])[0])
    assert repr(back.rows()) == repr(batch.rows())


# ---- the same program with rows and with columns ---------------------------------------------------------------------

ROW_TYPE = Types.ROW_NAMED(["k", "n", "place"], [Types.STRING(), Types.LONG(), Types.LONG()])
records = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(-50, 50)), max_size=60)


class FailsAt:
    """Fails once, when it sees a place in the input. For rows one by one, and for columns."""

    def __init__(self, place: int, mark: Path) -> None:
        self.place, self.mark = place, mark

    def _look(self, places: list[int]) -> None:
        if self.place in places and not self.mark.exists():
            self.mark.touch()
            raise ValueError("fails once")

    def keeps(self, row: Any) -> bool:
        self._look([row.place])
        return bool(row.n % 3)

    def mask(self, batch: Any) -> Any:
        self._look(batch["place"].to_pylist())
        third = pc.subtract(batch["n"], pc.multiply(pc.divide(batch["n"], 3), 3))
        return pc.not_equal(third, 0)


def doubled(batch: Any) -> Any:
    return pa.record_batch([batch["k"], pc.multiply(batch["n"], 2)], names=["k", "n"])


def by_columns(stream: DataStream, fails: FailsAt) -> DataStream:
    kept = stream.transform("Filter", None, partial(FilterColumns, fails.mask))
    totals = [Total.sum("n"), Total.count()]
    projected = kept.transform("Project", None, partial(MapColumns, doubled))
    return projected.key_by("k").transform("Totals", None, partial(AggregateColumns, totals))


def by_rows(stream: DataStream, fails: FailsAt) -> DataStream:
    kept = stream.filter(fails.keeps).map(lambda row: (row.k, row.n * 2, 1))
    return kept.key_by(0).reduce(lambda one, other: (one[0], one[1] + other[1], one[2] + other[2]))


def final(results: list[Any]) -> dict[str, tuple[int, int]]:
    table = {}
    for result in results:
        assert getattr(result, "get_row_kind", lambda: RowKind.INSERT)() is not RowKind.UPDATE_BEFORE
        table[result[0]] = (result[1], result[2])
    return table


def oracle(rows: list[tuple[str, int]]) -> dict[str, tuple[int, int]]:
    values: dict[str, list[int]] = defaultdict(list)
    for key, number in rows:
        if number % 3:
            values[key].append(number * 2)
    return {key: (sum(each), len(each)) for key, each in values.items()}


def columns_agree_with_rows(
    rows: list[tuple[str, int]], setting: Setting, target: str = "in-process", session: Any = None
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "in").mkdir()
        numbered = [(key, number, place) for place, (key, number) in enumerate(rows)]
        for file in range(2):
            part = numbered[file::2]
            table = pa.table({name: [row[at] for row in part] for at, name in enumerate(ROW_TYPE.get_field_names())})
            schema = pa.schema({"k": pa.string(), "n": pa.int64(), "place": pa.int64()})
            pq.write_table(table.cast(schema), folder / "in" / f"{file}.parquet", row_group_size=7)
        for number, program in enumerate([by_columns, by_rows]):
            env: StreamExecutionEnvironment = setting.environment(target, session)
            source = FileSource.for_bulk_file_format(
                ParquetColumnarRowInputFormat(ROW_TYPE), str(folder / "in")
            ).build()
            stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "files", ROW_TYPE)
            fails = FailsAt(setting.crashes[0] if setting.crashes else -1, folder / f"failed-{number}")
            assert final(collect(program(stream, fails))) == oracle(rows)


@settings(max_examples=25)
@given(records, failing_setting)
def test_a_program_gives_the_same_with_columns_and_with_rows(rows: list[tuple[str, int]], setting: Setting) -> None:
    columns_agree_with_rows(rows, setting)
