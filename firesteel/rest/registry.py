"""The jobs that a REST server knows: those of its own process, and those of which it has a log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from firesteel.common import CompletableFuture, JobID
from firesteel.errors import FiresteelError
from firesteel.events import JobHistory, JobView, job_logs

__all__ = ["JobRegistry", "SteeredJob"]


class SteeredJob(Protocol):
    """A running job, as ``execute_async()`` returns it."""

    def get_job_id(self) -> JobID:
        """The id of the job."""

    def get_history(self) -> JobHistory:
        """What is known of the job."""

    def cancel(self) -> CompletableFuture[None]:
        """End the job."""

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Take a savepoint."""

    def trigger_checkpoint(self, full: bool = False) -> CompletableFuture[int]:
        """Take a checkpoint."""

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Take a savepoint and end the job with it."""


class JobRegistry:
    """Jobs by their ids. Safe to use from several threads.

    :param logs: A directory with event logs of jobs, which are shown beside those that are added.
    :param clock: Milliseconds since 1970.
    """

    def __init__(self, logs: str | None = None, clock: Callable[[], int] | None = None) -> None:
        self._logs = logs
        self._clock = clock or (lambda: time.time_ns() // 1_000_000)
        self._lock = threading.Lock()
        self._steered: dict[str, SteeredJob] = {}
        self._over: dict[str, JobHistory] = {}
        """What logs tell of jobs that have ended: it does not change any more."""

    def add(self, job: SteeredJob) -> None:
        """Show a job of this process."""
        with self._lock:
            self._steered[str(job.get_job_id())] = job

    def steered(self, job_id: str) -> SteeredJob | None:
        """A job of this process, to be cancelled or saved."""
        with self._lock:
            return self._steered.get(job_id)

    def views(self) -> list[JobView]:
        """All jobs as they are now, newest first."""
        with self._lock:
            histories = {job_id: job.get_history() for job_id, job in self._steered.items()}
        now = self._clock()
        views = [JobView(each, now) for each in (self._logged() | histories).values() if each.job is not None]
        return sorted(views, key=lambda view: view.start, reverse=True)

    def view(self, job_id: str) -> JobView | None:
        """A job as it is now."""
        steered = self.steered(job_id)
        history = steered.get_history() if steered is not None else self._logged(job_id).get(job_id)
        return None if history is None or history.job is None else JobView(history, self._clock())

    def _logged(self, wanted: str | None = None) -> dict[str, JobHistory]:
        if self._logs is None:
            return {}
        found: dict[str, JobHistory] = {}
        try:
            logs = job_logs(self._logs)
        except (FiresteelError, OSError):  # nothing there yet
            return {}
        for log in logs:
            if wanted not in (None, log.job_id):
                continue
            history = self._over.get(log.job_id) or log.history()
            if history.ended is not None:
                self._over[log.job_id] = history
            found[log.job_id] = history
        return found
