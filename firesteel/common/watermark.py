"""Watermarks and the generators that make them from the timestamps of elements."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from firesteel.common.time import MIN_WATERMARK, TimeLength, to_milliseconds
from firesteel.errors import ConfigurationError

__all__ = [
    "BoundedOutOfOrdernessWatermarks",
    "MonotonousTimestampsWatermarks",
    "NoWatermarksGenerator",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkOutput",
]


@dataclass(frozen=True)
class Watermark:
    """Says: no element with a timestamp of `timestamp` or less is expected any more."""

    timestamp: int


class WatermarkOutput(ABC):
    """Where a generator puts its watermarks; given to it by the runtime."""

    @abstractmethod
    def emit_watermark(self, watermark: Watermark) -> None:
        """Send a watermark downstream. One that is not higher than the last is left out. Ends idleness."""

    @abstractmethod
    def mark_idle(self) -> None:
        """Say that this input is silent, so that others need not wait for its watermark."""

    @abstractmethod
    def mark_active(self) -> None:
        """Say that this input has something again; the next watermark says it too."""


class WatermarkGenerator(ABC):
    """Makes watermarks, from single elements, from time to time, or both.

    One instance is made for each source split or subtask. ``on_event`` is called once for each element in
    order, whether it has a timestamp or not. ``on_periodic_emit`` is called at the end of an epoch (elements or
    not) if the watermark interval has passed; without an interval of one's own
    (``pipeline.auto-watermark-interval``) at the end of every epoch and after every batch of elements.
    ``snapshot`` is called when an epoch ends and ``restore`` once, on a fresh instance, before the first element
    after a recovery::

        class OnMarker(WatermarkGenerator):
            def on_event(self, event, timestamp, output):
                if event.is_marker:
                    output.emit_watermark(Watermark(timestamp))
    """

    @abstractmethod
    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        """See an element and its timestamp (``MIN_WATERMARK`` if it has none); may emit."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit if there is something new to say. A generator that only looks at elements need not override it."""
        return

    def snapshot(self) -> Any:
        """What :meth:`restore` needs to go on from here: a copy of all attributes unless overridden."""
        return copy.deepcopy(vars(self))

    def restore(self, state: Any) -> None:
        """Continue from what :meth:`snapshot` returned."""
        vars(self).update(copy.deepcopy(state))


class BoundedOutOfOrdernessWatermarks(WatermarkGenerator):
    """Trails the highest timestamp by the bound and 1 ms: an element exactly `bound` late still counts."""

    def __init__(self, max_out_of_orderness: TimeLength) -> None:
        self._bound = to_milliseconds(max_out_of_orderness)
        if self._bound < 0:
            raise ConfigurationError(
                f"the out-of-orderness bound must not be negative, got {self._bound} ms. "
                "Use 0 for streams that are in order."
            )
        self._max_timestamp = MIN_WATERMARK + self._bound + 1

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        """Remember the highest timestamp."""
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp

    def on_timestamps(self, timestamps: Iterable[int]) -> None:
        """Do what calling :meth:`on_event` for each timestamp does, for a whole batch at once."""
        self._max_timestamp = max(self._max_timestamp, max(timestamps, default=MIN_WATERMARK))

    def on_latest_timestamp(self, timestamp: int) -> None:
        """The same, told only the highest timestamp of the batch."""
        self._max_timestamp = max(self._max_timestamp, timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit the watermark that the highest timestamp allows."""
        output.emit_watermark(Watermark(self._max_timestamp - self._bound - 1))

    def snapshot(self) -> int:
        """The highest timestamp seen."""
        return self._max_timestamp

    def restore(self, state: Any) -> None:
        """Continue from the highest timestamp seen; the bound may have been changed since."""
        self._max_timestamp = max(self._max_timestamp, state)


class MonotonousTimestampsWatermarks(BoundedOutOfOrdernessWatermarks):
    """For streams whose timestamps never fall: trails the last one by 1 ms."""

    def __init__(self) -> None:
        super().__init__(0)


class NoWatermarksGenerator(WatermarkGenerator):
    """Makes no watermarks: for programs that need processing time only."""

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        """See an element and say nothing."""

    def on_timestamps(self, timestamps: Iterable[int]) -> None:
        """See a whole batch and say nothing."""

    def on_latest_timestamp(self, timestamp: int) -> None:
        """See the end of a batch and say nothing."""
