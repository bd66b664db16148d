"""Process functions with one input, and the process function of interval joins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from firesteel.model.functions.base import Function
from firesteel.model.timers import TimeDomain, TimerService

if TYPE_CHECKING:
    from firesteel.model.output_tag import OutputTag


class SideOutputContext(ABC):
    """What all contexts of process functions have in common: side outputs.

    A context is valid during the call to which it was given, no longer.
    """

    __slots__ = ()

    @abstractmethod
    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Emit a record to a side output. ``yield output_tag, value`` does the same."""


class ElementContext(SideOutputContext):
    """The context of a record: its timestamp, the timer service, side outputs."""

    __slots__ = ()

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Reads the clocks; registers timers, on keyed streams."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """The timestamp of the record (or of the timer that fires) in milliseconds; None if the record has none."""


class KeyedElementContext(ElementContext):
    """The context of a record or timer of a keyed stream."""

    __slots__ = ()

    @abstractmethod
    def get_current_key(self) -> Any:
        """The key of the record or timer."""


class ProcessFunction(Function):
    """Processes records one by one, on a stream without keys: side outputs and time, but no state and no timers."""

    class Context(ElementContext):
        """What :meth:`ProcessFunction.process_element` is given besides the record."""

        __slots__ = ()

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None:
        """Called once per record: ``yield`` results, or ``yield tag, result`` for a side output; None means nothing.

        May also be written with a third parameter ``out`` and call ``out.collect(result)``.
        """


class KeyedProcessFunction(Function):
    """Processes the records of a keyed stream one by one, with state and timers per key."""

    class Context(KeyedElementContext):
        """What :meth:`KeyedProcessFunction.process_element` is given besides the record."""

        __slots__ = ()

    class OnTimerContext(Context):
        """What :meth:`KeyedProcessFunction.on_timer` is given besides the timestamp."""

        __slots__ = ()

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Whether this is an event-time or a processing-time timer."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any] | None:
        """Called once per record, with all state handles scoped to its key.

        ``yield`` results, or ``yield tag, result`` for a side output; None means nothing. May also be written
        with a third parameter ``out`` and call ``out.collect(result)``.
        """

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """Called once per timer that was registered, with all state handles scoped to the timer's key.

        Emits like :meth:`process_element`. Records emitted for an event-time timer carry its timestamp.
        """
        return None


class ProcessJoinFunction(Function):
    """Processes pairs of an interval join."""

    class Context(SideOutputContext):
        """What :meth:`ProcessJoinFunction.process_element` is given besides the pair."""

        __slots__ = ()

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """The timestamp of the left record."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """The timestamp of the right record."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """The timestamp of the results: the larger of the two."""

    @abstractmethod
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any] | None:
        """Called once per pair within the interval; emits like a :class:`ProcessFunction`."""
