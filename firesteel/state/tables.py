"""The memory of keyed state: one table per state, holding plain Python objects and knowing what has changed.

A table is a dict from entry key to value. The entry key is the record's key, or ``(key, namespace)`` for state that
belongs to a window. The *change* of a table is what a checkpoint writes: everything since the last one.

The three kinds differ in what one change is: a value, the items appended to a list, or an entry of a map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

VALUE = "value"
LIST = "list"
MAP = "map"


class Absent:
    """Marks "there is nothing", where None could be a value."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()

# A change, in plain data: what was put (entry key -> ...) and what was removed.
Change = dict[str, Any]


class ValueTable:
    """Entry key -> one value. Used for value, reducing and aggregating state."""

    kind = VALUE

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self.batch_entries = self.entries
        """A plain dict that answers for the keys of the batch in work, and for no others."""
        self.dirty: set[Any] = set()

    def __len__(self) -> int:
        return len(self.entries)

    def put(self, entry_key: Any, value: Any) -> None:
        """Set the value of an entry."""
        self.entries[entry_key] = value
        self.dirty.add(entry_key)

    def remove(self, entry_key: Any) -> None:
        """Forget an entry."""
        if self.entries.pop(entry_key, ABSENT) is not ABSENT:
            self.dirty.add(entry_key)

    def take_change(self) -> Change | None:
        """What has changed since the last call, or None."""
        if not self.dirty:
            return None
        entries = self.entries
        puts = [(key, entries[key]) for key in self.dirty if key in entries]
        removed = [key for key in self.dirty if key not in entries]
        self.dirty.clear()  # in place: handles hold on to the set
        return {"puts": puts, "removed": removed}

    def full(self) -> Change:
        """The whole table as a change from nothing."""
        return {"puts": list(self.entries.items()), "removed": []}

    def apply(self, change: Change, owned: Callable[[Any], bool] | None) -> None:
        """Apply a stored change. ``owned``: which entry keys belong to this subtask (None: all)."""
        for key in change["removed"]:
            self.entries.pop(key, None)
        puts: Iterable[tuple[Any, Any]] = change["puts"]
        self.entries.update(puts if owned is None else (item for item in puts if owned(item[0])))


class ListTable:
    """Entry key -> list. Appending changes only what is appended."""

    kind = LIST

    def __init__(self) -> None:
        self.entries: dict[Any, list[Any]] = {}
        self.dirty: dict[Any, int] = {}
        """Entry key -> length of the list at the last checkpoint; 0 if the list has been replaced since."""

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
            self.dirty[entry_key] = 0

    def take_change(self) -> Change | None:
        """What has changed since the last call, or None."""
        if not self.dirty:
            return None
        puts: list[tuple[Any, Any]] = []
        appended: list[tuple[Any, Any]] = []
        removed: list[Any] = []
        for key, kept in self.dirty.items():
            items = self.entries.get(key)
            if items is None:
                removed.append(key)
            elif kept == 0:
                puts.append((key, list(items)))
            else:
                appended.append((key, items[kept:]))
        self.dirty.clear()
        return {"puts": puts, "appended": appended, "removed": removed}

    def full(self) -> Change:
        """The whole table as a change from nothing."""
        puts = [(key, list(items)) for key, items in self.entries.items()]
        return {"puts": puts, "appended": [], "removed": []}

    def apply(self, change: Change, owned: Callable[[Any], bool] | None) -> None:
        """Apply a stored change. ``owned``: which entry keys belong to this subtask (None: all)."""
        for key in change["removed"]:
            self.entries.pop(key, None)
        for key, items in change["puts"]:
            if owned is None or owned(key):
                self.entries[key] = items
        for key, items in change["appended"]:
            if owned is None or owned(key):
                self.entries.setdefault(key, []).extend(items)


class MapTable:
    """Entry key -> dict. One changed entry of the dict is one change."""

    kind = MAP

    def __init__(self) -> None:
        self.entries: dict[Any, dict[Any, Any]] = {}
        self.dirty: dict[Any, set[Any]] = {}
        """Entry key -> the map keys that have changed."""
        self._cleared: set[Any] = set()
        """Entries that were removed as a whole, before the changes in ``dirty``."""

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
            self.dirty[entry_key] = {map_key}
        else:
            changed.add(map_key)

    def remove_key(self, entry_key: Any, map_key: Any) -> None:
        """Forget one entry of the map; a map without entries is no entry."""
        mapping = self.entries.get(entry_key)
        if mapping is not None and mapping.pop(map_key, ABSENT) is not ABSENT:
            self.dirty.setdefault(entry_key, set()).add(map_key)
            if not mapping:
                del self.entries[entry_key]

    def remove(self, entry_key: Any) -> None:
        """Forget the whole map."""
        if self.entries.pop(entry_key, ABSENT) is not ABSENT:
            self._cleared.add(entry_key)
            self.dirty[entry_key] = set()

    def take_change(self) -> Change | None:
        """What has changed since the last call, or None."""
        if not self.dirty:
            return None
        puts: list[tuple[Any, Any, Any]] = []
        removed_keys: list[tuple[Any, Any]] = []
        for entry_key, map_keys in self.dirty.items():
            mapping = self.entries.get(entry_key, {})
            for map_key in map_keys:
                if map_key in mapping:
                    puts.append((entry_key, map_key, mapping[map_key]))
                else:
                    removed_keys.append((entry_key, map_key))
        change = {"puts": puts, "removed_keys": removed_keys, "removed": list(self._cleared)}
        self.dirty.clear()
        self._cleared.clear()
        return change

    def full(self) -> Change:
        """The whole table as a change from nothing."""
        puts = [(key, name, value) for key, mapping in self.entries.items() for name, value in mapping.items()]
        return {"puts": puts, "removed_keys": [], "removed": []}

    def apply(self, change: Change, owned: Callable[[Any], bool] | None) -> None:
        """Apply a stored change. ``owned``: which entry keys belong to this subtask (None: all)."""
        for entry_key in change["removed"]:
            self.entries.pop(entry_key, None)
        for entry_key, map_key in change["removed_keys"]:
            mapping = self.entries.get(entry_key)
            if mapping is not None:
                mapping.pop(map_key, None)
                if not mapping:
                    del self.entries[entry_key]
        for entry_key, map_key, value in change["puts"]:
            if owned is None or owned(entry_key):
                self.entries.setdefault(entry_key, {})[map_key] = value


Table = ValueTable | ListTable | MapTable
TABLE_KINDS: Final[dict[str, type[Table]]] = {VALUE: ValueTable, LIST: ListTable, MAP: MapTable}
