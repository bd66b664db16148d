"""Value state: a cache of entries in memory, the others on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Any

from firesteel.state.rocksdb.space import SAMPLE, Space, average_bytes, in_parts
from firesteel.state.tables import ABSENT, Delta, ValueTable
from firesteel.state.ttl import TtlPolicy, drop_expired

_READ_AT_ONCE = 2000
_first = itemgetter(0)


class _Entries(MutableMapping[Any, Any]):
    """All entries of a table, wherever they are: what handles and operators see as ``entries``."""

    __slots__ = ("_cache", "_get_cached", "_table")

    def __init__(self, table: RocksValueTable) -> None:
        self._table = table
        self._cache = table.cache
        self._get_cached = table.cache.get

    def get(self, key: Any, default: Any = None) -> Any:
        value = self._get_cached(key, ABSENT)
        if value is ABSENT:
            value = self._table.load(key)
            if value is ABSENT:
                return default
        return value

    def __getitem__(self, key: Any) -> Any:
        value = self.get(key, ABSENT)
        if value is ABSENT:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        return self.get(key, ABSENT) is not ABSENT

    def __setitem__(self, key: Any, value: Any) -> None:
        if key not in self._cache:
            self._table.load(key)  # whether it is on disk has to be known
        self._cache[key] = value

    def __delitem__(self, key: Any) -> None:
        if not self._table.drop(key):
            raise KeyError(key)

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._table.all_items())

    def __len__(self) -> int:
        return len(self._table)

    def items(self) -> Any:
        return self._table.all_items()

    def values(self) -> Any:
        return (value for _, value in self._table.all_items())


class RocksValueTable(ValueTable):
    """Entry key -> one value.

    ``cache`` holds live objects. Every key in it is either in ``_backed`` (the disk has it too) or known not to be on
    disk, so that entries can be counted. What was changed is written when it leaves the cache, not before.
    """

    def __init__(self, space: Space) -> None:
        super().__init__()
        self.cache: dict[Any, Any] = {}
        self.batch_entries = self.cache
        self.entries = _Entries(self)  # type: ignore[assignment]
        self._space = space
        self._backed: set[Any] = set()
        self._absent: set[Any] = set()
        """Keys that are neither in the cache nor on disk, as far as that is known."""
        self._deleted: set[Any] = set()
        """Keys that are still on disk but should not be."""
        self._unwritten: set[Any] = set()
        self._changed: set[Any] = set()
        self._on_disk = 0
        self._tracking = False

    def __len__(self) -> int:
        return len(self.cache) - len(self._backed) + self._on_disk

    # ---- reading -------------------------------------------------------------------------------------------------

    def _disk_key(self, key: Any) -> bytes:
        return self._space.prefix + self._space.keys.encode(key)

    def load(self, key: Any) -> Any:
        """Bring an entry that is not in the cache into it; ABSENT if there is none."""
        if not self._on_disk or key in self._absent or key in self._deleted:
            return ABSENT
        return self._take_in(key, self._space.disk.get(self._disk_key(key)))

    def _take_in(self, key: Any, data: bytes | None) -> Any:
        if data is None:
            self._absent.add(key)
            return ABSENT
        value = self._space.unpack(data, self._space.skip_key(data))
        self.cache[key] = value
        self._backed.add(key)
        return value

    def prefetch(self, keys: Iterable[Any]) -> None:
        """Bring entries into the cache with one read. Afterwards ``batch_entries`` answers for these keys."""
        if not self._on_disk:
            return
        cache, absent, deleted = self.cache, self._absent, self._deleted
        wanted = [key for key in set(keys) if key not in cache and key not in absent and key not in deleted]
        encoded = sorted(zip(map(self._disk_key, wanted), wanted), key=_first)  # neighbours are read together
        found = self._space.disk.get_many([disk_key for disk_key, _ in encoded])
        for (_, key), data in zip(encoded, found):
            self._take_in(key, data)

    def all_items(self) -> Iterator[tuple[Any, Any]]:
        """All entries, in the order of the keys' bytes: what is in memory just now makes no difference."""
        in_memory = [(self._disk_key(key), key, value) for key, value in self.cache.items()]
        in_memory.sort(key=_first)
        for _, key, value in merge(in_memory, self._items_on_disk(), key=_first):
            yield key, value

    def _items_on_disk(self) -> Iterator[tuple[bytes, Any, Any]]:
        """Bytes of the key, key and value of the entries that are not in memory."""
        if self._on_disk:
            space, known = self._space, self.cache.keys() | self._deleted
            for encoded, data in space.disk.scan(space.prefix):
                key, _, start = space.read_key(encoded, len(space.prefix), data)
                if key not in known:
                    yield encoded, key, space.unpack(data, start)

    # ---- changing ------------------------------------------------------------------------------------------------

    def put(self, entry_key: Any, value: Any) -> None:
        """Set the value of an entry."""
        self.entries[entry_key] = value
        self.dirty.add(entry_key)

    def remove(self, entry_key: Any) -> None:
        """Forget an entry."""
        if self.drop(entry_key):
            self.dirty.add(entry_key)

    def drop(self, entry_key: Any) -> bool:
        """Take an entry out without noting it as a change; False if there was none."""
        if entry_key not in self.cache and self.load(entry_key) is ABSENT:
            return False
        del self.cache[entry_key]
        if entry_key in self._backed:
            self._backed.discard(entry_key)
            self._deleted.add(entry_key)
            self._on_disk -= 1
        return True

    # ---- memory and disk -----------------------------------------------------------------------------------------

    def settle(self) -> int:
        """Note what handles have marked; returns how many entries that is."""
        changed = len(self.dirty)
        if changed:
            self._unwritten |= self.dirty
            if self._tracking:
                self._changed |= self.dirty
            self.dirty.clear()
        return changed

    def weight(self) -> int:
        """Roughly how many bytes of memory the cache uses."""
        cache = self.cache
        sample = [*islice(cache.items(), SAMPLE), *islice(reversed(cache.items()), SAMPLE)]
        return len(cache) * average_bytes(sample) if cache else 0

    def spill(self, fraction: float) -> None:
        """Move the part of the cache that came into it first to disk."""
        self.settle()
        space, cache, unwritten, backed = self._space, self.cache, self._unwritten, self._backed
        victims = list(islice(cache, int(len(cache) * fraction)))
        puts = [
            (self._disk_key(key), space.pack_key(key) + space.pack(cache[key]))
            for key in victims
            if key in unwritten or key not in backed
        ]
        space.disk.write(list(map(self._disk_key, self._deleted)), puts)
        self._on_disk += sum(key not in backed for key in victims)
        for key in victims:
            del cache[key]
        self._unwritten.difference_update(victims)
        self._unwritten.intersection_update(cache)
        self._backed.difference_update(victims)
        self._deleted.clear()
        self._absent.clear()

    def compact(self, policy: TtlPolicy) -> None:
        """Drop what has expired, in memory and on disk."""
        every, horizon = policy.entries_per_clock_read, policy.horizon()
        for count, key in enumerate(list(self.cache)):
            if count % every == 0:
                horizon = policy.horizon()
            drop_expired(self, key, horizon)
        space, gone = self._space, []
        for count, (encoded, data) in enumerate(space.disk.scan(space.prefix) if self._on_disk else ()):
            if count % every == 0:
                horizon = policy.horizon()
            key, _, start = space.read_key(encoded, len(space.prefix), data)
            if space.stamp(data, start) <= horizon and key not in self.cache and key not in self._deleted:
                gone.append(encoded)
        space.disk.write(gone, ())
        self._on_disk -= len(gone)

    # ---- snapshots -----------------------------------------------------------------------------------------------

    def start_tracking(self) -> None:
        """A full copy is taken: the next delta is what happens from now on."""
        self.settle()
        self._tracking = True
        self._changed.clear()

    def take_delta(self) -> Delta | None:
        """What has changed since the last call, or None; everything in the first call."""
        self.settle()
        if not self._tracking:
            self._tracking = True
            return self.full() if len(self) else None
        if not self._changed:
            return None
        puts: list[tuple[Any, Any]] = []
        removed: list[Any] = []
        changed = list(self._changed)
        self._changed.clear()
        for start in range(0, len(changed), _READ_AT_ONCE):
            for key, value in self._current(changed[start : start + _READ_AT_ONCE]):
                if value is ABSENT:
                    removed.append(key)
                else:
                    puts.append((key, value))
        return {"puts": puts, "removed": removed}

    def _current(self, keys: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """The values of keys, without bringing them into the cache."""
        cache, space = self.cache, self._space
        elsewhere = [key for key in keys if key not in cache]
        yield from ((key, cache[key]) for key in keys if key in cache)
        known_gone = self._deleted | self._absent
        on_disk = [key for key in elsewhere if key not in known_gone] if self._on_disk else []
        data_of = dict(zip(on_disk, space.disk.get_many(list(map(self._disk_key, on_disk)))))
        for key in elsewhere:
            data = data_of.get(key)
            yield key, ABSENT if data is None else space.unpack(data, space.skip_key(data))

    def full_parts(self) -> Iterator[Delta]:
        """The whole table in several deltas; one at least."""
        for puts in in_parts(self.all_items()):
            yield {"puts": puts, "removed": []}

    def full(self) -> Delta:
        """The whole table as a delta from nothing."""
        return {"puts": list(self.all_items()), "removed": []}

    def apply(self, delta: Delta, owned: Callable[[Any], bool] | None) -> None:
        """Apply a stored delta. ``owned``: which entry keys belong to this subtask (None: all)."""
        self._tracking = True
        for key in delta["removed"]:
            self.drop(key)
        entries, written = self.entries, self._unwritten
        for key, value in delta["puts"]:
            if owned is None or owned(key):
                entries[key] = value
                written.add(key)
