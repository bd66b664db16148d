"""The service that registers timers."""

from firesteel.model.timers import (
    TimerService,
)

__all__ = [
    "TimerService",
]
