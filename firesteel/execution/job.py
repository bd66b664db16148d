"""A job as its user sees it: its status, its result, and the client to steer it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from firesteel.common import CompletableFuture, JobClient, JobExecutionResult, JobID, JobStatus
from firesteel.errors import CheckpointError, ConfigurationError, JobCancelledError
from firesteel.events import CheckpointCompleted, CheckpointFailed, ExceptionRaised, JobHistory
from firesteel.execution.checkpoints import CompletedCheckpoint
from firesteel.execution.job_metrics import JobMetrics
from firesteel.execution.savepoints import CheckpointRequest, SavepointRequest


class Job:
    """What the driver loop and the client share. Safe to use from several threads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.id = JobID()
        self.metrics = JobMetrics()
        self.history = JobHistory()
        self.checkpoints: list[CompletedCheckpoint] = []
        self._lock = threading.Lock()
        self._status = JobStatus.CREATED
        self._cancel_requested = threading.Event()
        self._on_cancel: list[Callable[[], None]] = []
        self._on_end: list[Callable[[], None]] = []
        self._given_up = False
        self.terminated = False
        """Whether it ends because its process does: it may be taken up again, so its checkpoints stay."""
        self._wake = threading.Event()
        self._on_wake: list[Callable[[], None]] = []
        self._savepoints: list[SavepointRequest] | None = []
        """Savepoints that have been asked for; None once the job has ended."""
        self._checkpoint_wishes: list[CheckpointRequest] | None = []
        """Checkpoints that have been asked for and not begun; None once the job has ended."""
        self._result: Future[JobExecutionResult] = Future()

    @property
    def status(self) -> JobStatus:
        """Where the job is in its life."""
        with self._lock:
            return self._status

    def set_status(self, status: JobStatus) -> None:
        """Show another status. Which may follow which is the business of the job's machine."""
        with self._lock:
            if not self._given_up:  # otherwise a thread is still busy with it
                self._status = status

    def request_cancel(self) -> None:
        """Ask the loop to end after the present epoch."""
        self._cancel_requested.set()
        self.wake()
        with self._lock:
            told, self._on_cancel = self._on_cancel, []
        for tell in told:
            tell()

    def on_cancel(self, tell: Callable[[], None]) -> None:
        """Have something called when the job is to end."""
        self._on_cancel.append(tell)

    def on_end(self, tell: Callable[[], None]) -> None:
        """Have something called when the job has ended, before those who wait for its result go on."""
        self._on_end.append(tell)

    def request_termination(self) -> None:
        """Ask the loop to end because the process does."""
        self.terminated = True
        self.request_cancel()

    def wait_for_end(self, seconds: float) -> bool:
        """Whether the job has ended; waits for it, at most so long."""
        return bool(wait([self._result], seconds).done)

    def give_up(self) -> None:
        """Count it as cancelled though a function does not end: one in this process cannot be killed."""
        with self._lock:
            if self._result.done():
                return
            self._given_up, self._status = True, JobStatus.CANCELED
        self._result.set_exception(
            JobCancelledError(f"job {self.name!r} was cancelled, but a function did not return and is still running")
        )

    @property
    def cancel_requested(self) -> bool:
        """Whether the job should end."""
        return self._cancel_requested.is_set()

    def request_savepoint(self, request: SavepointRequest) -> None:
        """Ask the loop for a savepoint."""
        with self._lock:
            if self._savepoints is not None:
                self._savepoints.append(request)
                waiting = True
            else:
                waiting = False
        if waiting:
            self.wake()
            return
        request.done.set_exception(CheckpointError(f"job {self.name!r} has ended: there is nothing to save"))

    def next_savepoint(self) -> SavepointRequest | None:
        """The savepoint to take next."""
        with self._lock:
            return self._savepoints.pop(0) if self._savepoints else None

    def refuse_savepoints(self) -> None:
        """The job has ended: whoever waits for a savepoint or a checkpoint learns that there will be none."""
        with self._lock:
            waiting, self._savepoints = self._savepoints or [], None
            wishes, self._checkpoint_wishes = self._checkpoint_wishes or [], None
        for request in waiting:
            request.done.set_exception(CheckpointError(f"job {self.name!r} ended before the savepoint was taken"))
        for wish in wishes:
            wish.done.set_exception(CheckpointError(f"job {self.name!r} ended before the checkpoint was taken"))

    def request_checkpoint(self, request: CheckpointRequest) -> None:
        """Ask the loop for a checkpoint before the next one is due."""
        with self._lock:
            over = self._checkpoint_wishes is None
            if self._checkpoint_wishes is not None:
                self._checkpoint_wishes.append(request)
        if over:
            request.done.set_exception(CheckpointError(f"job {self.name!r} has ended: there is nothing to checkpoint"))
        else:
            self.wake()

    def wanted_checkpoints(self) -> list[CheckpointRequest]:
        """The checkpoints that somebody waits for. One checkpoint serves all of them."""
        with self._lock:
            return list(self._checkpoint_wishes or ())

    def take_wanted_checkpoints(self) -> list[CheckpointRequest]:
        """The same; they are no longer asked for."""
        with self._lock:
            taken = self._checkpoint_wishes or []
            if self._checkpoint_wishes is not None:
                self._checkpoint_wishes = []
        return taken

    def wake(self) -> None:
        """Let a waiting loop look again, and an epoch that has no end of its own come to one."""
        self._wake.set()
        for tell in self._on_wake:
            tell()

    def on_wake(self, tell: Callable[[], None]) -> None:
        """Have something called whenever the loop is woken, in whatever thread does that."""
        self._on_wake.append(tell)

    def wait(self, seconds: float) -> None:
        """Wait until woken, at most so long."""
        self._wake.wait(seconds)
        self._wake.clear()

    def finish(self, runtime_ms: int, error: BaseException | None) -> None:
        """The job has ended."""
        if self._given_up:
            return
        for tell in self._on_end:
            tell()
        if error is None:
            self._result.set_result(JobExecutionResult(self.id, runtime_ms, self.metrics.counters()))
        else:
            self._result.set_exception(error)

    @property
    def result(self) -> Future[JobExecutionResult]:
        """The outcome."""
        return self._result


class EngineJobClient(JobClient):
    """Steers a job of this process."""

    def __init__(self, job: Job, savepoint_directory: str | None = None) -> None:
        self._job = job
        self._savepoint_directory = savepoint_directory

    def __repr__(self) -> str:
        job = self._job
        return f"JobClient(job {job.name!r}, {job.status.name}, {job.metrics.records:,} records read, id {job.id})"

    def get_job_id(self) -> JobID:
        """The id of the job."""
        return self._job.id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Where the job is in its life."""
        return CompletableFuture.completed(self._job.status)

    def cancel(self) -> CompletableFuture[None]:
        """End the job after its present epoch. The future is done when it has ended."""
        self._job.request_cancel()
        done: Future[None] = Future()

        def ended(result: Future[JobExecutionResult]) -> None:
            error = result.exception()
            if error is None or isinstance(error, JobCancelledError):
                done.set_result(None)
            else:
                done.set_exception(error)

        self._job.result.add_done_callback(ended)
        return CompletableFuture(done)

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The user's counters, added up over subtasks, as they are now."""
        return CompletableFuture.completed(self._job.metrics.counters())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The outcome; done when the job has ended."""
        return CompletableFuture(self._job.result)

    def get_metrics(self) -> JobMetrics:
        """The job's numbers, as of the last epoch."""
        return self._job.metrics

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Take a savepoint and end the job with it; the future gives its path."""
        return self._savepoint(savepoint_directory, stop=True, drain=advance_to_end_of_event_time)

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Take a savepoint while the job goes on; the future gives its path."""
        return self._savepoint(savepoint_directory, stop=False, drain=False)

    def _savepoint(self, directory: str | None, stop: bool, drain: bool) -> CompletableFuture[str]:
        directory = directory or self._savepoint_directory
        if directory is None:
            raise ConfigurationError(
                "a savepoint needs a directory: pass one, or set execution.checkpointing.savepoint-dir"
            )
        request = SavepointRequest(directory, stop, drain)
        self._job.request_savepoint(request)
        return CompletableFuture(request.done)

    def trigger_checkpoint(self, full: bool = False) -> CompletableFuture[int]:
        """Take a checkpoint now, before the next one is due; the future gives its number.

        :param full: It shall stand by itself, and not build on the one before.
        """
        request = CheckpointRequest(full)
        self._job.request_checkpoint(request)
        return CompletableFuture(request.done)

    def get_checkpoints(self) -> list[CompletedCheckpoint]:
        """The last completed checkpoints (at most 100), oldest first: id, path, time, duration, size."""
        return list(self._job.checkpoints)

    def get_checkpoint_history(self) -> list[CheckpointCompleted | CheckpointFailed]:
        """The last checkpoints and savepoints (at most 100), oldest first, also those that failed.

        Completed ones say what each operator and subtask has stored and how long its snapshot held it up.
        """
        return self._job.history.checkpoints

    def get_exceptions(self) -> list[ExceptionRaised]:
        """What has failed so far (the last 100), oldest first: exception, operator, subtask, host, time."""
        return self._job.history.exceptions

    def get_history(self) -> JobHistory:
        """What is known of the job: its plan, statuses with times, numbers of all subtasks, and the above."""
        return self._job.history
