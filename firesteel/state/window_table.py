"""Value state of windows that many keys share, kept window by window in memory.

What is stored is the same as for any namespaced value table: ``(key, namespace) -> value``. In memory it is turned
round, ``namespace -> {key: value}``: a batch finds its window once and then works on a dict by key, and a window that
ends is taken out as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from firesteel.state.backend import KeyedStateBackend
from firesteel.state.tables import TABLE_KINDS, VALUE, Delta, ValueTable

VALUE_BY_WINDOW: Final = "value-by-window"
"""Asks a backend for a :class:`WindowTable`; what it stores says ``value``."""


class WindowTable(ValueTable):
    """Namespace -> key -> value. ``entries`` and ``dirty`` have the namespace first, unlike those of other tables."""

    kind = VALUE

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[Any, dict[Any, Any]] = {}
        self.dirty: dict[Any, dict[Any, None]] = {}  # type: ignore[assignment]
        self._removed: dict[Any, list[Any]] = {}
        self._stored: set[Any] = set()
        """The namespaces that the last checkpoint knows: removing others need not be written."""

    def __len__(self) -> int:
        return sum(map(len, self.entries.values()))

    def of_window(self, namespace: Any) -> tuple[dict[Any, Any], dict[Any, None]]:
        """The values of a namespace by key, and the dict into which the keys that change must be put.

        A dict, not a set: what is restored then has the order in which it came.
        """
        values = self.entries.get(namespace)
        if values is None:
            values = self.entries[namespace] = {}
        changed = self.dirty.get(namespace)
        if changed is None:
            changed = self.dirty[namespace] = {}
        return values, changed

    def pop_window(self, namespace: Any) -> dict[Any, Any]:
        """Take out all values of a namespace."""
        values = self.entries.pop(namespace, None)
        if values is None:
            return {}
        self.dirty.pop(namespace, None)
        if namespace in self._stored:
            self._removed.setdefault(namespace, []).extend(values)
        return values

    def put(self, entry_key: Any, value: Any) -> None:
        """Set the value of ``(key, namespace)``."""
        key, namespace = entry_key
        values, changed = self.of_window(namespace)
        values[key] = value
        changed[key] = None

    def remove(self, entry_key: Any) -> None:
        """Forget the value of ``(key, namespace)``."""
        key, namespace = entry_key
        values = self.entries.get(namespace)
        if values is not None and key in values:
            del values[key]
            self.dirty.get(namespace, {}).pop(key, None)
            self._removed.setdefault(namespace, []).append(key)
            if not values:
                self.entries.pop(namespace)
                self.dirty.pop(namespace, None)

    def take_delta(self) -> Delta | None:
        """What has changed since the last call, or None."""
        puts = [
            ((key, namespace), self.entries[namespace][key]) for namespace, keys in self.dirty.items() for key in keys
        ]
        removed = [(key, namespace) for namespace, keys in self._removed.items() for key in keys]
        self.dirty.clear()
        self._removed.clear()
        self._stored = set(self.entries)
        return {"puts": puts, "removed": removed} if puts or removed else None

    def full(self) -> Delta:
        """The whole table as a delta from nothing."""
        puts = [
            ((key, namespace), value) for namespace, values in self.entries.items() for key, value in values.items()
        ]
        return {"puts": puts, "removed": []}

    def apply(self, delta: Delta, owned: Callable[[Any], bool] | None) -> None:
        """Apply a stored delta. ``owned``: which entry keys belong to this subtask (None: all)."""
        for key, namespace in delta["removed"]:
            values = self.entries.get(namespace)
            if values is not None:
                values.pop(key, None)
        puts: Iterable[tuple[Any, Any]] = delta["puts"]
        for entry_key, value in puts:
            if owned is None or owned(entry_key):
                self.entries.setdefault(entry_key[1], {})[entry_key[0]] = value
        for namespace in {namespace for _, namespace in delta["removed"]}:
            if not self.entries.get(namespace, True):
                del self.entries[namespace]
        self._stored = set(self.entries)


TABLE_KINDS[VALUE_BY_WINDOW] = WindowTable


def window_table(backend: KeyedStateBackend, name: str) -> WindowTable:
    """Make the window table of that name. Must come before the backend restores: call it in ``setup``."""
    table = backend.table(name, VALUE_BY_WINDOW, namespaced=True)
    assert isinstance(table, WindowTable)
    return table
