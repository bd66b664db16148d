"""The window operator with everything plugged in: any assigner, trigger, evictor and function, in both time domains.

Per key and window it keeps the contents, the trigger's state and timers, among them one that deletes the window. The
quicker operators of this package do the same for the usual combinations; this one is the definition of what is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.errors import ProgramError
from firesteel.model.triggers import CountTrigger, PurgingTrigger, TriggerResult
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.contexts import due_timers, is_due
from firesteel.runtime.operator import OperatorContext
from firesteel.runtime.windowing.base import WindowOperatorBase
from firesteel.runtime.windowing.contents import AllRecords, Contents, FoldedValue, TimestampedRecords
from firesteel.runtime.windowing.contexts import WindowEvictorContext, WindowTriggerContext
from firesteel.runtime.windowing.spec import WindowSpec
from firesteel.state.timers import TimerQueue

RECORDS_LEFT = "numRecordsLeftInCountWindows"


class WindowOperator(WindowOperatorBase):
    """Windows that do not merge."""

    contents: Contents
    trigger_context: WindowTriggerContext

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        self.trigger = spec.trigger
        self._last_window: Any = None
        self._last_namespace: Any = None
        self._last_cleanup = 0

    def setup(self, context: OperatorContext) -> None:
        """Declare state and timers."""
        super().setup(context)
        self.contents = self._make_contents()
        self.trigger_context = WindowTriggerContext(self, self.backend, self.place)
        self._event_timers: TimerQueue = self.backend.timers("_window/event-time")
        self._processing_timers: TimerQueue = self.backend.timers("_window/processing-time")
        self._cleanup_timers = self._event_timers if self.event_time else self._processing_timers

    def _make_contents(self) -> Contents:
        if self.spec.evictor is not None:
            return TimestampedRecords(self.backend)
        return AllRecords(self.backend) if self.fold is None else FoldedValue(self.backend, self.fold)

    def open(self) -> None:
        """Make the evictor's context."""
        super().open()
        self._evictor_context = WindowEvictorContext(self)

    # ---- records -----------------------------------------------------------------------------------------------

    def process(self, batch: RowBatch) -> None:
        """Put each record into its windows and ask the trigger."""
        assert batch.keys is not None
        self.cursor = cursor = iter(batch.values)
        scope, assign, context = self.scope, self.spec.assigner.assign_windows, self.assigner_context
        stamps = repeat(None) if batch.timestamps is None else batch.timestamps
        for value, stamp, key in zip(cursor, stamps, batch.keys):
            scope.key = key
            added = False
            for window in assign(value, stamp, context):
                # Each window has a record of its own: functions may change what they are given.
                if self.add(key, window, self.own(value) if added else value, stamp):
                    added = True
            if not added and self._is_late(stamp):
                self.drop_late(value, stamp)
        self.flush()

    def _is_late(self, stamp: int | None) -> bool:
        return self.event_time and stamp is not None and stamp + self.spec.allowed_lateness <= self.watermark

    def add(self, key: Any, window: Any, value: Any, stamp: int | None) -> bool:
        """Put a record into a window; False if the window is over."""
        if window is not self._last_window:
            self._last_window = window
            self._last_namespace = self.namespaces.namespace_of(window)
            self._last_cleanup = self.cleanup_time(window)
        namespace, cleanup = self._last_namespace, self._last_cleanup
        if self.event_time and cleanup <= self.watermark:
            return False
        self.place.key = entry_key = (key, namespace)
        self.contents.add(entry_key, value, stamp)
        context = self.trigger_context
        context.namespace = namespace
        result = self.trigger.on_element(value, MIN_WATERMARK if stamp is None else stamp, window, context)
        if result is not TriggerResult.CONTINUE:
            self.act(result, key, window, namespace, entry_key)
        if cleanup != MAX_WATERMARK:
            self._cleanup_timers.add(key, namespace, cleanup)
        return True

    def act(self, result: TriggerResult, key: Any, window: Any, namespace: Any, contents_key: Any) -> None:
        """Do what the trigger has said."""
        if not isinstance(result, TriggerResult):
            raise ProgramError(
                f"{type(self.trigger).__name__}: every on_ method must return a TriggerResult, got {result!r}."
            )
        if result.is_fire():
            self.fire(key, window, namespace, contents_key)
        if result.is_purge():
            self.contents.clear(contents_key)

    def fire(self, key: Any, window: Any, namespace: Any, contents_key: Any) -> None:
        """Evaluate a window; one without contents gives nothing."""
        elements = self.contents.get(contents_key)
        if elements is None:
            return
        if self.spec.evictor is None:
            self.evaluate(key, window, namespace, elements if self.has_no_function else self._lent(elements))
        else:
            self._fire_evicting(key, window, namespace, contents_key, list(elements))

    def _fire_evicting(self, key: Any, window: Any, namespace: Any, contents_key: Any, records: list[Any]) -> None:
        evictor, contents = self.spec.evictor, self.contents
        assert evictor is not None and isinstance(contents, TimestampedRecords)
        evictor.evict_before(records, len(records), window, self._evictor_context)
        values = self._lent([record.value for record in records])
        self.evaluate(key, window, namespace, values if self.fold is None else self.fold.over(values))
        evictor.evict_after(records, len(records), window, self._evictor_context)
        contents.keep(contents_key, records)

    def _lent(self, elements: Sequence[Any]) -> Sequence[Any]:
        """What a function may change: the window may fire again, with its contents as they are now."""
        return [self.own(element) for element in elements]

    # ---- timers ------------------------------------------------------------------------------------------------

    def fire_event_time(self, watermark: int) -> None:
        """Fire event-time timers."""
        self._fire_timers(self._event_timers, watermark, True)

    def fire_processing_time(self, now: int) -> None:
        """Fire processing-time timers."""
        self._fire_timers(self._processing_timers, now, False)

    def _fire_timers(self, queue: TimerQueue, until: int, event_time: bool) -> None:
        for key, namespace, timestamp in due_timers(queue, until, self.context.clock):
            window = self.namespaces.window_of(namespace)
            contents_key = self.contents_key(key, window, namespace)
            if contents_key is not None:
                self._on_timer(key, window, namespace, contents_key, timestamp, event_time)

    def event_time_due(self, watermark: int) -> bool:
        """Whether event-time timers are left that should have fired."""
        return is_due(self._event_timers, watermark)

    def end_key(self) -> None:
        """Fire all windows of the key, and count the records in those that will never be full."""
        super().end_key()
        self.finish()

    def _on_timer(
        self, key: Any, window: Any, namespace: Any, contents_key: Any, timestamp: int, event_time: bool
    ) -> None:
        self.enter(key, namespace)
        on_time = self.trigger.on_event_time if event_time else self.trigger.on_processing_time
        result = on_time(timestamp, window, self.trigger_context)
        if result is not TriggerResult.CONTINUE:
            self.act(result, key, window, namespace, contents_key)
        if event_time == self.event_time and timestamp == self.cleanup_time(window):
            self.delete(key, window, namespace, contents_key)

    def enter(self, key: Any, namespace: Any) -> None:
        """Put a key and window in scope for trigger and function."""
        self.scope.key = key
        self.place.key = (key, namespace)
        self.trigger_context.namespace = namespace

    def contents_key(self, key: Any, window: Any, namespace: Any) -> Any:
        """Under which entry key the contents of a window are; None if there is no such window any more."""
        return (key, namespace)

    def delete(self, key: Any, window: Any, namespace: Any, contents_key: Any) -> None:
        """Forget everything about a window: contents, the trigger's state, the function's state."""
        self.contents.clear(contents_key)
        self.enter(key, namespace)
        self.trigger.clear(window, self.trigger_context)
        self.clear_function(key, window, namespace)

    def next_processing_time(self) -> int | None:
        """The processing time at which something is due next."""
        return self._processing_timers.next_timestamp()

    def finish(self) -> None:
        """Count the records in count windows that will never be full."""
        trigger = self.trigger
        while isinstance(trigger, PurgingTrigger):
            trigger = trigger.nested_trigger
        if isinstance(trigger, CountTrigger):
            counts = self.trigger_context.values_of("count")  # the name that CountTrigger gives its state
            self.context.metrics.counter(RECORDS_LEFT).inc(sum(counts))
