"""Map state: entries in use in memory, the others on disk, one RocksDB key per entry of a map.

On disk a map is a mark, ``m<key>``, that tells how many entries follow, and its entries, ``e<key><map key>``. With each
entry goes a number that grows in the order in which entries were first put.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from operator import itemgetter
from typing import Any

from firesteel.state.rocksdb.space import NUMBER, SAMPLE, Space, average_bytes, in_parts
from firesteel.state.rocksdb.views import ReadOnlyEntries
from firesteel.state.tables import ABSENT, Delta, MapTable
from firesteel.state.ttl import TtlPolicy, drop_expired

_MARK, _ENTRY = b"m", b"e"


class RocksMap(Mapping[Any, Any]):
    """One map: what has been used of it is in memory, the rest is fetched entry by entry."""

    __slots__ = (
        "_ordered",
        "_prefix",
        "_space",
        "gone",
        "items_here",
        "known_absent",
        "numbers",
        "on_disk",
        "unwritten",
        "wipe",
    )

    def __init__(self, space: Space, prefix: bytes, on_disk: int) -> None:
        self._space = space
        self._prefix = prefix
        self.items_here: dict[Any, Any] = {}
        self.numbers: dict[Any, int] = {}
        """The numbers of those entries in memory that are on disk too."""
        self.unwritten: set[Any] = set()
        self.gone: set[Any] = set()
        """Map keys that are still on disk but should not be."""
        self.known_absent: set[Any] = set()
        self.on_disk = on_disk
        """How many entries of the map are on disk, without those in ``gone``."""
        self.wipe = False
        """Everything that is on disk should not be there."""
        self._ordered = True
        """Whether what is in memory is in order: entries from disk come as they are asked for."""

    def __len__(self) -> int:
        return self.on_disk + len(self.items_here) - len(self.numbers)

    def all_here(self) -> bool:
        return self.on_disk == len(self.numbers)

    def get(self, key: Any, default: Any = None) -> Any:
        value = self.items_here.get(key, ABSENT)
        if value is ABSENT:
            value = self._fetch(key)
        return default if value is ABSENT else value

    def _fetch(self, key: Any) -> Any:
        if self.all_here() or key in self.gone or key in self.known_absent:
            return ABSENT
        space = self._space
        data = space.disk.get(self._prefix + space.keys.encode(key))
        if data is None:
            self.known_absent.add(key)
            return ABSENT
        return self._take_in(key, data, space.skip_key(data, 8))

    def _take_in(self, key: Any, data: bytes, start: int) -> Any:
        value = self._space.unpack(data, start)
        self.items_here[key] = value
        self.numbers[key] = NUMBER.unpack_from(data)[0]
        self._ordered = False
        return value

    def __getitem__(self, key: Any) -> Any:
        value = self.get(key, ABSENT)
        if value is ABSENT:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        return self.get(key, ABSENT) is not ABSENT

    def fetch_all(self) -> dict[Any, Any]:
        """All entries, in the order in which they were first put."""
        if not self.all_here():
            self._fetch_rest()
        if not self._ordered:
            self._put_in_order()
        return self.items_here

    def _fetch_rest(self) -> None:
        space, here = self._space, self.items_here
        for encoded, data in space.disk.scan(self._prefix):
            key, _, start = space.read_key(encoded, len(self._prefix), data, 8)
            if key not in here and key not in self.gone:
                self._take_in(key, data, start)

    def _put_in_order(self) -> None:
        here = self.items_here
        stored = sorted(self.numbers, key=self.numbers.__getitem__)
        new = [key for key in here if key not in self.numbers]
        self.items_here = {key: here[key] for key in (*stored, *new)}
        self._ordered = True

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fetch_all())

    def items(self) -> Any:
        return self.fetch_all().items()

    def values(self) -> Any:
        return self.fetch_all().values()

    def put(self, key: Any, value: Any) -> None:
        """Set an entry."""
        if key not in self.items_here:
            self._fetch(key)  # its place in the order has to be known
        self.items_here[key] = value
        self.unwritten.add(key)

    def remove(self, key: Any) -> bool:
        """Forget an entry; False if there was none."""
        if self.get(key, ABSENT) is ABSENT:
            return False
        del self.items_here[key]
        if self.numbers.pop(key, None) is not None:
            self.gone.add(key)
            self.on_disk -= 1
        return True

    def clear(self) -> None:
        """Forget all entries."""
        self.wipe = self.wipe or self.on_disk > 0 or bool(self.gone)
        self.items_here, self.numbers, self.on_disk, self._ordered = {}, {}, 0, True
        for part in (self.unwritten, self.gone, self.known_absent):
            part.clear()

    def to_write(self) -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
        """What has to be deleted from disk and put there, so that all of the map is on disk."""
        space, prefix = self._space, self._prefix
        deletes = [encoded for encoded, _ in space.disk.scan(prefix)] if self.wipe else []
        deletes.extend(prefix + space.keys.encode(key) for key in self.gone)
        puts: list[tuple[bytes, bytes]] = []
        for key, value in self.items_here.items():
            if key in self.unwritten or key not in self.numbers:
                number = self.numbers.get(key)
                packed = space.next_number() if number is None else NUMBER.pack(number)
                puts.append((prefix + space.keys.encode(key), packed + space.pack_key(key) + space.pack(value)))
        return deletes, puts


class RocksMapTable(MapTable):
    """Entry key -> map. Maps without entries are no entries."""

    def __init__(self, space: Space) -> None:
        super().__init__()
        self._space = space
        self._cache: dict[Any, RocksMap] = {}
        self._backed: set[Any] = set()
        """Keys of maps in memory for which the disk has a mark."""
        self._on_disk = 0
        """How many maps have a mark on disk."""
        self._live = 0
        """How many maps in memory have entries."""
        self._tracking = False
        self._changes = 0
        self.entries = ReadOnlyEntries(self._get, self._keys, self.__len__)  # type: ignore[assignment]

    def __len__(self) -> int:
        return self._live + self._on_disk - len(self._backed)

    # ---- reading -------------------------------------------------------------------------------------------------

    def _mark_key(self, key: Any) -> bytes:
        return self._space.prefix + _MARK + self._space.keys.encode(key)

    def _find(self, key: Any) -> RocksMap | None:
        found = self._cache.get(key)
        if found is None and self._on_disk:
            mark = self._space.disk.get(self._mark_key(key))
            if mark is not None:
                found = self._new(key, NUMBER.unpack_from(mark)[0])
                self._backed.add(key)
                self._live += 1
        return found

    def _new(self, key: Any, on_disk: int) -> RocksMap:
        prefix = self._space.prefix + _ENTRY + self._space.keys.encode(key)
        found = self._cache[key] = RocksMap(self._space, prefix, on_disk)
        return found

    def _get(self, key: Any) -> RocksMap | None:
        found = self._find(key)
        return found if found is not None and len(found) else None

    def _keys(self) -> Iterator[Any]:
        space, keys = self._space, [key for key, found in self._cache.items() if len(found)]
        if self._on_disk:
            prefix = space.prefix + _MARK
            for encoded, data in space.disk.scan(prefix):
                key, _, _ = space.read_key(encoded, len(prefix), data, 8)
                if key not in self._cache:
                    keys.append(key)
        return iter(space.by_bytes(keys))

    # ---- changing ------------------------------------------------------------------------------------------------

    def put(self, entry_key: Any, map_key: Any, value: Any) -> None:
        """Set one entry of the map."""
        found = self._find(entry_key)
        if found is None:
            found = self._new(entry_key, 0)
        if not len(found):
            self._live += 1
        found.put(map_key, value)
        self._changes += 1
        if self._tracking:
            self.dirty.setdefault(entry_key, {})[map_key] = None

    def remove_key(self, entry_key: Any, map_key: Any) -> None:
        """Forget one entry of the map; a map without entries is no entry."""
        found = self._get(entry_key)
        if found is not None and found.remove(map_key):
            self._changes += 1
            if not len(found):
                self._live -= 1
                self.note_removed(entry_key)
            else:
                self.note_removed_key(entry_key, map_key)

    def remove(self, entry_key: Any) -> None:
        """Forget the whole map."""
        found = self._get(entry_key)
        if found is not None:
            found.clear()
            self._live -= 1
            self._changes += 1
            self.note_removed(entry_key)

    def note_removed_key(self, entry_key: Any, map_key: Any) -> None:
        """Note that one entry of a map is gone, if anybody will ask."""
        if self._tracking:
            super().note_removed_key(entry_key, map_key)

    def note_removed(self, entry_key: Any) -> None:
        """Note that a map is gone, if anybody will ask."""
        if self._tracking:
            super().note_removed(entry_key)

    # ---- memory and disk -----------------------------------------------------------------------------------------

    def settle(self) -> int:
        """How many changes there were since the last call."""
        changes, self._changes = self._changes, 0
        return changes

    def weight(self) -> int:
        """Roughly how many bytes of memory the maps use."""
        cache = self._cache
        if not cache:
            return 0
        looked_at = [*islice(cache.values(), SAMPLE), *islice(reversed(cache.values()), SAMPLE)]
        sample = [item for found in looked_at for item in islice(found.items_here.items(), SAMPLE)]
        entries_per_map = sum(len(found.items_here) for found in looked_at) / len(looked_at)
        return int(len(cache) * (entries_per_map * average_bytes(sample) + 4 * average_bytes([])))

    def spill(self, fraction: float) -> None:
        """Move the maps that came into memory first to disk."""
        space = self._space
        deletes: list[bytes] = []
        puts: list[tuple[bytes, bytes]] = []
        for key in list(islice(self._cache, int(len(self._cache) * fraction))):
            found = self._cache.pop(key)
            map_deletes, map_puts = found.to_write()
            deletes.extend(map_deletes)
            puts.extend(map_puts)
            self._write_mark(key, len(found), deletes, puts)
        space.disk.write(deletes, puts)

    def _write_mark(self, key: Any, entries: int, deletes: list[bytes], puts: list[tuple[bytes, bytes]]) -> None:
        was_on_disk = key in self._backed
        self._backed.discard(key)
        self._on_disk += (entries > 0) - was_on_disk
        if entries:
            self._live -= 1
            puts.append((self._mark_key(key), NUMBER.pack(entries) + self._space.pack_key(key)))
        elif was_on_disk:
            deletes.append(self._mark_key(key))

    def compact(self, policy: TtlPolicy) -> None:
        """Drop entries of maps that have expired, in memory and on disk."""
        every, horizon = policy.entries_per_clock_read, policy.horizon()
        for count, key in enumerate(list(self._cache)):
            if count % every == 0:
                horizon = policy.horizon()
            if self._cache[key].all_here():
                drop_expired(self, key, horizon)
        if self._on_disk:
            self._compact_disk(policy)

    def _compact_disk(self, policy: TtlPolicy) -> None:
        space, horizon = self._space, policy.horizon()
        prefix = space.prefix + _ENTRY
        in_use = {space.keys.encode(key) for key in self._cache}
        gone: list[bytes] = []
        left: dict[bytes, tuple[int, int]] = {}
        for count, (encoded, data) in enumerate(space.disk.scan(prefix)):
            if count % policy.entries_per_clock_read == 0:
                horizon = policy.horizon()
            owner = encoded[len(prefix) : space.keys.decode(encoded, len(prefix))[1]]
            if owner in in_use:
                continue
            live = space.stamp(data, space.skip_key(data, 8)) > horizon
            alive, dead = left.get(owner, (0, 0))
            left[owner] = (alive + live, dead + (not live))
            if not live:
                gone.append(encoded)
        marks: list[tuple[bytes, bytes]] = []
        for owner, (alive, dead) in left.items():
            mark_key = space.prefix + _MARK + owner
            if not alive:
                gone.append(mark_key)
                self._on_disk -= 1
            elif dead:
                mark = space.disk.get(mark_key)
                assert mark is not None
                marks.append((mark_key, NUMBER.pack(alive) + mark[8:]))
        space.disk.write(gone, marks)

    # ---- snapshots -----------------------------------------------------------------------------------------------

    def start_tracking(self) -> None:
        """A full copy is taken: the next delta is what happens from now on."""
        self._tracking = True
        self.forget_deltas()

    def take_delta(self) -> Delta | None:
        """What has changed since the last call, or None; everything in the first call."""
        if not self._tracking:
            self._tracking = True
            return self.full() if len(self) else None
        return super().take_delta()

    def _all_entries(self) -> Iterator[tuple[Any, Any, Any]]:
        """All entries of all maps; maps on disk do not stay in memory."""
        if self._on_disk:
            yield from self._entries_on_disk()
        for key, found in list(self._cache.items()):
            for map_key, value in found.items():
                yield key, map_key, value

    def _entries_on_disk(self) -> Iterator[tuple[Any, Any, Any]]:
        """Entries of maps of which nothing is in memory: marks and entries have the same order, so one scan of each."""
        space, marks = self._space, self._space.prefix + _MARK
        stored = space.disk.scan(space.prefix + _ENTRY)
        entry = next(stored, None)
        for encoded, data in space.disk.scan(marks):
            key, _, _ = space.read_key(encoded, len(marks), data, 8)
            mine = space.prefix + _ENTRY + encoded[len(marks) :]
            entries: list[tuple[int, Any, Any]] = []
            while entry is not None and (entry[0] < mine or entry[0].startswith(mine)):
                if key not in self._cache and entry[0].startswith(mine):
                    map_key, _, start = space.read_key(entry[0], len(mine), entry[1], 8)
                    entries.append((NUMBER.unpack_from(entry[1])[0], map_key, space.unpack(entry[1], start)))
                entry = next(stored, None)
            for _, map_key, value in sorted(entries, key=itemgetter(0)):
                yield key, map_key, value

    def full_parts(self) -> Iterator[Delta]:
        """The whole table in several deltas; one at least."""
        for puts in in_parts(self._all_entries()):
            yield {"puts": puts, "removed_keys": [], "removed": []}

    def full(self) -> Delta:
        """The whole table as a delta from nothing."""
        return {"puts": list(self._all_entries()), "removed_keys": [], "removed": []}

    def apply(self, delta: Delta, owned: Callable[[Any], bool] | None) -> None:
        """Apply a stored delta. ``owned``: which entry keys belong to this subtask (None: all)."""
        self._tracking = False
        for entry_key in delta["removed"]:
            self.remove(entry_key)
        for entry_key, map_key in delta["removed_keys"]:
            self.remove_key(entry_key, map_key)
        for entry_key, map_key, value in delta["puts"]:
            if owned is None or owned(entry_key):
                self.put(entry_key, map_key, value)
        self._tracking = True
