"""The two clocks of timers."""

from firesteel.model.timers import (
    TimeDomain,
)

__all__ = [
    "TimeDomain",
]
