"""Aggregation in windows of time, and the table of the windows of each row.

A window is emitted once, when the watermark reaches its last millisecond. What comes later is dropped and counted;
where windows share panes, it still counts in those that have not been emitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.errors import ProgramError
from firesteel.operators import KeyedTimerService, Operator, RowBatch, map_table
from firesteel.table.changelog import ADDS, INSERT
from firesteel.table.logical.plan import AggregateCall
from firesteel.table.physical.aggregating import AggregateCalls
from firesteel.table.physical.keeping import TableOperator
from firesteel.table.physical.window_times import Windows

__all__ = ["SessionAggregate", "SessionTable", "TimedOperator", "WindowAggregate", "WindowRows"]


class TimedOperator(TableOperator):
    """An operator with timers in event time, or in processing time."""

    _event_time = True

    def open(self) -> None:
        """Make timers, and the counter of those that come too late."""
        super().open()
        self._timers = KeyedTimerService(self, self.state)
        self._late = self.context.metrics.counter("numLateRecordsDropped")

    @property
    def _progress(self) -> int:
        """The time up to which everything has been: windows whose last millisecond is behind it are over."""
        return self.watermark if self._event_time else self.context.clock.now

    def _register(self, key: Any, time: int) -> None:
        self.state.scope.key = key
        if self._event_time:
            self._timers.register_event_time_timer(time)
        else:
            self._timers.register_processing_time_timer(time)

    def _delete(self, key: Any, time: int) -> None:
        self.state.scope.key = key
        if self._event_time:
            self._timers.delete_event_time_timer(time)
        else:
            self._timers.delete_processing_time_timer(time)

    def on_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """A timer is due."""
        raise NotImplementedError

    def advance_watermark(self, watermark: int) -> None:
        """Fire what is due, then pass the watermark on."""
        self.watermark = watermark
        self._timers.fire_event_time(watermark, self.on_timer)
        self.flush()
        if not self._timers.event_time_due(watermark):
            self.output.emit_watermark(watermark)

    def advance_processing_time(self, now: int) -> None:
        """Fire what is due."""
        self._timers.fire_processing_time(now, self.on_timer)
        self.flush()

    def next_processing_timer(self) -> int | None:
        """When the next one is due."""
        return self._timers.next_processing_timer()


class _InWindows(TimedOperator):
    """What operators share that put rows into windows.

    :param time: The column of times; None: processing time.
    """

    def __init__(self, windows: Windows, time: int | None) -> None:
        self._windows, self._time = windows, time
        self._event_time = time is not None

    def _local_time(self, row: Any) -> int:
        if self._time is None:
            return self._windows.local(self.context.clock.now)
        time = row[self._time]
        if time is None:
            raise ProgramError("the time of a row is NULL: it is in no window. Filter such rows out before.")
        return self._windows.local(time)

    def _is_over(self, end: int) -> bool:
        return self._windows.instant(end - 1) <= self._progress

    def _wake_at(self, key: Any, end: int) -> None:
        self._register(key, self._windows.instant(end - 1))

    def _columns(self, start: int, end: int) -> tuple[int, int, int]:
        """window_start, window_end and window_time."""
        return start, end, self._windows.instant(end - 1)


class WindowAggregate(_InWindows):
    """Groups of rows in windows that are known beforehand: TUMBLE, HOP and CUMULATE.

    The key of the stream is the rest of the group. A result is the key, what the calls give, and the window's start,
    end and time.
    """

    def __init__(self, windows: Windows, time: int | None, calls: tuple[AggregateCall, ...]) -> None:
        super().__init__(windows, time)
        self._calls = calls

    def open(self) -> None:
        """Find the panes. Map of a key: start of a pane -> (rows, accumulators)."""
        super().open()
        self._aggregate = AggregateCalls(self._calls)
        self._panes = map_table(self.state, "panes")

    def process(self, batch: Any) -> None:
        """Each row goes into its pane."""
        self.cursor = cursor = iter(batch.values)
        for (kind, row), key in zip(cursor, batch.keys):
            local = self._local_time(row)
            open_end = next((end for _, end in self._windows.windows_of(local) if not self._is_over(end)), None)
            if open_end is None:
                self._late.inc()
                continue
            pane = self._windows.pane_of(local)
            found = self._panes.entries.get(key, {}).get(pane)
            if found is None:
                self._wake_at(key, open_end)
                found = (0, self._aggregate.create())
            rows, accumulators = found
            if ADDS[kind]:
                self._aggregate.add(accumulators, row)
            else:
                self._aggregate.take_back(accumulators, row)
            self._panes.put(key, pane, (rows + (1 if ADDS[kind] else -1), accumulators))

    def on_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """A window is over: emit it, and forget the panes that no later one has."""
        windows = self._windows
        end = windows.local(timestamp) + 1
        panes = self._panes.entries.get(key, {})
        there = [pane for pane in windows.panes_of(end) if pane in panes]
        self._emit(key, end, [panes[pane] for pane in there])
        next_end = windows.next_end(end)
        needed = windows.start_of(next_end) if next_end is not None else end
        for pane in there:
            if pane < needed:
                self._panes.remove_key(key, pane)
        if next_end is not None and any(pane >= needed for pane in there):
            self._wake_at(key, next_end)

    def _emit(self, key: Any, end: int, panes: Sequence[tuple[int, Any]]) -> None:
        if sum(rows for rows, _ in panes) <= 0:
            return
        if len(panes) == 1:
            accumulators = panes[0][1]
        else:
            accumulators = self._aggregate.create()
            for _, others in panes:
                self._aggregate.merge(accumulators, others)
        columns = self._columns(self._windows.start_of(end), end)
        self._changes.append((INSERT, (*key, *self._aggregate.values(accumulators), *columns)))


class _Sessions(_InWindows):
    """Windows that grow: they end when for a while nothing has come. Map of a key: start -> (end, content)."""

    def open(self) -> None:
        """Find the sessions."""
        super().open()
        self._sessions = map_table(self.state, "sessions")

    def process(self, batch: Any) -> None:
        """Each row joins the sessions that it is near to."""
        self.cursor = cursor = iter(batch.values)
        for (kind, row), key in zip(cursor, batch.keys):
            start = self._local_time(row)
            end = start + self._windows.size
            near = [
                (begin, until, content)
                for begin, (until, content) in self._sessions.entries.get(key, {}).items()
                if begin <= end and start <= until
            ]
            start, end = min([start, *(each[0] for each in near)]), max([end, *(each[1] for each in near)])
            if self._is_over(end):
                self._late.inc()
                continue
            content = self._joined([each[2] for each in near])
            for begin, until, _ in near:
                if begin != start:
                    self._sessions.remove_key(key, begin)
                if until != end:
                    self._delete(key, self._windows.instant(until - 1))
            self._sessions.put(key, start, (end, self._with(content, kind, row)))
            self._wake_at(key, end)

    def _joined(self, contents: list[Any]) -> Any:
        raise NotImplementedError

    def _with(self, content: Any, kind: int, row: Any) -> Any:
        raise NotImplementedError

    def _result(self, key: Any, content: Any, columns: tuple[int, int, int]) -> list[Any]:
        raise NotImplementedError

    def on_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """A session is over."""
        over = self._windows.local(timestamp) + 1
        for start, (end, content) in list(self._sessions.entries.get(key, {}).items()):
            if end == over:
                self._sessions.remove_key(key, start)
                self._changes.extend(self._result(key, content, self._columns(start, end)))


class SessionAggregate(_Sessions):
    """Groups of rows in sessions; results are as those of :class:`WindowAggregate`."""

    def __init__(self, windows: Windows, time: int | None, calls: tuple[AggregateCall, ...]) -> None:
        super().__init__(windows, time)
        self._calls = calls

    def open(self) -> None:
        """Make the aggregates."""
        super().open()
        self._aggregate = AggregateCalls(self._calls)

    def _joined(self, contents: list[Any]) -> Any:
        if not contents:
            return 0, self._aggregate.create()
        (rows, accumulators), *others = contents
        for more, merged in others:
            rows += more
            self._aggregate.merge(accumulators, merged)
        return rows, accumulators

    def _with(self, content: Any, kind: int, row: Any) -> Any:
        rows, accumulators = content
        if ADDS[kind]:
            self._aggregate.add(accumulators, row)
            return rows + 1, accumulators
        self._aggregate.take_back(accumulators, row)
        return rows - 1, accumulators

    def _result(self, key: Any, content: Any, columns: tuple[int, int, int]) -> list[Any]:
        rows, accumulators = content
        return [(INSERT, (*key, *self._aggregate.values(accumulators), *columns))] if rows > 0 else []


class SessionTable(_Sessions):
    """Each row with its session, when that is over: the row, window_start, window_end and window_time."""

    def _joined(self, contents: list[Any]) -> Any:
        return [row for content in contents for row in content]

    def _with(self, content: Any, kind: int, row: Any) -> Any:
        return [*content, (kind, row)]

    def _result(self, key: Any, content: Any, columns: tuple[int, int, int]) -> list[Any]:
        return [(kind, (*row, *columns)) for kind, row in content]


class WindowRows(Operator):
    """Each row once for each of its windows, at once: the row, window_start, window_end and window_time.

    Of windows that overlap the latest comes first, as in Flink.
    """

    takes_sorted_input = False

    def __init__(self, windows: Windows, time: int | None) -> None:
        self._windows, self._time = windows, time

    def open(self) -> None:
        """Count the rows without a time, which are in no window."""
        self._dropped = self.context.metrics.counter("numNullRowTimeRecordsDropped")

    def process(self, batch: Any) -> None:
        """Each row by itself."""
        windows, results = self._windows, []
        self.cursor = cursor = iter(batch.values)
        for kind, row in cursor:
            time = self.context.clock.now if self._time is None else row[self._time]
            if time is None:
                self._dropped.inc()
                continue
            found = windows.windows_of(windows.local(time))
            for start, end in reversed(list(found)) if windows.kind == "HOP" else found:
                results.append((kind, (*row, start, end, windows.instant(end - 1))))
        self.output.emit(RowBatch(results))
