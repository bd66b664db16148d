"""Keyed state of one operator subtask: tables and timers by name, and the key in whose name they are touched."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, NoReturn

from firesteel.errors import NoKeyError, StateMigrationError
from firesteel.state.key_groups import key_group
from firesteel.state.tables import TABLE_KINDS, Change, ListTable, MapTable, Table, ValueTable
from firesteel.state.timers import TimerQueue


class _NoKey:
    """Stands where a key should be. Any use of it as a key of a dict is the error the user has to see."""

    def __hash__(self) -> NoReturn:
        raise NoKeyError(
            "no key in context: keyed state and timers can be used only while a record or a timer of a keyed "
            "stream is being processed, not in open() or close()"
        )

    def __repr__(self) -> str:
        return "NO_KEY"


NO_KEY: Final = _NoKey()


class KeyScope:
    """The entry key that state handles use right now. The operator sets it before each call of user code."""

    __slots__ = ("key",)

    def __init__(self) -> None:
        self.key: Any = NO_KEY


class KeyedStateBackend(ABC):
    """What an operator needs of a state backend. One instance per operator and subtask.

    Changes and full copies are plain data: ``{name: (kind, namespaced, change)}``. Values in them are the live
    objects: whoever takes them serialises them before the operator goes on.
    """

    def __init__(self, max_parallelism: int) -> None:
        self.scope = KeyScope()
        self.max_parallelism = max_parallelism

    @abstractmethod
    def table(self, name: str, kind: str, namespaced: bool = False) -> Table:
        """The table of that name, made if it is not there. Another kind than before is an error."""

    @abstractmethod
    def timers(self, name: str) -> TimerQueue:
        """The timer queue of that name, made if it is not there."""

    @abstractmethod
    def entry_count(self) -> int:
        """How many entries all tables have together."""

    @abstractmethod
    def take_changes(self) -> dict[str, tuple[str, bool, Change]]:
        """Everything that has changed since the last call."""

    @abstractmethod
    def full_copy(self) -> dict[str, tuple[str, bool, Change]]:
        """Everything, as a change from nothing."""

    @abstractmethod
    def apply(self, changes: dict[str, tuple[str, bool, Change]], groups: range | None) -> None:
        """Apply what was stored; keep only keys of these groups (None: all belong here)."""


class HashMapBackend(KeyedStateBackend):
    """State as Python objects in dicts. The fastest; bounded by memory."""

    def __init__(self, max_parallelism: int) -> None:
        super().__init__(max_parallelism)
        self._tables: dict[str, tuple[Table, bool]] = {}
        self._timers: dict[str, TimerQueue] = {}

    def table(self, name: str, kind: str, namespaced: bool = False) -> Table:
        """The table of that name, made if it is not there. Another kind than before is an error."""
        found = self._tables.get(name)
        if found is None:
            table: Table = TABLE_KINDS[kind]()
            self._tables[name] = (table, namespaced)
            return table
        if found[0].kind != kind:
            raise StateMigrationError(f"state {name!r} is {found[0].kind} state and cannot be used as {kind} state")
        return found[0]

    def timers(self, name: str) -> TimerQueue:
        """The timer queue of that name, made if it is not there."""
        return self._timers.setdefault(name, TimerQueue())

    def entry_count(self) -> int:
        """How many entries all tables have together."""
        return sum(len(table) for table, _ in self._tables.values())

    def take_changes(self) -> dict[str, tuple[str, bool, Change]]:
        """Everything that has changed since the last call."""
        changes: dict[str, tuple[str, bool, Change]] = {}
        for name, (table, namespaced) in self._tables.items():
            change = table.take_change()
            if change is not None:
                changes[name] = (table.kind, namespaced, change)
        for name, queue in self._timers.items():
            change = queue.take_change()
            if change is not None:
                changes[name] = ("timers", False, change)
        return changes

    def full_copy(self) -> dict[str, tuple[str, bool, Change]]:
        """Everything, as a change from nothing."""
        full: dict[str, tuple[str, bool, Change]] = {
            name: (table.kind, namespaced, table.full()) for name, (table, namespaced) in self._tables.items()
        }
        full.update((name, ("timers", False, queue.full())) for name, queue in self._timers.items())
        return full

    def apply(self, changes: dict[str, tuple[str, bool, Change]], groups: range | None) -> None:
        """Apply what was stored; keep only keys of these groups (None: all belong here)."""
        for name, (kind, namespaced, change) in changes.items():
            if kind == "timers":
                self.timers(name).apply(change, self._owned(groups, False))
            else:
                self.table(name, kind, namespaced).apply(change, self._owned(groups, namespaced))

    def _owned(self, groups: range | None, namespaced: bool) -> Callable[[Any], bool] | None:
        if groups is None:
            return None
        maximum = self.max_parallelism
        if namespaced:
            return lambda entry_key: key_group(entry_key[0], maximum) in groups
        return lambda key: key_group(key, maximum) in groups


def value_table(backend: KeyedStateBackend, name: str, namespaced: bool = False) -> ValueTable:
    """The value table of that name."""
    table = backend.table(name, ValueTable.kind, namespaced)
    assert isinstance(table, ValueTable)
    return table


def list_table(backend: KeyedStateBackend, name: str, namespaced: bool = False) -> ListTable:
    """The list table of that name."""
    table = backend.table(name, ListTable.kind, namespaced)
    assert isinstance(table, ListTable)
    return table


def map_table(backend: KeyedStateBackend, name: str, namespaced: bool = False) -> MapTable:
    """The map table of that name."""
    table = backend.table(name, MapTable.kind, namespaced)
    assert isinstance(table, MapTable)
    return table
