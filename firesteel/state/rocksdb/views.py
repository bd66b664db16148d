"""What tables on disk show as ``entries``: mappings that fetch what is not in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class ReadOnlyEntries(Mapping[Any, Any]):
    """Entries that are read through functions of the table; changes go through the table's own methods."""

    __slots__ = ("_find", "_keys", "_size")

    def __init__(self, find: Callable[[Any], Any], keys: Callable[[], Iterator[Any]], size: Callable[[], int]) -> None:
        self._find = find
        self._keys = keys
        self._size = size

    def get(self, key: Any, default: Any = None) -> Any:
        found = self._find(key)
        return default if found is None else found

    def __getitem__(self, key: Any) -> Any:
        found = self._find(key)
        if found is None:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        return self._find(key) is not None

    def __iter__(self) -> Iterator[Any]:
        return self._keys()

    def __len__(self) -> int:
        return self._size()
