"""Runs jobs in the driver's own process: breakpoints work in any debugger, tests take milliseconds."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping
from typing import Any

from firesteel.common import Configuration, JobClient
from firesteel.common.options import EXCHANGE
from firesteel.execution.archives import UnpackedArchives
from firesteel.execution.cluster import EpochOrder
from firesteel.execution.direct.in_process import InProcessExchange
from firesteel.execution.driver import JobDriver
from firesteel.execution.ending import Interrupted
from firesteel.execution.host import (
    LevelTask,
    SubtaskHost,
    is_poison,
    next_partition,
    result_of,
)
from firesteel.execution.job import Job
from firesteel.execution.operating import start
from firesteel.execution.python_path import extend_own_path
from firesteel.execution.results import LevelResult
from firesteel.execution.worker_plan import worker_plan
from firesteel.model.sink import DriverSink
from firesteel.plan.executor import Executor
from firesteel.plan.job_plan import JobPlan
from firesteel.runtime.emitters import ChunkRow


class InProcessCluster:
    """All subtasks in this process, run one after the other in a fixed order."""

    pinned = True

    def __init__(self, plan: JobPlan, job_id: str) -> None:
        self._plan = worker_plan(plan, job_id)
        self._archives = UnpackedArchives(plan.configuration)
        self._host = SubtaskHost()
        self._host.add_plan(self._plan)
        direct = plan.configuration.get(EXCHANGE) == "direct"
        self._exchange = InProcessExchange(plan, self._plan, self._host) if direct else None
        self.flows = direct
        self._lock = threading.Lock()
        self._thread: int | None = None
        """The thread that runs an epoch now."""

    def run_epoch(self, order: EpochOrder) -> list[LevelResult]:
        """Run all levels, each subtask in turn. Chunks are packed and unpacked as on Spark."""
        self._thread = threading.get_ident()
        try:
            return self._run_levels(order) if self._exchange is None else self._exchange.run_epoch(order)
        finally:
            self._leave()

    def _leave(self) -> None:
        """From here on nobody interrupts; what was sent before arrives now and is forgotten.

        It is not taken back, though Python could: CPython then looks for it for ever, at every call and every turn
        of a loop, and a profiler makes that a loop without end.
        """
        try:
            with self._lock:
                self._thread = None
            for _ in range(100):  # an interrupt arrives at the turn of a loop
                pass
        except Interrupted:
            self._thread = None

    def interrupt(self) -> None:
        """Interrupt the function that runs now. One that waits for something notices when it has come."""
        with self._lock:
            if self._thread is not None:
                _raise_in(self._thread, Interrupted)

    def _run_levels(self, order: EpochOrder) -> list[LevelResult]:
        widths = self._plan.widths
        rows: list[list[ChunkRow]] = [[] for _ in range(widths[0])]
        for level, width in enumerate(widths):
            next_width = widths[level + 1] if level + 1 < len(widths) else 1
            produced: list[list[ChunkRow]] = [[] for _ in range(next_width)]
            for index in range(width):
                for row in self._host.run(self._task(order, level, index), rows[index]):
                    produced[next_partition(row, level + 1, next_width)].append(row)
            rows = produced
        return driver_results(rows[0])

    def _task(self, order: EpochOrder, level: int, index: int) -> LevelTask:
        return LevelTask(
            job_id=self._plan.job_id,
            level=level,
            index=index,
            attempt=f"{order.request.epoch}",
            request=order.request,
            orders=order.orders.get(level, {}),
            restore=order.restore,
            fresh=order.fresh,
            store_directory=order.store_directory,
        )

    def close(self) -> list[str]:
        """Close all functions."""
        try:
            return self._host.close_job(self._plan.job_id)
        finally:
            self._archives.close()


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Have Python raise an error in another thread as soon as that runs."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def driver_results(rows: list[ChunkRow]) -> list[LevelResult]:
    """The results in the rows that reached the driver; of a failure that came several times, one."""
    poison = [row for row in rows if is_poison(row)]
    return [result_of(row) for row in (poison[:1] or rows)]


class InProcessExecutor(Executor):
    """The executor behind ``execution.target: in-process``."""

    def __init__(self, configuration: Configuration, session: Any | None = None) -> None:
        self._configuration = configuration

    def submit(self, plan: JobPlan, driver_sinks: Mapping[str, DriverSink], detached: bool) -> JobClient:
        """Run the job, in the calling thread unless ``detached``."""
        extend_own_path(plan.configuration)
        job = Job(plan.name)
        driver = JobDriver(plan, InProcessCluster(plan, str(job.id)), job, driver_sinks)
        return start(driver, job, plan.configuration, detached)
