"""Aggregates over a frame of rows that ends with the current one: OVER windows ordered by time.

In event time, rows wait until the watermark has reached them, and are taken in the order of their times; rows that come
later than that are dropped and counted. In processing time they are taken as they come.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from firesteel.common.time import MIN_WATERMARK
from firesteel.errors import ProgramError
from firesteel.operators import map_table, value_table
from firesteel.table.changelog import ADDS, DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from firesteel.table.functions.definition import FunctionKind
from firesteel.table.logical.plan import OverCall, SortKey
from firesteel.table.physical.aggregating import AggregateCalls
from firesteel.table.physical.keeping import TableOperator
from firesteel.table.physical.ordering import sort_key_of
from firesteel.table.physical.rows import row_function
from firesteel.table.physical.windows import TimedOperator

__all__ = ["Frame", "OverAggregate", "OverInOrder"]


@dataclass(frozen=True)
class Frame:
    """Which rows before the current one belong to its frame.

    :param unit: ROWS or RANGE: with RANGE, all rows of one time have the same frame.
    :param preceding: How many rows, or milliseconds; None: all.
    """

    unit: str
    preceding: int | None


_FORGET = "forget"
_RANKS = {"ROW_NUMBER": 0, "RANK": 1, "DENSE_RANK": 2}


class _RunningValues:
    """What the calls give for the current row, which is the last one of its frame.

    Aggregates add and take back. ROW_NUMBER, RANK and DENSE_RANK count, LAG looks at a row before: these do not depend
    on the frame.
    """

    def __init__(self, calls: tuple[OverCall, ...]) -> None:
        self._aggregates = [each for each in calls if each.function.kind is FunctionKind.AGGREGATE]
        self._others = [each for each in calls if each.function.kind is not FunctionKind.AGGREGATE]
        self._aggregate = AggregateCalls(self._aggregates)
        self._arguments = [row_function(each.arguments) for each in self._others]
        self._is_aggregate = [each.function.kind is FunctionKind.AGGREGATE for each in calls]

    def create(self) -> Any:
        """What is known before the first row: accumulators; ranks; for each LAG the last arguments.

        Ranks are the number of rows, RANK, DENSE_RANK and the time of the last row.
        """
        return [self._aggregate.create(), (0, 0, 0, None), [[] for _ in self._others]]

    def add(self, known: Any, row: Any, time: int) -> None:
        """A row comes to the frame."""
        self._aggregate.add(known[0], row)
        number, rank, dense, last = known[1]
        known[1] = (number + 1, rank, dense, time) if last == time else (number + 1, number + 1, dense + 1, time)
        for call, arguments, seen in zip(self._others, self._arguments, known[2]):
            if call.function.name == "LAG":
                seen.append(arguments(row))
                del seen[: -1 - call.call.literal(1, 1)]

    def take_back(self, known: Any, row: Any) -> None:
        """A row leaves the frame."""
        self._aggregate.take_back(known[0], row)

    def values(self, known: Any) -> tuple[Any, ...]:
        """The results for the last row that came."""
        aggregates = iter(self._aggregate.values(known[0]))
        others = iter([self._other(call, known[1], seen) for call, seen in zip(self._others, known[2])])
        return tuple([next(aggregates if is_aggregate else others) for is_aggregate in self._is_aggregate])

    def _other(self, call: OverCall, ranks: Any, seen: list[Any]) -> Any:
        if call.function.name in _RANKS:
            return ranks[_RANKS[call.function.name]]
        return call.function.make(call.call).compute(seen, range(len(seen)))[-1]


class OverAggregate(TimedOperator):
    """Each row, with what the calls give for it behind its own columns. The key of the stream is the partition.

    :param time: The column of times; None: processing time.
    """

    def __init__(self, time: int | None, frame: Frame, calls: tuple[OverCall, ...]) -> None:
        self._time, self._frame, self._calls = time, frame, calls
        self._event_time = time is not None

    def open(self) -> None:
        """Find the state of each partition."""
        super().open()
        self._running = _RunningValues(self._calls)
        self._waiting = map_table(self.state, "waiting")
        """Time -> rows that the watermark has not reached."""
        self._known = value_table(self.state, "known")
        """(accumulators and what belongs to them, the rows of the frame with their times, the last time)."""
        self._forgetting = value_table(self.state, "forgetting")
        """When what is known of a partition goes."""

    def process(self, batch: Any) -> None:
        """Rows wait for their time, or are taken at once."""
        self.cursor = cursor = iter(batch.values)
        if self._time is not None:
            for (_, row), key in zip(cursor, batch.keys):
                self._wait(key, row)
            return
        now = self.context.clock.now
        for (_, row), key in zip(cursor, batch.keys):
            if self._frame.unit == "RANGE" and self._frame.preceding is not None:
                self._put(key, now, row)
                self._register(key, now + 1)
            else:
                self._take(key, now, [row])
        self.flush()

    def _wait(self, key: Any, row: Any) -> None:
        assert self._time is not None
        time = row[self._time]
        if time is None:
            raise ProgramError("the time of a row is NULL, and OVER needs its place. Filter such rows out before.")
        if self._is_late(key, time):
            self._late.inc()
            return
        self._put(key, time, row)
        self._timers.namespace = None
        self._register(key, time)
        if self._frame.unit == "RANGE" and self._frame.preceding is not None:
            self._forget_later(key, time, self._frame.preceding)

    def _forget_later(self, key: Any, time: int, preceding: int) -> None:
        """When no frame can reach back to a time any more, all that is known of it goes, a while later, as in Flink."""
        if self._forgetting.entries.get(key, MIN_WATERMARK) < time + preceding + 1:
            until = time + preceding * 3 // 2 + 1
            self._forgetting.put(key, until)
            self._timers.namespace = _FORGET
            self._register(key, until)

    def _is_late(self, key: Any, time: int) -> bool:
        """With all rows before, the watermark decides; else, as in Flink, how far the partition itself has come."""
        if self._frame.preceding is None:
            return time <= self.watermark
        known = self._known.entries.get(key)
        return known is not None and time <= known[2]

    def _put(self, key: Any, time: int, row: Any) -> None:
        self._waiting.put(key, time, [*self._waiting.entries.get(key, {}).get(time, []), row])

    def on_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """The watermark has reached rows, or what is known of a partition is out of reach."""
        if namespace == _FORGET:
            if self._forgetting.entries.get(key) == timestamp:
                self._forgetting.remove(key)
                self._known.remove(key)
            return
        time = timestamp if self._event_time else timestamp - 1
        rows = self._waiting.entries.get(key, {}).get(time)
        if rows is not None:
            self._waiting.remove_key(key, time)
            self._take(key, time, rows)

    def _take(self, key: Any, time: int, rows: list[Any]) -> None:
        known, frame, _ = self._known.entries.get(key) or (self._running.create(), [], 0)
        if self._frame.unit == "RANGE":
            for row in rows:
                self._running.add(known, row, time)
            frame = self._shortened(known, [*frame, *((time, row) for row in rows)], time)
            values = self._running.values(known)
            self._changes.extend((INSERT, (*row, *values)) for row in rows)
        else:
            for row in rows:
                self._running.add(known, row, time)
                frame = self._shortened(known, [*frame, (time, row)], time)
                self._changes.append((INSERT, (*row, *self._running.values(known))))
        self._known.put(key, (known, frame, time))

    def _shortened(self, known: Any, frame: list[tuple[int, Any]], time: int) -> list[tuple[int, Any]]:
        """Without the rows that have left the frame."""
        preceding = self._frame.preceding
        if preceding is None:
            return []
        if self._frame.unit == "ROWS":
            leaving = max(0, len(frame) - preceding - 1)
        else:
            leaving = next((at for at, (each, _) in enumerate(frame) if each >= time - preceding), len(frame))
        for _, row in frame[:leaving]:
            self._running.take_back(known, row)
        return frame[leaving:]


class OverInOrder(TableOperator):
    """Aggregates from the first row of the partition to the current one, in an order that is not that of time.

    A row may come between others: those behind it change. Rows come and go. State: the rows of each partition, in
    order, each with its results.
    """

    def __init__(self, order: tuple[SortKey, ...], unit: str, calls: tuple[OverCall, ...], ttl: int = 0) -> None:
        self._order, self._unit, self._calls, self._ttl = order, unit, calls, ttl

    def open(self) -> None:
        """Find the rows."""
        super().open()
        self._place = sort_key_of(self._order)
        self._aggregate = AggregateCalls(self._calls)
        self._rows = self.values("rows", self._ttl)

    def process(self, batch: Any) -> None:
        """A row comes or goes, and the results of those behind it change."""
        self.cursor = cursor = iter(batch.values)
        for (kind, row), key in zip(cursor, batch.keys):
            rows: list[tuple[Any, Any]] = list(self._rows.get(key) or [])
            if ADDS[kind]:
                at = bisect_right(rows, self._place(row), key=lambda each: self._place(each[0]))
                rows.insert(at, (row, None))
            else:
                at = next((at for at, each in enumerate(rows) if each[0] == row), -1)
                if at < 0:
                    continue
                self._changes.append((DELETE if kind == DELETE else UPDATE_BEFORE, (*row, *rows.pop(at)[1])))
            rows = self._recomputed(rows, INSERT if kind == INSERT else UPDATE_AFTER)
            if rows:
                self._rows.put(key, rows)
            else:
                self._rows.remove(key)
        self.flush()

    def _recomputed(self, rows: list[tuple[Any, Any]], kind: int) -> list[tuple[Any, Any]]:
        """The rows with their results; what has changed is emitted."""
        accumulators, after = self._aggregate.create(), []
        for peers in self._groups(rows):
            for row, _ in peers:
                self._aggregate.add(accumulators, row)
            values = self._aggregate.values(accumulators)
            for row, before in peers:
                if before is None:
                    self._changes.append((kind, (*row, *values)))
                elif before != values:
                    self._changes.extend([(UPDATE_BEFORE, (*row, *before)), (UPDATE_AFTER, (*row, *values))])
                after.append((row, values))
        return after

    def _groups(self, rows: list[tuple[Any, Any]]) -> Iterator[list[tuple[Any, Any]]]:
        if self._unit == "ROWS":
            return ([each] for each in rows)
        return (list(peers) for _, peers in groupby(rows, key=lambda each: self._place(each[0])))
