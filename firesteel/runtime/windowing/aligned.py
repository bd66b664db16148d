"""Tumbling windows with the usual trigger and an incremental function, a batch at a time.

All keys share their windows, so there is no timer per key: a window fires, and is deleted, for all its keys when time
passes its end. What is stored is one value per key and window; when it fires follows from the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.common.time import MAX_WATERMARK
from firesteel.model.windows import TimeWindow
from firesteel.runtime.batch import Batch
from firesteel.runtime.operator import OperatorContext
from firesteel.runtime.windowing.base import WindowOperatorBase
from firesteel.runtime.windowing.contents import CONTENTS, Fold
from firesteel.runtime.windowing.spec import WindowSpec
from firesteel.state.window_table import WindowTable, window_table


class AlignedWindowOperator(WindowOperatorBase):
    """Tumbling windows. Needs a fold, no evictor, no allowed lateness, and the trigger of the time domain."""

    table_name = CONTENTS
    fold: Fold
    _table: WindowTable

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        self._next_due = MAX_WATERMARK + 1

    def setup(self, context: OperatorContext) -> None:
        """Declare the state: one value per key and window."""
        super().setup(context)
        self._table = window_table(self.backend, self.table_name)

    def open(self) -> None:
        """Find out when the windows that were restored fire."""
        super().open()
        self._next_due = self._find_next_due()

    # ---- where records belong; the pane operator has another answer ------------------------------------------------

    def slot_of(self, value: Any, stamp: int | None) -> TimeWindow:
        """The window that takes a record."""
        (window,) = self.spec.assigner.assign_windows(value, stamp, self.assigner_context)
        return window  # type: ignore[no-any-return]

    def first_due(self, slot: TimeWindow) -> int:
        """When the contents of a slot are looked at for the first time from now on."""
        return slot.max_timestamp()

    def is_over(self, slot: TimeWindow) -> bool:
        """Whether a slot takes no more records."""
        return self.event_time and slot.max_timestamp() <= self.watermark

    # ---- records -----------------------------------------------------------------------------------------------

    def process(self, batch: Batch) -> None:
        """Fold each record into the value of its key and window."""
        assert batch.keys is not None
        self.cursor = iter(batch.values)
        if not self.event_time:
            self._fill(self.slot_of(None, None), batch.keys)
            return
        stamps = batch.timestamps
        if stamps is None:
            self.slot_of(next(self.cursor), None)  # raises: event-time windows need timestamps
            return
        slot = self.slot_of(batch.values[0], min(stamps))
        if max(stamps) < slot[1] and not self.is_over(slot):
            self._fill(slot, batch.keys)
        else:
            self._spread(batch.keys, stamps)
            self.side.flush(self.output)

    def _open_slot(self, slot: TimeWindow) -> tuple[dict[Any, Any], dict[Any, None]]:
        due = self.first_due(slot)
        if due < self._next_due:
            self._next_due = due
        return self._table.of_window(tuple(slot))

    def _fill(self, slot: TimeWindow, keys: Sequence[Any]) -> None:
        """All records of the batch belong to one slot."""
        values, changed = self._open_slot(slot)
        assert self.cursor is not None
        changed.update(dict.fromkeys(keys))
        if self.fold.reducing:
            reduce = self.fold.reduce
            for key, value in zip(keys, self.cursor):
                values[key] = reduce(values[key], value) if key in values else value
            return
        add, create = self.fold.add, self.fold.create
        for key, value in zip(keys, self.cursor):
            values[key] = add(value, values[key] if key in values else create())

    def _spread(self, keys: Sequence[Any], stamps: Sequence[int]) -> None:
        """The records of the batch belong to several slots, or to one that is over."""
        origin, end = self.slot_of(None, stamps[0])
        width = end - origin
        start = end
        slots: dict[int, tuple[dict[Any, Any] | None, dict[Any, None]]] = {}
        fold = self.fold
        reducing, reduce, add, create = fold.reducing, fold.reduce, fold.add, fold.create
        assert self.cursor is not None
        for key, stamp, value in zip(keys, stamps, self.cursor):
            if stamp < start or stamp >= end:
                start = stamp - (stamp - origin) % width
                end = start + width
                if start not in slots:
                    slots[start] = self._find_slot(TimeWindow(start, end))
                values, changed = slots[start]
            if values is None:
                self.drop_late(value, stamp)
                continue
            changed[key] = None
            if reducing:
                values[key] = reduce(values[key], value) if key in values else value
            else:
                values[key] = add(value, values[key] if key in values else create())

    def _find_slot(self, slot: TimeWindow) -> tuple[dict[Any, Any] | None, dict[Any, None]]:
        """The values of a slot, None if it is over, and where to note changed keys."""
        return (None, {}) if self.is_over(slot) else self._open_slot(slot)

    # ---- firing ------------------------------------------------------------------------------------------------

    def fire_event_time(self, watermark: int) -> None:
        """Fire the windows that have ended in event time."""
        if self.event_time and watermark >= self._next_due:
            self.fire_until(watermark)

    def fire_processing_time(self, now: int) -> None:
        """Fire the windows that have ended in processing time."""
        if not self.event_time and now >= self._next_due:
            self.fire_until(now)

    def fire_until(self, time: int) -> None:
        """Fire and delete all windows that end up to ``time``, in order of time."""
        for namespace in sorted(slot for slot in self._table.entries if slot[1] - 1 <= time):
            self.evaluate_folded(TimeWindow(*namespace), namespace, self._table.pop_window(namespace))
        self._next_due = self._find_next_due()

    def _find_next_due(self) -> int:
        return min((self.first_due(TimeWindow(*slot)) for slot in self._table.entries), default=MAX_WATERMARK + 1)

    def next_processing_timer(self) -> int | None:
        """When the driver must start an epoch for us."""
        return None if self.event_time or self._next_due > MAX_WATERMARK else self._next_due
