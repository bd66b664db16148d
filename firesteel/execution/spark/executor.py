"""The executor behind ``execution.target: spark``."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from firesteel.common import Configuration, JobClient
from firesteel.common.options import SAVEPOINT_DIR
from firesteel.execution.driver import JobDriver
from firesteel.execution.job import EngineJobClient, Job
from firesteel.execution.spark import relay
from firesteel.execution.spark.cluster import SparkCluster
from firesteel.execution.spark.dependencies import ship_dependencies
from firesteel.execution.spark.session import spark_session
from firesteel.plan.executor import DriverSink, Executor
from firesteel.plan.job_plan import JobPlan


class SparkExecutor(Executor):
    """Runs jobs on a SparkSession: one that is given, the one that is running, or a new one."""

    def __init__(self, configuration: Configuration, session: Any | None = None) -> None:
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(relay)
        self._configuration = configuration
        self._session = session or spark_session(configuration)

    def submit(self, plan: JobPlan, driver_sinks: Mapping[str, DriverSink], detached: bool) -> JobClient:
        """Run the job, in the calling thread unless ``detached``."""
        context = self._session.sparkContext
        dependencies = ship_dependencies(context, plan.configuration, plan.settings.get("cached_files", {}).values())
        job = Job(plan.name)
        driver = JobDriver(plan, SparkCluster(plan, str(job.id), context, dependencies), job, driver_sinks)
        if detached:
            threading.Thread(target=driver.run, name=f"firesteel-{plan.name}", daemon=True).start()
        else:
            with _plain_interrupts():
                driver.run()
        return EngineJobClient(job, plan.configuration.get(SAVEPOINT_DIR))


@contextmanager
def _plain_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt and nothing else: Spark's own handler would kill the running epoch."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
