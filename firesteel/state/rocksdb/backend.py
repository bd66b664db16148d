"""Keyed state that may be larger than memory.

State lives in a cache of Python objects, as with the hashmap backend. When the cache has grown beyond its share of the
memory, entries that came into it first are written to RocksDB and dropped; they come back when they are asked for. The
database is a private working copy: it is made when it is first needed, never synced, and deleted with the operator.
What makes state durable are checkpoints, whose content does not depend on the backend.

Entries leave memory only between two batches of records (or two timers), so that what an operator has got hold of
stays good until then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from firesteel.state.backend import TIMERS, Deltas, Frozen, TableBackend
from firesteel.state.rocksdb.disk import Disk
from firesteel.state.rocksdb.keys import KeyCodec
from firesteel.state.rocksdb.list_table import RocksListTable
from firesteel.state.rocksdb.map_table import RocksMapTable
from firesteel.state.rocksdb.space import Space, Spillable
from firesteel.state.rocksdb.timers import RocksTimerQueue
from firesteel.state.rocksdb.value_table import RocksValueTable
from firesteel.state.rocksdb.window_table import RocksWindowTable
from firesteel.state.tables import LIST, MAP, VALUE, Table
from firesteel.state.timers import TimerQueue
from firesteel.state.ttl import TtlPolicy
from firesteel.state.window_table import VALUE_BY_WINDOW

DEFAULT_MEMORY: Final = 512 << 20
_CACHE_SHARE = 0.75
"""Of the memory: for Python objects. The rest is for RocksDB."""
_RECORDS_BETWEEN_LOOKS = 4096
_LEAST_CHANGES = 10_000
"""Expired state is not looked for more often than once in so many changes."""

_KINDS: Final[dict[str, Callable[[Space], Table]]] = {
    VALUE: RocksValueTable,
    LIST: RocksListTable,
    MAP: RocksMapTable,
    VALUE_BY_WINDOW: RocksWindowTable,
}


class RocksDBBackend(TableBackend):
    """State in memory as far as it fits, the rest in RocksDB on the local disk.

    :param memory: How many bytes the state may take in memory.
    :param directory: Where to put the files; None means the system's temporary directory.
    :param incremental: Checkpoints hold changes only, so that the clean-up in full snapshots has nothing to do, as in
        Flink.
    """

    fork_safe = True
    takes_batches = True
    cleans_up_incrementally = False

    def __init__(
        self,
        max_parallelism: int,
        memory: int = DEFAULT_MEMORY,
        directory: str | None = None,
        incremental: bool = False,
    ) -> None:
        super().__init__(max_parallelism)
        self._cache_limit = int(memory * _CACHE_SHARE)
        self._disk = Disk(directory, memory - self._cache_limit)
        self._keys = KeyCodec()
        self._incremental = incremental
        self._spaces = 0
        self._records = 0
        self._changes = 0
        self._last_compaction: int | None = None

    @property
    def in_memory(self) -> bool:  # type: ignore[override]
        """Whether nothing has been moved to disk yet."""
        return not self._disk.is_open

    def freeze(self) -> Frozen:
        """Keep what is on disk as it is now; what is in memory a forked process has anyway."""
        return self._disk.freeze()

    def _space(self, expires: bool) -> Space:
        self._spaces += 1
        return Space(self._disk, self._keys, self._spaces, expires)

    def make_table(self, name: str, kind: str, expires: bool) -> Table:
        """A new table over memory and disk."""
        return _KINDS[kind](self._space(expires))

    def make_timers(self, name: str) -> TimerQueue:
        """A new timer queue over memory and disk."""
        return RocksTimerQueue(self._space(False), self.trim)

    def _parts(self) -> Iterator[Spillable]:
        yield from (_of(declared.table) for declared in self.tables.values())
        yield from (_of(queue) for queue in self.queues.values())

    # ---- memory --------------------------------------------------------------------------------------------------

    def begin_batch(self, keys: Sequence[Any]) -> None:
        """Make room, then bring the values of these keys into memory."""
        self._records += len(keys)
        if self._records >= _RECORDS_BETWEEN_LOOKS:
            self.trim()
        if self._disk.is_open:
            for declared in self.tables.values():
                if isinstance(declared.table, RocksValueTable) and not declared.namespaced:
                    declared.table.prefetch(keys)

    def trim(self) -> None:
        """Move what does not fit into memory to disk."""
        self._records = 0
        parts = list(self._parts())
        self._changes += sum(part.settle() for part in parts)
        weights = [part.weight() for part in parts]
        total = sum(weights)
        if total > self._cache_limit:
            fraction = 1 - self._cache_limit / total / 2  # to half of the limit: this must not happen at every look
            for part, weight in zip(parts, weights):
                if weight:
                    part.spill(fraction)

    def end_epoch(self) -> None:
        """Make room, and drop expired state if much has changed since the last time."""
        self.trim()
        policies = [declared.policy for declared in self.tables.values() if declared.policy is not None]
        if not any(policy.compaction for policy in policies):
            return
        now = self.clock.now
        if self._last_compaction is None:
            self._last_compaction = now
        period = min((policy.compaction_period for policy in policies if policy.compaction_period), default=0)
        overdue = period > 0 and now - self._last_compaction >= period
        if overdue or self._changes >= max(_LEAST_CHANGES, self.entry_count() // 2):
            self.compact()

    def compact(self) -> None:
        """Drop expired state of all tables whose settings allow it: what the filter of compactions does in Flink."""
        self._changes = 0
        self._last_compaction = self.clock.now
        for declared in self.tables.values():
            if declared.policy is not None and declared.policy.compaction:
                _of(declared.table).compact(declared.policy)

    # ---- snapshots -----------------------------------------------------------------------------------------------

    def forget_deltas(self) -> None:
        """A full copy is taken: from now on changes are noted."""
        for part in self._parts():
            part.start_tracking()

    def full_parts(self) -> Iterator[Deltas]:
        """Everything, a few thousand entries at a time."""
        for name, declared in self.tables.items():
            for delta in _of(declared.table).full_parts():
                yield {name: self.full_form(declared, delta)}
        for name, queue in self.queues.items():
            for delta in _of(queue).full_parts():
                yield {name: (TIMERS, False, delta)}

    def filters_full_copy(self, policy: TtlPolicy) -> bool:
        """Whether expired entries are left out of full copies."""
        return policy.in_full_snapshot and not self._incremental

    def apply(self, deltas: Deltas, groups: range | None) -> None:
        """Apply what was stored; keep only keys of these groups (None: all belong here)."""
        for name, delta in deltas.items():
            super().apply({name: delta}, groups)
            self.trim()

    def close(self) -> None:
        """Delete the files."""
        self._disk.close()


def _of(part: Table | TimerQueue) -> Any:
    """A table or queue as what :meth:`RocksDBBackend.make_table` and ``make_timers`` made it: a ``Spillable``."""
    return part
