"""The REST API as an ASGI application: which path is answered by what."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from firesteel.common import CompletableFuture
from firesteel.errors import ConfigurationError
from firesteel.events import VertexDescription
from firesteel.rest import checkpoints, jobs, metrics, vertices
from firesteel.rest.operations import Operations, cancelled_with_savepoint, failed
from firesteel.rest.registry import JobRegistry, SteeredJob
from firesteel.rest.requests import (
    RestError,
    body_of,
    directory_in,
    flag_in,
    format_in,
    hex_id,
    numbers_in,
    trigger_in,
    words,
)
from firesteel.rest.security import Access, Guard
from firesteel.rest.view import JobView

__all__ = ["create_app"]

OfJob = Callable[[JobView, Request], Any]
OfVertex = Callable[[JobView, VertexDescription, Request], Any]
_JOB = "/jobs/{jobid}"
_VERTEX = f"{_JOB}/vertices/{{vertexid}}"


def create_app(registry: JobRegistry, access: Access | None = None, operations: Operations | None = None) -> Starlette:
    """The REST API over some jobs, for any ASGI server::

        uvicorn.run(create_app(JobRegistry(logs="/data/checkpoints")))

    :param access: Who may ask; by default whoever reaches it under a name of this machine.
    :param operations: Where what takes its time is kept.
    """
    api = _Api(registry, operations or Operations())
    routes = api.routes()
    return Starlette(
        routes=[Mount("/v1", routes=routes), *routes],
        middleware=[Middleware(Guard, access=access or Access())],
        exception_handlers={RestError: _refused, HTTPException: _http_error, Exception: _broken},
    )


def _errors(status: int, message: str) -> Response:
    return JSONResponse({"errors": [message]}, status)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RestError)
    return _errors(error.status, str(error))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    messages = {404: f"There is nothing at {request.url.path}.", 405: f"{request.method} is not possible here."}
    return _errors(error.status_code, messages.get(error.status_code, error.detail))


async def _broken(request: Request, error: Exception) -> Response:
    return _errors(500, f"Internal server error: {type(error).__name__}: {error}")


class _Api:
    """Finds what a request is about, and has it answered."""

    def __init__(self, registry: JobRegistry, operations: Operations) -> None:
        self._registry = registry
        self._operations = operations

    def routes(self) -> list[BaseRoute]:
        """All paths, without their version."""
        reading: dict[str, Callable[[Request], Any]] = {
            "/config": _cluster_config,
            "/overview": lambda request: jobs.cluster_overview(self._registry.views()),
            "/jobs": lambda request: jobs.job_ids(self._registry.views()),
            "/jobs/overview": lambda request: jobs.jobs_overview(self._registry.views()),
            "/jobs/metrics": self._metrics_of_jobs,
            **{f"{_JOB}{path}": partial(self._of_job, answer) for path, answer in _OF_JOB.items()},
            **{f"{_VERTEX}{path}": partial(self._of_vertex, answer) for path, answer in _OF_VERTEX.items()},
        }
        routes: list[BaseRoute] = [Route(path, _answering(answer), methods=["GET"]) for path, answer in reading.items()]
        return [
            *routes,
            Route(_JOB, self._cancel, methods=["PATCH"]),
            Route(f"{_JOB}/savepoints", self._savepoint, methods=["POST"]),
            Route(f"{_JOB}/savepoints/{{triggerid}}", self._outcome, methods=["GET"]),
            Route(f"{_JOB}/stop", self._stop, methods=["POST"]),
        ]

    # ---- reading -----------------------------------------------------------------------------------------------------

    def _view(self, request: Request) -> JobView:
        job_id = hex_id(request, "jobid")
        view = self._registry.view(job_id)
        if view is None:
            raise RestError(404, f"Job {job_id} not found")
        return view

    def _of_job(self, answer: OfJob, request: Request) -> Any:
        return answer(self._view(request), request)

    def _of_vertex(self, answer: OfVertex, request: Request) -> Any:
        view = self._view(request)
        return answer(view, _vertex(view, request), request)

    def _metrics_of_jobs(self, request: Request) -> Any:
        wanted = words(request, "jobs")
        views = [each for each in self._registry.views() if wanted is None or each.job.job_id in wanted]
        return metrics.aggregate(map(metrics.job_metrics, views), words(request, "get"), _aggregations(request))

    async def _outcome(self, request: Request) -> Response:
        """What became of a savepoint. It needs no thread: when a program ends there are no new ones to be had."""
        job_id, trigger_id = hex_id(request, "jobid"), hex_id(request, "triggerid")
        outcome = self._operations.outcome(job_id, trigger_id)
        if outcome is None:
            raise RestError(404, f"There is no savepoint operation with triggerId={trigger_id} for job {job_id}")
        return JSONResponse(outcome)

    # ---- steering ----------------------------------------------------------------------------------------------------

    async def _cancel(self, request: Request) -> Response:
        mode = request.query_params.get("mode", "cancel")
        if mode != "cancel":
            raise RestError(400, f"mode is {mode!r}, expected cancel. To stop with a savepoint: POST /jobs/:jobid/stop")
        view = await run_in_threadpool(self._view, request)
        job = self._registry.steered(view.job.job_id)
        if job is not None:
            job.cancel()
        elif not view.is_over:
            raise RestError(409, f"Job {view.job.job_id} runs in another process: it is known here by its log only.")
        return JSONResponse({}, 202)

    async def _savepoint(self, request: Request) -> Response:
        body = await body_of(request)
        format_in(body)
        directory, cancel = directory_in(body, "target-directory"), flag_in(body, "cancel-job")

        def begin(job: SteeredJob) -> CompletableFuture[str]:
            return cancelled_with_savepoint(job, directory) if cancel else job.trigger_savepoint(directory)

        return self._begin(request, trigger_in(body), begin)

    async def _stop(self, request: Request) -> Response:
        body = await body_of(request)
        format_in(body)
        directory, drain = directory_in(body, "targetDirectory"), flag_in(body, "drain")
        return self._begin(request, trigger_in(body), lambda job: job.stop_with_savepoint(drain, directory))

    def _begin(
        self, request: Request, trigger_id: str | None, begin: Callable[[SteeredJob], CompletableFuture[str]]
    ) -> Response:
        """Answer with the id of the operation. As in Flink, that a job is not there is the operation's outcome."""
        job_id = hex_id(request, "jobid")
        job = self._registry.steered(job_id)

        def begun() -> CompletableFuture[str]:
            return failed(f"there is no job {job_id} in this process") if job is None else begin(job)

        try:
            return JSONResponse({"request-id": self._operations.begin(job_id, trigger_id, begun)}, 202)
        except ConfigurationError as error:
            raise RestError(400, str(error)) from None


def _answering(answer: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """An endpoint. It runs in a thread of its own, because logs may have to be read."""

    async def endpoint(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(answer, request))

    return endpoint


# ---- what is asked for beside the job and the vertex -----------------------------------------------------------------


def _cluster_config(request: Request) -> Any:
    here = time.localtime()
    return jobs.cluster_config(here.tm_gmtoff * 1000, here.tm_zone)


def _vertex(view: JobView, request: Request) -> VertexDescription:
    vertex_id = hex_id(request, "vertexid")
    vertex = view.vertex(vertex_id)
    if vertex is None:
        raise RestError(404, f"JobVertex {vertex_id} not found")
    return vertex


def _aggregations(request: Request) -> list[str]:
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
    return checkpoints.subtasks(view, _checkpoint(view, request), _vertex(view, request))


def _subtask(vertex: VertexDescription, request: Request) -> int:
    text = str(request.path_params["subtask"])
    if not text.isdecimal() or int(text) >= vertex.parallelism:
        raise RestError(404, f"There is no subtask {text} of {vertex.name!r}: it has {vertex.parallelism}.")
    return int(text)


def _attempt(view: JobView, vertex: VertexDescription, request: Request) -> Any:
    text = str(request.path_params["attempt"])
    if text != str(view.attempt):
        raise RestError(404, f"There is no attempt {text}: only the present one is known, {view.attempt}.")
    return vertices.subtask(view, vertex, _subtask(vertex, request))


def _subtasks_together(view: JobView, vertex: VertexDescription, request: Request) -> Any:
    wanted = numbers_in(request, "subtasks")
    chosen = [index for index in range(vertex.parallelism) if wanted is None or index in wanted]
    several = [metrics.subtask_metrics(view, vertex, index) for index in chosen]
    return metrics.aggregate(several, words(request, "get"), _aggregations(request))


def _one_subtask(view: JobView, vertex: VertexDescription, request: Request) -> Any:
    return metrics.listed(metrics.subtask_metrics(view, vertex, _subtask(vertex, request)), words(request, "get"))


_OF_JOB: dict[str, OfJob] = {
    "": lambda view, request: jobs.details(view),
    "/plan": lambda view, request: jobs.plan(view),
    "/config": lambda view, request: jobs.execution_config(view),
    "/status": lambda view, request: {"status": view.state},
    "/exceptions": _exceptions,
    "/accumulators": lambda view, request: jobs.accumulators(view),
    "/metrics": lambda view, request: metrics.listed(metrics.job_metrics(view), words(request, "get")),
    "/execution-result": lambda view, request: jobs.execution_result(view),
    "/jobmanager/config": lambda view, request: jobs.configuration_of(view),
    "/checkpoints": lambda view, request: checkpoints.overview(view),
    "/checkpoints/config": lambda view, request: checkpoints.config(view),
    "/checkpoints/details/{checkpointid}": lambda view, request: checkpoints.details(view, _checkpoint(view, request)),
    "/checkpoints/details/{checkpointid}/subtasks/{vertexid}": _checkpoint_of_vertex,
}

_OF_VERTEX: dict[str, OfVertex] = {
    "": lambda view, vertex, request: vertices.details(view, vertex),
    "/accumulators": lambda view, vertex, request: vertices.user_accumulators(view, vertex),
    "/backpressure": lambda view, vertex, request: vertices.back_pressure(view, vertex),
    "/jm-operator-metrics": lambda view, vertex, request: metrics.listed(
        metrics.coordinator_metrics(view, vertex), words(request, "get")
    ),
    "/metrics": lambda view, vertex, request: metrics.listed(
        metrics.vertex_metrics(view, vertex), words(request, "get")
    ),
    "/subtasks/accumulators": lambda view, vertex, request: vertices.subtask_accumulators(view, vertex),
    "/subtasks/metrics": _subtasks_together,
    "/subtasks/{subtask}": lambda view, vertex, request: vertices.subtask(view, vertex, _subtask(vertex, request)),
    "/subtasks/{subtask}/attempts/{attempt}": _attempt,
    "/subtasks/{subtask}/metrics": _one_subtask,
    "/subtasktimes": lambda view, vertex, request: vertices.subtask_times(view, vertex),
    "/taskmanagers": lambda view, vertex, request: vertices.by_process(view, vertex),
    "/watermarks": lambda view, vertex, request: vertices.watermarks(view, vertex),
}
