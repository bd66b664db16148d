"""The REST API as an ASGI application: which path is answered by what."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount

from firesteel.dashboard import dashboard_routes
from firesteel.events import JobView
from firesteel.events import metrics as figures
from firesteel.rest import jobs, metrics
from firesteel.rest.cluster import Cluster
from firesteel.rest.driver_log import DriverLog
from firesteel.rest.openapi import Endpoint, describe
from firesteel.rest.operations import Operations
from firesteel.rest.programs import Programs
from firesteel.rest.reading import AGGREGATED, OF_JOB, OF_VERTEX, Reading, aggregations, vertex_of
from firesteel.rest.registry import JobRegistry
from firesteel.rest.requests import RestError, hex_id, words
from firesteel.rest.routing import Handled, reading
from firesteel.rest.security import Access, Guard
from firesteel.rest.steering import Steering

__all__ = ["create_app"]

_JOB = "/jobs/{jobid}"
_VERTEX = f"{_JOB}/vertices/{{vertexid}}"


def create_app(
    registry: JobRegistry,
    access: Access | None = None,
    operations: Operations | None = None,
    log: DriverLog | None = None,
    programs: Programs | None = None,
    steers: bool = True,
) -> Starlette:
    """The REST API over some jobs, for any ASGI server::

        uvicorn.run(create_app(JobRegistry(logs="/data/checkpoints")))

    :param access: Who may ask; by default whoever reaches it under a name of this machine.
    :param operations: Where what takes its time is kept.
    :param log: What the driver logs, if this is a driver's server.
    :param programs: Takes programs that are handed in; without it none are taken.
    :param steers: Whether jobs are steered from here, and not only looked at.
    """
    api = _Api(registry, steers, programs is not None)
    handled = [
        *api.endpoints(),
        *Steering(registry, operations or Operations(), api.view, steers).endpoints(),
        *Cluster(registry, api.view, log, programs).endpoints(),
    ]
    described = describe([*(each.endpoint for each in handled), _DESCRIPTION])
    handled.append(reading(_DESCRIPTION.path, _DESCRIPTION.summary, lambda _: described))
    routes = [each.route() for each in handled]
    return Starlette(
        routes=[Mount("/v1", routes=routes), *routes, *dashboard_routes(registry, None if log is None else log.text)],
        middleware=[Middleware(Guard, access=access or Access())],
        exception_handlers={RestError: _refused, HTTPException: _http_error, Exception: _broken},
    )


_DESCRIPTION = Endpoint("GET", "/openapi.json", "This description.")


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

    def __init__(self, registry: JobRegistry, steers: bool, takes_programs: bool) -> None:
        self._registry = registry
        self._steers = steers
        self._takes_programs = takes_programs

    def endpoints(self) -> list[Handled]:
        """All paths on which jobs are read about, without their version."""
        views = self._registry.views
        return [
            reading("/config", "What dashboards ask first.", self._config),
            reading("/overview", "Numbers of jobs and processes.", lambda _: jobs.cluster_overview(views())),
            reading("/jobs", "All jobs with their statuses.", lambda _: jobs.job_ids(views())),
            reading("/jobs/overview", "All jobs with their times.", lambda _: jobs.jobs_overview(views())),
            reading("/jobs/metrics", "Metrics over all jobs.", self._metrics_of_jobs, (*AGGREGATED, _JOBS)),
            *(self._read(f"{_JOB}{path}", each, self._of_job) for path, each in OF_JOB.items()),
            *(self._read(f"{_VERTEX}{path}", each, self._of_vertex) for path, each in OF_VERTEX.items()),
        ]

    def _read(self, path: str, what: Reading, find: Callable[[Reading, Request], Any]) -> Handled:
        return reading(path, what.summary, partial(find, what), what.query)

    def view(self, request: Request) -> JobView:
        """The job that a request is about, as it is now."""
        job_id = hex_id(request, "jobid")
        view = self._registry.view(job_id)
        if view is None:
            raise RestError(404, f"Job {job_id} not found")
        return view

    def _of_job(self, what: Reading, request: Request) -> Any:
        return what.answer(self.view(request), request)

    def _of_vertex(self, what: Reading, request: Request) -> Any:
        view = self.view(request)
        return what.answer(view, vertex_of(view, request), request)

    def _config(self, request: Request) -> Any:
        here = time.localtime()
        return jobs.cluster_config(here.tm_gmtoff * 1000, here.tm_zone, self._takes_programs, self._steers)

    def _metrics_of_jobs(self, request: Request) -> Any:
        wanted = words(request, "jobs")
        views = [each for each in self._registry.views() if wanted is None or each.job.job_id in wanted]
        return metrics.aggregate(map(figures.job_metrics, views), words(request, "get"), aggregations(request))


_JOBS = ("jobs", "ids of jobs, with commas; all if it is left out")
