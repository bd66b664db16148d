"""The driver's half of a two-phase sink: keeps what was prepared until it may be made visible, and has it done."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from firesteel.errors import CommitError
from firesteel.model.coordinator import Coordinator, CoordinatorContext, OperatorReport
from firesteel.model.sink import CommitRequest, Committer
from firesteel.runtime.sinks import Prepared
from firesteel.state import codec

log = logging.getLogger("firesteel.sinks")
SINKS = "sinks"
"""The heading under which output that is to be committed is stored."""
_SHOWN = 3
"""How many committables an error shows."""
_RETRY_MS = 1000
DEFAULT_RETRIES = 10


class SinkCoordinator(Coordinator):
    """Commits when a checkpoint is complete, and what the checkpoint holds when the job goes on from it.

    :param committer_factory: Pickled: makes the committer, which is thus a copy of what the program has.
    :param retries: How often a commit may be put off.
    """

    kind = SINKS
    commits = True

    def __init__(self, committer_factory: bytes, retries: int = DEFAULT_RETRIES) -> None:
        self._factory = committer_factory
        self._retries = retries
        self._committer: Committer | None = None
        self._prepared: list[CommitRequest] = []
        """What has not been committed, oldest first."""
        self._next_try: int | None = None
        """When to commit again what was put off; 0: time has not been asked for yet."""

    def open(self, context: CoordinatorContext) -> None:
        """Make the committer."""
        super().open(context)
        self._committer = codec.loads(self._factory)()

    def restore(self, checkpoint_id: int | None, state: dict[int, list[Any]] | None) -> None:
        """Commit what the checkpoint holds: the failure may have come before it was done."""
        self._prepared = [
            CommitRequest(committable, number, recovered=True)
            for number, committables in sorted((state or {}).items())
            for committable in committables
        ]
        self._next_try = None
        if checkpoint_id is not None:
            self._commit(self._prepared, f"checkpoint or savepoint {checkpoint_id}")

    def apply(self, reports: Sequence[OperatorReport]) -> None:
        """Keep what the subtasks have prepared."""
        for report in reports:
            prepared: Prepared = report.message
            self._prepared += [CommitRequest(each, prepared.checkpoint_id) for each in prepared.committables]

    def snapshot(self, checkpoint_id: int) -> dict[int, list[Any]] | None:
        """Everything that has not been committed, by the checkpoint that it was prepared for."""
        stored: dict[int, list[Any]] = {}
        for request in self._prepared:
            stored.setdefault(request.checkpoint_id, []).append(request.committable)
        return stored or None

    def committed(self, checkpoint_id: int) -> None:
        """Make visible what was prepared up to this checkpoint."""
        due = [request for request in self._prepared if request.checkpoint_id <= checkpoint_id]
        self._commit(due, f"checkpoint {checkpoint_id}")

    def _commit(self, requests: list[CommitRequest], checkpoint: str) -> None:
        if not requests:
            return
        assert self._committer is not None
        for request in requests:
            request.was_committed = request.later = False
        try:
            self._committer.commit(requests)
        except Exception as error:
            raise self._failed(checkpoint, requests, f"{type(error).__name__}: {error}") from error
        again = sum(request.was_committed for request in requests)
        if again:
            self.context.metrics.counter("alreadyCommittedCommittables").inc(again)
        done = {id(request) for request in requests if not request.later}
        self._prepared = [request for request in self._prepared if id(request) not in done]
        self._put_off([request for request in requests if request.later], checkpoint)

    def _put_off(self, requests: list[CommitRequest], checkpoint: str) -> None:
        self._next_try = 0 if requests else None
        for request in requests:
            request.retries += 1
            request.recovered = True
        if requests:
            self.context.metrics.counter("retriedCommittables").inc(len(requests))
            worn_out = [request for request in requests if request.retries > self._retries]
            if worn_out:
                reason = f"it was put off {self._retries} times, and no more are allowed (sink.committer.retries)"
                raise self._failed(checkpoint, worn_out, reason)
            log.info("sink %r puts off committing %s", self.context.name, _shortened(requests))

    def poll(self, now: int) -> None:
        """Try again what was put off."""
        if self._next_try == 0:
            self._next_try = now + _RETRY_MS
        elif self._next_try is not None and now >= self._next_try:
            self._commit([request for request in self._prepared if request.retries], "an earlier checkpoint")

    def next_work_time(self, now: int) -> int | None:
        """When to try again."""
        return self._next_try or None

    def unfinished(self) -> bool:
        """A job does not end before its output is visible."""
        return self._next_try is not None

    def roll_back(self, checkpoint_id: int | None) -> None:
        """Abort what no checkpoint will make visible."""
        lost = [request for request in self._prepared if request.checkpoint_id > (checkpoint_id or 0)]
        self._prepared = [request for request in self._prepared if request.checkpoint_id <= (checkpoint_id or 0)]
        if not lost:
            return
        assert self._committer is not None
        try:
            self._committer.abort([request.committable for request in lost])
        except Exception:  # what is left lies about; the failure that led here is more important
            log.exception("sink %r could not abort what it had prepared", self.context.name)

    def close(self) -> None:
        """Close the committer."""
        committer, self._committer = self._committer, None
        if committer is not None:
            committer.close()

    def _failed(self, checkpoint: str, requests: list[CommitRequest], reason: str) -> CommitError:
        name, uid = self.context.name, self.context.uid
        return CommitError(
            f"sink {name!r} (uid {uid!r}) could not commit the output of {checkpoint}: {reason}. "
            f"It was to commit {_shortened(requests)}. Nothing is lost: remove the cause, and the job commits again "
            "when it restarts or is started again, before anything else. To leave that output alone, start from "
            "an earlier checkpoint or savepoint (execution.state-recovery.path)"
        )


def _shortened(requests: list[CommitRequest]) -> str:
    return shortened([request.committable for request in requests])


def shortened(committables: list[Any]) -> str:
    """Some of them, as text."""
    shown = ", ".join(f"{each!r:.300}" for each in committables[:_SHOWN])
    return shown if len(committables) <= _SHOWN else f"{shown} and {len(committables) - _SHOWN} more"
