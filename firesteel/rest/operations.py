"""What takes its time: what is asked for in one request, and whose outcome others ask for."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from firesteel.common import CompletableFuture
from firesteel.errors import CheckpointError
from firesteel.rest.failures import cause_of
from firesteel.rest.registry import SteeredJob

__all__ = ["Operations", "cancelled_with_savepoint", "failed"]

_KEPT_SECONDS = 300.0
"""How long an outcome can be asked for; the default of Flink's ``rest.async.store-duration``."""
_ASKED_WITHIN_SECONDS = 10.0
"""How long a program that ends waits for those who have not asked yet."""


def _location(path: str) -> dict[str, Any]:
    return {"location": path}


class Operations:
    """Savepoints and the like by the job and the id of their request. Safe to use from several threads.

    :param clock: Monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.RLock()  # a future that is done calls back at once
        self._changed = threading.Condition(self._lock)
        self._told: set[tuple[str, str]] = set()
        """Operations whose outcome somebody has got."""
        self._begun: dict[tuple[str, str], CompletableFuture[Any]] = {}
        self._done_at: dict[tuple[str, str], float] = {}

    def begin(self, job_id: str, trigger_id: str | None, begin: Callable[[], CompletableFuture[Any]]) -> str:
        """Begin an operation. What is asked for twice with the same id is done once.

        :return: The id by which its outcome can be asked for.
        """
        key = (job_id, trigger_id or uuid.uuid4().hex)
        with self._lock:
            self._forget()
            if key not in self._begun:
                self._begun[key] = begin()
                self._begun[key].add_done_callback(lambda _: self._done(key))
        return key[1]

    def _done(self, key: tuple[str, str]) -> None:
        with self._lock:
            self._done_at[key] = self._clock()

    def wait_until_told(self) -> None:
        """Wait until all outcomes of the last seconds have been asked for, or a few seconds have passed."""
        with self._lock:
            self._changed.wait_for(lambda: not self._awaited(), _ASKED_WITHIN_SECONDS)

    def _awaited(self) -> bool:
        recent = self._clock() - _ASKED_WITHIN_SECONDS
        return any(done > recent and key not in self._told for key, done in self._done_at.items())

    def _forget(self) -> None:
        old = [key for key, done in self._done_at.items() if self._clock() - done > _KEPT_SECONDS]
        for key in old:
            del self._begun[key], self._done_at[key]
            self._told.discard(key)

    def outcome(
        self, job_id: str, trigger_id: str, shown: Callable[[Any], dict[str, Any]] = _location
    ) -> dict[str, Any] | None:
        """Whether an operation is over, and what came of it; None if nobody has asked for it.

        :param shown: What is told of its result.
        """
        with self._lock:
            self._forget()
            future = self._begun.get((job_id, trigger_id))
            if future is None:
                return None
            if not future.done():
                return {"status": {"id": "IN_PROGRESS"}, "operation": None}
            self._told.add((job_id, trigger_id))
            self._changed.notify_all()
        error = future.exception()
        operation = shown(future.result()) if error is None else {"failure-cause": cause_of(error)}
        return {"status": {"id": "COMPLETED"}, "operation": operation}


def failed(message: str) -> CompletableFuture[Any]:
    """An operation that was over before it began."""
    future: CompletableFuture[Any] = CompletableFuture()
    future.set_exception(CheckpointError(message))
    return future


def cancelled_with_savepoint(job: SteeredJob, directory: str | None) -> CompletableFuture[str]:
    """Take a savepoint and then cancel the job; if there is no savepoint, the job goes on."""
    saved = job.trigger_savepoint(directory)

    def cancel(done: CompletableFuture[str]) -> None:
        if done.exception() is None:
            job.cancel()

    saved.add_done_callback(cancel)
    return saved
