"""Batches of columns: what every batch can do, the way to rows and back, and the way to another process."""

from __future__ import annotations

import datetime
import decimal
import pickle
from typing import Any

import pyarrow as pa
import pytest

from firesteel.common import Row, RowKind, Types
from firesteel.common.formats.arrow_columns import row_columns
from firesteel.common.time import Instant
from firesteel.errors import TypeMismatchError
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.columns.batch import ColumnBatch, from_bytes, to_bytes


def batch_of(count: int, stamped: bool = True, kinds: bool = False) -> ColumnBatch:
    columns = pa.record_batch({"k": [f"k{index}" for index in range(count)], "v": list(range(count))})
    return ColumnBatch(
        columns,
        pa.array(range(100, 100 + count), pa.int64()) if stamped else None,
        pa.array([index % 4 for index in range(count)], pa.int8()) if kinds else None,
    )


def content(batch: ColumnBatch) -> tuple[Any, ...]:
    rows = batch.rows()
    return [(row.k, row.v, row.get_row_kind()) for row in rows.values], rows.timestamps


def test_slices_and_takes_keep_timestamps_and_kinds_with_their_records() -> None:
    batch = batch_of(6, kinds=True)
    assert content(batch.slice(1, 3)) == (
        [("k1", 1, RowKind.UPDATE_BEFORE), ("k2", 2, RowKind.UPDATE_AFTER)],
        [101, 102],
    )
    assert content(batch.take([5, 0])) == (
        [("k5", 5, RowKind.UPDATE_BEFORE), ("k0", 0, RowKind.INSERT)],
        [105, 100],
    )
    assert len(batch.slice(4, 99)) == 2


def test_a_filter_takes_null_for_no() -> None:
    kept = batch_of(3).filter(pa.array([True, None, False]))
    assert content(kept) == ([("k0", 0, RowKind.INSERT)], [100])


@pytest.mark.parametrize("stamped", [True, False])
@pytest.mark.parametrize("kinds", [True, False])
def test_bytes_come_back_as_the_same_batch(stamped: bool, kinds: bool) -> None:
    batch = batch_of(5, stamped, kinds)
    (back,) = from_bytes(to_bytes([batch])[0])
    assert content(back) == content(batch)
    assert (back.timestamps is None, back.kinds is None) == (not stamped, not kinds)
    assert back.columns.schema.equals(batch.columns.schema)


def test_a_slice_is_sent_without_the_rest_of_its_batch() -> None:
    large = batch_of(100_000)
    (part,) = to_bytes([large.slice(500, 510)])
    assert len(part) < 2_000 < len(pickle.dumps(large.columns.slice(500, 510)))


def test_batches_of_one_form_are_sent_together_and_others_apart() -> None:
    other = ColumnBatch(pa.record_batch({"other": [1]}))
    packed = to_bytes([batch_of(2), batch_of(3), other, batch_of(1), batch_of(1, stamped=False)])
    assert [len(batch) for part in packed for batch in from_bytes(part)] == [5, 1, 1, 1]


def test_metadata_of_a_schema_is_not_sent_with_every_chunk() -> None:
    described = batch_of(1).columns.replace_schema_metadata({"a": "x" * 10_000})
    assert len(to_bytes([ColumnBatch(described)])[0]) < 2_000


LOCAL = datetime.datetime(2024, 5, 6, 7, 8, 9, 123000)
ROW_TYPE = Types.ROW_NAMED(
    ["text", "small", "real", "amount", "day", "at", "precise", "list", "map", "inner"],
    [
        Types.STRING(),
        Types.BYTE(),
        Types.FLOAT(),
        Types.BIG_DEC(),
        Types.SQL_DATE(),
        Types.SQL_TIMESTAMP(),
        Types.INSTANT(),
        Types.LIST(Types.SQL_TIMESTAMP()),
        Types.MAP(Types.STRING(), Types.LONG()),
        Types.ROW_NAMED(["x", "at"], [Types.LONG(), Types.SQL_TIMESTAMP()]),
    ],
)
VALUES = (
    "é",
    -5,
    0.5,
    decimal.Decimal("1.500000000000000000"),
    datetime.date(2024, 2, 29),
    LOCAL,
    Instant(1_700_000_000, 123_456_789),
    [LOCAL, None],
    {"a": 1, "b": None},
    Row(x=1, at=LOCAL),
)


def test_rows_of_declared_types_become_columns_and_come_back() -> None:
    rows = [Row(*ROW_TYPE.get_field_names())(*VALUES), Row(*ROW_TYPE.get_field_names())(*[None] * len(VALUES))]
    batch = ColumnBatch.of_rows(RowBatch(rows, [1, 2]), row_columns(ROW_TYPE, utc=False))
    back = batch.rows()
    assert back.values == rows and back.timestamps == [1, 2]


def test_tuples_and_dicts_become_columns_by_position_and_by_name() -> None:
    columns = row_columns(Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]), utc=False)
    batch = ColumnBatch.of_rows(RowBatch([(1, "x"), {"b": "y", "a": 2}, {"a": 3}]), columns)
    assert batch.rows().values == [Row(a=1, b="x"), Row(a=2, b="y"), Row(a=3, b=None)]
    assert batch.kinds is None


def test_kinds_of_rows_are_kept() -> None:
    columns = row_columns(Types.ROW_NAMED(["a"], [Types.LONG()]), utc=False)
    rows = [Row(a=1), Row.of_kind(RowKind.DELETE, a=2)]
    batch = ColumnBatch.of_rows(RowBatch(rows), columns)
    assert batch.kinds.to_pylist() == [0, 3]
    assert batch.rows().values == rows


def test_a_value_that_does_not_fit_its_declared_type_names_the_field() -> None:
    columns = row_columns(Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.LONG()]), utc=False)
    with pytest.raises(TypeMismatchError, match="field 'b' do not fit its declared type"):
        ColumnBatch.of_rows(RowBatch([(1, 2), (3, "four")]), columns)


def test_a_dictionary_column_gives_its_values() -> None:
    column = pa.array(["x", "y", None, "x"]).dictionary_encode()
    batch = ColumnBatch(pa.record_batch([column], names=["k"]))
    (back,) = from_bytes(to_bytes([batch])[0])
    assert [row.k for row in back.rows().values] == ["x", "y", None, "x"]


def test_a_date_that_python_has_not_is_an_error() -> None:
    column = pa.array([400_000_000_000_000_000], pa.int64()).cast(pa.timestamp("us"))
    with pytest.raises(TypeMismatchError, match="years 1 to 9999"):
        ColumnBatch(pa.record_batch([column], names=["at"])).rows()
