"""What user functions are given: the runtime context, and the timer service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import index
from typing import Any

from firesteel.common.time import MAX_WATERMARK
from firesteel.errors import NoKeyError, TypeMismatchError
from firesteel.metrics import MetricGroup
from firesteel.model.functions import RuntimeContext
from firesteel.model.functions.base import DistributedCache
from firesteel.model.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from firesteel.model.timers import TimerService
from firesteel.runtime.operator import Clock, Operator, OperatorContext
from firesteel.state.backend import KeyedStateBackend, KeyScope
from firesteel.state.handles import StateHandles
from firesteel.state.timers import Timer, TimerQueue

# Called for a timer that fires, with the key in scope: (timestamp, key, namespace).
TimerCallback = Callable[[int, Any, Any], None]
_LOOK_EVERY = 256
"""After so many timers it is looked whether the epoch's time is used up."""


class SubtaskRuntimeContext(RuntimeContext):
    """The runtime context of a function in an operator subtask."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context
        self._handles = None if context.keyed_state is None else StateHandles(context.keyed_state)

    def get_task_name(self) -> str:
        """The name of the operator."""
        return self._context.info.name

    def get_number_of_parallel_subtasks(self) -> int:
        """The operator's parallelism."""
        return self._context.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """The operator's number of key groups."""
        return self._context.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Which subtask this is, from 0."""
        return self._context.subtask_index

    def get_attempt_number(self) -> int:
        """How often the job has been restarted."""
        return self._context.attempt

    def get_task_name_with_subtasks(self) -> str:
        """``name (1/2)``."""
        return f"{self._context.info.name} ({self._context.subtask_index + 1}/{self._context.parallelism})"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global job parameter."""
        return self._context.job_parameters.get(key, default_value)

    def get_metrics_group(self) -> MetricGroup:
        """The operator's metric group."""
        return self._context.metrics

    def get_distributed_cache(self) -> DistributedCache:
        """The registered files."""
        return DistributedCache(self._context.cached_files)

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """Value state of the current key."""
        handle: ValueState[Any] = self._handle(state_descriptor)
        return handle

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """List state of the current key."""
        handle: ListState[Any] = self._handle(state_descriptor)
        return handle

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """Map state of the current key."""
        handle: MapState[Any, Any] = self._handle(state_descriptor)
        return handle

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """Reducing state of the current key."""
        handle: ReducingState[Any] = self._handle(state_descriptor)
        return handle

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        """Aggregating state of the current key."""
        handle: AggregatingState[Any, Any] = self._handle(state_descriptor)
        return handle

    def state_of_all_keys(self, descriptor: StateDescriptor) -> tuple[Any, list[Any]]:
        """A state handle, and all keys of this subtask that have the state."""
        handle = self._handle(descriptor)
        assert self._handles is not None
        return handle, self._handles.keys(descriptor)

    def _handle(self, descriptor: StateDescriptor) -> Any:
        if self._handles is None:
            raise NoKeyError(
                f"state {descriptor.get_name()!r} cannot be used in operator {self._context.info.name!r}: keyed state "
                "exists on keyed streams only. Call key_by(...) before this operator"
            )
        return self._handles.get(descriptor)


def timer_time(time: Any, method: str, operator: Operator) -> int:
    """The time of a timer as int: numpy's whole numbers are fine, anything else is refused."""
    if hasattr(time, "__index__") and not isinstance(time, bool):
        return index(time)
    raise TypeMismatchError(
        f"{method}() in operator {operator.context.info.name!r} takes milliseconds as int, got "
        f"{type(time).__name__}: {time!r:.100}. Convert it with int(...); a record has no timestamp (None) where no "
        "timestamp assigner gave it one"
    )


def due_timers(queue: TimerQueue, until: int, clock: Clock) -> Iterator[Timer]:
    """Take the timers that are due out of a queue, those registered meanwhile included.

    At the end of all time a timer may register the next one without end. Then, when the epoch's time is used up, the
    rest waits for the next epoch, and between epochs the job can be cancelled.
    """
    fired = 0
    timer = queue.pop_due(until)
    while timer is not None:
        yield timer
        fired += 1
        if until == MAX_WATERMARK and fired % _LOOK_EVERY == 0 and clock.expired():
            return
        timer = queue.pop_due(until)


def is_due(queue: TimerQueue, until: int) -> bool:
    """Whether a timer is due."""
    due = queue.next_timestamp()
    return due is not None and due <= until


class KeyedTimerService(TimerService):
    """Timers of a keyed operator: event-time and processing-time queues, for the key in scope.

    ``namespace`` is None for process functions; the window operator sets it to the window in work.
    """

    def __init__(self, operator: Operator, backend: KeyedStateBackend, name: str = "timers") -> None:
        self._operator = operator
        self._clock: Clock = operator.context.clock
        self._scope: KeyScope = backend.scope
        self._event_time: TimerQueue = backend.timers(f"{name}/event-time")
        self._processing_time: TimerQueue = backend.timers(f"{name}/processing-time")
        self.namespace: Any = None

    def current_processing_time(self) -> int:
        """The processing time of this epoch."""
        return self._clock.now

    def current_watermark(self) -> int:
        """The operator's event time."""
        return self._operator.watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        """Call the function back when the watermark reaches ``timestamp``."""
        if timestamp.__class__ is not int:
            timestamp = timer_time(timestamp, "register_event_time_timer", self._operator)
        self._event_time.add(self._scope.key, self.namespace, timestamp)

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call the function back when processing time reaches ``timestamp``."""
        if timestamp.__class__ is not int:
            timestamp = timer_time(timestamp, "register_processing_time_timer", self._operator)
        self._processing_time.add(self._scope.key, self.namespace, timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget an event-time timer."""
        if timestamp.__class__ is not int:
            timestamp = timer_time(timestamp, "delete_event_time_timer", self._operator)
        self._event_time.remove(self._scope.key, self.namespace, timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Forget a processing-time timer."""
        if timestamp.__class__ is not int:
            timestamp = timer_time(timestamp, "delete_processing_time_timer", self._operator)
        self._processing_time.remove(self._scope.key, self.namespace, timestamp)

    def fire_event_time(self, watermark: int, callback: TimerCallback) -> None:
        """Fire all event-time timers up to ``watermark``, those registered meanwhile included.

        At the end of all time there may be no end of them: then as many as the epoch has time for.
        """
        self._fire(self._event_time, watermark, callback)

    def event_time_due(self, watermark: int) -> bool:
        """Whether there are event-time timers that should have fired."""
        return is_due(self._event_time, watermark)

    def fire_processing_time(self, now: int, callback: TimerCallback) -> None:
        """Fire all processing-time timers up to ``now``, those registered meanwhile included."""
        self._fire(self._processing_time, now, callback)

    def _fire(self, queue: TimerQueue, until: int, callback: TimerCallback) -> None:
        for key, namespace, timestamp in due_timers(queue, until, self._clock):
            self._scope.key = key
            callback(timestamp, key, namespace)

    def next_processing_timer(self) -> int | None:
        """When the next processing-time timer is due."""
        return self._processing_time.next_timestamp()


class UnkeyedTimerService(TimerService):
    """The timer service of functions on streams without keys: time can be asked for, timers cannot be set."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def current_processing_time(self) -> int:
        """The processing time of this epoch."""
        return self._operator.context.clock.now

    def current_watermark(self) -> int:
        """The operator's event time."""
        return self._operator.watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        """Refused: timers belong to keys."""
        self._refuse()

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Refused: timers belong to keys."""
        self._refuse()

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Refused: timers belong to keys."""
        self._refuse()

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Refused: timers belong to keys."""
        self._refuse()

    def _refuse(self) -> None:
        raise NoKeyError(
            f"timers cannot be used in operator {self._operator.context.info.name!r}: they exist on keyed streams "
            "only. Call key_by(...) before this operator"
        )
