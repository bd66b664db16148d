"""ORDER BY: in a stream by time, with what else is asked for within one time; of a bounded table by anything.

The stream has one key: all rows are in one place.
"""

from __future__ import annotations

from typing import Any

from firesteel.common.time import MIN_WATERMARK
from firesteel.operators import list_table, map_table, value_table
from firesteel.table.changelog import INSERT
from firesteel.table.logical.plan import SortKey
from firesteel.table.physical.keeping import TableOperator
from firesteel.table.physical.ordering import sort_key_of
from firesteel.table.physical.windows import TimedOperator

__all__ = ["FinalSort", "TimeSort"]


class TimeSort(TimedOperator):
    """Rows in the order of their times, when the watermark has reached them.

    Those that come when later ones have been emitted are dropped and counted.

    :param order: What rows of the same time are ordered by.
    """

    def __init__(self, time: int, order: tuple[SortKey, ...] = ()) -> None:
        self._time, self._order = time, order

    def open(self) -> None:
        """Find the rows that wait. Map of a key: time -> rows."""
        super().open()
        self._place = sort_key_of(self._order) if self._order else None
        self._waiting = map_table(self.state, "waiting")
        self._last = value_table(self.state, "last")
        """The last time of which rows have been emitted."""

    def process(self, batch: Any) -> None:
        """Rows wait for their time."""
        self.cursor = cursor = iter(batch.values)
        for (_, row), key in zip(cursor, batch.keys):
            time = row[self._time]
            if time <= self._last.entries.get(key, MIN_WATERMARK):
                self._late.inc()
                continue
            self._waiting.put(key, time, [*self._waiting.entries.get(key, {}).get(time, []), row])
            self._register(key, time)

    def on_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Rows of this time are complete."""
        rows = self._waiting.entries.get(key, {}).get(timestamp)
        if rows is not None:
            self._waiting.remove_key(key, timestamp)
            self._last.put(key, timestamp)
            self._changes.extend((INSERT, row) for row in (sorted(rows, key=self._place) if self._place else rows))


class FinalSort(TableOperator):
    """All rows of a bounded input in order, or some of them: `fetch` after leaving out `offset`. Rows only come."""

    def __init__(self, order: tuple[SortKey, ...], offset: int = 0, fetch: int | None = None) -> None:
        self._order, self._offset, self._fetch = order, offset, fetch

    def open(self) -> None:
        """Find the rows."""
        super().open()
        self._place = sort_key_of(self._order) if self._order else None
        self._rows = list_table(self.state, "rows")

    def process(self, batch: Any) -> None:
        """Rows wait for the end."""
        if batch.keys:
            self._rows.append(batch.keys[0], [row for _, row in batch.values])

    def finish(self) -> None:
        """The end: here they are."""
        for rows in self._rows.entries.values():
            ordered = sorted(rows, key=self._place) if self._place else list(rows)
            until = None if self._fetch is None else self._offset + self._fetch
            self._changes.extend((INSERT, row) for row in ordered[self._offset : until])
        self.flush()
