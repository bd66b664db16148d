"""The interval join: rows of the same key whose times are within bounds of each other. Rows only come.

Pairs are emitted as soon as both rows are there. A row of an outer side that is without a partner when none can come
any more is emitted padded with NULL. Results may be behind the watermark by the length of the interval: it is held
back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.operators import map_table
from firesteel.table.changelog import INSERT
from firesteel.table.evaluation import evaluator
from firesteel.table.physical.windows import TimedOperator
from firesteel.table.resolution import Typed

__all__ = ["IntervalBounds", "IntervalJoin"]


@dataclass(frozen=True)
class IntervalBounds:
    """Which pairs are joined: ``right + lower <= left <= right + upper``, in milliseconds.

    :param times: The columns of times on both sides; None: processing time.
    """

    lower: int
    upper: int
    times: tuple[int, int] | None

    @property
    def reach(self) -> tuple[int, int]:
        """How long after a row of each side the other side may have partners for it."""
        return -self.lower, self.upper

    @property
    def slack(self) -> int:
        """So much later than needed rows are looked at, so that one timer does for many."""
        return max(0, sum(self.reach) // 2)


class IntervalJoin(TimedOperator):
    """INNER, LEFT, RIGHT and FULL. Map of a key, per side: time -> rows, each with whether it has had a partner."""

    def __init__(
        self,
        kind: str,
        bounds: IntervalBounds,
        widths: tuple[int, int],
        condition: Typed | None = None,
        null_safe: tuple[bool, ...] = (),
    ) -> None:
        self._outer = (kind in ("LEFT", "FULL"), kind in ("RIGHT", "FULL"))
        self._bounds, self._widths = bounds, widths
        self._condition, self._null_safe = condition, null_safe
        self._event_time = bounds.times is not None

    def open(self) -> None:
        """Find the rows of both sides."""
        super().open()
        self._true = None if self._condition is None else evaluator(self._condition)
        self._sides = [map_table(self.state, name) for name in ("left", "right")]

    def process(self, batch: Any) -> None:
        """Rows of the left side."""
        self._take(batch, 0)

    def process_second(self, batch: Any) -> None:
        """Rows of the right side."""
        self._take(batch, 1)

    def _take(self, batch: Any, side: int) -> None:
        times = self._bounds.times
        self.cursor = cursor = iter(batch.values)
        for (_, row), key in zip(cursor, batch.keys):
            time = self.context.clock.now if times is None else row[times[side]]
            if time is not None:
                self._meet(side, key, time, row)
            elif self._outer[side]:
                self._pad(side, row)
        self.flush()

    def _meet(self, side: int, key: Any, time: int, row: Any) -> None:
        reach, others = self._bounds.reach, self._sides[1 - side]
        lower, upper = time - reach[1 - side], time + reach[side]
        joined = False
        if None not in key or all(part is not None or equal for part, equal in zip(key, self._null_safe)):
            for at, rows in list(others.entries.get(key, {}).items()):
                if lower <= at <= upper and self._pair(side, row, key, at, rows):
                    joined = True
        if self._progress < upper:
            mine = self._sides[side]
            mine.put(key, time, [*mine.entries.get(key, {}).get(time, []), (row, joined)])
            self._timers.namespace = side
            self._register(key, upper + self._bounds.slack + 1)
        elif not joined and self._outer[side]:
            self._pad(side, row)

    def _pair(self, side: int, row: Any, key: Any, at: int, rows: list[tuple[Any, bool]]) -> bool:
        """Emit the pairs with the rows of one time of the other side, and note that these have a partner."""
        found = []
        for number, (other, _) in enumerate(rows):
            pair = row + other if side == 0 else other + row
            if self._true is None or self._true(pair) is True:
                found.append(number)
                self._changes.append((INSERT, pair))
        if self._outer[1 - side] and any(not rows[number][1] for number in found):
            marked = [(other, had or number in found) for number, (other, had) in enumerate(rows)]
            self._sides[1 - side].put(key, at, marked)
        return bool(found)

    def _pad(self, side: int, row: Any) -> None:
        nothing = (None,) * self._widths[1 - side]
        self._changes.append((INSERT, row + nothing if side == 0 else nothing + row))

    def on_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Rows of a side can have no more partners."""
        side = namespace
        last = timestamp - self._bounds.reach[side] - self._bounds.slack - 1
        table = self._sides[side]
        for time, rows in sorted(table.entries.get(key, {}).items()):
            if time > last:
                break
            table.remove_key(key, time)
            if self._outer[side]:
                for row, joined in rows:
                    if not joined:
                        self._pad(side, row)

    def advance_watermark(self, watermark: int) -> None:
        """Fire what is due, then pass on a watermark behind which no result can be any more."""
        self.watermark = watermark
        self._timers.fire_event_time(watermark, self.on_timer)
        self.flush()
        if self._timers.event_time_due(watermark):
            return
        delay = max(0, *self._bounds.reach) + self._bounds.slack
        held = watermark if watermark == MAX_WATERMARK else watermark - delay
        if held > MIN_WATERMARK:
            self.output.emit_watermark(held)
