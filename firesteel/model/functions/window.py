"""Functions that see the contents of a window when it fires."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from firesteel.model.functions.base import Function, KeyedStateStore
from firesteel.model.functions.process import SideOutputContext

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")
W2 = TypeVar("W2")  # for nested classes, which cannot use the variables of the outer one


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Evaluates the windows of a keyed stream, without a context."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Called whenever a window of a key fires, with all its records; ``yield`` or return the results.

        After ``reduce`` or ``aggregate`` the iterable holds exactly one record, the aggregate.
        """


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Evaluates the windows of a stream without keys."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Called whenever a window fires, with all its records; ``yield`` or return the results."""


class _WindowContext(SideOutputContext, Generic[W2]):
    """What both window contexts have."""

    __slots__ = ()

    @abstractmethod
    def window(self) -> W2:
        """The window that is evaluated."""

    @abstractmethod
    def window_state(self) -> KeyedStateStore:
        """State per key and window. Whoever uses it must delete it in ``clear``. Not there for merging windows."""

    @abstractmethod
    def global_state(self) -> KeyedStateStore:
        """State per key that is shared by all windows."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Evaluates the windows of a keyed stream, with a context: the window, the clocks, state, side outputs."""

    class Context(_WindowContext[W2], Generic[W2]):
        """What the methods are given about the window."""

        __slots__ = ()

        @abstractmethod
        def current_processing_time(self) -> int:
            """The processing time in milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The watermark in milliseconds."""

    @abstractmethod
    def process(
        self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT] | None:
        """Called whenever a window of a key fires, with all its records.

        ``yield`` or return results; ``yield tag, result`` or ``context.output`` for a side output. After
        ``reduce`` or ``aggregate`` the iterable holds exactly one record, the aggregate.
        """

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Called once when a window is deleted: clear what was put in ``context.window_state()``."""
        return None


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Evaluates the windows of a stream without keys, with a context."""

    class Context(_WindowContext[W2], Generic[W2]):
        """What the methods are given about the window."""

        __slots__ = ()

    @abstractmethod
    def process(self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]) -> Iterable[OUT] | None:
        """Called whenever a window fires, with all its records; emits like a :class:`ProcessWindowFunction`."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Called once when a window is deleted: clear what was put in ``context.window_state()``."""
        return None


class RichWindowFunction(WindowFunction[Any, Any, Any, Any]):
    """Flink's name for a :class:`WindowFunction` that uses ``open`` and ``close``."""


class RichAllWindowFunction(AllWindowFunction[Any, Any, Any]):
    """Flink's name for an :class:`AllWindowFunction` that uses ``open`` and ``close``."""
