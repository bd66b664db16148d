"""What can be asked about the driver and the processes that run subtasks, and programs that are handed in."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from firesteel.events import JobView
from firesteel.rest import jobs, metrics, processes, threads
from firesteel.rest.driver_log import DriverLog
from firesteel.rest.processes import Process
from firesteel.rest.programs import MAX_PROGRAM, Programs, file_in
from firesteel.rest.reading import AGGREGATED, aggregations, vertex_of
from firesteel.rest.registry import JobRegistry
from firesteel.rest.requests import RestError, body_of, bytes_of, words
from firesteel.rest.routing import Handled, reading, steering, text

__all__ = ["Cluster"]

_GET = AGGREGATED[:1]
_PROCESS = "/taskmanagers/{tmid}"
_DRIVER = "/jobmanager"


class Cluster:
    """Answers what Flink asks of a cluster: here it is one driver, and the processes of its jobs.

    :param log: What the driver logs; None if the server is not a driver's.
    :param programs: Takes programs that are handed in; None if none are taken.
    """

    def __init__(
        self,
        registry: JobRegistry,
        view: Callable[[Request], JobView],
        log: DriverLog | None = None,
        programs: Programs | None = None,
    ) -> None:
        self._registry = registry
        self._view = view
        self._log = log
        self._programs = programs

    def endpoints(self) -> list[Handled]:
        """All paths."""
        return [*self._of_driver(), *self._of_processes(), *self._of_jobs(), *self._of_programs()]

    def _of_driver(self) -> list[Handled]:
        return [
            reading(f"{_DRIVER}/config", "Settings of the newest job, without secrets.", self._config),
            reading(f"{_DRIVER}/environment", "What the driver runs on.", lambda _: processes.environment()),
            reading(f"{_DRIVER}/metrics", "Metrics of the driver.", self._driver_metrics, _GET),
            reading(f"{_DRIVER}/logs", "The driver's logs.", lambda _: self._driver_log().listed()),
            text(f"{_DRIVER}/logs/{{name}}", "One of the driver's logs.", self._read_log),
            text(f"{_DRIVER}/log", "What the driver has logged lately.", lambda _: self._driver_log().text()),
            text(f"{_DRIVER}/stdout", "Not kept: 404.", _no_output),
            reading(f"{_DRIVER}/thread-dump", "What the driver's threads are doing.", lambda _: threads.dump(_self())),
            reading(f"{_DRIVER}/profiler", "Recordings by Flink's profiler: none.", lambda _: {"profilingList": []}),
        ]

    def _of_processes(self) -> list[Handled]:
        return [
            reading("/taskmanagers", "The processes that run subtasks.", lambda _: processes.listed(self._processes())),
            reading("/taskmanagers/metrics", "Metrics of all of them.", self._metrics_of_processes, AGGREGATED),
            reading(_PROCESS, "One process.", lambda request: processes.details(self._process(request))),
            reading(f"{_PROCESS}/metrics", "Metrics of a process.", self._process_metrics, _GET),
            reading(f"{_PROCESS}/logs", "Logs of a process, if it is the driver.", self._logs_of_process),
            text(f"{_PROCESS}/logs/{{name}}", "One of these logs.", self._log_of_process),
            text(f"{_PROCESS}/log", "What a process has logged, if it is the driver.", self._log_of_process),
            text(f"{_PROCESS}/stdout", "Not kept: 404.", _no_output),
            reading(
                f"{_PROCESS}/thread-dump",
                "What the threads of a process are doing.",
                lambda request: threads.dump(self._process(request)),
            ),
            reading(f"{_PROCESS}/profiler", "Recordings by Flink's profiler: none.", lambda _: {"profilingList": []}),
        ]

    def _of_jobs(self) -> list[Handled]:
        return [
            reading("/jobs/{jobid}/jobmanager/environment", "What the job's driver runs on.", self._environment),
            reading(
                "/jobs/{jobid}/vertices/{vertexid}/flamegraph",
                "Where the threads of the vertex's processes are, as a tree of frames.",
                self._flame,
                (("type", f"some of {', '.join(threads.KINDS)}; full if it is left out"),),
            ),
        ]

    def _of_programs(self) -> list[Handled]:
        return [
            reading("/jars", "Programs that were handed in.", self._listed_programs),
            steering("POST", "/jars/upload", "Hand in a program (.py or .zip).", self._upload, 200),
            steering("POST", "/jars/{jarid}/run", "Run a program, in a process of its own.", self._run, 200),
            steering("DELETE", "/jars/{jarid}", "Forget a program.", self._delete, 200),
        ]

    # ---- the driver --------------------------------------------------------------------------------------------------

    def _config(self, request: Request) -> Any:
        views = self._registry.views()
        return jobs.configuration_of(views[0]) if views else []

    def _driver_metrics(self, request: Request) -> Any:
        return metrics.listed(processes.driver_metrics(self._registry.views()), words(request, "get"))

    def _driver_log(self) -> DriverLog:
        if self._log is None:
            raise RestError(404, "This server is no driver's: the driver of a job has its own log.")
        return self._log

    def _read_log(self, request: Request) -> str:
        return self._driver_log().read(str(request.path_params["name"]))

    def _environment(self, request: Request) -> Any:
        view = self._view(request)
        here = self._log is not None and self._registry.steered(view.job.job_id) is not None
        return processes.environment() if here else processes.environment_of_log(view)

    # ---- processes ---------------------------------------------------------------------------------------------------

    def _processes(self) -> list[Process]:
        return processes.processes_of(self._registry.views())

    def _process(self, request: Request) -> Process:
        wanted = str(request.path_params["tmid"])
        found = next((each for each in self._processes() if each.id == wanted), None)
        if found is None:
            raise RestError(404, f"There is no process {wanted!r}: /taskmanagers lists those that run subtasks.")
        return found

    def _process_metrics(self, request: Request) -> Any:
        return metrics.listed(processes.process_metrics(self._process(request)), words(request, "get"))

    def _metrics_of_processes(self, request: Request) -> Any:
        wanted = words(request, "taskmanagers")
        chosen = [each for each in self._processes() if wanted is None or each.id in wanted]
        return metrics.aggregate(map(processes.process_metrics, chosen), words(request, "get"), aggregations(request))

    def _logs_of_process(self, request: Request) -> Any:
        own = self._process(request).is_driver and self._log is not None
        return self._driver_log().listed() if own else {"logs": []}

    def _log_of_process(self, request: Request) -> str:
        process = self._process(request)
        if not process.is_driver or self._log is None:
            raise RestError(
                404,
                f"What process {process.pid} on {process.host} logs is in the standard error of the Spark executor "
                "there, which Spark's own pages show.",
            )
        name = request.path_params.get("name")
        return self._log.text() if name is None else self._log.read(str(name))

    def _flame(self, request: Request) -> Any:
        kinds = words(request, "type", threads.KINDS) or ["full"]
        view = self._view(request)
        vertex = vertex_of(view, request)
        if view.is_over:
            return threads.flame({}, view.until)
        places = {(each.host, each.pid) for each in (view.numbers(vertex, n) for n in range(vertex.parallelism))}
        chosen = [each for each in processes.processes_of([view]) if (each.host, each.pid) in places]
        return threads.flame(threads.stacks_of(chosen, kinds[0]), view.now)

    # ---- programs ----------------------------------------------------------------------------------------------------

    def _open_programs(self) -> Programs:
        if self._programs is None:
            raise RestError(403, "Programs cannot be handed in here: web.submit.enable turns it on.")
        return self._programs

    def _listed_programs(self, request: Request) -> Any:
        return self._open_programs().listed(str(request.base_url).rstrip("/"))

    async def _upload(self, request: Request) -> Response:
        programs = self._open_programs()
        body = await bytes_of(request, MAX_PROGRAM)
        name, content = await run_in_threadpool(file_in, request.headers.get("content-type", ""), body)
        return JSONResponse(await run_in_threadpool(programs.take, name, content))

    async def _run(self, request: Request) -> Response:
        programs = self._open_programs()
        wanted = await body_of(request)
        return JSONResponse(await run_in_threadpool(programs.run, str(request.path_params["jarid"]), wanted))

    async def _delete(self, request: Request) -> Response:
        await run_in_threadpool(self._open_programs().delete, str(request.path_params["jarid"]))
        return JSONResponse({})


def _self() -> Process:
    return Process(socket.gethostname(), os.getpid())


def _no_output(request: Request) -> str:
    raise RestError(404, "What a program prints is not kept: it goes to where the program was started.")
