"""One run of a job: what its hands work on together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from firesteel.errors import CheckpointError
from firesteel.execution.checkpoints import CheckpointKeeper
from firesteel.execution.cluster import Cluster
from firesteel.execution.control import language as say
from firesteel.execution.coordinators import Coordinators
from firesteel.execution.job import Job
from firesteel.execution.reporting import JobReporter
from firesteel.execution.results import StateLost, SubtaskDone, SubtaskFailed
from firesteel.execution.savepoints import CheckpointRequest, SavepointRequest
from firesteel.plan.job_plan import JobPlan
from firesteel.state.store import Manifest

Hands = dict[type[say.Instruction], Callable[[Any], say.Event | None]]
"""What carries out each instruction; the answer to a question is an event."""


@dataclass
class EpochInWork:
    """What belongs to one epoch, from the look before it to the next."""

    now: int = 0
    now_read_at: float = 0.0
    number: int = 0
    started: float = 0.0
    target: str | None = None
    """Where its savepoint goes."""
    results: list[SubtaskDone] = field(default_factory=list)


@dataclass
class JobRun:
    """The parts of a job in its driver, and where it stands."""

    plan: JobPlan
    cluster: Cluster
    job: Job
    clock: Callable[[], int]
    """Processing time in milliseconds."""
    ticks: Callable[[], int]
    """Milliseconds for intervals, which no setting of a clock changes."""
    checkpoints: CheckpointKeeper
    coordinators: Coordinators
    reporter: JobReporter
    restore: Manifest | None = None
    """What subtasks that are not where they were go on from."""
    savepoint: SavepointRequest | None = None
    epoch: EpochInWork = field(default_factory=EpochInWork)
    next_timer: int | None = None
    previous_end: int | None = None
    awaited: dict[int, list[CheckpointRequest]] = field(default_factory=dict)
    """Checkpoint under way -> who has asked for it."""
    completed_checkpoint: int | None = None
    """One that subtasks have not been told of yet."""
    failed_at: SubtaskFailed | StateLost | None = None
    failure: BaseException | None = None

    def refuse_awaited(self, reason: str) -> None:
        """No checkpoint under way will be completed: tell those who have asked for one."""
        awaited, self.awaited = self.awaited, {}
        for request in [each for several in awaited.values() for each in several]:
            request.done.set_exception(CheckpointError(reason))
