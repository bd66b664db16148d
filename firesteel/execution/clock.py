"""Processing time: the wall clock, unless a test has put another clock in its place; and the clock for intervals."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Clock = Callable[[], int]

_CATCHING_UP = 0.99
"""How fast processing time goes while it is ahead of the wall clock."""

_LONGEST_STEP = 24 * 3600 * 1000


def wall_clock_ms() -> int:
    """Milliseconds since 1970-01-01T00:00:00Z."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Milliseconds since some moment, whatever is done to the wall clock: for intervals and timeouts."""
    return time.monotonic_ns() // 1_000_000


class SteadyClock:
    """The wall clock, which neither goes back nor stands still when it is put back.

    Timers, processing-time windows and rate limits live by it. When the wall clock is put back, it goes on
    from where it was, one per cent slower until the wall clock has caught up; a step of a second is gone after two
    minutes. When the wall clock is put forward, it follows at once.
    """

    def __init__(self, wall: Clock = wall_clock_ms, ticks: Clock = monotonic_ms) -> None:
        self._wall, self._ticks = wall, ticks
        self._now, self._at = float(wall()), ticks()

    def __call__(self) -> int:
        """Milliseconds since 1970-01-01T00:00:00Z, more or less."""
        at = self._ticks()
        self._now = max(self._now + _CATCHING_UP * (at - self._at), float(self._wall()))
        self._at = at
        return int(self._now)

    def not_before(self, time: int) -> None:
        """Go on from a time that was seen before the job was started again, if the wall clock is behind it.

        Not by more than a day: then it is the earlier time that was wrong.
        """
        if time - self._now <= _LONGEST_STEP:
            self._now = max(self._now, float(time))


_current: Clock | None = None


def processing_clock() -> Clock:
    """The clock that a job uses which is submitted now."""
    return _current or SteadyClock()


def interval_clock(clock: Clock) -> Clock:
    """What measures the intervals of a job with this clock: a test's clock moves everything, the real one nothing."""
    return monotonic_ms if isinstance(clock, SteadyClock) else clock


@contextmanager
def use_clock(clock: Clock) -> Iterator[None]:
    """Give jobs that are submitted inside the block this clock, in milliseconds, for as long as they run."""
    global _current
    before, _current = _current, clock
    try:
        yield
    finally:
        _current = before
