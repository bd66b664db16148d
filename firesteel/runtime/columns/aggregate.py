"""Totals per key over columns: sums, counts, least and greatest values, averages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.common.types import RowKind
from firesteel.errors import ConfigurationError, TypeMismatchError
from firesteel.runtime.batch import COLUMN_FACTOR
from firesteel.runtime.columns.batch import ColumnBatch
from firesteel.runtime.columns.keys import key_arrays, python_keys
from firesteel.runtime.columns.operators import KeyedColumnOperator
from firesteel.runtime.columns.values import python_values
from firesteel.state.backend import value_table

_INT64 = 2**63
_INSERT, _BEFORE, _AFTER = RowKind.INSERT.value, RowKind.UPDATE_BEFORE.value, RowKind.UPDATE_AFTER.value


@dataclass(frozen=True)
class Total:
    """One column of an aggregation. Use one of the static methods.

    Nulls are left out, as SQL does: of nothing but nulls the count is 0 and everything else is null.

    :param kind: ``sum``, ``count``, ``min``, ``max`` or ``avg``.
    :param column: Of which column; None counts records.
    :param name: What the column of the result is called.
    """

    kind: str
    column: str | None
    name: str

    @staticmethod
    def sum(column: str, name: str | None = None) -> Total:
        """The sum of a column of numbers."""
        return Total("sum", column, name or column)

    @staticmethod
    def count(column: str | None = None, name: str = "count") -> Total:
        """How many records there are; or, of a column, how many values that are not null."""
        return Total("count", column, name)

    @staticmethod
    def min(column: str, name: str | None = None) -> Total:
        """The least value of a column."""
        return Total("min", column, name or column)

    @staticmethod
    def max(column: str, name: str | None = None) -> Total:
        """The greatest value of a column."""
        return Total("max", column, name or column)

    @staticmethod
    def avg(column: str, name: str | None = None) -> Total:
        """The mean of a column of numbers, as a floating-point number."""
        return Total("avg", column, name or column)


def _add(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else one + other


def _least(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else min(one, other)


def _greatest(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else max(one, other)


# How Arrow makes one part of several.
_AGAIN = {"sum": "sum", "count": "sum", "min": "min", "max": "max"}
# What is kept per key for each kind of total: Arrow's aggregations of a batch, and how two of each become one.
_PARTS: dict[str, list[tuple[str, Callable[[Any, Any], Any]]]] = {
    "sum": [("sum", _add)],
    "count": [("count", _add)],
    "min": [("min", _least)],
    "max": [("max", _greatest)],
    "avg": [("sum", _add), ("count", _add)],
}


class AggregateColumns(KeyedColumnOperator):
    """Totals per key of a stream keyed by fields, as a changelog: for each epoch one change of each key in it.

    The columns of the result are those of the key, then the totals. The first result of a key is an insertion, every
    later one an update (``+U``), with the result that it replaces before it (``-U``) if ``with_old_values``. In BATCH
    mode there is one result per key, at the end.

    :param totals: What to compute, for instance ``[Total.sum("km"), Total.count()]``.
    """

    def __init__(self, totals: Sequence[Total], with_old_values: bool = False) -> None:
        if not totals or not all(isinstance(each, Total) for each in totals):
            raise ConfigurationError(f"AggregateColumns takes totals such as [Total.sum('km')], got {totals!r:.80}")
        self._totals = list(totals)
        self._with_old_values = with_old_values
        self._merge = [merge for each in self._totals for _, merge in _PARTS[each.kind]]
        self._waiting: list[Any] = []
        """Batches of this epoch with one record per key: its columns, then the parts of the totals."""
        self._schema: Any = None
        """The columns of the results: known when a batch has come."""

    def open(self) -> None:
        """Declare the state: the parts of all totals, per key."""
        assert self.context.keyed_state is not None
        self._table = value_table(self.context.keyed_state, "_totals")

    def snapshot(self) -> Any | None:
        """The columns of the results, as bytes of Arrow's own."""
        return None if self._schema is None else {"schema": self._schema.serialize().to_pybytes()}

    def restore(self, states: list[Any]) -> None:
        """Go on with the columns that are known."""
        for state in states:
            if state is not None:
                self._schema = pa.ipc.read_schema(pa.py_buffer(state["schema"]))

    def process(self, batch: ColumnBatch) -> None:
        """Group a batch by key. State is looked at when the epoch ends: once for each key."""
        groups = self._grouped(batch)
        if self._waiting and not self._waiting[-1].schema.equals(groups.schema):
            self._add_to_state()
        self._waiting.append(groups)
        if sum(map(len, self._waiting)) > 2 * COLUMN_FACTOR * self.context.batch_records:
            self._waiting = [self._together()]

    def settle(self) -> None:
        """Emit what has changed, where an epoch is long."""
        self._add_to_state()

    def end_epoch(self) -> None:
        """Emit what has changed."""
        self._add_to_state()

    def _add_to_state(self) -> None:
        if not self._waiting:
            return
        groups = self._together()
        self._waiting = []
        width = len(self.keyed_by.fields)
        keys = python_keys(groups.columns[:width], self.keyed_by.single)
        self.begin_keys(keys)
        entries, merges = self._table.batch_entries, self._merge
        before: list[Any] = []
        after: list[Any] = []
        for key, new in zip(keys, zip(*map(_plain, groups.columns[width:]))):
            old = entries.get(key)
            if old is not None:
                new = tuple([merge(one, other) for merge, one, other in zip(merges, old, new)])
            entries[key] = new
            before.append(old)
            after.append(new)
        self._table.dirty.update(keys)
        if not self.context.batch_mode:
            self._emit(groups, before, after)

    def finish(self) -> None:
        """In BATCH mode: all totals are final."""
        self._add_to_state()
        if not self.context.batch_mode or self._schema is None:
            return
        keys, entries = list(self._table.entries), self._table.entries
        step = COLUMN_FACTOR * self.context.batch_records
        for start in range(0, len(keys), step):
            some = keys[start : start + step]
            columns = [some] if self.keyed_by.single else list(zip(*some))
            arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema)]
            self.output.emit(self._results(arrays, [entries[key] for key in some]))

    # ---- inside --------------------------------------------------------------------------------------------

    def _grouped(self, batch: ColumnBatch) -> Any:
        """One record per key of the batch: the key's columns, then the parts of the totals."""
        _refuse_changes(batch)
        keys = key_arrays(batch, self.keyed_by)
        names = [str(index) for index in range(len(keys))]
        columns: list[Any] = list(keys)
        wanted: list[tuple[str, str]] = []
        for total in self._totals:
            column = self._column_of(total, batch)
            for part, _ in _PARTS[total.kind]:
                name = f"part {len(wanted)}"
                columns.append(_safe_to_add(column) if part == "sum" else column)
                wanted.append((name, part))
        table = pa.Table.from_arrays(columns, names=[*names, *(name for name, _ in wanted)])
        self._schema = self._schema_of(batch, keys)
        try:
            return _per_key(table, names, wanted)
        except pa.ArrowNotImplementedError as error:
            raise TypeMismatchError(
                f"these columns cannot be aggregated per key: {error}. Keys and values of totals are numbers, texts, "
                "dates and the like"
            ) from error

    def _together(self) -> Any:
        """The batches that wait, as one with one record per key."""
        if len(self._waiting) == 1:
            return self._waiting[0]
        table = pa.Table.from_batches(self._waiting)
        names = table.column_names[: len(self.keyed_by.fields)]
        parts = [part for each in self._totals for part, _ in _PARTS[each.kind]]
        columns = [_safe_to_add(table[name].combine_chunks()) for name in table.column_names[len(names) :]]
        table = pa.Table.from_arrays([*table.select(names).columns, *columns], names=table.column_names)
        wanted = [(name, _AGAIN[part]) for name, part in zip(table.column_names[len(names) :], parts)]
        return _per_key(table, names, wanted)

    def _column_of(self, total: Total, batch: ColumnBatch) -> Any:
        if total.column is None:
            return pa.nulls(len(batch), pa.int8()).fill_null(0)
        if total.column not in batch.columns.schema.names:
            raise TypeMismatchError(
                f"there is no column {total.column!r} for {total.kind}({total.column!r}); the columns are: "
                f"{', '.join(batch.columns.schema.names)}"
            )
        return batch[total.column]

    def _schema_of(self, batch: ColumnBatch, keys: list[Any]) -> Any:
        names = batch.columns.schema.names
        fields = [
            pa.field(names[field] if isinstance(field, int) else field, column.type)
            for field, column in zip(self.keyed_by.fields, keys)
        ]
        totals = [pa.field(total.name, _result_type(total, batch)) for total in self._totals]
        return pa.schema(fields + totals)

    def _emit(self, groups: Any, before: list[Any], after: list[Any]) -> None:
        keys = groups.columns[: len(self.keyed_by.fields)]
        results = self._results(keys, after)
        kinds = [_INSERT if old is None else _AFTER for old in before]
        if self._with_old_values and any(old is not None for old in before):
            replaced = pa.array([index for index, old in enumerate(before) if old is not None], pa.int64())
            old_results = self._results(
                [column.take(replaced) for column in keys], [old for old in before if old is not None]
            )
            old_results.kinds = pa.array([_BEFORE] * len(old_results), pa.int8())
            self.output.emit(old_results)
        results.kinds = pa.array(kinds, pa.int8()) if _AFTER in kinds else None
        self.output.emit(results)

    def _results(self, keys: list[Any], parts: list[Any]) -> ColumnBatch:
        """Records of keys and their totals."""
        columns, by_part = list(keys), iter(zip(*parts))
        for total, field in zip(self._totals, list(self._schema)[len(keys) :]):
            values: Sequence[Any] = next(by_part)
            if total.kind == "avg":
                values = [None if not count else amount / count for amount, count in zip(values, next(by_part))]
            columns.append(_array(total, values, field.type))
        return ColumnBatch(pa.RecordBatch.from_arrays(columns, schema=self._schema))


def _per_key(table: Any, keys: list[str], wanted: list[tuple[str, str]]) -> Any:
    """One record per key: the key's columns, then the aggregations, under the names that they had."""
    grouped = table.group_by(keys, use_threads=False).aggregate(wanted).combine_chunks()
    grouped = grouped.select([*keys, *(f"{name}_{part}" for name, part in wanted)])
    return grouped.rename_columns([*keys, *(name for name, _ in wanted)]).to_batches()[0]


def _plain(column: Any) -> list[Any]:
    """The parts of all keys. Whole numbers that were added as decimals, to be safe, are whole numbers again."""
    values = python_values(column)
    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        return [None if value is None else int(value) for value in values]
    return values


def _array(total: Total, values: Sequence[Any], kind: Any) -> Any:
    try:
        return pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid) as error:
        raise TypeMismatchError(
            f"a {total.kind} of the column {total.column!r} does not fit its type {kind}: {error}. Cast the column "
            "to a decimal or a floating-point number before"
        ) from error


def _safe_to_add(column: Any) -> Any:
    """The column, or one of exact decimals where the sum of a batch might not fit into 64 bits."""
    if not pa.types.is_integer(column.type) or column.type.bit_width < 64 or not len(column):
        return column
    extremes = pc.min_max(column).as_py()
    largest = max((abs(each) for each in extremes.values() if each is not None), default=0)
    return column if largest * len(column) < _INT64 else column.cast(pa.decimal128(38, 0))


def _result_type(total: Total, batch: ColumnBatch) -> Any:
    if total.kind == "count":
        return pa.int64()
    assert total.column is not None
    kind = batch[total.column].type
    if total.kind == "avg":
        return pa.float64()
    if total.kind == "sum":
        if pa.types.is_integer(kind):
            return pa.int64()
        if pa.types.is_decimal(kind):
            return pa.decimal128(38, kind.scale)
        if pa.types.is_floating(kind):
            return pa.float64()
        raise TypeMismatchError(f"the sum of the column {total.column!r}, which is {kind}, means nothing")
    return kind


def _refuse_changes(batch: ColumnBatch) -> None:
    if batch.kinds is not None:
        raise TypeMismatchError(
            "AggregateColumns adds up insertions, but the stream before it is a changelog with updates or deletions"
        )
