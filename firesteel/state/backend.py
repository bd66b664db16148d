"""Keyed state of one operator subtask: tables and timers by name, and the key in whose name they are touched."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from firesteel.common import TypeInformation
from firesteel.errors import NoKeyError, StateMigrationError
from firesteel.state.key_groups import key_group
from firesteel.state.schema import Schema, difference, schema_of, text_of
from firesteel.state.tables import TABLE_KINDS, Delta, ListTable, MapTable, Table, ValueTable
from firesteel.state.timers import TimerQueue
from firesteel.state.ttl import Now, TtlPolicy, join_stamps, live_part, split_stamps, stored_kind, table_kind

TIMERS: Final = "timers"
_KEYS: Final = ""
"""In the declared types, the keys: no state has an empty name."""

# What is stored of a backend: name -> (kind, whether the entry keys are (key, namespace), delta). The kind is
# "value", "list" or "map", with "+ttl" behind it if the state has a time-to-live, or "timers".
Deltas = dict[str, tuple[str, bool, Delta]]


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

    __slots__ = ("key", "watchers")

    def __init__(self) -> None:
        self.key: Any = NO_KEY
        self.watchers: list[Callable[[], None]] = []

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call a function whenever the key is set.

        The object changes its class: the loops over records set ``key`` as a plain attribute, which must stay as quick
        as it is where nobody watches.
        """
        self.watchers.append(watcher)
        self.__class__ = _WatchedKeyScope


_key_slot: Any = vars(KeyScope)["key"]


class _WatchedKeyScope(KeyScope):
    """A scope that tells others when its key is set."""

    __slots__ = ()

    @property
    def key(self) -> Any:
        """The entry key."""
        return _key_slot.__get__(self)

    @key.setter
    def key(self, key: Any) -> None:
        _key_slot.__set__(self, key)
        for watcher in self.watchers:
            watcher()


@dataclass
class _Stopped:
    """A clock that stands still, until the backend is given the operator's."""

    now: int = 0


class Frozen:
    """State as it stands, for a forked process that reads it while the operator goes on.

    State in memory needs nothing: the fork has made a copy of it.
    """

    def enter(self) -> None:
        """Called in the forked process before it reads anything."""
        return None

    def release(self) -> None:
        """Nobody reads it any more. May be called more than once, and in either process."""
        return None


class KeyedStateBackend(ABC):
    """What an operator needs of a state backend. One instance per operator and subtask.

    A class of one's own is chosen with ``state.backend.type: module:Class`` and made with the number of key groups
    (``max_parallelism``) as its only argument.

    Deltas and full copies are plain data: ``{name: (kind, namespaced, delta)}``. Values in them are the live
    objects: whoever takes them serialises them before the operator goes on.
    """

    fork_safe = False
    """Whether the state can be read in a forked process, with the help of :meth:`freeze` if it is not all in memory."""
    in_memory = False
    """Whether a copy of everything may be made in memory; otherwise full snapshots are written part by part."""
    takes_batches = False
    """Whether :meth:`begin_batch` wants to be called."""
    cleans_up_incrementally = True
    """Whether the incremental clean-up of expired state makes sense: it does for state in memory."""

    def __init__(self, max_parallelism: int) -> None:
        self.scope = KeyScope()
        self.max_parallelism = max_parallelism
        self.clock: Now = _Stopped()
        self.types: dict[str, Schema] = {}
        """The declared type of each state that has one, by name: as stored, then as the program says."""

    def declare_type(self, name: str, type_info: TypeInformation | None) -> None:
        """The program has said what the state of that name holds; what is stored must fit it."""
        declared = schema_of(type_info)
        if declared is None:
            return
        problem = difference(self.types.get(name), declared)
        if problem is not None:
            raise StateMigrationError(
                f"state {name!r} was stored with the type {text_of(self.types[name])} and is now declared with the "
                f"type {text_of(declared)}: {problem}. Give the state another name, or convert it: read the savepoint "
                "with firesteel.state_processor and write a new one"
            )
        self.types[name] = declared

    def declare_key_type(self, declared: Schema) -> None:
        """The program has said what the keys are; those that are stored must be the same."""
        stored = self.types.get(_KEYS)
        problem = difference(stored, declared)
        if problem is not None:
            raise StateMigrationError(
                f"the keys of the stored state have the type {text_of(stored)} and are now declared with the type "
                f"{text_of(declared)}: {problem}. No key would find its state. Key by what it was keyed by, give the "
                "operator another uid, or convert its state with firesteel.state_processor"
            )
        if declared is not None:
            self.types[_KEYS] = declared

    @property
    def used(self) -> bool:
        """Whether the program has declared state or timers here."""
        return True

    @abstractmethod
    def table(self, name: str, kind: str, namespaced: bool = False, expires: bool = False) -> Table:
        """The table of that name, made if it is not there. Another kind than before is an error.

        :param namespaced: Entry keys are ``(key, namespace)`` rather than keys.
        :param expires: What is stored has stamps: see :mod:`firesteel.state.ttl`.
        """

    @abstractmethod
    def set_ttl(self, name: str, policy: TtlPolicy) -> None:
        """The program has said how long the state of that name lives."""

    @abstractmethod
    def timers(self, name: str) -> TimerQueue:
        """The timer queue of that name, made if it is not there."""

    @abstractmethod
    def entry_count(self) -> int:
        """How many entries all tables have together."""

    @abstractmethod
    def take_deltas(self) -> Deltas:
        """Everything that has changed since the last call; in the first call, everything."""

    def forget_deltas(self) -> None:
        """The same, where nobody wants to know: a full copy is taken instead."""
        self.take_deltas()

    @abstractmethod
    def full_copy(self) -> Deltas:
        """Everything, as a delta from nothing."""

    def full_parts(self) -> Iterable[Deltas]:
        """The same in parts, to be applied one after the other, for backends whose state may not fit into memory."""
        yield self.full_copy()

    @abstractmethod
    def apply(self, deltas: Deltas, groups: range | None) -> None:
        """Apply what was stored; keep only keys of these groups (None: all belong here)."""

    def freeze(self) -> Frozen:
        """This process is about to be forked, and the new one will read the state. Called only if ``fork_safe``."""
        return Frozen()

    def begin_batch(self, keys: Sequence[Any]) -> None:
        """Records with these keys are about to be processed; entries that were handed out are not used any more."""
        return None

    def end_epoch(self) -> None:
        """An epoch is over: the time for work that nobody waits for."""
        return None

    def close(self) -> None:
        """The operator is closed: give back files and memory. May be called more than once."""
        return None


@dataclass
class Declared:
    """A table and what was said when it was made."""

    table: Table
    namespaced: bool
    expires: bool
    policy: TtlPolicy | None = None

    @property
    def stored_kind(self) -> str:
        """What a snapshot calls it."""
        return stored_kind(self.table.kind, self.expires)

    def to_store(self, delta: Delta) -> Delta:
        """A delta as it is stored."""
        return split_stamps(self.table.kind, delta) if self.expires else delta


class TableBackend(KeyedStateBackend):
    """A backend made of tables and timer queues that note their own changes. Subclasses say what these are."""

    def __init__(self, max_parallelism: int) -> None:
        super().__init__(max_parallelism)
        self.tables: dict[str, Declared] = {}
        self.queues: dict[str, TimerQueue] = {}

    @property
    def used(self) -> bool:
        """Whether the program has declared state or timers here."""
        return bool(self.tables) or bool(self.queues)

    @abstractmethod
    def make_table(self, name: str, kind: str, expires: bool) -> Table:
        """A new table."""

    @abstractmethod
    def make_timers(self, name: str) -> TimerQueue:
        """A new timer queue."""

    def table(self, name: str, kind: str, namespaced: bool = False, expires: bool = False) -> Table:
        """The table of that name, made if it is not there. Another kind than before is an error."""
        found = self.tables.get(name)
        if found is None:
            found = self.tables[name] = Declared(self.make_table(name, kind, expires), namespaced, expires)
        elif found.table.kind != kind:
            raise StateMigrationError(f"state {name!r} is {found.table.kind} state and cannot be used as {kind} state")
        elif found.expires != expires:
            raise _ttl_switched(name, found.expires)
        return found.table

    def set_ttl(self, name: str, policy: TtlPolicy) -> None:
        """The program has said how long the state of that name lives."""
        self.tables[name].policy = policy

    def timers(self, name: str) -> TimerQueue:
        """The timer queue of that name, made if it is not there."""
        found = self.queues.get(name)
        if found is None:
            found = self.queues[name] = self.make_timers(name)
        return found

    def entry_count(self) -> int:
        """How many entries all tables have together."""
        return sum(len(declared.table) for declared in self.tables.values())

    def take_deltas(self) -> Deltas:
        """Everything that has changed since the last call; in the first call, everything."""
        deltas: Deltas = {}
        for name, declared in self.tables.items():
            delta = declared.table.take_delta()
            if delta is not None:
                deltas[name] = (declared.stored_kind, declared.namespaced, declared.to_store(delta))
        for name, queue in self.queues.items():
            delta = queue.take_delta()
            if delta is not None:
                deltas[name] = (TIMERS, False, delta)
        return deltas

    def full_copy(self) -> Deltas:
        """Everything, as a delta from nothing; without what has expired, if the state's settings say so."""
        full: Deltas = {}
        for name, declared in self.tables.items():
            full[name] = self.full_form(declared, declared.table.full())
        full.update((name, (TIMERS, False, queue.full())) for name, queue in self.queues.items())
        return full

    def full_form(self, declared: Declared, delta: Delta) -> tuple[str, bool, Delta]:
        """A full delta of a table as it is stored."""
        if declared.policy is not None and self.filters_full_copy(declared.policy):
            delta = live_part(declared.table.kind, delta, declared.policy.horizon())
        return declared.stored_kind, declared.namespaced, declared.to_store(delta)

    def filters_full_copy(self, policy: TtlPolicy) -> bool:
        """Whether expired entries are left out of full copies."""
        return policy.in_full_snapshot

    def apply(self, deltas: Deltas, groups: range | None) -> None:
        """Apply what was stored; keep only keys of these groups (None: all belong here)."""
        for name, (stored, namespaced, delta) in deltas.items():
            owned = self._owned(groups, namespaced)
            if stored == TIMERS:
                self.timers(name).apply(delta, owned)
            else:
                kind, expires = table_kind(stored)
                table = self.table(name, kind, namespaced, expires)
                table.apply(join_stamps(kind, delta) if expires else delta, owned)

    def _owned(self, groups: range | None, namespaced: bool) -> Callable[[Any], bool] | None:
        if groups is None:
            return None
        maximum = self.max_parallelism
        if namespaced:
            return lambda entry_key: key_group(entry_key[0], maximum) in groups
        return lambda key: key_group(key, maximum) in groups


class HashMapBackend(TableBackend):
    """State as Python objects in dicts. The fastest; bounded by memory."""

    fork_safe = True
    in_memory = True

    def make_table(self, name: str, kind: str, expires: bool) -> Table:
        """A new table in memory."""
        return TABLE_KINDS[kind]()

    def make_timers(self, name: str) -> TimerQueue:
        """A new timer queue in memory."""
        return TimerQueue()


def _ttl_switched(name: str, stored_with_ttl: bool) -> StateMigrationError:
    before, after = ("with", "without") if stored_with_ttl else ("without", "with")
    return StateMigrationError(
        f"state {name!r} was stored {before} a time-to-live and is now declared {after} one. That cannot be changed "
        "for state that exists: give the state another name, or go back to how it was"
    )


def value_table(backend: KeyedStateBackend, name: str, namespaced: bool = False, expires: bool = False) -> ValueTable:
    """The value table of that name."""
    table = backend.table(name, ValueTable.kind, namespaced, expires)
    assert isinstance(table, ValueTable)
    return table


def list_table(backend: KeyedStateBackend, name: str, namespaced: bool = False, expires: bool = False) -> ListTable:
    """The list table of that name."""
    table = backend.table(name, ListTable.kind, namespaced, expires)
    assert isinstance(table, ListTable)
    return table


def map_table(backend: KeyedStateBackend, name: str, namespaced: bool = False, expires: bool = False) -> MapTable:
    """The map table of that name."""
    table = backend.table(name, MapTable.kind, namespaced, expires)
    assert isinstance(table, MapTable)
    return table
