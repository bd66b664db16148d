"""A job's subtasks on Spark: one Spark job per epoch, one stage per level."""

from __future__ import annotations

import contextlib
import secrets
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from firesteel.common.options import CANCELLATION_INTERVAL, CANCELLATION_TIMEOUT
from firesteel.execution.cluster import EpochOrder
from firesteel.execution.ending import EPOCH_SECONDS, Terminated
from firesteel.execution.host import LevelTask
from firesteel.execution.in_process import driver_results
from firesteel.execution.job_errors import ClusterLostError
from firesteel.execution.results import LevelResult
from firesteel.execution.spark.dependencies import Dependencies
from firesteel.execution.spark.failures import epoch_failure, is_alive, spark_is_gone
from firesteel.execution.spark.relay import SlotSettings, close_job, relay
from firesteel.execution.spark.resources import executor_count, executor_slots, is_local
from firesteel.execution.worker_plan import worker_plan
from firesteel.plan.job_plan import JobPlan
from firesteel.state import codec

_SECRET_BYTES = 32
_SECONDS_TO_INTERRUPT = 20.0
"""How long Spark may take to give up an epoch that it was told to."""
_SECONDS_TO_CLOSE = 20.0
"""How long Spark may take to have functions closed, besides the time that they have."""
_TASKS_TO_REACH_ALL = 4
"""Tasks per executor when a job is closed: Spark places tasks as it likes, so several are needed to reach each one.
A slot that is missed closes its functions when its executor ends."""


class Anchors:
    """Small persisted RDDs that give the tasks of a level their place.

    A union of an anchor and shuffled data with the same partitioning has tasks that Spark prefers to run where the
    anchor's partition is kept: a subtask goes back to its host epoch after epoch, and elsewhere if the host is gone.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._anchors: dict[int, Any] = {}

    def of(self, width: int) -> Any:
        """The anchor for levels with that many tasks."""
        if width not in self._anchors:
            places: list[tuple[int, None]] = [(index, None) for index in range(width)]
            anchor = self._context.parallelize(places, width).partitionBy(width, int).persist()
            anchor.count()
            self._anchors[width] = anchor
        return self._anchors[width]

    def release(self) -> None:
        """Give the memory back."""
        for anchor in self._anchors.values():
            anchor.unpersist()


class SparkCluster:
    """Runs the epochs of one job through a SparkContext."""

    def __init__(self, plan: JobPlan, job_id: str, context: Any, dependencies: Dependencies) -> None:
        self._job_id = job_id
        # One thread for all epochs: a new one each time would cost a new connection to the JVM and a thread there.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="firesteel-epoch")
        self._running: Future[list[LevelResult]] | None = None
        self._name = plan.name
        self._context = context
        self._widths = [plan.width(level) for level in range(plan.level_count)]
        self._local = is_local(context)
        self._plan = context.broadcast(codec.dumps(worker_plan(plan, job_id)))
        self._anchors = Anchors(context)
        slots = executor_slots(context)
        configuration = plan.configuration
        self._settings = SlotSettings(
            job_id=job_id,
            slots=slots,
            secret=secrets.token_bytes(_SECRET_BYTES),
            keeper_secret=_application_secret(context),
            search_path=[entry for entry in sys.path if entry] if self._local else [],
            package_archives=dependencies.package_archives,
            data_archives=dependencies.data_archives,
            memory_limit=_memory_limit(context, slots),
            remind_seconds=configuration.get(CANCELLATION_INTERVAL) / 1000,
            kill_seconds=configuration.get(CANCELLATION_TIMEOUT) / 1000,
        )

    @property
    def pinned(self) -> bool:
        """With one executor a subtask can go nowhere else."""
        return self._local

    flows = False

    def run_epoch(self, order: EpochOrder) -> list[LevelResult]:
        """Run an epoch as one Spark job, in another thread so that Ctrl-C in the driver does not tear it apart."""
        self._running = self._thread.submit(self._run_in_thread, order)
        interrupt: BaseException | None = None
        deadline: float | None = None
        interrupted = False
        while not self._running.done():
            try:
                self._running.exception(None if deadline is None else max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                if interrupted:
                    break
                self.interrupt()
                interrupted, deadline = True, time.monotonic() + _SECONDS_TO_INTERRUPT
            except (KeyboardInterrupt, Terminated) as second:
                if interrupt is not None:
                    self.interrupt()
                    raise
                # Let the epoch end, if it does soon; a second Ctrl-C ends it at once.
                interrupt, deadline = second, time.monotonic() + EPOCH_SECONDS
        if interrupt is not None:
            raise interrupt
        return self._running.result()

    def interrupt(self) -> None:
        """Have Spark kill the tasks of the running epoch; the slots notice and interrupt their functions."""
        if self._running is not None and not self._running.done():
            with contextlib.suppress(Exception):  # if there is no Spark any more, there are no tasks either
                self._context.cancelJobGroup(self._job_id)

    def _run_in_thread(self, order: EpochOrder) -> list[LevelResult]:
        try:
            return self._run(order)
        except Exception as error:
            if not is_alive(self._context):
                raise ClusterLostError(spark_is_gone(self._name)) from None
            raise epoch_failure(error) from None

    def _run(self, order: EpochOrder) -> list[LevelResult]:
        """Run an epoch; what goes wrong with Spark raises."""
        self._context.setJobGroup(self._job_id, f"{self._name}, epoch {order.request.epoch}")
        return driver_results([row for _, row in self._stages(order).collect()])

    def _stages(self, order: EpochOrder) -> Any:
        """The epoch as an RDD: source tasks, then for each further level a shuffle and its tasks."""
        orders = order.orders.get(0, {})  # they may be large: each task of the first level has its own as input
        inputs = [codec.dumps({index: orders.get(index, {})}) for index in range(self._widths[0])]
        stage = self._first_level(order, inputs)
        for level, width in enumerate(self._widths[1:], 1):
            stage = stage.partitionBy(width, int)
            if not self._local:
                stage = self._anchors.of(width).union(stage)
            stage = stage.mapPartitionsWithIndex(relay(self._task(order, level), self._plan, self._settings))
        return stage

    def _first_level(self, order: EpochOrder, inputs: list[bytes]) -> Any:
        task = self._task(order, 0)
        if self._local:
            stage = self._context.parallelize([(0, part) for part in inputs], len(inputs))
            return stage.mapPartitionsWithIndex(relay(task, self._plan, self._settings))
        anchor = self._anchors.of(len(inputs))
        return anchor.mapPartitionsWithIndex(relay(task, self._plan, self._settings, self._context.broadcast(inputs)))

    def _task(self, order: EpochOrder, level: int) -> bytes:
        return codec.dumps(
            LevelTask(
                job_id=self._job_id,
                level=level,
                index=-1,  # the slot fills in index and attempt
                attempt="",
                request=order.request,
                orders=order.orders.get(level, {}) if level else {},
                restore=order.restore,
                fresh=order.fresh,
                store_directory=order.store_directory,
            )
        )

    def close(self) -> list[str]:
        """Close all functions of the job, in all slots."""
        self._thread.shutdown(wait=False)
        closing: Future[list[str]] = Future()

        def run() -> None:
            try:
                closing.set_result(self._close())
            except BaseException as error:
                closing.set_exception(error)

        # In a thread that nobody has to wait for: Spark may be what does not answer any more.
        threading.Thread(target=run, name="firesteel-close", daemon=True).start()
        limit = self._settings.kill_seconds
        try:
            return closing.result(limit + _SECONDS_TO_CLOSE if limit else None)
        except TimeoutError:
            return ["Spark has not closed the job's functions in time"]

    def _close(self) -> list[str]:
        tasks = 1 if self._local else _TASKS_TO_REACH_ALL * executor_count(self._context)
        everywhere = self._context.parallelize(range(tasks), tasks)
        problems: list[str] = everywhere.mapPartitionsWithIndex(close_job(self._settings)).collect()
        self._anchors.release()
        self._plan.destroy()
        return problems


_application_secrets: dict[str, bytes] = {}


def _application_secret(context: Any) -> bytes:
    """What the tasks of an application and its keepers know, and nobody else."""
    return _application_secrets.setdefault(context.applicationId, secrets.token_bytes(_SECRET_BYTES))


def _memory_limit(context: Any, slots: int) -> int | None:
    """The share of ``spark.executor.pyspark.memory`` that one slot may use, in bytes."""
    setting = context.getConf().get("spark.executor.pyspark.memory", None)
    if setting is None:
        return None
    mebibytes = context._jvm.org.apache.spark.network.util.JavaUtils.byteStringAsMb(setting)
    return int(mebibytes) * 1024 * 1024 // slots
