"""Tumbling windows with the usual trigger, a batch at a time.

All keys share their windows, so there is no timer per key: a window fires, and is deleted, for all its keys when time
passes its end. What is stored are the contents per key and window; when they fire follows from the window.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from firesteel.common.time import MAX_WATERMARK
from firesteel.model.windows import TimeWindow
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.operator import OperatorContext
from firesteel.runtime.windowing.base import WindowOperatorBase
from firesteel.runtime.windowing.contents import CONTENTS, Fold
from firesteel.runtime.windowing.spec import WindowSpec
from firesteel.state.backend import list_table
from firesteel.state.tables import ListTable
from firesteel.state.window_table import WindowTable, window_table


class SlotOperator(WindowOperatorBase):
    """What tumbling windows and panes share: each record belongs to one slot of time, whatever its key.

    Needs the trigger of the time domain, no evictor and no allowed lateness.
    """

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        self._next_due = MAX_WATERMARK + 1

    def open(self) -> None:
        """Find out when the slots that were restored are due."""
        super().open()
        self._next_due = self.find_next_due()

    # ---- where records belong; panes have another answer ------------------------------------------------

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

    def process(self, batch: RowBatch) -> None:
        """Put each record into its slot."""
        assert batch.keys is not None
        self.cursor = iter(batch.values)
        if not self.event_time:
            self.fill(self.slot_of(None, None), batch.keys)
            return
        stamps = batch.timestamps
        if stamps is None:
            self.slot_of(next(self.cursor), None)  # raises: event-time windows need timestamps
            return
        slot = self.slot_of(batch.values[0], min(stamps))
        if max(stamps) < slot[1] and not self.is_over(slot):
            self.fill(slot, batch.keys)
        else:
            self.spread(batch.keys, stamps)
            self.side.flush(self.output)

    def expect(self, slot: TimeWindow) -> None:
        """A slot has contents: it must be looked at when it is due."""
        due = self.first_due(slot)
        if due < self._next_due:
            self._next_due = due

    @abstractmethod
    def fill(self, slot: TimeWindow, keys: Sequence[Any]) -> None:
        """Take the records that ``cursor`` gives, which all belong to one slot."""

    @abstractmethod
    def spread(self, keys: Sequence[Any], stamps: Sequence[int]) -> None:
        """Take the records that ``cursor`` gives, which belong to several slots or to one that is over."""

    # ---- firing ------------------------------------------------------------------------------------------------

    def fire_event_time(self, watermark: int) -> None:
        """Fire what is due in event time."""
        if self.event_time and watermark >= self._next_due:
            self.fire_until(watermark)
            self._next_due = self.find_next_due()

    def fire_processing_time(self, now: int) -> None:
        """Fire what is due in processing time."""
        if not self.event_time and now >= self._next_due:
            self.fire_until(now)
            self._next_due = self.find_next_due()

    @abstractmethod
    def fire_until(self, time: int) -> None:
        """Fire and delete all windows that end up to ``time``, in order of time."""

    @abstractmethod
    def slots(self) -> Iterable[Any]:
        """All slots that have contents, as (start, end)."""

    def find_next_due(self) -> int:
        """When the first of the slots is due."""
        return min((self.first_due(TimeWindow(*slot)) for slot in self.slots()), default=MAX_WATERMARK + 1)

    def next_processing_time(self) -> int | None:
        """The processing time at which something is due next."""
        return None if self.event_time or self._next_due > MAX_WATERMARK else self._next_due


class AlignedWindowOperator(SlotOperator):
    """Tumbling windows with a fold: one value per key and window."""

    table_name = CONTENTS
    fold: Fold
    _table: WindowTable

    def setup(self, context: OperatorContext) -> None:
        """Declare the state: one value per key and window."""
        super().setup(context)
        self._table = window_table(self.backend, self.table_name)

    def slots(self) -> Iterable[Any]:
        """All slots that have values."""
        return self._table.entries

    def _open_slot(self, slot: TimeWindow) -> tuple[dict[Any, Any], dict[Any, None]]:
        self.expect(slot)
        return self._table.of_window(tuple(slot))

    def fill(self, slot: TimeWindow, keys: Sequence[Any]) -> None:
        """All records of the batch belong to one slot."""
        values, changed = self._open_slot(slot)
        assert self.cursor is not None
        changed.update(dict.fromkeys(keys))
        scope = self.scope
        if self.fold.reducing:
            reduce = self.fold.reduce
            for key, value in zip(keys, self.cursor):
                scope.key = key
                values[key] = reduce(values[key], value) if key in values else value
            return
        add, create = self.fold.add, self.fold.create
        for key, value in zip(keys, self.cursor):
            scope.key = key
            values[key] = add(value, values[key] if key in values else create())

    def spread(self, keys: Sequence[Any], stamps: Sequence[int]) -> None:
        """The records of the batch belong to several slots, or to one that is over."""
        origin, end = self.slot_of(None, stamps[0])
        width = end - origin
        start = end
        slots: dict[int, tuple[dict[Any, Any] | None, dict[Any, None]]] = {}
        fold, scope = self.fold, self.scope
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
            scope.key = key
            if reducing:
                values[key] = reduce(values[key], value) if key in values else value
            else:
                values[key] = add(value, values[key] if key in values else create())

    def _find_slot(self, slot: TimeWindow) -> tuple[dict[Any, Any] | None, dict[Any, None]]:
        """The values of a slot, None if it is over, and where to note changed keys."""
        return (None, {}) if self.is_over(slot) else self._open_slot(slot)

    def fire_until(self, time: int) -> None:
        """Fire and delete all windows that end up to ``time``, in order of time."""
        for namespace in sorted(slot for slot in self._table.entries if slot[1] - 1 <= time):
            self.evaluate_folded(TimeWindow(*namespace), namespace, self._table.pop_window(namespace))


class AlignedRecordsOperator(SlotOperator):
    """Tumbling windows with a function that wants all records.

    :ivar _keys: The keys of each slot: which entries of the table belong to it. Found again when the table is restored.
    """

    _table: ListTable

    def setup(self, context: OperatorContext) -> None:
        """Declare the state: the records per key and window."""
        super().setup(context)
        self._table = list_table(self.backend, CONTENTS, namespaced=True)
        self._keys: dict[Any, dict[Any, None]] = {}

    def open(self) -> None:
        """Find the keys of the windows that were restored."""
        for key, namespace in self._table.entries:
            self._keys.setdefault(namespace, {})[key] = None
        super().open()

    def slots(self) -> Iterable[Any]:
        """All slots that have records."""
        return self._keys

    def fill(self, slot: TimeWindow, keys: Sequence[Any]) -> None:
        """All records of the batch belong to one slot."""
        assert self.cursor is not None
        groups: dict[Any, list[Any]] = {}
        for key, value in zip(keys, self.cursor):
            if key in groups:
                groups[key].append(value)
            else:
                groups[key] = [value]
        self._append(slot, groups)

    def spread(self, keys: Sequence[Any], stamps: Sequence[int]) -> None:
        """The records of the batch belong to several slots, or to one that is over."""
        origin, end = self.slot_of(None, stamps[0])
        width = end - origin
        slots: dict[int, dict[Any, list[Any]] | None] = {}
        assert self.cursor is not None
        for key, stamp, value in zip(keys, stamps, self.cursor):
            start = stamp - (stamp - origin) % width
            if start not in slots:
                slots[start] = None if self.is_over(TimeWindow(start, start + width)) else {}
            groups = slots[start]
            if groups is None:
                self.drop_late(value, stamp)
            elif key in groups:
                groups[key].append(value)
            else:
                groups[key] = [value]
        for start, groups in slots.items():
            if groups is not None:
                self._append(TimeWindow(start, start + width), groups)

    def _append(self, slot: TimeWindow, groups: dict[Any, list[Any]]) -> None:
        self.expect(slot)
        namespace, append = tuple(slot), self._table.append
        for key, records in groups.items():
            append((key, namespace), records)
        self._keys.setdefault(namespace, {}).update(dict.fromkeys(groups))

    def fire_until(self, time: int) -> None:
        """Fire and delete all windows that end up to ``time``, in order of time."""
        table = self._table
        for namespace in sorted(slot for slot in self._keys if slot[1] - 1 <= time):
            window = TimeWindow(*namespace)
            for key in table.in_order(self._keys.pop(namespace)):
                records = table.entries[key, namespace]
                table.remove((key, namespace))  # nobody else has the list from here on
                self.evaluate(key, window, namespace, records)
                self.clear_function(key, window, namespace)
