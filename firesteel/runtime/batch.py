"""What flows between operators: batches of records, and marks between them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Final, Protocol, TypeVar

_B = TypeVar("_B", bound="Batch")


COLUMN_FACTOR: Final = 16
"""How many times more records a batch of columns has than one of rows: what is done per batch costs more."""


class Format(Enum):
    """How the records of a batch are held."""

    ROWS = "rows"
    """As Python objects: :class:`RowBatch`."""
    COLUMNS = "columns"
    """As Arrow arrays: :class:`firesteel.runtime.columns.ColumnBatch`."""
    EITHER = "either"
    """Of an operator: it takes what comes; and what it gives has the format of what it has taken."""


class Batch(Protocol):
    """Records in order, in some format. Nobody changes a batch they did not make: readers share it."""

    def __len__(self) -> int: ...

    def slice(self: _B, start: int, end: int) -> _B:
        """The records from ``start`` up to, without, ``end``."""

    def take(self: _B, indices: Sequence[int]) -> _B:
        """The records at these places, in this order."""

    def rows(self) -> RowBatch:
        """The same records as objects."""

    def stamped(self: _B, timestamps: list[int]) -> _B:
        """The same records with other timestamps."""

    @property
    def timestamps(self) -> Any:
        """A timestamp in milliseconds for each record, or None if they have none."""


class RowBatch:
    """Records as Python objects, in order, with a timestamp each (or none at all) and, behind a ``key_by``, a key each.

    Batches are shared between readers: nobody changes the lists of a batch they did not make.
    """

    __slots__ = ("keys", "timestamps", "values")

    def __init__(self, values: list[Any], timestamps: list[int] | None = None, keys: list[Any] | None = None) -> None:
        self.values = values
        self.timestamps = timestamps
        self.keys = keys

    def __len__(self) -> int:
        return len(self.values)

    def slice(self, start: int, end: int) -> RowBatch:
        """The records from ``start`` up to, without, ``end``."""
        stamps, keys = self.timestamps, self.keys
        return RowBatch(
            self.values[start:end],
            None if stamps is None else stamps[start:end],
            None if keys is None else keys[start:end],
        )

    def take(self, indices: Sequence[int]) -> RowBatch:
        """The records at these places, in this order."""
        values, stamps, keys = self.values, self.timestamps, self.keys
        return RowBatch(
            [values[index] for index in indices],
            None if stamps is None else [stamps[index] for index in indices],
            None if keys is None else [keys[index] for index in indices],
        )

    def rows(self) -> RowBatch:
        """The batch itself."""
        return self

    def stamped(self, timestamps: list[int] | None) -> RowBatch:
        """The same records with other timestamps."""
        return RowBatch(self.values, timestamps, self.keys)

    def __repr__(self) -> str:
        return f"RowBatch({self.values!r}, {self.timestamps!r}, {self.keys!r})"


class _Mark:
    """A named constant that stays itself when pickled."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


IDLE: Final = _Mark("IDLE")
"""The channel has nothing to say for now: its watermark does not hold others back."""

ACTIVE: Final = _Mark("ACTIVE")
"""The channel speaks again."""

END: Final = _Mark("END")
"""Nothing will ever come on this channel again."""

# An entry of a chunk: rows as (values, timestamps, keys), columns as bytes, a watermark as int, or one of the marks.
Entry = Any
