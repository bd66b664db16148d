"""Joins with a table as it was: at the time of each row (a versioned table), or now (looked up elsewhere)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from firesteel.operators import RowBatch, map_table, value_table
from firesteel.table.changelog import ADDS, UPDATE_BEFORE
from firesteel.table.evaluation import evaluator
from firesteel.table.physical.keeping import TableOperator
from firesteel.table.physical.lookup_cache import LookupCache
from firesteel.table.physical.windows import TimedOperator
from firesteel.table.resolution import Typed

__all__ = ["LookupJoin", "VersionedJoin"]


class VersionedJoin(TimedOperator):
    """Each left row with the right row that was valid at its time: the last version of its key that is not later.

    Left rows wait until the watermark has reached their time; rows whose version was deleted have no partner.

    :param times: The columns of times on both sides.
    :param outer: LEFT rather than INNER.
    """

    def __init__(
        self, times: tuple[int, int], right_width: int, outer: bool = False, condition: Typed | None = None
    ) -> None:
        self._times, self._right_width, self._outer, self._condition = times, right_width, outer, condition

    def open(self) -> None:
        """Find what waits, and the versions."""
        super().open()
        self._true = None if self._condition is None else evaluator(self._condition)
        self._nothing = (None,) * self._right_width
        self._waiting = map_table(self.state, "waiting")
        """Number -> (kind, left row), in the order in which they came."""
        self._next = value_table(self.state, "next")
        self._versions = map_table(self.state, "versions")
        """Time -> (whether there is a row, row)."""

    def process(self, batch: Any) -> None:
        """Left rows wait."""
        self.cursor = cursor = iter(batch.values)
        for (kind, row), key in zip(cursor, batch.keys):
            number = self._next.entries.get(key, 0)
            self._waiting.put(key, number, (kind, row))
            self._next.put(key, number + 1)
            self._register(key, max(row[self._times[0]], self.watermark + 1))

    def process_second(self, batch: Any) -> None:
        """New versions. What a row was before an update is known already."""
        self.cursor = cursor = iter(batch.values)
        for (kind, row), key in zip(cursor, batch.keys):
            if kind != UPDATE_BEFORE:
                time = row[self._times[1]]
                self._versions.put(key, time, (ADDS[kind], row))
                self._register(key, max(time, self.watermark + 1))

    def on_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """The watermark has reached rows: join them in the order in which they came; forget old versions."""
        versions = sorted(self._versions.entries.get(key, {}).items())
        for number, (kind, row) in list(self._waiting.entries.get(key, {}).items()):
            if row[self._times[0]] <= self.watermark:
                self._waiting.remove_key(key, number)
                self._join(kind, row, key, versions)
        reached = [time for time, _ in versions if time <= self.watermark]
        for time in reached[:-1]:
            self._versions.remove_key(key, time)
        if key not in self._waiting.entries:
            self._next.remove(key)

    def _join(self, kind: int, row: Any, key: Any, versions: list[tuple[int, tuple[bool, Any]]]) -> None:
        valid = None
        for time, version in versions:
            if time > row[self._times[0]]:
                break
            valid = version
        if valid is not None and valid[0] and None not in key:
            pair = row + valid[1]
            if self._true is None or self._true(pair) is True:
                self._changes.append((kind, pair))
                return
        if self._outer:
            self._changes.append((kind, row + self._nothing))


class LookupJoin(TableOperator):
    """Each row with what a table elsewhere has for it now.

    :param keys_of: The expressions over the row whose values are looked up.
    :param open_lookup: Makes, in the worker, the function that gives the rows for a tuple of values.
    :param cache: How results are kept, or None.
    """

    def __init__(
        self,
        keys: tuple[Typed, ...],
        open_lookup: Callable[[], Callable[[tuple[Any, ...]], Iterable[tuple[Any, ...]]]],
        right_width: int,
        outer: bool = False,
        condition: Typed | None = None,
        cache: LookupCache | None = None,
    ) -> None:
        self._keys, self._open_lookup, self._right_width = keys, open_lookup, right_width
        self._outer, self._condition, self._cache = outer, condition, cache

    def open(self) -> None:
        """Open the table elsewhere."""
        super().open()
        self._parts = [evaluator(each) for each in self._keys]
        self._true = None if self._condition is None else evaluator(self._condition)
        self._lookup = self._open_lookup()
        self._nothing = (None,) * self._right_width

    def process(self, batch: Any) -> None:
        """Look each row up."""
        results: list[Any] = []
        self.cursor = cursor = iter(batch.values)
        for kind, row in cursor:
            found = self._found(tuple([part(row) for part in self._parts]))
            pairs = [row + each for each in found]
            if self._true is not None:
                pairs = [pair for pair in pairs if self._true(pair) is True]
            if not pairs and self._outer:
                pairs = [row + self._nothing]
            results.extend((kind, pair) for pair in pairs)
        self.output.emit(RowBatch(results, batch.timestamps if len(results) == len(batch.values) else None))

    def _found(self, key: tuple[Any, ...]) -> list[Any]:
        if None in key:
            return []
        if self._cache is None:
            return list(self._lookup(key))
        now = self.context.clock.now
        found = self._cache.get(key, now)
        if found is None:
            found = list(self._lookup(key))
            self._cache.put(key, found, now)
        return found

    def close(self) -> None:
        """Close the table elsewhere, if it can be."""
        close = getattr(getattr(self, "_lookup", None), "close", None)
        if close is not None:
            close()
