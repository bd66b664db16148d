"""The backends that the contract is checked for, and a plug-in such as a user might write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firesteel.errors import StateMigrationError
from firesteel.state import codec
from firesteel.state.backend import HashMapBackend, KeyedStateBackend
from firesteel.state.rocksdb import RocksDBBackend
from firesteel.state.tables import TABLE_KINDS, Table
from firesteel.state.timers import TimerQueue
from firesteel.state.ttl import TtlPolicy, join_stamps, live_part, split_stamps, stored_kind, table_kind

GROUPS = 8


class ManualClock:
    """Processing time that is set by hand, and counts how often it was read."""

    def __init__(self, now: int = 0) -> None:
        self.time = now
        self.reads = 0

    @property
    def now(self) -> int:
        self.reads += 1
        return self.time

    @now.setter
    def now(self, value: int) -> None:
        self.time = value


class DictBackend(KeyedStateBackend):
    """A plug-in: dicts of tables, and not one line shared with the backends of the product."""

    def __init__(self, max_parallelism: int) -> None:
        super().__init__(max_parallelism)
        self.by_name: dict[str, tuple[Table, bool, bool]] = {}
        self.policies: dict[str, TtlPolicy] = {}
        self.queues: dict[str, TimerQueue] = {}

    def table(self, name: str, kind: str, namespaced: bool = False, expires: bool = False) -> Table:
        if name not in self.by_name:
            self.by_name[name] = (TABLE_KINDS[kind](), namespaced, expires)
            return self.by_name[name][0]
        table, _, has_stamps = self.by_name[name]
        if (table.kind, has_stamps) != (kind, expires):
            raise StateMigrationError(f"state {name!r} was of another kind, or differs in its time-to-live")
        return table

    def set_ttl(self, name: str, policy: TtlPolicy) -> None:
        self.policies[name] = policy

    def timers(self, name: str) -> TimerQueue:
        return self.queues.setdefault(name, TimerQueue())

    def entry_count(self) -> int:
        return sum(len(table) for table, _, _ in self.by_name.values())

    def _stored(self, name: str, delta: dict[str, Any]) -> tuple[str, bool, dict[str, Any]]:
        table, namespaced, expires = self.by_name[name]
        return (
            stored_kind(table.kind, expires),
            namespaced,
            split_stamps(table.kind, delta) if expires else delta,
        )

    def take_deltas(self) -> dict[str, tuple[str, bool, dict[str, Any]]]:
        found = {name: table.take_delta() for name, (table, _, _) in self.by_name.items()}
        deltas = {name: self._stored(name, delta) for name, delta in found.items() if delta is not None}
        timers = {name: queue.take_delta() for name, queue in self.queues.items()}
        return deltas | {name: ("timers", False, delta) for name, delta in timers.items() if delta is not None}

    def full_copy(self) -> dict[str, tuple[str, bool, dict[str, Any]]]:
        full = {}
        for name, (table, _, _) in self.by_name.items():
            delta = table.full()
            policy = self.policies.get(name)
            if policy is not None and policy.in_full_snapshot:
                delta = live_part(table.kind, delta, policy.horizon())
            full[name] = self._stored(name, delta)
        return full | {name: ("timers", False, queue.full()) for name, queue in self.queues.items()}

    def apply(self, deltas: dict[str, tuple[str, bool, dict[str, Any]]], groups: range | None) -> None:
        from firesteel.state.key_groups import key_group

        for name, (stored, namespaced, delta) in deltas.items():

            def owned(entry_key: Any, namespaced: bool = namespaced) -> bool:
                key = entry_key[0] if namespaced else entry_key
                return groups is None or key_group(key, self.max_parallelism) in groups

            if stored == "timers":
                self.timers(name).apply(delta, owned)
            else:
                kind, expires = table_kind(stored)
                delta = join_stamps(kind, delta) if expires else delta
                self.table(name, kind, namespaced, expires).apply(delta, owned)


class TightRocksDBBackend(RocksDBBackend):
    """RocksDB without any memory: whatever can be on disk is."""

    def __init__(self, max_parallelism: int) -> None:
        super().__init__(max_parallelism, memory=0)


@dataclass(frozen=True)
class Kind:
    """One of the backends under test."""

    name: str
    make: Callable[[int], KeyedStateBackend]

    def new(self) -> KeyedStateBackend:
        return self.make(GROUPS)

    def pause(self, backend: KeyedStateBackend) -> None:
        """What happens between two batches: backends with a disk may move entries to it."""
        if isinstance(backend, RocksDBBackend):
            backend.trim()


KINDS = (
    Kind("hashmap", HashMapBackend),
    Kind("rocksdb", RocksDBBackend),
    Kind("rocksdb-tight", TightRocksDBBackend),
    Kind("plug-in", DictBackend),
)


def stored_form(content: Any) -> Any:
    """What comes back of a snapshot that was written to a file."""
    return codec.loads(codec.dumps(content))
