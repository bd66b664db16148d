"""The executor behind ``execution.target: spark``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firesteel.common import Configuration, JobClient
from firesteel.common.options import EXCHANGE
from firesteel.execution.driver import JobDriver
from firesteel.execution.job import Job
from firesteel.execution.operating import start
from firesteel.execution.spark import relay
from firesteel.execution.spark.cluster import SparkCluster
from firesteel.execution.spark.dependencies import Dependencies, ship_dependencies
from firesteel.execution.spark.direct_cluster import DirectCluster
from firesteel.execution.spark.resources import default_parallelism, is_local_master
from firesteel.execution.spark.session import (
    chosen_master,
    parallelism_before_start,
    require_classic,
    running_session,
    spark_session,
    warn_of_ignored_settings,
)
from firesteel.execution.spark.submission import submitted_settings
from firesteel.model.sink import DriverSink
from firesteel.plan.executor import Executor
from firesteel.plan.job_plan import JobPlan


def _cluster(plan: JobPlan, job: Job, context: Any, dependencies: Dependencies) -> SparkCluster:
    """Where the job's subtasks will live."""
    if plan.configuration.get(EXCHANGE) == "shuffle":
        return SparkCluster(plan, str(job.id), context, dependencies)
    cluster = DirectCluster(plan, str(job.id), context, dependencies)
    job.on_wake(cluster.wake)
    return cluster


class SparkExecutor(Executor):
    """Runs jobs on a SparkSession: one that is given, the one that is running, or a new one."""

    def __init__(self, configuration: Configuration, session: Any | None = None) -> None:
        self._configuration = configuration
        self._session = None if session is None else require_classic(session)

    def default_parallelism(self, configuration: Configuration) -> int | None:
        """How many tasks the cluster runs at a time; None: as many as this machine has cores.

        A cluster is asked, and for that a session is started if there is none.
        """
        if self._session is None and running_session() is None:
            known = parallelism_before_start(configuration)
            if known is not None or is_local_master(chosen_master(configuration, submitted_settings())):
                return known
        return default_parallelism(self._context())

    def _context(self) -> Any:
        """The SparkContext of the session that was given, of the one that is running, or of a new one."""
        if self._session is None:
            self._session = require_classic(spark_session(self._configuration))
        context = self._session.sparkContext
        warn_of_ignored_settings(self._configuration, context)
        return context

    def submit(self, plan: JobPlan, driver_sinks: Mapping[str, DriverSink], detached: bool) -> JobClient:
        """Run the job, in the calling thread unless ``detached``."""
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(relay)
        context = self._context()
        dependencies = ship_dependencies(context, plan.configuration, plan.cached_files.values())
        job = Job(plan.name)
        cluster = _cluster(plan, job, context, dependencies)
        driver = JobDriver(plan, cluster, job, driver_sinks)
        return start(driver, job, plan.configuration, detached)
