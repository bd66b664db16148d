"""Joins, Top-N and deduplication within windows: rows that only come, and a result when their window is over.

The rows have the end of their window in a column, on the clock of the wall. The key of the stream is what is joined by,
or the partition, without the window.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from firesteel.operators import list_table, value_table
from firesteel.table.changelog import ADDS, INSERT
from firesteel.table.evaluation import evaluator
from firesteel.table.logical.plan import AggregateCall, SortKey
from firesteel.table.physical.aggregating import AggregateCalls
from firesteel.table.physical.ordering import sort_key_of
from firesteel.table.physical.window_times import Windows
from firesteel.table.physical.windows import TimedOperator
from firesteel.table.resolution import Typed

__all__ = ["AttachedAggregate", "WindowDeduplicate", "WindowJoin", "WindowTopN"]


class _PerWindow(TimedOperator):
    """Keeps something per key and window; the end of the window is its timer's namespace."""

    def __init__(self, zone: str | None) -> None:
        self._windows = Windows("TUMBLE", (1,), zone=zone)

    def _is_late(self, end: int) -> bool:
        late = self._windows.instant(end - 1) <= self.watermark
        if late:
            self._late.inc()
        return late

    def _wake(self, key: Any, end: int) -> None:
        self._timers.namespace = end
        self._register(key, self._windows.instant(end - 1))


class WindowJoin(_PerWindow):
    """Pairs of rows of the same key and window.

    :param kind: INNER, LEFT, RIGHT, FULL, SEMI or ANTI.
    :param ends: The columns of the windows' ends, on both sides.
    :param null_safe: For each part of the key, whether NULL equals NULL there.
    """

    def __init__(
        self,
        kind: str,
        ends: tuple[int, int],
        widths: tuple[int, int],
        condition: Typed | None = None,
        null_safe: tuple[bool, ...] = (),
        zone: str | None = None,
    ) -> None:
        super().__init__(zone)
        self._kind, self._ends, self._widths = kind, ends, widths
        self._condition, self._null_safe = condition, null_safe

    def open(self) -> None:
        """Find the rows of both sides, by key and end of window."""
        super().open()
        self._true = None if self._condition is None else evaluator(self._condition)
        self._sides = [list_table(self.state, name, namespaced=True) for name in ("left", "right")]

    def process(self, batch: Any) -> None:
        """Rows of the left side."""
        self._keep(batch, 0)

    def process_second(self, batch: Any) -> None:
        """Rows of the right side."""
        self._keep(batch, 1)

    def _keep(self, batch: Any, side: int) -> None:
        at, table = self._ends[side], self._sides[side]
        self.cursor = cursor = iter(batch.values)
        for (_, row), key in zip(cursor, batch.keys):
            end = row[at]
            if not self._is_late(end):
                table.append((key, end), [row])
                self._wake(key, end)

    def on_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """The window is over: join its rows."""
        left, right = (list(table.entries.get((key, namespace), [])) for table in self._sides)
        for table in self._sides:
            table.remove((key, namespace))
        matching = all(part is not None or equal for part, equal in zip(key, self._null_safe)) if None in key else True
        if self._kind == "RIGHT":
            self._join_right(left if matching else [], right, left)
        else:
            self._join_left(left, right if matching else [], right)

    def _pairs(self, left: Any, right: Any) -> bool:
        return self._true is None or self._true(left + right) is True

    def _join_left(self, left: list[Any], partners: list[Any], right: list[Any]) -> None:
        kind, emit = self._kind, self._changes.append
        nothing = (None,) * self._widths[1]
        joined = [False] * len(right)
        for row in left:
            found = [at for at, other in enumerate(partners) if self._pairs(row, other)]
            if kind in ("SEMI", "ANTI"):
                if bool(found) is (kind == "SEMI"):
                    emit((INSERT, row))
                continue
            for at in found:
                joined[at] = True
                emit((INSERT, row + partners[at]))
            if not found and kind in ("LEFT", "FULL"):
                emit((INSERT, row + nothing))
        if kind == "FULL":
            alone = (None,) * self._widths[0]
            self._changes.extend((INSERT, alone + row) for row, was in zip(right, joined) if not was)

    def _join_right(self, partners: list[Any], right: list[Any], left: list[Any]) -> None:
        nothing = (None,) * self._widths[0]
        for row in right:
            found = [other for other in partners if self._pairs(other, row)]
            self._changes.extend((INSERT, other + row) for other in found or [nothing])


class AttachedAggregate(_PerWindow):
    """Groups of rows that have their window in columns: start and end. Results are as those of WindowAggregate."""

    def __init__(self, window: tuple[int, int], calls: tuple[AggregateCall, ...], zone: str | None = None) -> None:
        super().__init__(zone)
        self._window, self._calls = window, calls

    def open(self) -> None:
        """Find the groups: (rows, accumulators) by key and window."""
        super().open()
        self._aggregate = AggregateCalls(self._calls)
        self._groups = value_table(self.state, "groups", namespaced=True)

    def process(self, batch: Any) -> None:
        """Each row goes into the group of its window."""
        self.cursor = cursor = iter(batch.values)
        for (kind, row), key in zip(cursor, batch.keys):
            start, end = row[self._window[0]], row[self._window[1]]
            if self._is_late(end):
                continue
            found = self._groups.entries.get((key, (start, end)))
            rows, accumulators = (0, self._aggregate.create()) if found is None else found
            if ADDS[kind]:
                self._aggregate.add(accumulators, row)
            else:
                self._aggregate.take_back(accumulators, row)
            self._groups.put((key, (start, end)), (rows + (1 if ADDS[kind] else -1), accumulators))
            if found is None:
                self._timers.namespace = (start, end)
                self._register(key, self._windows.instant(end - 1))

    def on_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """The window is over."""
        rows, accumulators = self._groups.entries[(key, namespace)]
        self._groups.remove((key, namespace))
        if rows > 0:
            columns = (*namespace, self._windows.instant(namespace[1] - 1))
            self._changes.append((INSERT, (*key, *self._aggregate.values(accumulators), *columns)))


class WindowTopN(_PerWindow):
    """The rows from the `start`-th to the `end`-th of each partition and window, in order, when the window is over."""

    def __init__(
        self,
        order: tuple[SortKey, ...],
        start: int,
        end: int,
        with_rank: bool,
        window_end: int,
        zone: str | None = None,
    ) -> None:
        super().__init__(zone)
        self._order, self._start, self._end = order, start, end
        self._with_rank, self._window_end = with_rank, window_end

    def open(self) -> None:
        """Find the rows, which are in order, by partition and end of window."""
        super().open()
        self._place = sort_key_of(self._order)
        self._rows = value_table(self.state, "rows", namespaced=True)

    def process(self, batch: Any) -> None:
        """Keep the best rows of each window."""
        self.cursor = cursor = iter(batch.values)
        for (_, row), key in zip(cursor, batch.keys):
            window = row[self._window_end]
            if self._is_late(window):
                continue
            rows = self._rows.entries.get((key, window), [])
            at = bisect_right(rows, self._place(row), key=self._place)
            if at < self._end:
                self._rows.put((key, window), [*rows[:at], row, *rows[at:]][: self._end])
                self._wake(key, window)

    def on_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """The window is over."""
        rows = self._rows.entries.get((key, namespace), [])
        for rank, row in enumerate(rows, 1):
            if rank >= self._start:
                self._changes.append((INSERT, (*row, rank) if self._with_rank else row))
        self._rows.remove((key, namespace))


class WindowDeduplicate(_PerWindow):
    """The row of each partition and window whose time is the latest, or the earliest."""

    def __init__(self, time: int, first: bool, window_end: int, zone: str | None = None) -> None:
        super().__init__(zone)
        self._time, self._first, self._window_end = time, first, window_end

    def open(self) -> None:
        """Find the rows by partition and end of window."""
        super().open()
        self._rows = value_table(self.state, "rows", namespaced=True)

    def process(self, batch: Any) -> None:
        """Keep one row of each window."""
        time = self._time
        self.cursor = cursor = iter(batch.values)
        for (_, row), key in zip(cursor, batch.keys):
            window = row[self._window_end]
            if self._is_late(window):
                continue
            before = self._rows.entries.get((key, window))
            if before is None or (row[time] < before[time] if self._first else before[time] <= row[time]):
                self._rows.put((key, window), row)
                self._wake(key, window)

    def on_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """The window is over."""
        self._changes.append((INSERT, self._rows.entries[(key, namespace)]))
        self._rows.remove((key, namespace))
