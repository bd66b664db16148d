"""The memory of keyed state: one table per state, holding plain Python objects and knowing what has changed.

A table is a dict from entry key to value. The entry key is the record's key, or ``(key, namespace)`` for state that
belongs to a window. The *change* of a table is what a checkpoint writes: everything since the last one.

The three kinds differ in what one part of a delta is: a value, the items appended to a list, or an entry of a map.

**Order.** Entries, and the entries of a map, have the order in which they were put; what was removed and put again
comes last. A delta keeps to that: it is applied by removing first, and it lists as removed also what has been put
again since, so that this leaves its old place; what it puts anew is in the order in which it was put.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Any, Final

VALUE = "value"
LIST = "list"
MAP = "map"


class Absent:
    """Marks "there is nothing", where None could be a value."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()

# A delta, in plain data: what was put (entry key -> ...) and what was removed.
Delta = dict[str, Any]


class ValueTable:
    """Entry key -> one value. Used for value, reducing and aggregating state."""

    kind = VALUE

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self.batch_entries = self.entries
        """A plain dict that answers for the keys of the batch in work, and for no others."""
        self.dirty: set[Any] = set()
        """Keys that were put, and maybe removed afterwards. Without an order: marking happens once per record."""
        self._gone: set[Any] = set()
        """Keys that were removed, and maybe put again afterwards."""

    def __len__(self) -> int:
        return len(self.entries)

    def put(self, entry_key: Any, value: Any) -> None:
        """Set the value of an entry."""
        self.entries[entry_key] = value
        self.dirty.add(entry_key)

    def remove(self, entry_key: Any) -> None:
        """Forget an entry."""
        if self.entries.pop(entry_key, ABSENT) is not ABSENT:
            self._gone.add(entry_key)

    def take_delta(self) -> Delta | None:
        """What has changed since the last call, or None."""
        if not self.dirty and not self._gone:
            return None
        entries, dirty = self.entries, self.dirty
        # What is new is at the end of the dict, and all of it is dirty. The rest has its place already.
        last = list(takewhile(dirty.__contains__, reversed(entries)))
        last.reverse()
        puts = [(key, entries[key]) for key in dirty.difference(last) if key in entries]
        puts.extend((key, entries[key]) for key in last)
        delta = {"puts": puts, "removed": list(self._gone)}
        dirty.clear()  # in place: handles hold on to the set
        self._gone.clear()
        return delta

    def full(self) -> Delta:
        """The whole table as a delta from nothing."""
        return {"puts": list(self.entries.items()), "removed": []}

    def apply(self, delta: Delta, owned: Callable[[Any], bool] | None) -> None:
        """Apply a stored delta. ``owned``: which entry keys belong to this subtask (None: all)."""
        for key in delta["removed"]:
            self.entries.pop(key, None)
        puts: Iterable[tuple[Any, Any]] = delta["puts"]
        self.entries.update(puts if owned is None else (item for item in puts if owned(item[0])))


class ListTable:
    """Entry key -> list. Appending changes only what is appended."""

    kind = LIST

    def __init__(self) -> None:
        self.entries: dict[Any, list[Any]] = {}
        self.dirty: dict[Any, int] = {}
        """Entry key -> length of the list at the last checkpoint; 0 if the list is new or replaced since."""
        self._removed: dict[Any, None] = {}
        """Keys that were removed, and maybe put again afterwards."""

    def __len__(self) -> int:
        return len(self.entries)

    def append(self, entry_key: Any, values: Iterable[Any]) -> None:
        """Add to the end of the entry's list."""
        items = self.entries.get(entry_key)
        if items is None:
            items = self.entries[entry_key] = []
            self.dirty[entry_key] = 0
        elif entry_key not in self.dirty:
            self.dirty[entry_key] = len(items)
        items.extend(values)

    def put(self, entry_key: Any, values: list[Any]) -> None:
        """Replace the entry's list."""
        self.entries[entry_key] = values
        self.dirty[entry_key] = 0

    def remove(self, entry_key: Any) -> None:
        """Forget an entry."""
        if self.entries.pop(entry_key, ABSENT) is not ABSENT:
            self.dirty.pop(entry_key, None)
            self._removed[entry_key] = None

    def in_order(self, keys: Iterable[Any]) -> Iterable[Any]:
        """Keys that were put in this order, in the order in which ``entries`` has them."""
        return keys

    def take_delta(self) -> Delta | None:
        """What has changed since the last call, or None."""
        if not self.dirty and not self._removed:
            return None
        puts: list[tuple[Any, Any]] = []
        appended: list[tuple[Any, Any]] = []
        for key, kept in self.dirty.items():
            items = self.entries[key]
            if kept == 0:
                puts.append((key, list(items)))
            else:
                appended.append((key, items[kept:]))
        delta = {"puts": puts, "appended": appended, "removed": list(self._removed)}
        self.dirty.clear()
        self._removed.clear()
        return delta

    def full(self) -> Delta:
        """The whole table as a delta from nothing."""
        puts = [(key, list(items)) for key, items in self.entries.items()]
        return {"puts": puts, "appended": [], "removed": []}

    def apply(self, delta: Delta, owned: Callable[[Any], bool] | None) -> None:
        """Apply a stored delta. ``owned``: which entry keys belong to this subtask (None: all)."""
        for key in delta["removed"]:
            self.entries.pop(key, None)
        for key, items in delta["puts"]:
            if owned is None or owned(key):
                self.entries[key] = items
        for key, items in delta["appended"]:
            if owned is None or owned(key):
                self.entries.setdefault(key, []).extend(items)


class MapTable:
    """Entry key -> dict. One changed entry of the dict is one change."""

    kind = MAP

    def __init__(self) -> None:
        self.entries: dict[Any, dict[Any, Any]] = {}
        self.dirty: dict[Any, dict[Any, None]] = {}
        """Entry key -> the map keys that were put, in that order, and are there."""
        self._removed_keys: dict[Any, dict[Any, None]] = {}
        """Entry key -> the map keys that were removed, and maybe put again afterwards."""
        self._removed: dict[Any, None] = {}
        """Entries that were removed as a whole, before the changes in the other two."""

    def __len__(self) -> int:
        return len(self.entries)

    def put(self, entry_key: Any, map_key: Any, value: Any) -> None:
        """Set one entry of the map."""
        mapping = self.entries.get(entry_key)
        if mapping is None:
            mapping = self.entries[entry_key] = {}
        mapping[map_key] = value
        changed = self.dirty.get(entry_key)
        if changed is None:
            self.dirty[entry_key] = {map_key: None}
        else:
            changed[map_key] = None

    def remove_key(self, entry_key: Any, map_key: Any) -> None:
        """Forget one entry of the map; a map without entries is no entry."""
        mapping = self.entries.get(entry_key)
        if mapping is not None and mapping.pop(map_key, ABSENT) is not ABSENT:
            if mapping:
                self.note_removed_key(entry_key, map_key)
            else:
                del self.entries[entry_key]
                self.note_removed(entry_key)

    def remove(self, entry_key: Any) -> None:
        """Forget the whole map."""
        if self.entries.pop(entry_key, ABSENT) is not ABSENT:
            self.note_removed(entry_key)

    def note_removed_key(self, entry_key: Any, map_key: Any) -> None:
        """Note that one entry of a map is gone, whatever was noted of it before."""
        changed = self.dirty.get(entry_key)
        if changed is not None:
            changed.pop(map_key, None)
        self._removed_keys.setdefault(entry_key, {})[map_key] = None

    def note_removed(self, entry_key: Any) -> None:
        """Note that a map is gone, whatever was noted of it before."""
        self.dirty.pop(entry_key, None)
        self._removed_keys.pop(entry_key, None)
        self._removed[entry_key] = None

    def take_delta(self) -> Delta | None:
        """What has changed since the last call, or None."""
        if not self.dirty and not self._removed_keys and not self._removed:
            return None
        puts: list[tuple[Any, Any, Any]] = []
        removed_keys = [(entry_key, map_key) for entry_key, gone in self._removed_keys.items() for map_key in gone]
        for entry_key, map_keys in self.dirty.items():
            mapping = self.entries.get(entry_key, {})
            for map_key in map_keys:
                value = mapping.get(map_key, ABSENT)
                if value is ABSENT:  # it has expired, and was swept where nothing is noted
                    removed_keys.append((entry_key, map_key))
                else:
                    puts.append((entry_key, map_key, value))
        delta = {"puts": puts, "removed_keys": removed_keys, "removed": list(self._removed)}
        self.forget_deltas()
        return delta

    def forget_deltas(self) -> None:
        """From now on, note changes anew."""
        self.dirty.clear()
        self._removed_keys.clear()
        self._removed.clear()

    def full(self) -> Delta:
        """The whole table as a delta from nothing."""
        puts = [(key, name, value) for key, mapping in self.entries.items() for name, value in mapping.items()]
        return {"puts": puts, "removed_keys": [], "removed": []}

    def apply(self, delta: Delta, owned: Callable[[Any], bool] | None) -> None:
        """Apply a stored delta. ``owned``: which entry keys belong to this subtask (None: all)."""
        entries = self.entries
        for entry_key in delta["removed"]:
            entries.pop(entry_key, None)
        for entry_key, map_key in delta["removed_keys"]:
            if entry_key in entries:
                entries[entry_key].pop(map_key, None)  # maybe empty until something is put: it keeps its place
        for entry_key, map_key, value in delta["puts"]:
            if owned is None or owned(entry_key):
                entries.setdefault(entry_key, {})[map_key] = value
        for entry_key, _ in delta["removed_keys"]:
            if not entries.get(entry_key, True):
                del entries[entry_key]


Table = ValueTable | ListTable | MapTable
TABLE_KINDS: Final[dict[str, type[Table]]] = {VALUE: ValueTable, LIST: ListTable, MAP: MapTable}
