"""Lengths and points of time, and the limits of event time.

Everything inside Firesteel counts in whole milliseconds; :func:`to_milliseconds` turns whatever a user
passes as a length of time into that.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from firesteel.errors import ConfigurationError

__all__ = ["Duration", "Instant", "MAX_WATERMARK", "MIN_WATERMARK", "Time", "TimeLength", "to_milliseconds"]

MIN_WATERMARK: Final = -(2**63)
"""The watermark before any element was seen."""

MAX_WATERMARK: Final = 2**63 - 1
"""The watermark that says: no element will come any more."""

_NANOS_PER_MILLI = 10**6
_NANOS_PER_SECOND = 10**9


def _whole(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigurationError(
            f"{what} must be a whole number, got {value!r} ({type(value).__name__}). Use a smaller unit for fractions."
        )
    return value


class Time:
    """A length of time in milliseconds, as window sizes, gaps and lateness use it.

    ::

        >>> Time.seconds(5).to_milliseconds()
        5000
    """

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = _whole(milliseconds, "a time in milliseconds")

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """A time of that many milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """A time of that many seconds."""
        return Time(_whole(seconds, "seconds") * 1000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """A time of that many minutes."""
        return Time(_whole(minutes, "minutes") * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        """A time of that many hours."""
        return Time(_whole(hours, "hours") * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        """A time of that many days of 24 hours."""
        return Time(_whole(days, "days") * 86_400_000)

    def to_milliseconds(self) -> int:
        """The length in milliseconds."""
        return self._milliseconds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self._milliseconds == other._milliseconds

    def __hash__(self) -> int:
        return hash((Time, self._milliseconds))

    def __repr__(self) -> str:
        return f"Time({self._milliseconds} ms)"


class Duration:
    """A length of time with nanosecond resolution, as watermark strategies use it.

    ::

        >>> Duration.of_minutes(1).to_millis()
        60000
    """

    __slots__ = ("_nanos",)

    def __init__(self, nanos: int) -> None:
        self._nanos = _whole(nanos, "a duration in nanoseconds")

    @staticmethod
    def of_days(days: int) -> Duration:
        """A duration of that many days of 24 hours."""
        return Duration(_whole(days, "days") * 86_400 * _NANOS_PER_SECOND)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """A duration of that many hours."""
        return Duration(_whole(hours, "hours") * 3_600 * _NANOS_PER_SECOND)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """A duration of that many minutes."""
        return Duration(_whole(minutes, "minutes") * 60 * _NANOS_PER_SECOND)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """A duration of that many seconds."""
        return Duration(_whole(seconds, "seconds") * _NANOS_PER_SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """A duration of that many milliseconds."""
        return Duration(_whole(millis, "milliseconds") * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """A duration of that many nanoseconds."""
        return Duration(nanos)

    def to_millis(self) -> int:
        """The length in milliseconds; a fraction of a millisecond is cut off."""
        return self._nanos // _NANOS_PER_MILLI

    def to_nanos(self) -> int:
        """The length in nanoseconds."""
        return self._nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self._nanos == other._nanos

    def __hash__(self) -> int:
        return hash((Duration, self._nanos))

    def __repr__(self) -> str:
        millis, rest = divmod(self._nanos, _NANOS_PER_MILLI)
        return f"Duration({self._nanos} ns)" if rest else f"Duration({millis} ms)"


@dataclass(frozen=True, repr=False)
class Instant:
    """A point on the time line: seconds since 1970-01-01T00:00:00Z and nanoseconds within the second."""

    seconds: int
    nanos: int

    def __post_init__(self) -> None:
        _whole(self.seconds, "the seconds of an instant")
        if not 0 <= _whole(self.nanos, "the nanoseconds of an instant") < _NANOS_PER_SECOND:
            raise ConfigurationError(
                f"the nanoseconds of an instant lie in 0..999999999, got {self.nanos}. "
                "Carry whole seconds over into 'seconds'."
            )

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """The instant that many milliseconds after (or, if negative, before) 1970-01-01T00:00:00Z."""
        seconds, millis = divmod(_whole(epoch_milli, "epoch milliseconds"), 1000)
        return Instant(seconds, millis * _NANOS_PER_MILLI)

    def to_epoch_milli(self) -> int:
        """Milliseconds since 1970-01-01T00:00:00Z; a fraction of a millisecond is cut off."""
        return self.seconds * 1000 + self.nanos // _NANOS_PER_MILLI

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


TimeLength = int | Time | Duration | timedelta
"""What may be passed where a length of time is asked for; a plain int counts milliseconds."""


def to_milliseconds(value: TimeLength) -> int:
    """The length of time in milliseconds.

    Accepts whole milliseconds, :class:`Time`, :class:`Duration` and :class:`datetime.timedelta`.
    """
    if isinstance(value, Time):
        return value.to_milliseconds()
    if isinstance(value, Duration):
        return value.to_millis()
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ConfigurationError(
        f"a length of time is an int (milliseconds), Time, Duration or timedelta, got {value!r} "
        f"({type(value).__name__}). For instance Time.seconds(5)."
    )
