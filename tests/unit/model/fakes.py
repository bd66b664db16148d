"""Small stand-ins for what the runtime gives to triggers, assigners and evictors."""

from __future__ import annotations

from typing import Any

from firesteel.common.time import MIN_WATERMARK
from firesteel.model.assigners import WindowAssigner
from firesteel.model.evictors import Evictor
from firesteel.model.state import ReducingStateDescriptor, StateDescriptor
from firesteel.model.triggers import Trigger, TriggerResult


class FakeState:
    """One value; behaves as ValueState or ReducingState."""

    def __init__(self, descriptor: StateDescriptor) -> None:
        self.descriptor = descriptor
        self.content: Any = None

    def value(self) -> Any:
        return self.content

    get = value

    def update(self, value: Any) -> None:
        self.content = value

    def add(self, value: Any) -> None:
        assert isinstance(self.descriptor, ReducingStateDescriptor)
        reduce = self.descriptor.get_reduce_function().reduce
        self.content = value if self.content is None else reduce(self.content, value)

    def clear(self) -> None:
        self.content = None


class TriggerRig(Trigger.OnMergeContext):
    """Drives a trigger for one key as the window operator does: elements, clocks, timers and merges."""

    def __init__(self, trigger: Trigger, now: int = 0) -> None:
        self.trigger = trigger
        self.now = now
        self.watermark = MIN_WATERMARK
        self.window: Any = None
        self.merged: list[Any] = []
        self.states: dict[tuple[Any, str], FakeState] = {}
        self.event_timers: set[tuple[int, Any]] = set()
        self.processing_timers: set[tuple[int, Any]] = set()

    # --- driving

    def element(self, value: Any, timestamp: int, window: Any) -> TriggerResult:
        self.window = window
        return self.trigger.on_element(value, timestamp, window, self)

    def advance_watermark(self, watermark: int) -> list[tuple[int, TriggerResult]]:
        self.watermark = watermark
        return self._fire(self.event_timers, watermark, self.trigger.on_event_time)

    def advance_processing_time(self, now: int) -> list[tuple[int, TriggerResult]]:
        self.now = now
        return self._fire(self.processing_timers, now, self.trigger.on_processing_time)

    def merge(self, windows: list[Any], result: Any) -> None:
        self.window, self.merged = result, windows
        self.trigger.on_merge(result, self)

    def clear(self, window: Any) -> None:
        self.window = window
        self.trigger.clear(window, self)

    def left_over(self) -> list[Any]:
        """State and timers that are still there."""
        states = [key for key, state in self.states.items() if state.content is not None]
        return [*states, *self.event_timers, *self.processing_timers]

    def _fire(self, timers: set[tuple[int, Any]], until: int, call: Any) -> list[tuple[int, TriggerResult]]:
        results = []
        while due := sorted((time, window) for time, window in timers if time <= until):
            assert len(results) < 100, "the trigger keeps registering timers that are due at once"
            time, self.window = due[0]
            timers.discard(due[0])
            results.append((time, call(time, self.window, self)))
        return results

    # --- the context

    def get_current_processing_time(self) -> int:
        return self.now

    def get_current_watermark(self) -> int:
        return self.watermark

    def get_metric_group(self) -> Any:
        raise AssertionError("no trigger here uses metrics")

    def register_processing_time_timer(self, time: int) -> None:
        self.processing_timers.add((time, self.window))

    def register_event_time_timer(self, time: int) -> None:
        self.event_timers.add((time, self.window))

    def delete_processing_time_timer(self, time: int) -> None:
        self.processing_timers.discard((time, self.window))

    def delete_event_time_timer(self, time: int) -> None:
        self.event_timers.discard((time, self.window))

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> FakeState:
        return self.states.setdefault((self.window, state_descriptor.name), FakeState(state_descriptor))

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        target = self.get_partitioned_state(state_descriptor)
        for window in self.merged:
            state = self.states.get((window, state_descriptor.name))
            if state is not None and state is not target and state.content is not None:
                target.add(state.content)
                state.clear()


class FakeRuntimeContext:
    """Enough of a runtime context for assigners."""

    def __init__(self, subtask: str = "Window (1/1)") -> None:
        self.subtask = subtask
        self.states: dict[str, FakeState] = {}

    def get_state(self, descriptor: StateDescriptor) -> FakeState:
        return self.states.setdefault(descriptor.name, FakeState(descriptor))

    def get_task_name_with_subtasks(self) -> str:
        return self.subtask


class FakeAssignerContext(WindowAssigner.WindowAssignerContext):
    def __init__(self, now: int = 0, subtask: str = "Window (1/1)") -> None:
        self.now = now
        self.runtime_context = FakeRuntimeContext(subtask)

    def get_current_processing_time(self) -> int:
        return self.now

    def get_runtime_context(self) -> Any:
        return self.runtime_context


class FakeEvictorContext(Evictor.EvictorContext):
    def get_current_processing_time(self) -> int:
        return 0

    def get_current_watermark(self) -> int:
        return 0

    def get_metric_group(self) -> Any:
        raise AssertionError("no evictor here uses metrics")
