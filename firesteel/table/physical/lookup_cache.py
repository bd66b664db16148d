"""What was looked up, kept for a while: Flink's partial cache of lookup joins (``lookup.partial-cache.*``)."""

from __future__ import annotations

from typing import Any

__all__ = ["LookupCache"]


class LookupCache:
    """Rows by key, the least recently used ones forgotten first.

    :param max_rows: How many keys are kept; None: as many as come.
    :param expire_after_write: After so many milliseconds what was looked up is looked up again; None: never.
    :param expire_after_access: The same, counted from the last time it was asked for.
    :param cache_missing: Whether it is also kept that there is nothing.
    """

    def __init__(
        self,
        max_rows: int | None = None,
        expire_after_write: int | None = None,
        expire_after_access: int | None = None,
        cache_missing: bool = True,
    ) -> None:
        self._max_rows, self._cache_missing = max_rows, cache_missing
        self._after_write, self._after_access = expire_after_write, expire_after_access
        self._entries: dict[Any, tuple[list[Any], int, int]] = {}
        """Key -> (rows, written, last asked for); the one that was asked for last is the last one."""

    def get(self, key: Any, now: int) -> list[Any] | None:
        """The rows of a key; None if they are not known, or not any more."""
        found = self._entries.pop(key, None)
        if found is None:
            return None
        rows, written, asked = found
        if self._after_write is not None and now - written >= self._after_write:
            return None
        if self._after_access is not None and now - asked >= self._after_access:
            return None
        self._entries[key] = (rows, written, now)
        return rows

    def put(self, key: Any, rows: list[Any], now: int) -> None:
        """Keep the rows of a key."""
        if rows or self._cache_missing:
            self._entries.pop(key, None)
            self._entries[key] = (rows, now, now)
            if self._max_rows is not None and len(self._entries) > self._max_rows:
                del self._entries[next(iter(self._entries))]
