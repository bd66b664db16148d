"""What can be asked about one job and about its vertices: path by path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from firesteel.events import JobView, VertexDescription
from firesteel.events import metrics as figures
from firesteel.rest import checkpoints, jobs, metrics, vertices
from firesteel.rest.requests import RestError, hex_id, numbers_in, words

__all__ = ["AGGREGATED", "OF_JOB", "OF_VERTEX", "Reading", "aggregations", "vertex_of"]

Query = tuple[tuple[str, str], ...]
_GET: Query = (("get", "names of metrics, with commas; without it the names of all are listed"),)
AGGREGATED: Query = (*_GET, ("agg", f"some of {', '.join(metrics.AGGREGATIONS)}; all if it is left out"))


@dataclass(frozen=True)
class Reading:
    """A path below a job or a vertex: what it gives, and how the answer is made."""

    summary: str
    answer: Callable[..., Any]
    query: Query = ()


def vertex_of(view: JobView, request: Request) -> VertexDescription:
    """The vertex that the path names."""
    vertex_id = hex_id(request, "vertexid")
    vertex = view.vertex(vertex_id)
    if vertex is None:
        raise RestError(404, f"JobVertex {vertex_id} not found")
    return vertex


def aggregations(request: Request) -> list[str]:
    """How metrics of several are to be taken together."""
    return words(request, "agg", metrics.AGGREGATIONS) or list(metrics.AGGREGATIONS)


def _exceptions(view: JobView, request: Request) -> Any:
    text = request.query_params.get("maxExceptions", "20")
    if not text.isdecimal():
        raise RestError(400, f"Bad request: maxExceptions is {text!r}, expected a number.")
    if words(request, "failureLabelFilter") is not None:  # failures have no labels here: none has the wanted one
        return {"exceptionHistory": {"entries": [], "truncated": False}}
    return jobs.exceptions(view, int(text))


def _checkpoint(view: JobView, request: Request) -> checkpoints.Checkpoint:
    text = str(request.path_params["checkpointid"])
    if not text.isdecimal():
        raise RestError(400, f"Bad request: checkpointid is {text!r}, expected a number.")
    found = checkpoints.find(view, int(text))
    if found is None:
        raise RestError(404, f"Could not find checkpointing statistics for checkpoint {text}: only the last are kept.")
    return found


def _checkpoint_of_vertex(view: JobView, request: Request) -> Any:
    return checkpoints.subtasks(view, _checkpoint(view, request), vertex_of(view, request))


def _subtask(vertex: VertexDescription, request: Request) -> int:
    text = str(request.path_params["subtask"])
    if not text.isdecimal() or int(text) >= vertex.parallelism:
        raise RestError(404, f"There is no subtask {text} of {vertex.name!r}: it has {vertex.parallelism}.")
    return int(text)


def _of_attempt(view: JobView, vertex: VertexDescription, request: Request) -> int:
    """The subtask; its attempt has to be the present one."""
    text = str(request.path_params["attempt"])
    if text != str(view.attempt):
        raise RestError(404, f"There is no attempt {text}: only the present one is known, {view.attempt}.")
    return _subtask(vertex, request)


def _subtasks_together(view: JobView, vertex: VertexDescription, request: Request) -> Any:
    wanted = numbers_in(request, "subtasks")
    chosen = [index for index in range(vertex.parallelism) if wanted is None or index in wanted]
    several = [figures.subtask_metrics(view, vertex, index) for index in chosen]
    return metrics.aggregate(several, words(request, "get"), aggregations(request))


def _one_subtask(view: JobView, vertex: VertexDescription, request: Request) -> Any:
    return metrics.listed(figures.subtask_metrics(view, vertex, _subtask(vertex, request)), words(request, "get"))


OF_JOB: dict[str, Reading] = {
    "": Reading("The job: times, vertices with sums of their subtasks, plan.", lambda view, _: jobs.details(view)),
    "/plan": Reading("The job graph.", lambda view, _: jobs.plan(view)),
    "/config": Reading("Parallelism, restarts, the program's parameters.", lambda view, _: jobs.execution_config(view)),
    "/status": Reading("The job's status.", lambda view, _: {"status": view.state}),
    "/exceptions": Reading(
        "What has failed, newest first.",
        _exceptions,
        (("maxExceptions", "how many at the most; 20 if it is left out"),),
    ),
    "/accumulators": Reading("The functions' counters, added up.", lambda view, _: jobs.accumulators(view)),
    "/metrics": Reading(
        "Metrics of the job as a whole.",
        lambda view, request: metrics.listed(figures.job_metrics(view), words(request, "get")),
        _GET,
    ),
    "/execution-result": Reading("How the job has ended, if it has.", lambda view, _: jobs.execution_result(view)),
    "/jobmanager/config": Reading("Settings, without secrets.", lambda view, _: jobs.configuration_of(view)),
    "/checkpoints": Reading(
        "Checkpoints and savepoints: counts, sizes, durations, the last hundred.",
        lambda view, _: checkpoints.overview(view),
    ),
    "/checkpoints/config": Reading("How checkpoints are taken.", lambda view, _: checkpoints.config(view)),
    "/checkpoints/details/{checkpointid}": Reading(
        "One checkpoint, by vertex.", lambda view, request: checkpoints.details(view, _checkpoint(view, request))
    ),
    "/checkpoints/details/{checkpointid}/subtasks/{vertexid}": Reading(
        "One checkpoint, by subtask of a vertex.", _checkpoint_of_vertex
    ),
}

OF_VERTEX: dict[str, Reading] = {
    "": Reading("The vertex and its subtasks.", lambda view, vertex, _: vertices.details(view, vertex)),
    "/accumulators": Reading(
        "The counters of the vertex's functions.", lambda view, vertex, _: vertices.user_accumulators(view, vertex)
    ),
    "/backpressure": Reading(
        "Where the time of the subtasks goes.", lambda view, vertex, _: vertices.back_pressure(view, vertex)
    ),
    "/jm-operator-metrics": Reading(
        "Metrics of the operators' halves in the driver.",
        lambda view, vertex, request: metrics.listed(figures.coordinator_metrics(view, vertex), words(request, "get")),
        _GET,
    ),
    "/metrics": Reading(
        "Metrics of all subtasks.",
        lambda view, vertex, request: metrics.listed(figures.vertex_metrics(view, vertex), words(request, "get")),
        _GET,
    ),
    "/subtasks/accumulators": Reading(
        "The functions' counters by subtask.", lambda view, vertex, _: vertices.subtask_accumulators(view, vertex)
    ),
    "/subtasks/metrics": Reading(
        "Metrics of several subtasks taken together.",
        _subtasks_together,
        (*AGGREGATED, ("subtasks", "which ones, such as 0,2-5; all if it is left out")),
    ),
    "/subtasks/{subtask}": Reading(
        "One subtask.", lambda view, vertex, request: vertices.subtask(view, vertex, _subtask(vertex, request))
    ),
    "/subtasks/{subtask}/attempts/{attempt}": Reading(
        "The present attempt of a subtask.",
        lambda view, vertex, request: vertices.subtask(view, vertex, _of_attempt(view, vertex, request)),
    ),
    "/subtasks/{subtask}/attempts/{attempt}/accumulators": Reading(
        "The functions' counters of the present attempt of a subtask.",
        lambda view, vertex, request: vertices.attempt_accumulators(view, vertex, _of_attempt(view, vertex, request)),
    ),
    "/subtasks/{subtask}/metrics": Reading("Metrics of one subtask.", _one_subtask, _GET),
    "/subtasktimes": Reading(
        "When subtasks came into their states.", lambda view, vertex, _: vertices.subtask_times(view, vertex)
    ),
    "/taskmanagers": Reading(
        "Subtasks by the processes that run them.", lambda view, vertex, _: vertices.by_process(view, vertex)
    ),
    "/watermarks": Reading(
        "Where event time stands at the subtasks' inputs.", lambda view, vertex, _: vertices.watermarks(view, vertex)
    ),
}
