"""Top-N and deduplication: the first rows of each partition, in some order, as the table changes.

The partition is the key of the stream. What is emitted, and in which order, is Flink's.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from firesteel.operators import value_table
from firesteel.table.changelog import ADDS, DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from firesteel.table.logical.plan import SortKey
from firesteel.table.physical.keeping import TableOperator
from firesteel.table.physical.ordering import sort_key_of
from firesteel.table.physical.windows import TimedOperator

__all__ = ["EarliestRow", "FirstRow", "LastRow", "TopN"]


class TopN(TableOperator):
    """The rows from the `start`-th to the `end`-th of each partition.

    :param start: The first rank of the result, from 1.
    :param end: The last one; None: all.
    :param with_rank: Whether the rank stands behind the row's columns.
    :param append_only: Whether rows only come: then no more of them are kept than can be in the result.
    :param row_key: Columns by which a new version of a row replaces the old one, where rows only rise: they never go,
        and an update never leaves them a worse place. No more rows are kept than can be in the result, too.
    """

    def __init__(
        self,
        order: tuple[SortKey, ...],
        start: int,
        end: int | None,
        with_rank: bool,
        append_only: bool,
        ttl: int = 0,
        row_key: tuple[int, ...] | None = None,
    ) -> None:
        self._order, self._start, self._end = order, start, end
        self._with_rank, self._ttl, self._row_key = with_rank, ttl, row_key
        self._append_only = append_only or row_key is not None

    def open(self) -> None:
        """Make the order, and find the rows of each partition, which are in order."""
        super().open()
        self._place = sort_key_of(self._order)
        self._rows = self.values("rows", self._ttl)

    def process(self, batch: Any) -> None:
        """Changes of the table."""
        self.cursor = cursor = iter(batch.values)
        for (kind, row), key in zip(cursor, batch.keys):
            if kind == UPDATE_BEFORE and self._row_key is not None:
                continue
            rows = self._rows.get(key) or []
            after = self._add(rows, row) if ADDS[kind] else self._take_back(rows, row)
            if after:
                self._rows.put(key, after)
            elif after is not None:
                self._rows.remove(key)
        self.flush()

    def _add(self, rows: list[Any], row: Any) -> list[Any] | None:
        if self._row_key is not None:
            for was, old in enumerate(rows):
                if all(old[index] == row[index] for index in self._row_key):
                    return self._replace(rows, was, row)
        at = bisect_right(rows, self._place(row), key=self._place)
        if self._append_only and self._end is not None and at >= self._end:
            return None
        after = [*rows[:at], row, *rows[at:]]
        if self._with_rank or self._start > 1:
            self._shift_down(rows, after, at)
        elif self._end is None or at < self._end:
            out = after[self._end] if self._end is not None and len(after) > self._end else None
            self._drive_out(row, out)
        return after[: self._end] if self._append_only else after

    def _drive_out(self, row: Any, out: Any) -> None:
        """A new row is there, and another one is not any more."""
        if out is None:
            self._changes.append((INSERT, row))
        elif self._end == 1 and self._append_only:
            self._changes.extend([(UPDATE_BEFORE, out), (UPDATE_AFTER, row)])
        elif out != row or not self._append_only:  # one just like it has not gone
            self._changes.extend([(DELETE, out), (INSERT, row)])

    def _replace(self, rows: list[Any], was: int, row: Any) -> list[Any]:
        """A new version of a row that is there already; it has risen, or stays where it is."""
        old, others = rows[was], [*rows[:was], *rows[was + 1 :]]
        same = self._place(old) == self._place(row)
        at = was if same else bisect_right(others, self._place(row), key=self._place)
        after = [*others[:at], row, *others[at:]]
        if self._with_rank or self._start > 1:
            for rank in range(min(at, was), max(at, was) + 1):
                self._emit(UPDATE_BEFORE, rows[rank], rank + 1)
                self._emit(UPDATE_AFTER, after[rank], rank + 1)
        else:
            self._changes.extend([(UPDATE_BEFORE, old), (UPDATE_AFTER, row)])
        return after

    def _take_back(self, rows: list[Any], row: Any) -> list[Any] | None:
        place = self._place(row)
        for at in range(bisect_left(rows, place, key=self._place), len(rows)):
            if rows[at] == row:
                break
        else:
            return None
        after = [*rows[:at], *rows[at + 1 :]]
        if self._with_rank or self._start > 1:
            self._shift_up(rows, after, at)
        elif self._end is None or at < self._end:
            self._changes.append((DELETE, row))
            if self._end is not None and len(after) >= self._end:
                self._changes.append((INSERT, after[self._end - 1]))
        return after

    def _shift_down(self, before: list[Any], after: list[Any], at: int) -> None:
        end = len(after) if self._end is None else min(len(after), self._end)
        for rank in range(at, end):
            if rank < len(before):
                self._emit(UPDATE_BEFORE, before[rank], rank + 1)
                self._emit(UPDATE_AFTER, after[rank], rank + 1)
            else:
                self._emit(INSERT, after[rank], rank + 1)

    def _shift_up(self, before: list[Any], after: list[Any], at: int) -> None:
        end = len(before) if self._end is None else min(len(before), self._end)
        for rank in range(at, end):
            if rank < len(after):
                self._emit(UPDATE_BEFORE, before[rank], rank + 1)
                self._emit(UPDATE_AFTER, after[rank], rank + 1)
            else:
                self._emit(DELETE, before[rank], rank + 1)

    def _emit(self, kind: int, row: Any, rank: int) -> None:
        if rank >= self._start:
            self._changes.append((kind, (*row, rank) if self._with_rank else row))


class FirstRow(TableOperator):
    """The first row of each key that came; the others are left out. Rows only come."""

    def __init__(self, ttl: int = 0) -> None:
        self._ttl = ttl

    def open(self) -> None:
        """Find which keys have been."""
        super().open()
        self._seen = self.values("seen", self._ttl)

    def process(self, batch: Any) -> None:
        """New rows."""
        self.cursor = cursor = iter(batch.values)
        for change, key in zip(cursor, batch.keys):
            if self._seen.get(key) is None:
                self._seen.put(key, True)
                self._changes.append(change)
        self.flush()


class EarliestRow(TimedOperator):
    """The row of each key whose time is the earliest, when the watermark has reached it: no earlier one comes then."""

    def __init__(self, time: int) -> None:
        self._time = time

    def open(self) -> None:
        """Find the rows that wait, and which keys have had theirs."""
        super().open()
        self._rows = value_table(self.state, "rows")
        """The row; or, when it has been emitted, ()."""

    def process(self, batch: Any) -> None:
        """New rows."""
        time = self._time
        self.cursor = cursor = iter(batch.values)
        for (_, row), key in zip(cursor, batch.keys):
            if row[time] <= self.watermark:
                self._late.inc()
                continue
            before = self._rows.entries.get(key)
            if before is None or (before and row[time] < before[time]):
                self._rows.put(key, row)
                self._register(key, row[time])

    def on_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """The watermark has reached a row."""
        row = self._rows.entries.get(key)
        if row and row[self._time] <= self.watermark:
            self._changes.append((INSERT, row))
            self._rows.put(key, ())


class LastRow(TableOperator):
    """The last row of each key: that came last, or whose time is the latest.

    :param time: The column of times; None: the order in which rows come.
    """

    def __init__(self, time: int | None = None, ttl: int = 0) -> None:
        self._time, self._ttl = time, ttl

    def open(self) -> None:
        """Find the rows."""
        super().open()
        self._rows = self.values("rows", self._ttl)

    def process(self, batch: Any) -> None:
        """New rows."""
        self.cursor = cursor = iter(batch.values)
        for (_, row), key in zip(cursor, batch.keys):
            before = self._rows.get(key)
            if before is None:
                self._changes.append((INSERT, row))
            elif not self._replaces(before, row):
                continue
            else:
                self._changes.append((UPDATE_BEFORE, before))
                self._changes.append((UPDATE_AFTER, row))
            self._rows.put(key, row)
        self.flush()

    def _replaces(self, before: Any, row: Any) -> bool:
        if self._time is None:
            return bool(self._ttl) or before != row
        return bool(before[self._time] <= row[self._time])
