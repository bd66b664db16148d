"""Functions that read a stream together with broadcast state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from firesteel.model.functions.base import Function
from firesteel.model.functions.process import SideOutputContext
from firesteel.model.timers import TimeDomain, TimerService

if TYPE_CHECKING:
    from firesteel.model.state import (
        BroadcastState,
        MapStateDescriptor,
        ReadOnlyBroadcastState,
        State,
        StateDescriptor,
    )


class BaseBroadcastProcessFunction(Function):
    """What the two broadcast process functions have in common."""

    class BaseContext(SideOutputContext, ABC):
        """The clocks and the timestamp of the record."""

        __slots__ = ()

        @abstractmethod
        def timestamp(self) -> int | None:
            """The timestamp of the record in milliseconds; None if it has none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The processing time in milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The watermark in milliseconds."""

    class Context(BaseContext):
        """The context of broadcast records, which may write broadcast state."""

        __slots__ = ()

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
            """The broadcast state that was declared with this descriptor, to read and write."""

    class ReadOnlyContext(BaseContext):
        """The context of all other records, which may only read broadcast state."""

        __slots__ = ()

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
            """The broadcast state that was declared with this descriptor, read only."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction):
    """Connects a stream without keys with a broadcast stream."""

    class Context(BaseBroadcastProcessFunction.Context):
        """What :meth:`BroadcastProcessFunction.process_broadcast_element` is given besides the record."""

        __slots__ = ()

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """What :meth:`BroadcastProcessFunction.process_element` is given besides the record."""

        __slots__ = ()

    @abstractmethod
    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any] | None:
        """Called once per record of the stream; emits like a ``ProcessFunction``."""

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Iterable[Any] | None:
        """Called once per broadcast record in every subtask. What it writes must depend on the record only:
        all subtasks must come to the same state.
        """


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction):
    """Connects a keyed stream with a broadcast stream."""

    class Context(BaseBroadcastProcessFunction.Context):
        """What :meth:`KeyedBroadcastProcessFunction.process_broadcast_element` is given besides the record."""

        __slots__ = ()

        @abstractmethod
        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor, function: Callable[[Any, State], None]
        ) -> None:
            """Call ``function(key, state)`` for every key of this subtask that has the keyed state."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """What :meth:`KeyedBroadcastProcessFunction.process_element` is given besides the record."""

        __slots__ = ()

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Reads the clocks and registers timers."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the record or timer."""

    class OnTimerContext(ReadOnlyContext):
        """What :meth:`KeyedBroadcastProcessFunction.on_timer` is given besides the timestamp."""

        __slots__ = ()

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Whether this is an event-time or a processing-time timer."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any] | None:
        """Called once per record of the keyed stream, with state scoped to its key."""

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> Iterable[Any] | None:
        """Called once per broadcast record in every subtask; there is no current key.

        What it writes to broadcast state must depend on the record only.
        """

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """Called once per timer that was registered, with state scoped to the timer's key."""
        return None
