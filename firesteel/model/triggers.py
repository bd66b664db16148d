"""Triggers: when a window is evaluated, and when its contents are dropped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from firesteel.common.time import TimeLength, to_milliseconds
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.model.functions.adapt import as_delta
from firesteel.model.functions.base import ReduceFunction
from firesteel.model.state import (
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from firesteel.model.windows import Window

if TYPE_CHECKING:
    from firesteel.metrics import MetricGroup

T = TypeVar("T")
W = TypeVar("W")


class TriggerResult(Enum):
    """What a trigger wants done with a window: (evaluate it, drop its contents)."""

    CONTINUE = (False, False)
    """Nothing."""
    FIRE_AND_PURGE = (True, True)
    """Evaluate the window and emit the results, then drop the contents."""
    FIRE = (True, False)
    """Evaluate the window and emit the results; the contents stay."""
    PURGE = (False, True)
    """Drop the contents without evaluating the window."""

    def is_fire(self) -> bool:
        """Whether the window is evaluated. A window without contents emits nothing all the same."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Whether the contents are dropped."""
        return self.value[1]


class Trigger(ABC, Generic[T, W]):
    """Decides for each key and window when it is evaluated.

    One trigger object serves all keys and windows of a subtask: what it has to remember goes into
    ``ctx.get_partitioned_state``, never into attributes.
    """

    class TriggerContext(ABC):
        """The clocks, timers and state of the key and window in work. Valid during the call."""

        __slots__ = ()

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The processing time in milliseconds."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Where the trigger registers metrics of its own."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """The watermark in milliseconds."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Call :meth:`Trigger.on_processing_time` for this key and window at ``time``."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Call :meth:`Trigger.on_event_time` for this key and window when the watermark reaches ``time``."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Forget the timer at ``time``."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Forget the timer at ``time``."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """State of this key and window: the handle that fits the descriptor."""

    class OnMergeContext(TriggerContext):
        """The context of :meth:`Trigger.on_merge`; its window is the merged one."""

        __slots__ = ()

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge the state of the windows that were merged into that of the new window."""

    @abstractmethod
    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called once for each record and each window it was assigned to, after the record was added.

        :param timestamp: The timestamp of the record.
        """

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called when a processing-time timer of the key and window fires."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called when an event-time timer of the key and window fires."""

    def can_merge(self) -> bool:
        """Whether the trigger works with merging windows; it must then implement :meth:`on_merge`."""
        return False

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Called when windows have been merged into ``window``, before the record that did it is added.

        Merge the state of the trigger and register the timers of the new window.
        """
        raise UnsupportedError(
            f"{type(self).__name__} does not work with merging windows such as sessions. "
            "Use another trigger, or implement can_merge() and on_merge()."
        )

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Called once when a window is deleted: delete timers and state of the window."""


class _Quiet(Trigger[Any, Window]):
    """A trigger that does nothing where a subclass does not say otherwise."""

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class EventTimeTrigger(_Quiet):
    """Fires when the watermark passes the end of the window, and for each late record after that."""

    @staticmethod
    def create() -> EventTimeTrigger:
        """Make the trigger."""
        return EventTimeTrigger()

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        end = window.max_timestamp()
        if end <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(end)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        # A merged window that has ended already fires with the record that caused the merge.
        end = window.max_timestamp()
        if end > ctx.get_current_watermark():
            ctx.register_event_time_timer(end)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(_Quiet):
    """Fires when processing time passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """Make the trigger."""
        return ProcessingTimeTrigger()

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        end = window.max_timestamp()
        if end > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(end)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())


class _Sum(ReduceFunction):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class _Min(ReduceFunction):
    def reduce(self, value1: int, value2: int) -> int:
        return min(value1, value2)


class CountTrigger(_Quiet):
    """Fires whenever the window has taken another ``window_size`` records. The contents stay.

    :param window_size: How many records make the window fire.
    """

    def __init__(self, window_size: int) -> None:
        if isinstance(window_size, bool) or not isinstance(window_size, int) or window_size < 1:
            raise ConfigurationError(f"CountTrigger: window_size must be an int of at least 1, got {window_size!r}.")
        self._window_size = window_size
        self._count = ReducingStateDescriptor("count", _Sum(), Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Make a trigger that fires every ``window_size`` records."""
        return CountTrigger(window_size)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        count: ReducingState[int] = ctx.get_partitioned_state(self._count)
        count.add(1)
        if (count.get() or 0) < self._window_size:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._count)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._count).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self._window_size})"


class _ContinuousTrigger(_Quiet):
    """What the two continuous triggers have in common: the time of the next firing, kept per key and window."""

    def __init__(self, interval: int) -> None:
        if isinstance(interval, bool) or not isinstance(interval, int) or interval < 1:
            raise ConfigurationError(
                f"{type(self).__name__}: interval must be at least 1 millisecond, got {interval!r}. "
                f"{type(self).__name__}.of() takes a Time."
            )
        self.interval = interval
        self._next_firing = ReducingStateDescriptor("fire-time", _Min(), Types.LONG())

    def can_merge(self) -> bool:
        return True

    def _next_after(self, time: int, window: Window) -> int:
        # The last firing is at the end of the window. Where that is past already (an event-time window driven
        # by processing time) there is no such firing: a timer for it would be due again and again.
        following, end = time + self.interval, window.max_timestamp()
        return end if time < end < following else following

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fires again and again as the watermark advances by ``interval``, and at the end of the window.

    :param interval: The time between firings in milliseconds; firings are aligned to it.
    """

    @staticmethod
    def of(interval: TimeLength) -> ContinuousEventTimeTrigger:
        """Make a trigger that fires every ``interval``."""
        return ContinuousEventTimeTrigger(to_milliseconds(interval))

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        end = window.max_timestamp()
        if end <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(end)
        firing: ReducingState[int] = ctx.get_partitioned_state(self._next_firing)
        if firing.get() is None:
            self.register_next_fire_timestamp(timestamp - timestamp % self.interval, window, ctx, firing)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        firing: ReducingState[int] = ctx.get_partitioned_state(self._next_firing)
        if firing.get() != time:
            return TriggerResult.CONTINUE
        firing.clear()
        self.register_next_fire_timestamp(time, window, ctx, firing)
        return TriggerResult.FIRE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._next_firing)
        time = ctx.get_partitioned_state(self._next_firing).get()
        if time is not None:
            ctx.register_event_time_timer(time)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        firing: ReducingState[int] = ctx.get_partitioned_state(self._next_firing)
        time = firing.get()
        if time is not None:
            ctx.delete_event_time_timer(time)
            firing.clear()
        ctx.delete_event_time_timer(window.max_timestamp())

    def register_next_fire_timestamp(
        self, time: int, window: Window, ctx: Trigger.TriggerContext, fire_timestamp_state: ReducingState[int]
    ) -> None:
        """Register the firing that follows ``time`` and remember it."""
        following = self._next_after(time, window)
        fire_timestamp_state.add(following)
        ctx.register_event_time_timer(following)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fires again and again as processing time advances by ``interval``, the last time at the end of the window.

    :param interval: The time between firings in milliseconds; firings are aligned to it.
    """

    @staticmethod
    def of(interval: TimeLength) -> ContinuousProcessingTimeTrigger:
        """Make a trigger that fires every ``interval``."""
        return ContinuousProcessingTimeTrigger(to_milliseconds(interval))

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        firing: ReducingState[int] = ctx.get_partitioned_state(self._next_firing)
        if firing.get() is None:
            now = ctx.get_current_processing_time()
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, firing)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        firing: ReducingState[int] = ctx.get_partitioned_state(self._next_firing)
        if firing.get() != time:
            return TriggerResult.CONTINUE
        firing.clear()
        self.register_next_fire_timestamp(time, window, ctx, firing)
        return TriggerResult.FIRE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._next_firing)
        time = ctx.get_partitioned_state(self._next_firing).get()
        if time is not None:
            ctx.register_processing_time_timer(time)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        firing: ReducingState[int] = ctx.get_partitioned_state(self._next_firing)
        time = firing.get()
        if time is not None:
            ctx.delete_processing_time_timer(time)
            firing.clear()

    def register_next_fire_timestamp(
        self, time: int, window: Window, ctx: Trigger.TriggerContext, fire_timestamp_state: ReducingState[int]
    ) -> None:
        """Register the firing that follows ``time`` and remember it."""
        following = self._next_after(time, window)
        fire_timestamp_state.add(following)
        ctx.register_processing_time_timer(following)


class NeverTrigger(_Quiet):
    """Never fires; the default of ``GlobalWindows``."""

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        return None


class EndOfStreamTrigger(_Quiet):
    """Fires once, when all input has ended, and drops the contents."""

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class PurgingTrigger(Trigger[Any, Any]):
    """Turns another trigger into one that drops the contents whenever it fires.

    :param nested_trigger: The trigger that decides when.
    """

    def __init__(self, nested_trigger: Trigger[Any, Any]) -> None:
        self.nested_trigger = _nested(nested_trigger, "PurgingTrigger")

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger:
        """Make a purging trigger of another."""
        return PurgingTrigger(nested_trigger)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self.nested_trigger!r})"


class DeltaTrigger(_Quiet):
    """Fires when a record is further than ``threshold`` from the one at which it fired last (or the first one).

    :param threshold: The distance that must be exceeded.
    :param delta_function: A ``DeltaFunction``, or a callable of two records that returns their distance.
    :param type_info: The type of the records, kept in state; None if undeclared.
    """

    def __init__(self, threshold: float, delta_function: Any, type_info: TypeInformation | None = None) -> None:
        self._threshold = threshold
        self._delta = as_delta(delta_function, "DeltaTrigger")
        self._last = ValueStateDescriptor("last-element", type_info)

    @staticmethod
    def of(threshold: float, delta_function: Any, type_info: TypeInformation | None = None) -> DeltaTrigger:
        """Make a delta trigger."""
        return DeltaTrigger(threshold, delta_function, type_info)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        last = ctx.get_partitioned_state(self._last)
        previous = last.value()
        if previous is None:
            last.update(element)
            return TriggerResult.CONTINUE
        if self._delta(previous, element) <= self._threshold:
            return TriggerResult.CONTINUE
        last.update(element)
        return TriggerResult.FIRE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._last).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self._threshold})"


class ProcessingTimeoutTrigger(Trigger[Any, Any]):
    """Adds a processing-time timeout to another trigger: fires when that does, or when the timeout has passed.

    The timeout starts with the first record of a window (after a firing: the next one).

    :param nested_trigger: The other trigger.
    :param timeout: The timeout.
    :param reset_timer_on_new_record: Start the timeout again with every record.
    :param should_clear_on_timeout: Clear the other trigger's state and timers when a timer fires.
    """

    def __init__(
        self,
        nested_trigger: Trigger[Any, Any],
        timeout: TimeLength,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> None:
        self._nested = _nested(nested_trigger, "ProcessingTimeoutTrigger")
        self._timeout = to_milliseconds(timeout)
        if self._timeout < 1:
            raise ConfigurationError(
                f"ProcessingTimeoutTrigger: timeout must be at least 1 ms, got {self._timeout} ms."
            )
        self._reset = reset_timer_on_new_record
        self._clear_on_timeout = should_clear_on_timeout
        self._due = ValueStateDescriptor("timeout", Types.LONG())

    @staticmethod
    def of(
        nested_trigger: Trigger[Any, Any],
        timeout: TimeLength,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger:
        """Add a timeout to another trigger."""
        return ProcessingTimeoutTrigger(nested_trigger, timeout, reset_timer_on_new_record, should_clear_on_timeout)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        result = self._nested.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        state = ctx.get_partitioned_state(self._due)
        due = state.value()
        if due is None or self._reset:
            if due is not None:
                ctx.delete_processing_time_timer(due)
            due = ctx.get_current_processing_time() + self._timeout
            state.update(due)
            ctx.register_processing_time_timer(due)
        return result

    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._on_timer(self._nested.on_processing_time(time, window, ctx), window, ctx)

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._on_timer(self._nested.on_event_time(time, window, ctx), window, ctx)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        state = ctx.get_partitioned_state(self._due)
        due = state.value()
        if due is not None:
            ctx.delete_processing_time_timer(due)
            state.clear()
        self._nested.clear(window, ctx)

    def _on_timer(self, result: TriggerResult, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        if self._clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if result.is_purge() else TriggerResult.FIRE

    def __repr__(self) -> str:
        return f"ProcessingTimeoutTrigger({self._nested!r}, {self._timeout})"


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result


def _nested(trigger: Any, where: str) -> Trigger[Any, Any]:
    if not isinstance(trigger, Trigger):
        raise ConfigurationError(f"{where}: nested_trigger must be a Trigger, got {trigger!r}.")
    return trigger
