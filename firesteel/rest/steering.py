"""Requests that change something: cancelling, savepoints, checkpoints, disposal of savepoints."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from firesteel.common import CompletableFuture
from firesteel.errors import ConfigurationError
from firesteel.events import JobView
from firesteel.rest.operations import Operations, cancelled_with_savepoint, failed
from firesteel.rest.registry import JobRegistry, SteeredJob
from firesteel.rest.requests import (
    RestError,
    body_of,
    choice_in,
    flag_in,
    format_in,
    hex_id,
    text_in,
    trigger_in,
)
from firesteel.rest.routing import Handled, steering
from firesteel.state.archive import dispose_savepoint

__all__ = ["Steering"]

_JOB = "/jobs/{jobid}"
_DISPOSAL = "disposal"
"""What stands for the job where a savepoint is deleted."""
_CHECKPOINT_TYPES = ("CONFIGURED", "FULL", "INCREMENTAL")


class Steering:
    """Answers what is to be done with jobs.

    :param view: Finds the job that a request is about.
    """

    def __init__(
        self, registry: JobRegistry, operations: Operations, view: Callable[[Request], JobView], steers: bool = True
    ) -> None:
        self._registry = registry
        self._operations = operations
        self._view = view
        self._steers = steers

    def endpoints(self) -> list[Handled]:
        """All paths."""
        saved, kept = f"{_JOB}/savepoints", f"{_JOB}/checkpoints"
        return [
            steering("PATCH", _JOB, "Cancel the job.", self._cancel),
            steering("POST", saved, "Take a savepoint.", self._savepoint),
            steering("GET", f"{saved}/{{triggerid}}", "What became of a savepoint.", self._savepoint_outcome, 200),
            steering("POST", kept, "Take a checkpoint.", self._checkpoint),
            steering("GET", f"{kept}/{{triggerid}}", "What became of a checkpoint.", self._checkpoint_outcome, 200),
            steering("POST", f"{_JOB}/stop", "Take a savepoint and end the job with it.", self._stop),
            steering("POST", "/savepoint-disposal", "Delete a savepoint.", self._dispose, 200),
            steering(
                "GET", "/savepoint-disposal/{triggerid}", "Whether a savepoint is deleted.", self._disposal_outcome, 200
            ),
        ]

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
        directory, cancel = text_in(body, "target-directory"), flag_in(body, "cancel-job")

        def begin(job: SteeredJob) -> CompletableFuture[str]:
            return cancelled_with_savepoint(job, directory) if cancel else job.trigger_savepoint(directory)

        return self._begin(request, trigger_in(body), begin)

    async def _checkpoint(self, request: Request) -> Response:
        body = await body_of(request)
        full = choice_in(body, "checkpointType", _CHECKPOINT_TYPES) == "FULL"
        return self._begin(request, trigger_in(body), lambda job: job.trigger_checkpoint(full))

    async def _stop(self, request: Request) -> Response:
        body = await body_of(request)
        format_in(body)
        directory, drain = text_in(body, "targetDirectory"), flag_in(body, "drain")
        return self._begin(request, trigger_in(body), lambda job: job.stop_with_savepoint(drain, directory))

    async def _dispose(self, request: Request) -> Response:
        body = await body_of(request)
        path = text_in(body, "savepoint-path")
        if path is None:
            raise RestError(400, "savepoint-path has to say which savepoint is to be deleted.")
        if not self._steers:
            raise RestError(403, "This server shows logs: it deletes nothing.")
        begun = self._operations.begin(_DISPOSAL, trigger_in(body), lambda: _disposed(path))
        return JSONResponse({"request-id": begun})

    def _begin(
        self, request: Request, trigger_id: str | None, begin: Callable[[SteeredJob], CompletableFuture[Any]]
    ) -> Response:
        """Answer with the id of the operation. As in Flink, that a job is not there is the operation's outcome."""
        job_id = hex_id(request, "jobid")
        job = self._registry.steered(job_id)

        def begun() -> CompletableFuture[Any]:
            return failed(f"there is no job {job_id} in this process") if job is None else begin(job)

        try:
            return JSONResponse({"request-id": self._operations.begin(job_id, trigger_id, begun)}, 202)
        except ConfigurationError as error:
            raise RestError(400, str(error)) from None

    # Outcomes need no thread: when a program ends there are no new ones to be had.

    async def _savepoint_outcome(self, request: Request) -> Response:
        return self._outcome(request, "savepoint", hex_id(request, "jobid"), lambda path: {"location": path})

    async def _checkpoint_outcome(self, request: Request) -> Response:
        return self._outcome(request, "checkpoint", hex_id(request, "jobid"), lambda number: {"checkpointId": number})

    async def _disposal_outcome(self, request: Request) -> Response:
        return self._outcome(request, "disposal", _DISPOSAL, lambda _: {})

    def _outcome(self, request: Request, what: str, job_id: str, shown: Callable[[Any], dict[str, Any]]) -> Response:
        trigger_id = hex_id(request, "triggerid")
        outcome = self._operations.outcome(job_id, trigger_id, shown)
        if outcome is None:
            of_job = "" if job_id == _DISPOSAL else f" for job {job_id}"
            raise RestError(404, f"There is no {what} operation with triggerId={trigger_id}{of_job}")
        return JSONResponse(outcome)


def _disposed(path: str) -> CompletableFuture[None]:
    """Delete a savepoint, in a thread of its own: it may be far away."""
    done: CompletableFuture[None] = CompletableFuture()

    def dispose() -> None:
        try:
            dispose_savepoint(path)
        except Exception as error:
            done.set_exception(error)
        else:
            done.set_result(None)

    threading.Thread(target=dispose, name="firesteel-rest-disposal", daemon=True).start()
    return done
