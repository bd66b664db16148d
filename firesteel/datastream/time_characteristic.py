"""Which clock a program means when it does not say so."""

from __future__ import annotations

from enum import Enum


class TimeCharacteristic(Enum):
    """The default clock of windows and timers of an environment."""

    ProcessingTime = "ProcessingTime"
    """The clock of the machine. Results depend on when records arrive."""

    IngestionTime = "IngestionTime"
    """The time at which the source read the record, kept as its timestamp from there on."""

    EventTime = "EventTime"
    """The timestamps in the records, with watermarks. The default."""
