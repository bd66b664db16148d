"""Evictors: which records are taken out of a window before or after it is evaluated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from firesteel.common.time import TimeLength, to_milliseconds
from firesteel.errors import ConfigurationError
from firesteel.model.functions.adapt import as_delta
from firesteel.model.windows import Window

if TYPE_CHECKING:
    from firesteel.metrics import MetricGroup

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class TimestampedValue(NamedTuple):
    """A record of a window with its timestamp."""

    value: Any
    timestamp: int | None = None

    def get_value(self) -> Any:
        """The record."""
        return self.value

    def get_timestamp(self) -> int | None:
        """The timestamp of the record in milliseconds; None if it has none."""
        return self.timestamp

    def has_timestamp(self) -> bool:
        """Whether the record has a timestamp."""
        return self.timestamp is not None


class Evictor(ABC, Generic[T, W]):
    """Removes records from a window. A window with an evictor keeps all its records, also under ``reduce``."""

    class EvictorContext(ABC):
        """The clocks and metrics."""

        __slots__ = ()

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The processing time in milliseconds."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Where the evictor registers metrics of its own."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """The watermark in milliseconds."""

    @abstractmethod
    def evict_before(
        self, elements: list[TimestampedValue], size: int, window: W, evictor_context: Evictor.EvictorContext
    ) -> None:
        """Called when the window fires, before the window function. Remove records from ``elements`` in place.

        :param elements: The records in the order in which they came; what is removed is gone for later
            firings too.
        :param size: How many there are.
        """

    @abstractmethod
    def evict_after(
        self, elements: list[TimestampedValue], size: int, window: W, evictor_context: Evictor.EvictorContext
    ) -> None:
        """Called when the window fires, after the window function. Remove records from ``elements`` in place."""


class _OneSidedEvictor(Evictor[Any, Window]):
    """An evictor that works either before or after the window function."""

    def __init__(self, do_evict_after: bool) -> None:
        self._do_evict_after = do_evict_after

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue]) -> None:
        """Remove records in place."""

    def evict_before(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: Window,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        if not self._do_evict_after:
            self._evict(elements)

    def evict_after(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: Window,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        if self._do_evict_after:
            self._evict(elements)


class CountEvictor(_OneSidedEvictor):
    """Keeps the last ``max_count`` records.

    :param do_evict_after: Evict after the window function instead of before.
    """

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        if isinstance(max_count, bool) or not isinstance(max_count, int) or max_count < 0:
            raise ConfigurationError(f"CountEvictor: max_count must be an int of at least 0, got {max_count!r}.")
        self._max_count = max_count

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """Make an evictor that keeps the last ``max_count`` records."""
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if len(elements) > self._max_count:
            del elements[: len(elements) - self._max_count]

    def __repr__(self) -> str:
        return f"CountEvictor({self._max_count})"


class TimeEvictor(_OneSidedEvictor):
    """Keeps the records that are less than ``window_size`` older than the newest one.

    Does nothing if the records carry no timestamps.

    :param do_evict_after: Evict after the window function instead of before.
    """

    def __init__(self, window_size: TimeLength, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self._window_size = to_milliseconds(window_size)
        if self._window_size < 0:
            raise ConfigurationError(f"TimeEvictor: window_size must not be negative, got {self._window_size} ms.")

    @staticmethod
    def of(window_size: TimeLength, do_evict_after: bool = False) -> TimeEvictor:
        """Make an evictor that keeps the newest ``window_size`` of time."""
        return TimeEvictor(window_size, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        stamps = [element.timestamp for element in elements if element.timestamp is not None]
        if len(stamps) < len(elements) or not stamps:
            return
        oldest = max(stamps) - self._window_size
        elements[:] = [element for element, stamp in zip(elements, stamps, strict=True) if stamp > oldest]

    def __repr__(self) -> str:
        return f"TimeEvictor({self._window_size})"


class DeltaEvictor(_OneSidedEvictor):
    """Keeps the records that are closer than ``threshold`` to the last one.

    :param threshold: Records at this distance or further are removed.
    :param delta_function: A ``DeltaFunction``, or a callable of (record, last record) that returns their
        distance.
    :param do_evict_after: Evict after the window function instead of before.
    """

    def __init__(self, threshold: float, delta_function: Any, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self._threshold = threshold
        self._delta = as_delta(delta_function, "DeltaEvictor")

    @staticmethod
    def of(threshold: float, delta_function: Any, do_evict_after: bool = False) -> DeltaEvictor:
        """Make a delta evictor."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if elements:
            last = elements[-1].value
            elements[:] = [element for element in elements if self._delta(element.value, last) < self._threshold]

    def __repr__(self) -> str:
        return f"DeltaEvictor({self._threshold})"
