"""What assigners, triggers, evictors and window functions are given."""

from __future__ import annotations

from typing import Any

from firesteel.errors import StateError, UnsupportedError
from firesteel.metrics import MetricGroup
from firesteel.model.assigners import WindowAssigner
from firesteel.model.evictors import Evictor
from firesteel.model.functions import (
    KeyedStateStore,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from firesteel.model.output_tag import OutputTag
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
from firesteel.model.triggers import Trigger
from firesteel.runtime.contexts import timer_time
from firesteel.runtime.emission import SideBuffer
from firesteel.runtime.operator import Operator
from firesteel.state.backend import KeyedStateBackend, KeyScope, list_table, value_table
from firesteel.state.handles import StateHandles
from firesteel.state.tables import ABSENT

_TRIGGER_STATE = "_trigger/"
_WINDOW_STATE = "_window-state/"


class AssignerContext(WindowAssigner.WindowAssignerContext):
    """Processing time and the runtime context."""

    __slots__ = ("_clock", "_runtime_context")

    def __init__(self, operator: Operator, runtime_context: RuntimeContext) -> None:
        self._clock = operator.context.clock
        self._runtime_context = runtime_context

    def get_current_processing_time(self) -> int:
        """The processing time of this epoch."""
        return self._clock.now

    def get_runtime_context(self) -> RuntimeContext:
        """The runtime context; the record's key is in scope."""
        return self._runtime_context


class WindowTriggerContext(Trigger.OnMergeContext):
    """Clocks, timers and state of the key and window in work.

    :ivar namespace: Stands for the window in work.
    :ivar merged: The namespaces of the windows that were merged, during ``on_merge``.
    """

    __slots__ = (
        "_backend",
        "_event_time",
        "_handles",
        "_operator",
        "_place",
        "_processing_time",
        "_scope",
        "merged",
        "namespace",
    )

    def __init__(self, operator: Operator, backend: KeyedStateBackend, place: KeyScope) -> None:
        self._operator = operator
        self._backend = backend
        self._scope = backend.scope
        self._place = place
        self._handles = StateHandles(backend, place, _TRIGGER_STATE, namespaced=True)
        self._event_time = backend.timers("_window/event-time")
        self._processing_time = backend.timers("_window/processing-time")
        self.namespace: Any = None
        self.merged: list[Any] = []

    def get_current_processing_time(self) -> int:
        """The processing time of this epoch."""
        return self._operator.context.clock.now

    def get_metric_group(self) -> MetricGroup:
        """The operator's metrics."""
        return self._operator.context.metrics

    def get_current_watermark(self) -> int:
        """The operator's event time."""
        return self._operator.watermark

    def register_processing_time_timer(self, time: int) -> None:
        """Call the trigger back at ``time``."""
        if time.__class__ is not int:
            time = timer_time(time, "register_processing_time_timer", self._operator)
        self._processing_time.add(self._scope.key, self.namespace, time)

    def register_event_time_timer(self, time: int) -> None:
        """Call the trigger back when the watermark reaches ``time``."""
        if time.__class__ is not int:
            time = timer_time(time, "register_event_time_timer", self._operator)
        self._event_time.add(self._scope.key, self.namespace, time)

    def delete_processing_time_timer(self, time: int) -> None:
        """Forget a timer."""
        if time.__class__ is not int:
            time = timer_time(time, "delete_processing_time_timer", self._operator)
        self._processing_time.remove(self._scope.key, self.namespace, time)

    def delete_event_time_timer(self, time: int) -> None:
        """Forget a timer."""
        if time.__class__ is not int:
            time = timer_time(time, "delete_event_time_timer", self._operator)
        self._event_time.remove(self._scope.key, self.namespace, time)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        """The state of the key and window in work."""
        return self._handles.get(state_descriptor)

    def values_of(self, name: str) -> list[Any]:
        """The values of a trigger's state for all keys and windows."""
        return list(value_table(self._backend, _TRIGGER_STATE + name, namespaced=True).entries.values())

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        """Merge the state of the merged windows into that of the new one."""
        self._handles.get(state_descriptor)
        name = _TRIGGER_STATE + state_descriptor.get_name()
        key = self._scope.key
        target, sources = self._place.key, [(key, namespace) for namespace in self.merged]
        if isinstance(state_descriptor, ListStateDescriptor):
            self._merge_lists(name, target, sources)
        elif isinstance(state_descriptor, ReducingStateDescriptor):
            self._merge_values(name, target, sources, state_descriptor.get_reduce_function().reduce)
        elif isinstance(state_descriptor, AggregatingStateDescriptor):
            self._merge_values(name, target, sources, state_descriptor.get_agg_function().merge)
        else:
            raise StateError(
                f"merge_partitioned_state: state {state_descriptor.get_name()!r} of {type(state_descriptor).__name__} "
                "cannot be merged. Use list, reducing or aggregating state in triggers of merging windows."
            )

    def _merge_lists(self, name: str, target: Any, sources: list[Any]) -> None:
        table = list_table(self._backend, name, namespaced=True)
        for source in sources:
            items = table.entries.get(source)
            if items and source != target:
                table.append(target, items)
                table.remove(source)

    def _merge_values(self, name: str, target: Any, sources: list[Any], merge: Any) -> None:
        table = value_table(self._backend, name, namespaced=True)
        for source in sources:
            value = table.entries.get(source, ABSENT)
            if value is not ABSENT and source != target:
                table.remove(source)
                current = table.entries.get(target, ABSENT)
                table.put(target, value if current is ABSENT else merge(current, value))


class WindowEvictorContext(Evictor.EvictorContext):
    """The clocks and metrics."""

    __slots__ = ("_operator",)

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def get_current_processing_time(self) -> int:
        """The processing time of this epoch."""
        return self._operator.context.clock.now

    def get_metric_group(self) -> MetricGroup:
        """The operator's metrics."""
        return self._operator.context.metrics

    def get_current_watermark(self) -> int:
        """The operator's event time."""
        return self._operator.watermark


class WindowStateStore(KeyedStateStore):
    """State of the key and window in work."""

    def __init__(self, backend: KeyedStateBackend, place: KeyScope) -> None:
        self._handles = StateHandles(backend, place, _WINDOW_STATE, namespaced=True)

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """One value per key and window."""
        handle: ValueState[Any] = self._handles.get(state_descriptor)
        return handle

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list per key and window."""
        handle: ListState[Any] = self._handles.get(state_descriptor)
        return handle

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """A map per key and window."""
        handle: MapState[Any, Any] = self._handles.get(state_descriptor)
        return handle

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """A reduced value per key and window."""
        handle: ReducingState[Any] = self._handles.get(state_descriptor)
        return handle

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        """An accumulator per key and window."""
        handle: AggregatingState[Any, Any] = self._handles.get(state_descriptor)
        return handle


class FunctionContext:
    """What the contexts of keyed and other window functions share.

    :ivar current_window: The window in work.
    """

    def __init__(
        self,
        operator: Operator,
        side: SideBuffer,
        global_state: KeyedStateStore,
        window_state: WindowStateStore | None,
    ) -> None:
        self._operator = operator
        self._side = side
        self._global_state = global_state
        self._window_state = window_state
        self.current_window: Any = None

    def window(self) -> Any:
        """The window that is evaluated."""
        return self.current_window

    def window_state(self) -> KeyedStateStore:
        """State of the key and window."""
        if self._window_state is None:
            raise UnsupportedError(
                "window_state(): windows that merge, such as sessions, have no state of their own, because two windows "
                "may become one. Use global_state()."
            )
        return self._window_state

    def global_state(self) -> KeyedStateStore:
        """State of the key, for all its windows."""
        return self._global_state

    def current_processing_time(self) -> int:
        """The processing time of this epoch."""
        return self._operator.context.clock.now

    def current_watermark(self) -> int:
        """The operator's event time."""
        return self._operator.watermark

    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Send a record to a side output; it carries the timestamp of the window's results."""
        self._side.add(output_tag, value, self.current_window.max_timestamp())


class KeyedFunctionContext(FunctionContext, ProcessWindowFunction.Context[Any]):
    """The context of a :class:`ProcessWindowFunction`."""


class AllFunctionContext(FunctionContext, ProcessAllWindowFunction.Context[Any]):
    """The context of a :class:`ProcessAllWindowFunction`."""
