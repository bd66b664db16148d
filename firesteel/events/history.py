"""What is known of a job, put together from its events: while it runs, and from its log afterwards."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

from firesteel.common import JobStatus
from firesteel.events.types import (
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointTriggered,
    EpochEnded,
    ExceptionRaised,
    JobDescribed,
    JobEnded,
    JobEvent,
    Restored,
    StatusChanged,
    VertexDescription,
)

__all__ = ["JobHistory"]

_KEPT = 100
"""How many exceptions and checkpoints are remembered."""
_SAMPLE_MS = 1000
_SAMPLES = 60


class JobHistory:
    """The life of one job so far. Safe to read while events come in from another thread."""

    def __init__(self, events: Iterable[JobEvent] = ()) -> None:
        self._lock = threading.Lock()
        self._job: JobDescribed | None = None
        self._statuses: list[StatusChanged] = []
        self._exceptions: deque[ExceptionRaised] = deque(maxlen=_KEPT)
        self._under_way: dict[tuple[bool, int], CheckpointTriggered] = {}
        self._checkpoints: deque[CheckpointCompleted | CheckpointFailed] = deque(maxlen=_KEPT)
        self._completed = self._failed = 0
        self._restored: list[Restored] = []
        self._epoch: EpochEnded | None = None
        self._samples: deque[EpochEnded] = deque(maxlen=_SAMPLES)
        self._ended: JobEnded | None = None
        for event in events:
            self.apply(event)

    def apply(self, event: JobEvent) -> None:
        """Take in the next event."""
        with self._lock:
            if isinstance(event, JobDescribed):
                self._job = event
            elif isinstance(event, StatusChanged):
                self._statuses.append(event)
            elif isinstance(event, ExceptionRaised):
                self._exceptions.append(event)
            elif isinstance(event, Restored):
                self._restored.append(event)
                self._under_way.clear()
            elif isinstance(event, CheckpointTriggered):
                self._under_way[event.savepoint, event.checkpoint_id] = event
            elif isinstance(event, (CheckpointCompleted, CheckpointFailed)):
                self._end_checkpoint(event)
            elif isinstance(event, EpochEnded):
                self._epoch = event
                if not self._samples or event.time - self._samples[-1].time >= _SAMPLE_MS:
                    self._samples.append(event)
            elif isinstance(event, JobEnded):
                self._ended = event
                self._under_way.clear()

    def _end_checkpoint(self, event: CheckpointCompleted | CheckpointFailed) -> None:
        self._under_way.pop((event.savepoint, event.checkpoint_id), None)
        self._checkpoints.append(event)
        if isinstance(event, CheckpointCompleted):
            self._completed += 1
        else:
            self._failed += 1

    @property
    def job(self) -> JobDescribed | None:
        """What the job is made of; None until it has been submitted."""
        with self._lock:
            return self._job

    @property
    def vertices(self) -> tuple[VertexDescription, ...]:
        """The chains of the job."""
        job = self.job
        return () if job is None else job.vertices

    @property
    def status(self) -> JobStatus:
        """Where the job is, or was when the log was cut off."""
        with self._lock:
            return JobStatus[self._statuses[-1].status] if self._statuses else JobStatus.CREATED

    @property
    def statuses(self) -> list[StatusChanged]:
        """All statuses with their times, oldest first."""
        with self._lock:
            return list(self._statuses)

    @property
    def restarts(self) -> int:
        """How often the job has been restarted."""
        with self._lock:
            return self._statuses[-1].restarts if self._statuses else 0

    @property
    def exceptions(self) -> list[ExceptionRaised]:
        """What has failed, oldest first; of many, the last 100."""
        with self._lock:
            return list(self._exceptions)

    @property
    def checkpoints(self) -> list[CheckpointCompleted | CheckpointFailed]:
        """Checkpoints and savepoints that have come to an end, oldest first; of many, the last 100."""
        with self._lock:
            return list(self._checkpoints)

    @property
    def checkpoints_under_way(self) -> list[CheckpointTriggered]:
        """Checkpoints and savepoints whose files are being written."""
        with self._lock:
            return list(self._under_way.values())

    @property
    def checkpoint_counts(self) -> dict[str, int]:
        """How many were completed, failed, are in progress and were restored."""
        with self._lock:
            return {
                "completed": self._completed,
                "failed": self._failed,
                "in_progress": len(self._under_way),
                "restored": len(self._restored),
            }

    @property
    def restored(self) -> list[Restored]:
        """What the job went on from, oldest first."""
        with self._lock:
            return list(self._restored)

    @property
    def latest_epoch(self) -> EpochEnded | None:
        """The newest numbers of all subtasks."""
        with self._lock:
            return self._epoch

    @property
    def sampled_epochs(self) -> list[EpochEnded]:
        """Numbers of all subtasks in the last while, for rates: at most one in a second, and 60; oldest first."""
        with self._lock:
            return list(self._samples)

    @property
    def ended(self) -> JobEnded | None:
        """How the job has ended, if it has."""
        with self._lock:
            return self._ended
