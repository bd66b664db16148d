"""Answers about checkpoints and savepoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.common.options import (
    CHECKPOINT_MAX_CONCURRENT,
    CHECKPOINT_MIN_PAUSE,
    CHECKPOINT_MODE,
    CHECKPOINT_RETAINED,
    CHECKPOINT_RETENTION,
    CHECKPOINT_TIMEOUT,
    CHECKPOINT_TOLERABLE_FAILURES,
)
from firesteel.events import (
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointTriggered,
    JobView,
    SubtaskState,
    VertexDescription,
)
from firesteel.rest.settings import settings_of
from firesteel.rest.summaries import distribution

__all__ = ["config", "details", "find", "overview", "subtasks"]

Checkpoint = CheckpointTriggered | CheckpointCompleted | CheckpointFailed
_NEVER = 9223372036854775807
"""Flink's interval of a job without checkpoints."""


def _all(view: JobView) -> list[Checkpoint]:
    """Newest first."""
    ended: list[Checkpoint] = list(view.history.checkpoints)
    under_way: list[Checkpoint] = list(view.history.checkpoints_under_way)
    return [*under_way[::-1], *ended[::-1]]


def find(view: JobView, checkpoint_id: int) -> Checkpoint | None:
    """The newest checkpoint or savepoint with this number, if it is still remembered."""
    return next((each for each in _all(view) if each.checkpoint_id == checkpoint_id), None)


def overview(view: JobView) -> dict[str, Any]:
    """Counts, how sizes and durations are spread, the latest of each kind, and the last hundred."""
    counts = view.history.checkpoint_counts
    newest_first = _all(view)
    completed = [each for each in newest_first if isinstance(each, CheckpointCompleted)]
    sizes = distribution([each.state_bytes for each in completed])
    nothing = distribution([0] * len(completed))
    return {
        "counts": {**counts, "total": counts["completed"] + counts["failed"] + counts["in_progress"]},
        "summary": {
            "checkpointed_size": sizes,
            "state_size": sizes,
            "end_to_end_duration": distribution([each.duration_ms for each in completed]),
            "alignment_buffered": nothing,
            "processed_data": nothing,
            "persisted_data": nothing,
        },
        "latest": _latest(view, newest_first, completed),
        "history": [details(view, each, with_tasks=False) for each in newest_first],
    }


def _latest(view: JobView, newest_first: Sequence[Checkpoint], completed: Sequence[CheckpointCompleted]) -> Any:
    def first(found: Sequence[Checkpoint]) -> dict[str, Any] | None:
        return details(view, found[0], with_tasks=False) if found else None

    restored = view.history.restored
    return {
        "completed": first([each for each in completed if not each.savepoint]),
        "savepoint": first([each for each in completed if each.savepoint]),
        "failed": first([each for each in newest_first if isinstance(each, CheckpointFailed)]),
        "restored": None
        if not restored
        else {
            "id": restored[-1].checkpoint_id,
            "restore_timestamp": restored[-1].time,
            "is_savepoint": restored[-1].savepoint,
            "external_path": restored[-1].path,
        },
    }


def details(view: JobView, checkpoint: Checkpoint, with_tasks: bool = True) -> dict[str, Any]:
    """One checkpoint; with what each vertex has stored, if asked."""
    triggered = checkpoint.time if isinstance(checkpoint, CheckpointTriggered) else checkpoint.triggered
    vertices = view.job.vertices
    answer: dict[str, Any] = {
        "className": _status(checkpoint).lower(),
        "id": checkpoint.checkpoint_id,
        "status": _status(checkpoint),
        "is_savepoint": checkpoint.savepoint,
        "savepointFormat": "CANONICAL" if checkpoint.savepoint else None,
        "trigger_timestamp": triggered,
        **_figures(view, checkpoint, triggered, vertices),
        "checkpoint_type": "SAVEPOINT" if checkpoint.savepoint else "CHECKPOINT",
        "tasks": {each.id: _of_vertex(view, checkpoint, each) for each in vertices} if with_tasks else {},
    }
    if isinstance(checkpoint, CheckpointCompleted):
        answer |= {"external_path": checkpoint.path, "discarded": _is_discarded(view, checkpoint)}
    elif isinstance(checkpoint, CheckpointFailed):
        answer |= {"failure_timestamp": checkpoint.time, "failure_message": checkpoint.reason}
    return answer


def _is_discarded(view: JobView, checkpoint: CheckpointCompleted) -> bool:
    """Whether its files are gone: savepoints stay, and of checkpoints the newest, unless the job has ended well."""
    if checkpoint.savepoint:
        return False
    settings = settings_of(view, CHECKPOINT_RETENTION, CHECKPOINT_RETAINED)
    kept_when_cancelled = settings.get(CHECKPOINT_RETENTION) == "RETAIN_ON_CANCELLATION"
    if view.state == "FINISHED" or (view.state == "CANCELED" and not kept_when_cancelled):
        return True
    completed = [each for each in view.history.checkpoints if isinstance(each, CheckpointCompleted)]
    kept = [each for each in completed if not each.savepoint][-settings.get(CHECKPOINT_RETAINED) :]
    return checkpoint not in kept


def _status(checkpoint: Checkpoint) -> str:
    if isinstance(checkpoint, CheckpointTriggered):
        return "IN_PROGRESS"
    return "COMPLETED" if isinstance(checkpoint, CheckpointCompleted) else "FAILED"


def _figures(
    view: JobView, checkpoint: Checkpoint, triggered: int, vertices: Sequence[VertexDescription]
) -> dict[str, Any]:
    done = isinstance(checkpoint, CheckpointCompleted)
    whole = len(vertices) == len(view.job.vertices)
    size = 0
    if isinstance(checkpoint, CheckpointCompleted):
        stored = sum(each.state_bytes or 0 for vertex in vertices for each in _stored(checkpoint, vertex))
        size = checkpoint.state_bytes if whole else stored
    number = sum(each.parallelism for each in vertices)
    lasted = view.now - triggered if isinstance(checkpoint, CheckpointTriggered) else checkpoint.duration_ms
    return {
        "latest_ack_timestamp": checkpoint.time if done else -1,
        "checkpointed_size": size,
        "state_size": size,
        "end_to_end_duration": max(lasted, 0),
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": number,
        "num_acknowledged_subtasks": number if done else 0,
    }


def _stored(checkpoint: CheckpointCompleted, vertex: VertexDescription) -> list[SubtaskState]:
    ids = {each.id for each in vertex.operators}
    return [state for each in checkpoint.operators if each.id in ids for state in each.subtasks]


def _of_vertex(view: JobView, checkpoint: Checkpoint, vertex: VertexDescription) -> dict[str, Any]:
    triggered = checkpoint.time if isinstance(checkpoint, CheckpointTriggered) else checkpoint.triggered
    return {
        "id": checkpoint.checkpoint_id,
        "status": _status(checkpoint),
        **_figures(view, checkpoint, triggered, [vertex]),
    }


def subtasks(view: JobView, checkpoint: Checkpoint, vertex: VertexDescription) -> dict[str, Any]:
    """What the subtasks of a vertex have stored, and how long that held them up."""
    each_subtask = [_subtask(checkpoint, vertex, index) for index in range(vertex.parallelism)]
    done = [each for each in each_subtask if each["className"] == "completed"]

    def spread(*path: str) -> dict[str, Any]:
        return distribution([_inside(each, path) for each in done])

    return {
        **_of_vertex(view, checkpoint, vertex),
        "summary": {
            "checkpointed_size": spread("checkpointed_size"),
            "state_size": spread("state_size"),
            "end_to_end_duration": spread("end_to_end_duration"),
            "checkpoint_duration": {"sync": spread("checkpoint", "sync"), "async": spread("checkpoint", "async")},
            "alignment": {
                name: spread("alignment", name) for name in ("buffered", "processed", "persisted", "duration")
            },
            "start_delay": spread("start_delay"),
        },
        "subtasks": each_subtask,
    }


def _inside(value: Any, path: Sequence[str]) -> int:
    for name in path:
        value = value[name]
    return int(value)


def _subtask(checkpoint: Checkpoint, vertex: VertexDescription, index: int) -> dict[str, Any]:
    if not isinstance(checkpoint, CheckpointCompleted):
        return {"className": "pending", "index": index, "status": "pending_or_failed"}
    stored = [each for each in _stored(checkpoint, vertex) if each.subtask == index]
    size = sum(each.state_bytes or 0 for each in stored)
    held_up = max((each.held_up_ms for each in stored), default=0)
    return {
        "className": "completed",
        "index": index,
        "ack_timestamp": checkpoint.time,
        "end_to_end_duration": checkpoint.duration_ms,
        "checkpointed_size": size,
        "state_size": size,
        "checkpoint": {"sync": held_up, "async": max(checkpoint.duration_ms - held_up, 0)},
        "alignment": {"buffered": 0, "processed": 0, "persisted": 0, "duration": 0},
        "start_delay": 0,
        "unaligned_checkpoint": False,
        "aborted": False,
        "status": "completed",
    }


def config(view: JobView) -> dict[str, Any]:
    """How checkpoints are set up. They are never unaligned: at the end of an epoch nothing is on its way."""
    settings = settings_of(
        view,
        CHECKPOINT_MODE,
        CHECKPOINT_TIMEOUT,
        CHECKPOINT_MIN_PAUSE,
        CHECKPOINT_MAX_CONCURRENT,
        CHECKPOINT_RETENTION,
        CHECKPOINT_TOLERABLE_FAILURES,
    )
    retention = settings.get(CHECKPOINT_RETENTION)
    return {
        "mode": str(settings.get(CHECKPOINT_MODE)).lower(),
        "interval": view.job.checkpoint_interval or _NEVER,
        "timeout": settings.get(CHECKPOINT_TIMEOUT),
        "min_pause": settings.get(CHECKPOINT_MIN_PAUSE),
        "max_concurrent": settings.get(CHECKPOINT_MAX_CONCURRENT),
        "externalization": {
            "enabled": retention != "NO_EXTERNALIZED_CHECKPOINTS",
            "delete_on_cancellation": retention != "RETAIN_ON_CANCELLATION",
        },
        "state_backend": view.job.state_backend,
        "checkpoint_storage": view.job.checkpoint_directory or "none",
        "unaligned_checkpoints": False,
        "tolerable_failed_checkpoints": settings.get(CHECKPOINT_TOLERABLE_FAILURES),
        "aligned_checkpoint_timeout": 0,
        "checkpoints_after_tasks_finish": True,
        "state_changelog_enabled": False,
        "changelog_periodic_materialization_interval": 0,
        "changelog_storage": "none",
    }
