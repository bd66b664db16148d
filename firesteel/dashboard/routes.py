"""Where the pages are, and what their buttons do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any, Protocol
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from firesteel.common import CompletableFuture
from firesteel.dashboard import pages
from firesteel.dashboard.text import Html, el
from firesteel.errors import FiresteelError
from firesteel.events import JobView

__all__ = ["Jobs", "dashboard_routes"]

BASE = "/ui"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_STATIC = ("style.css", "htmx.min.js", "icon.svg")
_HEADERS = {
    # Nothing from elsewhere, no script in a page, nobody's frame: what a job says of itself is text, and stays it.
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_MOST_BYTES = 1 << 16
_OF_JOB: dict[str, tuple[Callable[[JobView], Html], bool]] = {
    "": (pages.overview, True),
    "/checkpoints": (pages.checkpoints, True),
    "/exceptions": (pages.exceptions, False),
    "/watermarks": (pages.watermarks, True),
    "/configuration": (pages.configuration, False),
}
"""Tab -> what is shown, and whether it is loaded again and again."""


class Steered(Protocol):
    """What can be done with a job of this process."""

    def cancel(self) -> CompletableFuture[None]:
        """End the job."""

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Take a savepoint."""

    def trigger_checkpoint(self, full: bool = False) -> CompletableFuture[int]:
        """Take a checkpoint."""


class Jobs(Protocol):
    """The jobs to show."""

    def views(self) -> list[JobView]:
        """All of them, newest first."""

    def view(self, job_id: str) -> JobView | None:
        """One of them."""

    def steered(self, job_id: str) -> Steered | None:
        """One of this process, to be cancelled or saved."""


class _Dashboard:
    def __init__(self, jobs: Jobs, log: Callable[[], str] | None) -> None:
        self._jobs = jobs
        self._log = log

    def routes(self) -> Sequence[BaseRoute]:
        of_jobs = [Route(f"{BASE}/jobs/{{jobid}}{tab}", self._tab(tab), methods=["GET"]) for tab in _OF_JOB]
        return [
            Route("/", _to_jobs, methods=["GET"]),
            Route(BASE, _to_jobs, methods=["GET"]),
            Route(f"{BASE}/", self._list, methods=["GET"]),
            Route(f"{BASE}/log", self._show_log, methods=["GET"]),
            Route(f"{BASE}/static/{{name}}", _static, methods=["GET"]),
            *of_jobs,
            Route(f"{BASE}/jobs/{{jobid}}/{{what}}", self._ask, methods=["GET"]),
            Route(f"{BASE}/jobs/{{jobid}}/{{what}}", self._do, methods=["POST"]),
        ]

    async def _list(self, request: Request) -> Response:
        views = await run_in_threadpool(self._jobs.views)
        return _html(pages.page("Jobs", pages.jobs(views, BASE), BASE, refresh=f"{BASE}/"))

    async def _show_log(self, request: Request) -> Response:
        text = None if self._log is None else self._log()
        return _html(pages.page("Log", pages.logs(text), BASE, tab="log"))

    def _tab(self, tab: str) -> Callable[[Request], Any]:
        show, again = _OF_JOB[tab]

        async def endpoint(request: Request) -> Response:
            view = await run_in_threadpool(self._view, request)
            if view is None:
                return _missing()
            path = f"{BASE}/jobs/{view.job.job_id}{tab}" if again and not view.is_over else None
            body = await run_in_threadpool(show, view)
            return self._page(view, body, tab, path)

        return endpoint

    def _page(
        self, view: JobView, body: Html, tab: str = "", refresh: str | None = None, status: int = 200
    ) -> Response:
        steers = self._jobs.steered(view.job.job_id) is not None
        return _html(pages.page(view.job.name, body, BASE, view, tab, refresh, steers), status)

    def _view(self, request: Request) -> JobView | None:
        return self._jobs.view(str(request.path_params["jobid"]))

    async def _ask(self, request: Request) -> Response:
        what, view = str(request.path_params["what"]), await run_in_threadpool(self._view, request)
        if view is None or what not in _DOING:
            return _missing()
        return self._question(view, what)

    def _question(self, view: JobView, what: str, problem: str | None = None) -> Response:
        job = f"{BASE}/jobs/{view.job.job_id}"
        body = pages.confirm(view, what, f"{job}/{what}", job, problem)
        return self._page(view, body, "none", status=200 if problem is None else 409)

    async def _do(self, request: Request) -> Response:
        what, view = str(request.path_params["what"]), await run_in_threadpool(self._view, request)
        if view is None or what not in _DOING:
            return _missing()
        job = self._jobs.steered(view.job.job_id)
        if job is None or view.is_over:
            return self._question(view, what, "This job has ended, or runs in another process.")
        try:
            _DOING[what](job, await _directory(request))
        except FiresteelError as error:
            return self._question(view, what, str(error))
        tab = "" if what == "cancel" else "/checkpoints"
        return RedirectResponse(f"{BASE}/jobs/{view.job.job_id}{tab}", 303, _HEADERS)


_DOING: dict[str, Callable[[Steered, str | None], object]] = {
    "cancel": lambda job, _: job.cancel(),
    "savepoint": lambda job, directory: job.trigger_savepoint(directory),
    "checkpoint": lambda job, _: job.trigger_checkpoint(),
}


async def _directory(request: Request) -> str | None:
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > _MOST_BYTES:
            return None
    return next(iter(parse_qs(data.decode(errors="replace")).get("directory", [])), "").strip() or None


def _html(text: Html, status: int = 200) -> Response:
    return HTMLResponse(text, status, _HEADERS)


def _missing() -> Response:
    body = el("p", "There is no such page. ", el("a", "All jobs", href=f"{BASE}/"), class_="card")
    return _html(pages.page("Nothing here", body, BASE), 404)


async def _to_jobs(request: Request) -> Response:
    return RedirectResponse(f"{BASE}/", 307)


async def _static(request: Request) -> Response:
    name = str(request.path_params["name"])
    if name not in _STATIC:
        return _missing()
    data = resources.files("firesteel.dashboard").joinpath("static").joinpath(name).read_bytes()
    kind = _TYPES[name[name.rindex(".") :]]
    return Response(data, headers={**_HEADERS, "Cache-Control": "max-age=3600"}, media_type=kind)


def dashboard_routes(jobs: Jobs, log: Callable[[], str] | None = None) -> Sequence[BaseRoute]:
    """All pages, for the application of a web server.

    :param log: What the driver has logged; None if the server is no driver's.
    """
    return _Dashboard(jobs, log).routes()
