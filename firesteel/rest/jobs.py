"""Answers about jobs as a whole: lists, details, plan, settings, exceptions, results."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from typing import Any

import firesteel
from firesteel.common import Configuration
from firesteel.common.options import (
    GLOBAL_JOB_PARAMETERS,
    OBJECT_REUSE,
    RESTART_STRATEGY,
)
from firesteel.events import ExceptionRaised, VertexDescription, operator_id
from firesteel.events.metrics import user_counters
from firesteel.events.view import TASK_STATES, JobView
from firesteel.rest.failures import described_failure
from firesteel.rest.settings import settings_of
from firesteel.rest.vertices import io_metrics, place_of, task_name

__all__ = [
    "accumulators",
    "cluster_config",
    "cluster_overview",
    "configuration_of",
    "details",
    "exceptions",
    "execution_config",
    "execution_result",
    "job_ids",
    "jobs_overview",
    "plan",
]

_SLOT_SHARING_GROUP = operator_id("default")


def cluster_config(offset_ms: int, zone: str, submit: bool = False, steers: bool = True) -> dict[str, Any]:
    """What Flink's dashboard asks for first.

    :param submit: Programs can be handed in.
    :param steers: Jobs can be cancelled; those of logs cannot.
    """
    return {
        "refresh-interval": 3000,
        "timezone-name": zone,
        "timezone-offset": offset_ms,
        "flink-version": firesteel.__version__,
        "flink-revision": "firesteel",
        "features": {"web-submit": submit, "web-cancel": steers, "web-rescale": False, "web-history": not steers},
    }


def cluster_overview(views: Sequence[JobView]) -> dict[str, Any]:
    """How many jobs there are, and how many processes run their subtasks."""
    running = [view for view in views if not view.is_over]
    processes = {(each.host, each.pid) for view in running if view.latest is not None for each in view.latest.subtasks}
    slots = sum(max((each.parallelism for each in view.job.vertices), default=0) for view in running)
    states = Counter(view.state for view in views)
    return {
        "taskmanagers": len(processes),
        "slots-total": slots,
        "slots-available": 0,
        "jobs-running": len(running),
        "jobs-finished": states["FINISHED"],
        "jobs-cancelled": states["CANCELED"],
        "jobs-failed": states["FAILED"],
        "flink-version": firesteel.__version__,
        "flink-commit": "firesteel",
    }


def job_ids(views: Sequence[JobView]) -> dict[str, Any]:
    """All jobs with their status."""
    return {"jobs": [{"id": view.job.job_id, "status": view.state} for view in views]}


def jobs_overview(views: Sequence[JobView]) -> dict[str, Any]:
    """All jobs with their times and the states of their tasks."""
    return {"jobs": [_overview(view) for view in views]}


def _overview(view: JobView) -> dict[str, Any]:
    counts = _task_counts(view, view.job.vertices)
    changed = max([each.time for each in view.history.statuses], default=view.start)
    return {
        "jid": view.job.job_id,
        "name": view.job.name,
        "jobType": _type(view),
        "schedulerType": "Default",
        "start-time": view.start,
        "end-time": view.end,
        "duration": view.duration,
        "state": view.state,
        "last-modification": changed,
        "tasks": {"total": sum(counts.values()), **{state.lower(): number for state, number in counts.items()}},
        "pending-operators": 0,
    }


def _type(view: JobView) -> str:
    return "BATCH" if view.job.batch_mode else "STREAMING"


def _task_counts(view: JobView, vertices: Sequence[VertexDescription]) -> dict[str, int]:
    states = Counter(view.task_state(each, subtask) for each in vertices for subtask in range(each.parallelism))
    return {state: states[state] for state in TASK_STATES}


def details(view: JobView) -> dict[str, Any]:
    """One job: times, vertices with the sums of their subtasks, plan."""
    vertices = view.job.vertices
    states = Counter(view.task_state(each) for each in vertices)
    return {
        "jid": view.job.job_id,
        "application-id": view.job.job_id,
        "name": view.job.name,
        "isStoppable": False,
        "state": view.state,
        "job-type": _type(view),
        "schedulerType": "Default",
        "start-time": view.start,
        "end-time": view.end,
        "duration": view.duration,
        "maxParallelism": max((each.max_parallelism for each in vertices), default=-1),
        "now": view.now,
        "timestamps": view.timestamps,
        "vertices": [_vertex(view, each) for each in vertices],
        "status-counts": {state: states[state] for state in TASK_STATES},
        "plan": plan(view)["plan"],
        "pending-operators": 0,
    }


def _vertex(view: JobView, vertex: VertexDescription) -> dict[str, Any]:
    start, end, duration = view.task_times()
    numbers = [view.numbers(vertex, subtask) for subtask in range(vertex.parallelism)]
    return {
        "id": vertex.id,
        "slotSharingGroupId": _SLOT_SHARING_GROUP,
        "name": vertex.name,
        "maxParallelism": vertex.max_parallelism,
        "parallelism": vertex.parallelism,
        "status": view.task_state(vertex),
        "start-time": start,
        "end-time": end,
        "duration": duration,
        "tasks": _task_counts(view, [vertex]),
        "metrics": io_metrics(vertex, numbers, view.latest is not None),
    }


def plan(view: JobView) -> dict[str, Any]:
    """The job graph. Descriptions are HTML, as Flink's dashboard shows them."""
    nodes = []
    for vertex in view.job.vertices:
        node: dict[str, Any] = {
            "id": vertex.id,
            "operator": "",
            "parallelism": vertex.parallelism,
            "operator_strategy": "",
            "description": html.escape(vertex.name, quote=False),
            "optimizer_properties": {},
        }
        if vertex.inputs:
            node["inputs"] = [
                {"num": number, "id": each.id, "ship_strategy": each.ship_strategy, "exchange": "pipelined_bounded"}
                for number, each in enumerate(vertex.inputs)
            ]
        nodes.append(node)
    return {"plan": {"jid": view.job.job_id, "name": view.job.name, "type": _type(view), "nodes": nodes}}


def execution_config(view: JobView) -> dict[str, Any]:
    """Parallelism, restarts and the program's own parameters."""
    settings: Configuration = settings_of(view, RESTART_STRATEGY, OBJECT_REUSE, GLOBAL_JOB_PARAMETERS)
    parameters: dict[str, str] | None = settings.get(GLOBAL_JOB_PARAMETERS)
    return {
        "jid": view.job.job_id,
        "name": view.job.name,
        "execution-config": {
            "restart-strategy": str(settings.get(RESTART_STRATEGY) or "default"),
            "job-parallelism": view.job.parallelism,
            "object-reuse-mode": bool(settings.get(OBJECT_REUSE)),
            "user-config": {str(name): str(value) for name, value in (parameters or {}).items()},
        },
    }


def configuration_of(view: JobView) -> list[dict[str, str]]:
    """What the user has set, without secrets."""
    return [{"key": key, "value": str(value)} for key, value in sorted(view.job.configuration.items())]


def exceptions(view: JobView, most: int) -> dict[str, Any]:
    """What has failed, newest first."""
    raised = view.history.exceptions[::-1]
    entries = [_exception(view, each) for each in raised[:most]]
    return {"exceptionHistory": {"entries": entries, "truncated": len(raised) > most}}


def _exception(view: JobView, raised: ExceptionRaised) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "exceptionName": raised.exception,
        "stacktrace": raised.traceback or f"{raised.exception}: {raised.message}",
        "timestamp": raised.time,
        "failureLabels": {},
        "concurrentExceptions": [],
    }
    vertex = None if raised.vertex is None else view.vertex(raised.vertex)
    if vertex is not None and raised.subtask is not None:
        entry["taskName"] = f"{task_name(vertex, raised.subtask)} - execution #{raised.restarts}"
        entry["endpoint"], entry["taskManagerId"] = place_of(raised.host or "", raised.pid or 0)
    return entry


def execution_result(view: JobView) -> dict[str, Any]:
    """How the job has ended; while it runs, that it does."""
    ended = view.history.ended
    if ended is None:
        return {"status": {"id": "IN_PROGRESS"}}
    result: dict[str, Any] = {
        "id": view.job.job_id,
        "name": view.job.name,
        "application-status": {"FINISHED": "SUCCEEDED"}.get(ended.status, ended.status),
        "accumulator-results": {},
        "net-runtime": ended.runtime_ms,
        "application-id": view.job.job_id,
        "start-time": view.start,
        "end-time": view.end,
    }
    if ended.status == "FAILED":
        last = view.history.exceptions[-1:]
        name = last[0].exception if last else "JobFailedError"
        text = ended.error or "the job has failed"
        result["failure-cause"] = described_failure(name, text.partition("\n")[0], text)
    return {"status": {"id": "COMPLETED"}, "job-execution-result": result}


def accumulators(view: JobView) -> dict[str, Any]:
    """The functions' counters, added up over all subtasks. There are no values serialized by Java."""
    totals: Counter[str] = Counter()
    for vertex in view.job.vertices:
        for subtask in range(vertex.parallelism):
            totals.update(user_counters(view, vertex, subtask))
    listed = [{"name": name, "type": "LongCounter", "value": str(value)} for name, value in sorted(totals.items())]
    return {"job-accumulators": [], "user-task-accumulators": listed, "serialized-user-task-accumulators": {}}
