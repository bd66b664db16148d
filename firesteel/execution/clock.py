"""Processing time: the wall clock, unless a test has put another clock in its place."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Clock = Callable[[], int]


def wall_clock_ms() -> int:
    """Milliseconds since 1970-01-01T00:00:00Z."""
    return time.time_ns() // 1_000_000


_current: Clock = wall_clock_ms


def processing_clock() -> Clock:
    """The clock that a job uses which is submitted now."""
    return _current


@contextmanager
def use_clock(clock: Clock) -> Iterator[None]:
    """Give jobs that are submitted inside the block this clock, in milliseconds, for as long as they run."""
    global _current
    before, _current = _current, clock
    try:
        yield
    finally:
        _current = before
