"""List state: lists in use in memory, the others on disk, one RocksDB key per element.

On disk a list is a mark, ``m<key>``, and its elements, ``e<key><number>``, whose numbers grow in the order of the list.
Appending to a list that is on disk reads the mark only; the new elements get larger numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from firesteel.state.rocksdb.space import PART, SAMPLE, Space, average_bytes
from firesteel.state.rocksdb.views import ReadOnlyEntries
from firesteel.state.tables import Delta, ListTable
from firesteel.state.ttl import TtlPolicy, drop_expired

_MARK, _ELEMENT = b"m", b"e"


class _List:
    """A list in memory, or the end of one whose beginning is on disk."""

    __slots__ = ("items", "on_disk", "stored", "whole", "wipe")

    def __init__(self, items: list[Any], on_disk: bool, stored: int, whole: bool) -> None:
        self.items = items
        self.on_disk = on_disk
        """The disk has a mark and elements of this list."""
        self.stored = stored
        """How many of the items, from the first on, are on disk."""
        self.whole = whole
        """False: there are elements on disk that come before the items."""
        self.wipe = False
        """What is on disk is not part of the list any more."""


class RocksListTable(ListTable):
    """Entry key -> list."""

    def __init__(self, space: Space) -> None:
        super().__init__()
        self._space = space
        self._cache: dict[Any, _List] = {}
        self._elements = 0
        """How many elements are in memory, roughly: for the estimate of memory."""
        self._deleted: set[Any] = set()
        """Keys whose lists are still on disk but should not be."""
        self._on_disk = 0
        self._only_in_memory = 0
        self._tracking = False
        self._replaced: dict[Any, None] = {}
        self._appended: dict[Any, list[Any]] = {}
        self._changes = 0
        self.entries = ReadOnlyEntries(self._get, self._keys, self.__len__)  # type: ignore[assignment]

    def __len__(self) -> int:
        return self._on_disk + self._only_in_memory

    # ---- reading -------------------------------------------------------------------------------------------------

    def _mark_key(self, key: Any) -> bytes:
        return self._space.prefix + _MARK + self._space.keys.encode(key)

    def _element_prefix(self, key: Any) -> bytes:
        return self._space.prefix + _ELEMENT + self._space.keys.encode(key)

    def _find(self, key: Any) -> _List | None:
        """What is known of a list, without reading its elements."""
        found = self._cache.get(key)
        if found is None and self._on_disk and key not in self._deleted:
            if self._space.disk.get(self._mark_key(key)) is None:
                return None
            found = self._cache[key] = _List([], True, 0, False)
        return found

    def _get(self, key: Any) -> list[Any] | None:
        found = self._find(key)
        if found is None:
            return None
        if not found.whole:
            stored = self._read(key)
            self._elements += len(stored)
            found.items = stored + found.items
            found.stored = len(stored)
            found.whole = True
        return found.items

    def _read(self, key: Any) -> list[Any]:
        space = self._space
        return [space.unpack(data) for _, data in space.disk.scan(self._element_prefix(key))]

    def _keys(self) -> Iterator[Any]:
        space, keys = self._space, list(self._cache)
        if self._on_disk:
            known = self._cache.keys() | self._deleted
            prefix = space.prefix + _MARK
            for encoded, data in space.disk.scan(prefix):
                key, _, _ = space.read_key(encoded, len(prefix), data)
                if key not in known:
                    keys.append(key)
        return iter(space.by_bytes(keys))

    def in_order(self, keys: Iterable[Any]) -> Iterable[Any]:
        """Keys in the order in which ``entries`` has them: that of their bytes."""
        return self._space.by_bytes(keys)

    # ---- changing ------------------------------------------------------------------------------------------------

    def append(self, entry_key: Any, values: Iterable[Any]) -> None:
        """Add to the end of the entry's list, without reading it."""
        found = self._find(entry_key) or self._new(entry_key)
        before = len(found.items)
        found.items.extend(values)
        self._elements += len(found.items) - before
        self._changes += 1
        if self._tracking and entry_key not in self._replaced:
            self._appended.setdefault(entry_key, []).extend(found.items[before:])

    def _new(self, entry_key: Any) -> _List:
        self._only_in_memory += 1
        found = self._cache[entry_key] = _List([], False, 0, True)
        return found

    def put(self, entry_key: Any, values: list[Any]) -> None:
        """Replace the entry's list."""
        found = self._find(entry_key) or self._new(entry_key)
        self._elements += len(values) - len(found.items)
        found.items, found.stored, found.whole, found.wipe = values, 0, True, found.on_disk
        self._note_replaced(entry_key)

    def remove(self, entry_key: Any) -> None:
        """Forget an entry."""
        if self._drop(entry_key):
            self._note_replaced(entry_key)

    def _drop(self, entry_key: Any) -> bool:
        found = self._find(entry_key)
        if found is None:
            return False
        del self._cache[entry_key]
        self._elements -= len(found.items)
        if found.on_disk:
            self._deleted.add(entry_key)
            self._on_disk -= 1
        else:
            self._only_in_memory -= 1
        return True

    def _note_replaced(self, entry_key: Any) -> None:
        self._changes += 1
        if self._tracking:
            self._replaced[entry_key] = None
            self._appended.pop(entry_key, None)

    # ---- memory and disk -----------------------------------------------------------------------------------------

    def settle(self) -> int:
        """How many changes there were since the last call."""
        changes, self._changes = self._changes, 0
        return changes

    def weight(self) -> int:
        """Roughly how many bytes of memory the lists use."""
        sample = [item for found in islice(self._cache.values(), SAMPLE) for item in found.items[:SAMPLE]]
        return self._elements * average_bytes(sample) + len(self._cache) * average_bytes([])

    def spill(self, fraction: float) -> None:
        """Move the lists that came into memory first to disk."""
        space = self._space
        deletes = [stored for key in self._deleted for stored in self._keys_on_disk(key)]
        puts: list[tuple[bytes, bytes]] = []
        for key in list(islice(self._cache, int(len(self._cache) * fraction))):
            found = self._cache.pop(key)
            self._elements -= len(found.items)
            if found.wipe:
                deletes.extend(self._keys_on_disk(key))
            if not found.on_disk or found.wipe:
                puts.append((self._mark_key(key), space.pack_key(key)))
            if not found.on_disk:
                self._on_disk += 1
                self._only_in_memory -= 1
            prefix = self._element_prefix(key)
            puts.extend((prefix + space.next_number(), space.pack(item)) for item in found.items[found.stored :])
        space.disk.write(deletes, puts)
        self._deleted.clear()

    def _keys_on_disk(self, key: Any) -> list[bytes]:
        elements = [encoded for encoded, _ in self._space.disk.scan(self._element_prefix(key))]
        return [self._mark_key(key), *elements]

    def compact(self, policy: TtlPolicy) -> None:
        """Drop elements that have expired, in memory and on disk."""
        every, horizon, count = policy.entries_per_clock_read, policy.horizon(), 0
        for key in list(self._cache):
            if self._cache[key].whole:
                if count % every == 0:
                    horizon = policy.horizon()
                count += 1
                drop_expired(self, key, horizon)
        if self._on_disk:
            self._compact_disk(policy)

    def _compact_disk(self, policy: TtlPolicy) -> None:
        space, horizon = self._space, policy.horizon()
        prefix = space.prefix + _ELEMENT
        gone: list[bytes] = []
        left: dict[bytes, bool] = {}
        for count, (encoded, data) in enumerate(space.disk.scan(prefix)):
            if count % policy.entries_per_clock_read == 0:
                horizon = policy.horizon()
            owner = encoded[len(prefix) : -8]
            live = space.stamp(data) > horizon
            left[owner] = left.get(owner, False) or live
            if not live:
                gone.append(encoded)
        in_use = {space.keys.encode(key) for key in (*self._cache, *self._deleted)}
        gone = [encoded for encoded in gone if encoded[len(prefix) : -8] not in in_use]
        empty = [owner for owner, alive in left.items() if not alive and owner not in in_use]
        space.disk.write([*gone, *(space.prefix + _MARK + owner for owner in empty)], ())
        self._on_disk -= len(empty)

    # ---- snapshots -----------------------------------------------------------------------------------------------

    def start_tracking(self) -> None:
        """A full copy is taken: the next delta is what happens from now on."""
        self._tracking = True
        self._replaced, self._appended = {}, {}

    def take_delta(self) -> Delta | None:
        """What has changed since the last call, or None; everything in the first call."""
        if not self._tracking:
            self._tracking = True
            return self.full() if len(self) else None
        if not self._replaced and not self._appended:
            return None
        puts: list[tuple[Any, Any]] = []
        removed: list[Any] = []
        for key in self._replaced:
            items = self._get(key)
            if items is None:
                removed.append(key)
            else:
                puts.append((key, list(items)))
        delta = {"puts": puts, "appended": list(self._appended.items()), "removed": removed}
        self._replaced, self._appended = {}, {}
        return delta

    def full_parts(self) -> Iterator[Delta]:
        """The whole table in several deltas; one at least."""
        puts: list[tuple[Any, list[Any]]] = []
        elements = 0
        for key, items in self._all_lists():
            puts.append((key, items))
            elements += len(items)
            if elements >= PART:
                yield {"puts": puts, "appended": [], "removed": []}
                puts, elements = [], 0
        yield {"puts": puts, "appended": [], "removed": []}

    def full(self) -> Delta:
        """The whole table as a delta from nothing."""
        return {"puts": list(self._all_lists()), "appended": [], "removed": []}

    def _all_lists(self) -> Iterator[tuple[Any, list[Any]]]:
        """All lists, each the caller's own; those on disk do not stay in memory."""
        if self._on_disk:
            yield from self._lists_on_disk()
        for key, found in list(self._cache.items()):
            yield key, list(found.items) if found.whole else self._read(key) + found.items

    def _lists_on_disk(self) -> Iterator[tuple[Any, list[Any]]]:
        """Lists of which nothing is in memory: marks and elements have the same order, so one scan of each will do."""
        space, known = self._space, self._cache.keys() | self._deleted
        elements = space.disk.scan(space.prefix + _ELEMENT)
        element = next(elements, None)
        marks = space.prefix + _MARK
        for encoded, data in space.disk.scan(marks):
            key, _, _ = space.read_key(encoded, len(marks), data)
            mine, wanted, items = self._element_prefix_of(encoded), key not in known, []
            while element is not None and element[0][:-8] <= mine:
                if wanted and element[0][:-8] == mine:
                    items.append(space.unpack(element[1]))
                element = next(elements, None)
            if wanted:
                yield key, items

    def _element_prefix_of(self, mark_key: bytes) -> bytes:
        prefix = self._space.prefix
        return prefix + _ELEMENT + mark_key[len(prefix) + len(_MARK) :]

    def apply(self, delta: Delta, owned: Callable[[Any], bool] | None) -> None:
        """Apply a stored delta. ``owned``: which entry keys belong to this subtask (None: all)."""
        self._tracking = False
        for key in delta["removed"]:
            self._drop(key)
        for key, items in delta["puts"]:
            if owned is None or owned(key):
                self.put(key, items)
        for key, items in delta["appended"]:
            if owned is None or owned(key):
                self.append(key, items)
        self._tracking = True
