"""What user functions are given: the runtime context, and the timer service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.errors import NoKeyError
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
from firesteel.state.timers import TimerQueue

# Called for a timer that fires, with the key in scope: (timestamp, key, namespace).
TimerCallback = Callable[[int, Any, Any], None]


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
        self._event_time.add(self._scope.key, self.namespace, timestamp)

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call the function back when processing time reaches ``timestamp``."""
        self._processing_time.add(self._scope.key, self.namespace, timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget an event-time timer."""
        self._event_time.remove(self._scope.key, self.namespace, timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Forget a processing-time timer."""
        self._processing_time.remove(self._scope.key, self.namespace, timestamp)

    def fire_event_time(self, watermark: int, callback: TimerCallback) -> None:
        """Fire all event-time timers up to ``watermark``, those registered meanwhile included."""
        self._fire(self._event_time, watermark, callback)

    def fire_processing_time(self, now: int, callback: TimerCallback) -> None:
        """Fire all processing-time timers up to ``now``, those registered meanwhile included."""
        self._fire(self._processing_time, now, callback)

    def _fire(self, queue: TimerQueue, until: int, callback: TimerCallback) -> None:
        timer = queue.pop_due(until)
        while timer is not None:
            key, namespace, timestamp = timer
            self._scope.key = key
            callback(timestamp, key, namespace)
            timer = queue.pop_due(until)

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
