"""Sliding windows with the usual trigger and an incremental function, combined from panes.

Time is cut into panes, of which every window has a whole number. A record goes into one pane, however many windows it
belongs to; a window that fires combines its panes. Windows fire in order and each shares most panes with the one
before, so the combination is kept from window to window (:class:`PaneCombiner`).
"""

from __future__ import annotations

from bisect import bisect_left
from math import gcd
from typing import Any

from firesteel.common.time import MIN_WATERMARK
from firesteel.errors import ProgramError
from firesteel.model.assigners import SlidingEventTimeWindows, SlidingProcessingTimeWindows
from firesteel.model.windows import TimeWindow
from firesteel.runtime.windowing.aligned import AlignedWindowOperator
from firesteel.runtime.windowing.combiner import PaneCombiner
from firesteel.runtime.windowing.spec import WindowSpec


class PaneWindowOperator(AlignedWindowOperator):
    """Sliding windows that overlap. Needs the same as its base, and a fold that can merge.

    :ivar _fired_until: Windows that end up to this time have fired. Part of the snapshot: the panes do not tell.
    """

    table_name = "_window/panes"

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        assigner = spec.assigner
        assert isinstance(assigner, (SlidingEventTimeWindows, SlidingProcessingTimeWindows))
        self._size, self._slide, self._offset = assigner.size, assigner.slide, assigner.offset
        self._pane_size = gcd(self._size, self._slide)
        self._fired_until = MIN_WATERMARK
        self._combiner = PaneCombiner(self.fold)
        self._restored_shapes: set[tuple[int, int]] = set()

    def snapshot(self) -> Any | None:
        """Up to when windows have fired, and how their panes were combined."""
        return self._fired_until, self._combiner.shape()

    def restore(self, states: list[Any]) -> None:
        """Windows that have fired do not fire again. In a snapshot all subtasks have fired up to the same time."""
        self._fired_until = max((fired_until for fired_until, _ in states), default=MIN_WATERMARK)
        self._restored_shapes = {shape for _, shape in states}

    def open(self) -> None:
        """Combine the panes that were restored as they were combined before."""
        super().open()
        if len(self._restored_shapes) == 1:  # otherwise subtasks are put together that were never alike
            entries = self._table.entries
            panes = ((slot[0], entries[slot]) for slot in sorted(entries))
            self._combiner.rebuild(self._restored_shapes.pop(), panes)

    # ---- where records belong ----------------------------------------------------------------------------------

    def slot_of(self, value: Any, stamp: int | None) -> TimeWindow:
        """The pane that takes a record."""
        if self.event_time:
            if stamp is None or stamp <= MIN_WATERMARK:
                self.spec.assigner.assign_windows(value, stamp, self.assigner_context)  # raises
                raise ProgramError("event-time windows need timestamps")
            time = stamp
        else:
            time = self.context.clock.now
        start = time - (time - self._offset) % self._pane_size
        return TimeWindow(start, start + self._pane_size)

    def _last_end(self, pane_start: int) -> int:
        """The end of the last window that contains a pane."""
        return pane_start - (pane_start - self._offset) % self._slide + self._size

    def _first_end(self, pane_start: int) -> int:
        """The end of the first window that contains a pane."""
        last = self._last_end(pane_start)
        return last - (last - pane_start - 1) // self._slide * self._slide

    def _next_end(self, pane_start: int) -> int:
        """The end of the first window that contains a pane and has not fired."""
        first = self._first_end(pane_start)
        missed = self._fired_until + 1 - first
        return first if missed < 0 else first + (missed // self._slide + 1) * self._slide

    def first_due(self, slot: TimeWindow) -> int:
        """When the next window that contains the pane fires."""
        return self._next_end(slot[0]) - 1

    def is_over(self, slot: TimeWindow) -> bool:
        """Whether all windows that contain the pane have fired."""
        return self.event_time and self._last_end(slot[0]) - 1 <= max(self.watermark, self._fired_until)

    def _open_slot(self, slot: TimeWindow) -> tuple[dict[Any, Any], dict[Any, None]]:
        self._combiner.pane_changes(slot[0])
        return super()._open_slot(slot)

    def end_key(self) -> None:
        """Fire all windows of the key. For the next one, time begins anew."""
        super().end_key()
        self._fired_until = MIN_WATERMARK

    # ---- firing ------------------------------------------------------------------------------------------------

    def fire_event_time(self, watermark: int) -> None:
        """Fire the windows that have ended in event time."""
        super().fire_event_time(watermark)
        if self.event_time:
            self._fired_until = max(self._fired_until, watermark)

    def fire_processing_time(self, now: int) -> None:
        """Fire the windows that have ended in processing time."""
        super().fire_processing_time(now)
        if not self.event_time:
            self._fired_until = max(self._fired_until, now)

    def fire_until(self, time: int) -> None:
        """Fire all windows that end up to ``time``, in order of time, and delete the panes that no window needs."""
        starts = sorted(slot[0] for slot in self._table.entries)
        position, end = 0, (self._next_end(starts[0]) if starts else 0)
        while position < len(starts) and end - 1 <= time:
            if starts[position] < end - self._size:
                position += 1
            elif starts[position] >= end:
                end = self._next_end(starts[position])
            else:
                self._fire(end, starts)
                end += self._slide
        self._fired_until = max(self._fired_until, time)
        self._delete_panes(starts, time)

    def _fire(self, end: int, starts: list[int]) -> None:
        window = TimeWindow(end - self._size, end)
        first = bisect_left(starts, max(window[0], self._combiner.pushed_until))
        for start in starts[first : bisect_left(starts, end)]:
            self._combiner.push(start, self._table.entries[start, start + self._pane_size])
        self._combiner.evict(window[0])
        self.evaluate_folded(window, tuple(window), self._combiner.combined())

    def _delete_panes(self, starts: list[int], time: int) -> None:
        kept = [start for start in starts if self._last_end(start) - 1 > time]
        for start in starts[: len(starts) - len(kept)]:
            self._table.pop_window((start, start + self._pane_size))
        if kept:
            self._combiner.evict(kept[0])
        else:
            self._combiner.reset()
