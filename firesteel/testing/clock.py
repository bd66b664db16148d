"""A clock that only tests move."""

from __future__ import annotations

from firesteel.common.time import TimeLength, to_milliseconds
from firesteel.errors import ConfigurationError
from firesteel.execution.clock import use_clock

__all__ = ["ManualClock", "use_clock"]


class ManualClock:
    """Processing time that stands still until it is moved. Put it in place of the wall clock with :func:`use_clock`::

        clock = ManualClock()
        with use_clock(clock):
            env.execute()

    The engine reads it once per epoch; a :class:`~firesteel.testing.sources.ScriptedSource` moves it between epochs.

    :param now: Where it starts, in milliseconds since 1970-01-01T00:00:00Z.
    """

    def __init__(self, now: int = 0) -> None:
        self._now = now

    def __call__(self) -> int:
        """The time in milliseconds."""
        return self._now

    def move_to(self, now: int) -> None:
        """Move the clock to a later moment. An earlier one leaves it where it is: time does not run backwards."""
        self._now = max(self._now, now)

    def advance(self, by: TimeLength) -> None:
        """Move the clock on."""
        milliseconds = to_milliseconds(by)
        if milliseconds < 0:
            raise ConfigurationError(f"a clock cannot be moved back, got {milliseconds} ms. Use a length of 0 or more.")
        self._now += milliseconds
