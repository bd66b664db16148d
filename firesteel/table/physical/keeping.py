"""What the stateful operators of tables share: how they emit, and how long they keep what they know of a key."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from firesteel.operators import KeyedStateBackend, MapTable, Operator, RowBatch, ValueTable, map_table, value_table

__all__ = ["ExpiringMaps", "ExpiringValues", "TableOperator"]

_SWEPT_PER_EPOCH = 1000
"""So many keys are looked at for expired state at the end of an epoch."""


class TableOperator(Operator):
    """An operator on changes ``(kind, row)``. In batch mode, too, it has its input as it comes, with watermarks."""

    takes_sorted_input = False

    def open(self) -> None:
        """Begin with nothing to emit."""
        self._changes: list[Any] = []
        self._kept: list[ExpiringMaps | ExpiringValues] = []

    @property
    def state(self) -> KeyedStateBackend:
        """The keyed state."""
        backend = self.context.keyed_state
        assert backend is not None, "the stream has to be keyed"
        return backend

    def flush(self) -> None:
        """Emit the changes that were gathered."""
        changes, self._changes = self._changes, []
        self.output.emit(RowBatch(changes))

    def maps(self, name: str, ttl: int = 0) -> ExpiringMaps:
        """A state with a map per key, of which entries not written for `ttl` milliseconds are forgotten; 0: none."""
        made = ExpiringMaps(self, name, ttl)
        self._kept.append(made)
        return made

    def values(self, name: str, ttl: int = 0) -> ExpiringValues:
        """A state with a value per key, forgotten if it was not written for `ttl` milliseconds; 0: never."""
        made = ExpiringValues(self, name, ttl)
        self._kept.append(made)
        return made

    def end_epoch(self) -> None:
        """Look at some of the state for what has expired."""
        for each in self._kept:
            each.sweep()


class _Sweep:
    """Goes over the keys of a table, a part of them each time, round and round."""

    def __init__(self) -> None:
        self._round: Iterator[Any] = iter(())

    def next_keys(self, table: MapTable | ValueTable) -> list[Any]:
        keys = list(islice(self._round, _SWEPT_PER_EPOCH))
        if not keys:
            self._round = iter(list(table.entries))
        return keys


class ExpiringMaps:
    """A map per key. With a time to live, every entry has the time at which it was written beside it."""

    def __init__(self, operator: TableOperator, name: str, ttl: int) -> None:
        self._table = map_table(operator.state, name, expires=bool(ttl))
        self._clock, self._ttl = operator.context.clock, ttl
        self._sweep = _Sweep()

    def of(self, key: Any) -> dict[Any, Any]:
        """What is there for a key. It is for reading, and only until something is put."""
        found = self._table.entries.get(key)
        if found is None:
            return {}
        if not self._ttl:
            return found
        horizon = self._clock.now - self._ttl
        return {name: value for name, (value, stamp) in found.items() if stamp > horizon}

    def get(self, key: Any, name: Any) -> Any:
        """One entry; None if it is not there."""
        found = self._table.entries.get(key)
        value = None if found is None else found.get(name)
        if value is None or not self._ttl:
            return value
        return value[0] if value[1] > self._clock.now - self._ttl else None

    def put(self, key: Any, name: Any, value: Any) -> None:
        """Write an entry."""
        self._table.put(key, name, (value, self._clock.now) if self._ttl else value)

    def remove(self, key: Any, name: Any) -> None:
        """Forget an entry."""
        self._table.remove_key(key, name)

    def clear(self, key: Any) -> None:
        """Forget all of a key."""
        self._table.remove(key)

    def sweep(self) -> None:
        """Remove what has expired under some of the keys."""
        if not self._ttl:
            return
        horizon = self._clock.now - self._ttl
        for key in self._sweep.next_keys(self._table):
            found = self._table.entries.get(key) or {}
            for name in [name for name, (_, stamp) in found.items() if stamp <= horizon]:
                self._table.remove_key(key, name)


class ExpiringValues:
    """A value per key. With a time to live, it has the time at which it was written beside it."""

    def __init__(self, operator: TableOperator, name: str, ttl: int) -> None:
        self._table = value_table(operator.state, name, expires=bool(ttl))
        self._clock, self._ttl = operator.context.clock, ttl
        self._sweep = _Sweep()

    def get(self, key: Any) -> Any:
        """The value; None if there is none."""
        found = self._table.entries.get(key)
        if found is None or not self._ttl:
            return found
        return found[0] if found[1] > self._clock.now - self._ttl else None

    def put(self, key: Any, value: Any) -> None:
        """Write the value."""
        self._table.put(key, (value, self._clock.now) if self._ttl else value)

    def remove(self, key: Any) -> None:
        """Forget the value."""
        self._table.remove(key)

    def sweep(self) -> None:
        """Remove what has expired under some of the keys."""
        if not self._ttl:
            return
        horizon = self._clock.now - self._ttl
        for key in self._sweep.next_keys(self._table):
            found = self._table.entries.get(key)
            if found is not None and found[1] <= horizon:
                self._table.remove(key)
