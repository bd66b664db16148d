"""Operators that work on columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from firesteel.errors import ProgramError, TypeMismatchError
from firesteel.runtime.batch import Format
from firesteel.runtime.columns.batch import ColumnBatch
from firesteel.runtime.operator import Operator, OperatorContext
from firesteel.runtime.partitioners import KeyFields


class ColumnOperator(Operator):
    """An operator whose input and output are :class:`ColumnBatch`. Rows that come in are turned into columns before.

    Everything else is as for other operators: watermarks come between batches, state is declared in ``open``.
    """

    takes = Format.COLUMNS
    gives = Format.COLUMNS

    @abstractmethod
    def process(self, batch: ColumnBatch) -> None:
        """Take records of the input."""


class FilterColumns(ColumnOperator):
    """Keeps the records for which a function says so.

    :param keep: From a ``pyarrow.RecordBatch`` to an Arrow array of booleans, one for each record; null says no.
    """

    def __init__(self, keep: Callable[[Any], Any]) -> None:
        self._keep = keep

    def process(self, batch: ColumnBatch) -> None:
        """Filter the records."""
        mask = _one_array(self._keep(batch.columns))
        if not isinstance(mask, pa.BooleanArray) or len(mask) != len(batch):
            raise TypeMismatchError(
                f"the function of a filter on columns must return an Arrow array of {len(batch)} booleans, one for "
                f"each record, got {_described(mask)}"
            )
        self.output.emit(batch.filter(mask))


class MapColumns(ColumnOperator):
    """Makes other columns of the columns: a projection. Records stay as many, with their timestamps and kinds.

    :param change: From a ``pyarrow.RecordBatch`` to another of as many records.
    """

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self._change = change

    def process(self, batch: ColumnBatch) -> None:
        """Change the columns."""
        changed = self._change(batch.columns)
        if isinstance(changed, pa.Table):
            changed = changed.combine_chunks().to_batches()[0] if len(changed) else _no_records(changed.schema)
        if not isinstance(changed, pa.RecordBatch) or len(changed) != len(batch):
            raise TypeMismatchError(
                f"the function of a map on columns must return a pyarrow.RecordBatch of {len(batch)} records, as many "
                f"as it was given, got {_described(changed)}"
            )
        self.output.emit(batch.with_columns(changed))


def _no_records(schema: Any) -> Any:
    return pa.RecordBatch.from_pylist([], schema=schema)


def _one_array(values: Any) -> Any:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _described(value: Any) -> str:
    if isinstance(value, (pa.Array, pa.RecordBatch)):
        return f"{len(value)} of {value.type if isinstance(value, pa.Array) else 'a RecordBatch'}"
    return f"{type(value).__name__}: {value!r:.80}"


class KeyedColumnOperator(ColumnOperator):
    """An operator on columns with keyed state. The stream before it is keyed by fields (``key_by("user")``)."""

    takes_sorted_input = False
    """In BATCH mode too it takes records as they come, and keeps the state of all keys."""

    keyed_by: KeyFields

    def setup(self, context: OperatorContext) -> None:
        """Find out by which columns the stream is keyed."""
        super().setup(context)
        if context.keyed_state is None or context.key_fields is None:
            raise ProgramError(
                f"{type(self).__name__} works on columns with state per key, so the stream before it must be keyed by "
                "fields: key_by('user'), or key_by(('user', 'day')). A function as key selector needs records"
            )
        self.keyed_by = context.key_fields

    def begin_keys(self, keys: Sequence[Any]) -> None:
        """The state of these keys is about to be used: entries of others are not, until the next call."""
        backend = self.context.keyed_state
        assert backend is not None
        if backend.takes_batches:
            backend.begin_batch(keys)
