"""What a driver asks of the place where the subtasks of a job live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from firesteel.execution.coordinators import Orders
from firesteel.execution.results import LevelResult
from firesteel.runtime.epoch import EpochRequest
from firesteel.state.store import Manifest


@dataclass
class EpochOrder:
    """What a cluster is asked to run: one epoch of all levels."""

    request: EpochRequest
    orders: Orders
    """What the coordinators say to the subtasks."""
    restore: Manifest | None
    fresh: bool
    store_directory: str | None
    now_read_at: float | None = None
    """When the processing time of the request was read, by the monotonic clock of the driver's host."""


class Cluster(Protocol):
    """Where the subtasks of one job live."""

    @property
    def pinned(self) -> bool:
        """Whether a subtask, once placed, stays where it is unless something breaks."""

    @property
    def flows(self) -> bool:
        """Whether an epoch goes on for as long as it may, also if there is nothing to read: its end is cheap."""

    def run_epoch(self, order: EpochOrder) -> list[LevelResult]:
        """Run an epoch. Failures of user code are results; anything else that goes wrong raises."""

    def interrupt(self) -> None:
        """Interrupt the functions of the running epoch, which then fails. May be called from any thread."""

    def close(self) -> list[str]:
        """Close all functions of the job. Returns what went wrong while closing."""
