"""Broadcast state: a stream, with or without keys, that reads what another stream has told every subtask.

The broadcast stream is the *first* input of these operators: its records of an epoch are in force before the other
input's records of the same epoch are processed, in the same order in every subtask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.errors import StateError
from firesteel.model.functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from firesteel.model.functions.adapt import emitting
from firesteel.model.output_tag import OutputTag
from firesteel.model.state import BroadcastState, MapStateDescriptor, ReadOnlyBroadcastState, State, StateDescriptor
from firesteel.model.timers import TimeDomain, TimerService
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.process import TimerFiring, run_elements
from firesteel.runtime.user_function import FunctionOperator
from firesteel.state.backend import NO_KEY
from firesteel.state.operator_state import OperatorStateBackend


class BroadcastStates:
    """The broadcast states that were declared for an operator, by name, for both sides."""

    def __init__(self, backend: OperatorStateBackend, descriptors: tuple[MapStateDescriptor, ...]) -> None:
        self._writable = {each.get_name(): backend.get_broadcast_state(each) for each in descriptors}
        self._readable = {each.get_name(): backend.read_only_broadcast_state(each) for each in descriptors}

    def writable(self, descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """The state as the broadcast side has it."""
        found = self._writable.get(descriptor.get_name())
        return found if found is not None else self._refuse(descriptor)

    def readable(self, descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
        """The state as the other side has it."""
        found = self._readable.get(descriptor.get_name())
        return found if found is not None else self._refuse(descriptor)

    def _refuse(self, descriptor: MapStateDescriptor) -> Any:
        declared = ", ".join(map(repr, self._writable))
        raise StateError(
            f"broadcast state {descriptor.get_name()!r} is not known here: broadcast() declared {declared}. "
            "Pass the descriptor of every broadcast state to broadcast()"
        )


class _ElementContext:
    """What all four contexts share. One object per operator and side; the timestamp changes with each record."""

    def __init__(self, operator: FunctionOperator, states: BroadcastStates) -> None:
        self._operator = operator
        self._states = states
        self.current_timestamp: int | None = None

    def timestamp(self) -> int | None:
        """The record's timestamp."""
        return self.current_timestamp

    def current_processing_time(self) -> int:
        """The processing time of this epoch."""
        return self._operator.context.clock.now

    def current_watermark(self) -> int:
        """The operator's event time."""
        return self._operator.watermark

    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Send a record to a side output."""
        self._operator.side.add(output_tag, value, self.current_timestamp)


class ReadingContext(_ElementContext, BroadcastProcessFunction.ReadOnlyContext):
    """The context of a record of the stream without keys."""

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
        """Broadcast state, read only."""
        return self._states.readable(state_descriptor)


class WritingContext(_ElementContext, BroadcastProcessFunction.Context):
    """The context of a broadcast record beside a stream without keys."""

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """Broadcast state, to read and write."""
        return self._states.writable(state_descriptor)


class KeyedReadingContext(_ElementContext, KeyedBroadcastProcessFunction.OnTimerContext):
    """The context of a record or timer of the keyed stream."""

    def __init__(self, operator: KeyedBroadcastOperator, states: BroadcastStates) -> None:
        super().__init__(operator, states)
        self._timers = operator.timers
        self._scope = operator.scope
        self.domain = TimeDomain.EVENT_TIME

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
        """Broadcast state, read only."""
        return self._states.readable(state_descriptor)

    def timer_service(self) -> TimerService:
        """The clocks and the timers."""
        return self._timers

    def get_current_key(self) -> Any:
        """The key of the record or timer."""
        return self._scope.key

    def time_domain(self) -> TimeDomain:
        """Which kind of timer fires."""
        return self.domain


class KeyedWritingContext(_ElementContext, KeyedBroadcastProcessFunction.Context):
    """The context of a broadcast record beside a keyed stream."""

    def __init__(self, operator: KeyedBroadcastOperator, states: BroadcastStates) -> None:
        super().__init__(operator, states)
        self._runtime_context = operator.runtime_context
        self._scope = operator.scope

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """Broadcast state, to read and write."""
        return self._states.writable(state_descriptor)

    def apply_to_keyed_state(self, state_descriptor: StateDescriptor, function: Callable[[Any, State], None]) -> None:
        """Call the function for every key of this subtask that has the state."""
        handle, keys = self._runtime_context.state_of_all_keys(state_descriptor)
        try:
            for key in keys:
                self._scope.key = key
                function(key, handle)
        finally:
            self._scope.key = NO_KEY


class BroadcastOperator(FunctionOperator):
    """A broadcast process function on a stream without keys."""

    def __init__(self, function: BroadcastProcessFunction, descriptors: tuple[MapStateDescriptor, ...]) -> None:
        super().__init__(function)
        self._descriptors = descriptors

    def open(self) -> None:
        """Make both contexts."""
        states = BroadcastStates(self.context.operator_state, self._descriptors)
        super().open()
        self._writing, self._reading = WritingContext(self, states), ReadingContext(self, states)
        self._on_broadcast = emitting(self.function, "process_broadcast_element", 2, self.own)
        self._on_element = emitting(self.function, "process_element", 2, self.own)

    def process(self, batch: RowBatch) -> None:
        """Broadcast records."""
        self.cursor = iter(batch.values)
        run_elements(self, self._on_broadcast, self._writing, None, batch)

    def process_second(self, batch: RowBatch) -> None:
        """Records of the stream."""
        self.cursor = iter(batch.values)
        run_elements(self, self._on_element, self._reading, None, batch)


class KeyedBroadcastOperator(TimerFiring):
    """A broadcast process function on a keyed stream: keyed state and timers beside the broadcast state."""

    def __init__(self, function: KeyedBroadcastProcessFunction, descriptors: tuple[MapStateDescriptor, ...]) -> None:
        super().__init__(function)
        self._descriptors = descriptors

    def open(self) -> None:
        """Make both contexts."""
        self._states = BroadcastStates(self.context.operator_state, self._descriptors)
        super().open()
        self._writing = KeyedWritingContext(self, self._states)
        self._on_broadcast = emitting(self.function, "process_broadcast_element", 2, self.own)
        self._on_element = emitting(self.function, "process_element", 2, self.own)

    def make_context(self) -> Any:
        """The context for records and timers of the keyed stream."""
        return KeyedReadingContext(self, self._states)

    def process(self, batch: RowBatch) -> None:
        """Broadcast records: there is no key."""
        self.cursor = iter(batch.values)
        self.scope.key = NO_KEY
        run_elements(self, self._on_broadcast, self._writing, None, batch)

    def process_second(self, batch: RowBatch) -> None:
        """Records of the keyed stream."""
        self.cursor = iter(batch.values)
        run_elements(self, self._on_element, self.element_context, self.scope, batch)
