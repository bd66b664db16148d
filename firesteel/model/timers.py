"""Time as process functions see it: the two time domains, and the service that registers timers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum


class TimeDomain(Enum):
    """Which clock a timer belongs to."""

    EVENT_TIME = 0
    """The timer fired because the watermark reached it."""
    PROCESSING_TIME = 1
    """The timer fired because the clock of the engine reached it."""


class TimerService(ABC):
    """Reads both clocks and registers timers. Made by the runtime; got from ``ctx.timer_service()``.

    Timers belong to the key of the record (or timer) in work and are kept in checkpoints. There is one timer
    per key, time domain and timestamp: registering it again changes nothing. A timer set for the past fires
    as soon as the runtime looks at timers again, after the call in which it was registered.
    """

    __slots__ = ()

    @abstractmethod
    def current_processing_time(self) -> int:
        """The processing time in milliseconds since the epoch. It stands still while a batch is processed."""

    @abstractmethod
    def current_watermark(self) -> int:
        """The event-time watermark in milliseconds; ``MIN_WATERMARK`` before the first one has come.

        While a record is processed this is the watermark that came before the record.
        """

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` for the current key when the watermark reaches ``timestamp``. Keyed streams only."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` for the current key when processing time reaches ``timestamp``. Keyed streams only."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget the event-time timer of the current key at ``timestamp``; nothing happens if there is none."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Forget the processing-time timer of the current key at ``timestamp``; nothing happens if there is none."""
