"""An executor that only remembers what it was given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from firesteel.common import CompletableFuture, JobExecutionResult, JobID, JobStatus
from firesteel.model.sink import DriverSink
from firesteel.plan.executor import Executor
from firesteel.plan.job_plan import JobPlan


class FinishedClient:
    """The client of a job that has ended well."""

    def __init__(self) -> None:
        self.cancelled = 0

    def cancel(self) -> CompletableFuture[None]:
        self.cancelled += 1
        return CompletableFuture.completed(None)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.completed(JobStatus.FINISHED)

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        return CompletableFuture.completed(JobExecutionResult(JobID(), 1))


@dataclass
class Submission:
    plan: JobPlan
    sinks: Mapping[str, DriverSink]
    detached: bool


@dataclass
class RecordingExecutor(Executor):
    """Runs nothing; ``deliver`` is what every driver sink is given, as from subtask 0."""

    submissions: list[Submission] = field(default_factory=list)
    deliver: list[Any] = field(default_factory=list)

    def submit(self, plan: JobPlan, driver_sinks: Mapping[str, DriverSink], detached: bool) -> FinishedClient:
        self.submissions.append(Submission(plan, driver_sinks, detached))
        for sink in driver_sinks.values():
            sink.accept(0, list(self.deliver))
            sink.finished(None)
        return FinishedClient()
