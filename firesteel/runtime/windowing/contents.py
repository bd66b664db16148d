"""What is kept per key and window: all records, all records with their timestamps, or one folded value.

An ``entry_key`` is ``(key, namespace of the window)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Final

from firesteel.model.evictors import TimestampedValue
from firesteel.model.functions import AggregateFunction, ReduceFunction
from firesteel.model.functions.adapt import bound_call
from firesteel.state.backend import KeyedStateBackend, list_table, value_table
from firesteel.state.tables import ABSENT

CONTENTS = "_window/contents"


def _not_for_this_function(*arguments: Any) -> Any:
    raise TypeError("reduce and aggregate functions have different calls")


class Fold:
    """A reduce or aggregate function, taken apart into the calls that are made per record.

    :ivar reducing: Whether it is a reduce function: only ``reduce`` and ``merge`` are of use then, else all but
        ``reduce``.
    """

    def __init__(self, function: ReduceFunction | AggregateFunction | None) -> None:
        self.reducing = isinstance(function, ReduceFunction)
        self.reduce = self.create = self.add = self.result = self.merge = _not_for_this_function
        if isinstance(function, ReduceFunction):
            self.reduce = bound_call(function, "reduce")
            self.merge = self.reduce
        elif function is not None:
            self.create = bound_call(function, "create_accumulator")
            self.add = bound_call(function, "add")
            self.result = bound_call(function, "get_result")
            self.merge = function.merge

    def step(self, accumulator: Any, value: Any) -> Any:
        """Fold one value in; ``accumulator`` is ABSENT for the first one."""
        if self.reducing:
            return value if accumulator is ABSENT else self.reduce(accumulator, value)
        return self.add(value, self.create() if accumulator is ABSENT else accumulator)

    def result_of(self, accumulator: Any) -> Any:
        """The result that an accumulator stands for."""
        return accumulator if self.reducing else self.result(accumulator)

    def over(self, values: Iterable[Any]) -> tuple[Any, ...]:
        """The result over all values, as the only element; no element where nothing can be reduced."""
        accumulator: Any = ABSENT if self.reducing else self.create()
        for value in values:
            accumulator = self.step(accumulator, value)
        return () if accumulator is ABSENT else (self.result_of(accumulator),)


NO_FOLD: Final = Fold(None)
"""Stands where there is no fold: none of its calls can be made."""


class Contents(ABC):
    """The contents of all windows of one operator."""

    @abstractmethod
    def add(self, entry_key: Any, value: Any, timestamp: int | None) -> None:
        """Take one record."""

    @abstractmethod
    def get(self, entry_key: Any) -> Sequence[Any] | None:
        """What the window function is given; None if the window is empty."""

    @abstractmethod
    def clear(self, entry_key: Any) -> None:
        """Forget the contents of a window."""

    @abstractmethod
    def merge(self, target: Any, sources: list[Any]) -> None:
        """Put the contents of several windows together."""


class AllRecords(Contents):
    """Keeps every record."""

    def __init__(self, backend: KeyedStateBackend) -> None:
        self._table = list_table(backend, CONTENTS, namespaced=True)

    def add(self, entry_key: Any, value: Any, timestamp: int | None) -> None:
        """Append the record."""
        self._table.append(entry_key, (value,))

    def get(self, entry_key: Any) -> Sequence[Any] | None:
        """A copy of the records, in the order in which they came."""
        records = self._table.entries.get(entry_key)
        return None if records is None else list(records)

    def clear(self, entry_key: Any) -> None:
        """Forget the records."""
        self._table.remove(entry_key)

    def merge(self, target: Any, sources: list[Any]) -> None:
        """Append the records of the sources to those of the target."""
        for source in sources:
            records = self._table.entries.get(source)
            if records:
                self._table.append(target, records)
                self._table.remove(source)


class TimestampedRecords(AllRecords):
    """Keeps every record with its timestamp, for evictors."""

    def add(self, entry_key: Any, value: Any, timestamp: int | None) -> None:
        """Append the record."""
        self._table.append(entry_key, ((value, timestamp),))

    def get(self, entry_key: Any) -> Sequence[Any] | None:
        """The records as evictors see them: a list of the caller's own."""
        records = self._table.entries.get(entry_key)
        return None if records is None else [TimestampedValue(*record) for record in records]

    def keep(self, entry_key: Any, records: list[TimestampedValue]) -> None:
        """What the evictor has left."""
        if records:
            self._table.put(entry_key, [tuple(record) for record in records])
        else:
            self._table.remove(entry_key)


class FoldedValue(Contents):
    """Keeps one value or accumulator."""

    def __init__(self, backend: KeyedStateBackend, fold: Fold) -> None:
        self._table = value_table(backend, CONTENTS, namespaced=True)
        self._fold = fold

    def add(self, entry_key: Any, value: Any, timestamp: int | None) -> None:
        """Fold the record in."""
        table = self._table
        table.put(entry_key, self._fold.step(table.entries.get(entry_key, ABSENT), value))

    def get(self, entry_key: Any) -> Sequence[Any] | None:
        """The result, as the only element. A result of None counts as an empty window, as in Flink."""
        accumulator = self._table.entries.get(entry_key, ABSENT)
        if accumulator is ABSENT:
            return None
        result = self._fold.result_of(accumulator)
        return None if result is None else (result,)

    def clear(self, entry_key: Any) -> None:
        """Forget the value."""
        self._table.remove(entry_key)

    def merge(self, target: Any, sources: list[Any]) -> None:
        """Merge the values of the sources into that of the target."""
        table = self._table
        for source in sources:
            value = table.entries.get(source, ABSENT)
            if value is not ABSENT:
                table.remove(source)
                current = table.entries.get(target, ABSENT)
                table.put(target, value if current is ABSENT else self._fold.merge(current, value))
