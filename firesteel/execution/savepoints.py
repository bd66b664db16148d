"""Savepoints on demand: what a user asks for, and carrying it out at the end of an epoch."""

from __future__ import annotations

import uuid
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from firesteel.errors import CheckpointError
from firesteel.execution.checkpoints import build_manifest
from firesteel.execution.recovery import unsafe_end
from firesteel.execution.results import SubtaskDone
from firesteel.plan.job_plan import JobPlan
from firesteel.state.store import CheckpointStore


@dataclass
class SavepointRequest:
    """A savepoint that a user waits for.

    :param stop: End the job with it.
    :param drain: Before it, let all windows and event-time timers fire: the job will not be taken up again.
    :param done: Gets the savepoint's path.
    """

    directory: str
    stop: bool = False
    drain: bool = False
    done: Future[str] = field(default_factory=Future)

    def fail(self, error: BaseException) -> None:
        """Tell whoever waits that there is no savepoint, unless there is one: the job may fail after it was taken."""
        if not self.done.done():
            self.done.set_exception(error)

    def target(self, job_id: str) -> str:
        """A directory of its own for the savepoint."""
        return f"{self.directory.rstrip('/')}/savepoint-{job_id[:6]}-{uuid.uuid4().hex[:12]}"


@dataclass
class CheckpointRequest:
    """A checkpoint that a user waits for.

    :param done: Gets the checkpoint's number.
    """

    full: bool = False
    done: Future[int] = field(default_factory=Future)


def write_savepoint(
    target: str,
    plan: JobPlan,
    checkpoint_id: int,
    now: int,
    results: list[SubtaskDone],
    driver_state: dict[str, Any],
) -> str:
    """Complete a savepoint whose state files have been written: check that they are there, write the manifest."""
    store = CheckpointStore(target)
    problems = [problem for result in results for problem in result.write_problems]
    problem = unsafe_end(plan, results) or next(iter(problems), None)
    try:
        if problem is not None:
            raise CheckpointError(f"the savepoint in {target} could not be written: {problem}")
        manifest = build_manifest(plan, "savepoint", checkpoint_id, now, results, {}, driver_state)
        manifest.state_bytes = sum(store.state_size(name) for name in manifest.all_files())
        return store.write_manifest(manifest)
    except CheckpointError:
        store.files.delete("")  # the directory was made for this savepoint
        raise
