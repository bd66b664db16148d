"""Which records make a version of a model: names of PyFlink's ``pyflink.ml.common.window``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from firesteel.common import Time
from firesteel.errors import ConfigurationError

__all__ = ["CountTumblingWindows", "EventTimeTumblingWindows", "GlobalWindows", "Windows"]

END_OF_TIME = 2**63 - 1


@dataclass(frozen=True)
class Windows:
    """Cuts a stream of training records into batches, each of which makes a version of the model."""

    waits: ClassVar[bool] = False
    """Whether records of a batch come while an earlier one is open, so that they have to wait."""

    def end_of(self, timestamp: int | None) -> int | None:
        """The last moment of the batch that a record belongs to; None if a batch ends by its size."""
        return None

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {"windows": type(self).__name__, **asdict(self)}

    @staticmethod
    def from_json(stored: dict[str, Any]) -> Windows:
        """What :meth:`to_json` has written."""
        settings = dict(stored)
        kinds = {kind.__name__: kind for kind in (GlobalWindows, CountTumblingWindows, EventTimeTumblingWindows)}
        kind = kinds.get(settings.pop("windows", ""))
        if kind is None:
            raise ConfigurationError(f"there are no windows {stored!r}: they are one of {', '.join(kinds)}.")
        return kind(**settings)


@dataclass(frozen=True)
class GlobalWindows(Windows):
    """One batch: there is one version, when the stream ends."""

    def end_of(self, timestamp: int | None) -> int | None:
        return END_OF_TIME


@dataclass(frozen=True)
class CountTumblingWindows(Windows):
    """So many records make a version."""

    size: int

    @staticmethod
    def of(size: int) -> CountTumblingWindows:
        """Batches of `size` records."""
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ConfigurationError(f"CountTumblingWindows.of takes a positive int, got {size!r}.")
        return CountTumblingWindows(size)


@dataclass(frozen=True)
class EventTimeTumblingWindows(Windows):
    """All records of so many milliseconds of event time make a version, at the end of that time."""

    size_ms: int
    waits: ClassVar[bool] = True

    @staticmethod
    def of(size: Time) -> EventTimeTumblingWindows:
        """Batches of a length of event time."""
        milliseconds = size.to_milliseconds() if isinstance(size, Time) else 0
        if milliseconds < 1:
            raise ConfigurationError(f"EventTimeTumblingWindows.of takes a positive Time, got {size!r}.")
        return EventTimeTumblingWindows(milliseconds)

    def end_of(self, timestamp: int | None) -> int | None:
        if timestamp is None:
            raise ConfigurationError(
                "EventTimeTumblingWindows: a record of training has no timestamp. "
                "Call assign_timestamps_and_watermarks() on the stream."
            )
        return timestamp - timestamp % self.size_ms + self.size_ms - 1
