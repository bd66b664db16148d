"""A job as those who tell of it see it (REST, reporters of metrics): its history at one moment, in Flink's words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from firesteel.events.history import JobHistory
from firesteel.events.types import EpochEnded, JobDescribed, SubtaskNumbers, VertexDescription

__all__ = ["JOB_STATES", "TASK_STATES", "JobView"]

JOB_STATES = (
    "INITIALIZING",
    "CREATED",
    "RUNNING",
    "FAILING",
    "FAILED",
    "CANCELLING",
    "CANCELED",
    "FINISHED",
    "RESTARTING",
    "SUSPENDED",
    "RECONCILING",
)
"""All that Flink says a job can be in; the first is the time of submission."""

TASK_STATES = (
    "CREATED",
    "SCHEDULED",
    "DEPLOYING",
    "INITIALIZING",
    "RUNNING",
    "FINISHED",
    "CANCELING",
    "CANCELED",
    "FAILED",
    "RECONCILING",
)
"""All that Flink says a task can be in."""

_TASK_STATE_OF_JOB = {
    "CREATED": "CREATED",
    "RUNNING": "RUNNING",
    "RESTARTING": "SCHEDULED",
    "FAILING": "CANCELING",
    "FAILED": "CANCELED",
    "CANCELLING": "CANCELING",
    "CANCELED": "CANCELED",
    "FINISHED": "FINISHED",
    "SUSPENDED": "CANCELED",
    "RECONCILING": "RECONCILING",
}


@dataclass(frozen=True)
class JobView:
    """What is known of a job at one moment.

    :param now: Milliseconds since 1970.
    """

    history: JobHistory
    now: int

    @cached_property
    def job(self) -> JobDescribed:
        """What the job is made of. A view is made of described jobs only."""
        job = self.history.job
        assert job is not None
        return job

    @cached_property
    def state(self) -> str:
        """The job's status, by its name."""
        return self.history.status.name

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
        return self.history.status.is_terminal_state()

    @property
    def start(self) -> int:
        """When the job was submitted."""
        return self.job.time

    @cached_property
    def end(self) -> int:
        """When the job ended, or -1."""
        return self.history.statuses[-1].time if self.is_over else -1

    @property
    def until(self) -> int:
        """The end of the job, or now."""
        return self.end if self.is_over else self.now

    @property
    def duration(self) -> int:
        """How long the job has lasted so far."""
        return max(self.until - self.start, 0)

    @cached_property
    def timestamps(self) -> dict[str, int]:
        """When the job came into each of its states for the last time; 0 if it never did."""
        times = dict.fromkeys(JOB_STATES, 0)
        times["INITIALIZING"] = self.job.time
        times.update({each.status: each.time for each in self.history.statuses})
        return times

    @property
    def attempt(self) -> int:
        """How often the job has been restarted: the number of its tasks' present attempts."""
        return self.history.restarts

    @cached_property
    def latest(self) -> EpochEnded | None:
        """The newest numbers."""
        return self.history.latest_epoch

    @cached_property
    def earlier(self) -> EpochEnded | None:
        """Numbers of about a minute ago, which the newest are compared with; None if there are none of this attempt."""
        latest = self.latest
        if latest is None:
            return None
        usable = [
            each
            for each in self.history.sampled_epochs
            if each.restarts == latest.restarts and latest.time - 60_000 <= each.time < latest.time
        ]
        return usable[0] if usable else None

    def vertex(self, vertex_id: str) -> VertexDescription | None:
        """The vertex with this id."""
        return next((each for each in self.job.vertices if each.id == vertex_id), None)

    @cached_property
    def _numbers(self) -> dict[tuple[str, int], SubtaskNumbers]:
        return _by_subtask(self.latest)

    @cached_property
    def _earlier_numbers(self) -> dict[tuple[str, int], SubtaskNumbers]:
        return _by_subtask(self.earlier)

    def numbers(self, vertex: VertexDescription, subtask: int) -> SubtaskNumbers:
        """The newest numbers of a subtask; all zero if there are none."""
        return self._numbers.get((vertex.id, subtask)) or SubtaskNumbers(vertex.id, subtask)

    def earlier_numbers(self, vertex: VertexDescription, subtask: int) -> SubtaskNumbers | None:
        """The numbers of a subtask of about a minute ago."""
        return self._earlier_numbers.get((vertex.id, subtask))

    def task_state(self, vertex: VertexDescription, subtask: int | None = None) -> str:
        """Where a task is in its life, which is the job's; None asks for the vertex as a whole."""
        if self.state == "FAILED":
            last = self.history.exceptions[-1:]
            if any(each.vertex == vertex.id and subtask in (None, each.subtask) for each in last):
                return "FAILED"
        return _TASK_STATE_OF_JOB[self.state]

    def task_times(self) -> tuple[int, int, int]:
        """Start, end and duration of the present attempt of all tasks; -1 where there is none yet."""
        started = self.timestamps["RUNNING"] or -1
        return started, self.end, max(self.until - started, 0) if started >= 0 else -1

    def status_durations(self) -> dict[str, int]:
        """How long the present attempt has been in each state; tasks are not scheduled and deployed one by one."""
        started, _, duration = self.task_times()
        waited = (started if started >= 0 else self.until) - self.start
        return {"INITIALIZING": 0, "CREATED": max(waited, 0), "DEPLOYING": 0, "SCHEDULED": 0, "RUNNING": duration}


def _by_subtask(epoch: EpochEnded | None) -> dict[tuple[str, int], SubtaskNumbers]:
    return {} if epoch is None else {(each.vertex, each.subtask): each for each in epoch.subtasks}
