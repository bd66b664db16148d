"""Batches of records as Arrow columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.common.formats.arrow_columns import Column
from firesteel.common.formats.fields import field_values
from firesteel.common.types import Row, RowKind
from firesteel.errors import TypeMismatchError
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.columns.values import python_values

_ARROW_REFUSES = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)
# In the metadata of a schema on its way to another process: which columns stand behind those of the records.
_BEHIND = b"firesteel.behind"
_KINDS = tuple(RowKind)


class ColumnBatch:
    """Records as columns, in order, with a timestamp each (or none at all) and, in a changelog, a row kind each.

    Arrow arrays never change, so batches and columns are shared without copies.

    :ivar columns: The records, as a ``pyarrow.RecordBatch``.
    :ivar timestamps: Event times in milliseconds as an int64 array without nulls, or None.
    :ivar kinds: What each row says of the table it belongs to, as an int8 array of ``RowKind`` values; None: each is
        an insertion.
    """

    __slots__ = ("columns", "kinds", "timestamps")

    def __init__(self, columns: Any, timestamps: Any | None = None, kinds: Any | None = None) -> None:
        self.columns = columns
        self.timestamps = timestamps
        self.kinds = kinds

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def __getitem__(self, name: str | int) -> Any:
        """The column of a name or position."""
        return self.columns.column(name)

    def slice(self, start: int, end: int) -> ColumnBatch:
        """The records from ``start`` up to, without, ``end``. Nothing is copied."""
        return self._each(lambda part: part.slice(start, max(0, min(end, len(self)) - start)))

    def take(self, indices: Sequence[int]) -> ColumnBatch:
        """The records at these places, in this order."""
        places = indices if isinstance(indices, pa.Array) else pa.array(indices, pa.int64())
        return self._each(lambda part: part.take(places))

    def filter(self, mask: Any) -> ColumnBatch:
        """The records for which the mask, an Arrow array of booleans, says True; null says no."""
        return self._each(lambda part: part.filter(mask))

    def with_columns(self, columns: Any) -> ColumnBatch:
        """Other columns for the same records, with their timestamps and kinds."""
        return ColumnBatch(columns, self.timestamps, self.kinds)

    def stamped(self, timestamps: Any) -> ColumnBatch:
        """The same records with other timestamps: an int64 array, or a list."""
        stamps = timestamps if isinstance(timestamps, pa.Array) else pa.array(timestamps, pa.int64())
        return ColumnBatch(self.columns, stamps, self.kinds)

    def latest(self) -> int:
        """The highest timestamp."""
        highest: int = pc.max(self.timestamps).as_py()
        return highest

    def _each(self, change: Any) -> ColumnBatch:
        return ColumnBatch(
            change(self.columns),
            None if self.timestamps is None else change(self.timestamps),
            None if self.kinds is None else change(self.kinds),
        )

    def rows(self) -> RowBatch:
        """The records as Rows with the names of the columns."""
        stamps = None if self.timestamps is None else self.timestamps.to_pylist()
        template = Row(*self.columns.schema.names)
        rows = list(map(template, *map(python_values, self.columns.columns))) if self.columns.num_columns else []
        if self.kinds is not None:
            for row, kind in zip(rows, self.kinds.to_pylist()):
                row.set_row_kind(_KINDS[kind])
        return RowBatch(rows, stamps)

    @staticmethod
    def of_rows(batch: RowBatch, columns: dict[str, Column]) -> ColumnBatch:
        """Records as columns of declared types.

        :param columns: By name: Arrow's type, and how a value becomes what Arrow takes.
        :raises TypeMismatchError: A record does not fit.
        """
        names = list(columns)
        records = [field_values(value, names, "column") for value in batch.values]
        arrays = []
        for index, (name, (kind, convert, _)) in enumerate(columns.items()):
            values = [record[index] for record in records]
            if convert is not None:
                values = [None if value is None else convert(value) for value in values]
            try:
                arrays.append(pa.array(values, kind))
            except _ARROW_REFUSES as error:
                raise TypeMismatchError(
                    f"the values of the field {name!r} do not fit its declared type ({kind}): {error}. The operator "
                    "works on columns: declare the type that the records have"
                ) from error
        stamps = None if batch.timestamps is None else pa.array(batch.timestamps, pa.int64())
        return ColumnBatch(pa.record_batch(arrays, names=names), stamps, _kinds_of(batch.values))

    def __repr__(self) -> str:
        described = ", ".join(f"{field.name}: {field.type}" for field in self.columns.schema)
        return f"ColumnBatch({len(self)} of {described})"


def _kinds_of(values: list[Any]) -> Any | None:
    """The kinds of rows, if any of them is not an insertion."""
    kinds = [value.get_row_kind().value if value.__class__ is Row else 0 for value in values]
    return pa.array(kinds, pa.int8()) if any(kinds) else None


def together(batches: Sequence[ColumnBatch]) -> ColumnBatch:
    """One batch of several that have the same columns, all or none with timestamps, all or none with kinds."""
    if len(batches) == 1:
        return batches[0]
    first = batches[0]
    return ColumnBatch(
        pa.concat_batches([each.columns for each in batches]),
        None if first.timestamps is None else pa.concat_arrays([each.timestamps for each in batches]),
        None if first.kinds is None else pa.concat_arrays([each.kinds for each in batches]),
    )


def same_form(one: ColumnBatch, other: ColumnBatch) -> bool:
    """Whether two batches can be put together."""
    return (
        one.columns.schema.equals(other.columns.schema)
        and (one.timestamps is None) is (other.timestamps is None)
        and (one.kinds is None) is (other.kinds is None)
    )


# ---- as bytes, for the way to another process ----------------------------------------------------------------------


def to_bytes(batches: Iterable[ColumnBatch]) -> list[bytes]:
    """Batches in Arrow's IPC format, those of the same form put together. Of a slice only its own part is written."""
    packed: list[list[ColumnBatch]] = []
    for batch in batches:
        if packed and same_form(packed[-1][-1], batch):
            packed[-1].append(batch)
        else:
            packed.append([batch])
    return [_ipc(together(parts)) for parts in packed]


def _ipc(batch: ColumnBatch) -> bytes:
    columns = batch.columns
    behind = [each for each in (batch.timestamps, batch.kinds) if each is not None]
    marks = ("t" if batch.timestamps is not None else "") + ("k" if batch.kinds is not None else "")
    fields = [*columns.schema, *(pa.field("", each.type) for each in behind)]
    schema = pa.schema(fields, metadata={_BEHIND: marks})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([*columns.columns, *behind], schema=schema))
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_bytes(data: bytes) -> Iterator[ColumnBatch]:
    """The batches of :func:`to_bytes`."""
    with pa.ipc.open_stream(data) as reader:
        marks = (reader.schema.metadata or {}).get(_BEHIND, b"").decode()
        schema = pa.schema(list(reader.schema)[: len(reader.schema) - len(marks)])
        for part in reader:
            arrays = part.columns
            behind = dict(zip(marks, arrays[len(schema) :]))
            columns = pa.RecordBatch.from_arrays(arrays[: len(schema)], schema=schema)
            yield ColumnBatch(columns, behind.get("t"), behind.get("k"))
