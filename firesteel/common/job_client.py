"""What a program can do with a job that it has started."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from firesteel.common.completable_future import CompletableFuture
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus

__all__ = ["JobClient"]


class JobClient(ABC):
    """A handle on a running job, from ``execute_async()``. Its methods may be called from any thread."""

    @abstractmethod
    def get_job_id(self) -> JobID:
        """The id of the job."""

    @abstractmethod
    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Where the job is in its life."""

    @abstractmethod
    def cancel(self) -> CompletableFuture[None]:
        """End the job after its current epoch; done when it has ended."""

    @abstractmethod
    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """End the job with a savepoint; the result is its path.

        With `advance_to_end_of_event_time` the sources first emit the maximum watermark, so that all windows
        and event-time timers fire: for jobs that will not be taken up again. The directory comes from
        ``execution.checkpointing.savepoint-dir`` if none is given.
        """

    @abstractmethod
    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Make a savepoint while the job goes on; the result is its path."""

    @abstractmethod
    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The present values of the job's accumulators."""

    @abstractmethod
    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The outcome of the job; done when it has ended, with a JobError if it did not end well."""
