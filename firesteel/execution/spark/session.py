"""Getting a SparkSession that fits the engine: the user's own, the one that is running, or a new one."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

from firesteel.common import Configuration
from firesteel.common.options import MASTER, PYTHON_EXECUTABLE
from firesteel.errors import ConfigurationError

_SETTINGS = {
    # Over TCP every Python task waits about 40 ms at its end for a delayed acknowledgement.
    "spark.python.unix.domain.socket.enabled": "true",
    # A stage that is computed again would not give what others have read: fail the epoch instead.
    "spark.stage.maxConsecutiveAttempts": "1",
    # An epoch is a Spark job; nobody wants to see thousands of progress bars and jobs.
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.enabled": "false",
    # A subtask goes where its state is (see Anchors), not where most of its input comes from.
    "spark.shuffle.reduceLocality.enabled": "false",
    # Shuffle files are deleted when the JVM's garbage collector finds them unused.
    "spark.cleaner.periodicGC.interval": "5min",
}


_LOG_SETTINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "log4j2.properties")
"""Spark says much while it starts, and little of it matters to whoever runs a job: only errors are shown."""


_LOCAL_JAVA_OPTIONS = (
    # Compiling itself to the utmost would take it a minute of a core, and no job would be quicker for it.
    "-XX:TieredStopAtLevel=1",
    # Chunks die young; collecting beside the slots costs more than a short stop.
    "-XX:+UseSerialGC",
)
"""A local JVM shares the cores with the slots and only hands chunks on."""

_LOCAL_SETTINGS = {
    # What is shuffled is pickled, goes to the next task at once, and never leaves the host's page cache.
    "spark.shuffle.compress": "false",
    "spark.shuffle.checksum.enabled": "false",
}


def spark_session(configuration: Configuration) -> Any:
    """The running SparkSession, or a new one with settings that suit the engine.

    ``spark.*`` keys of the configuration go to Spark; they win over ours.
    """
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    _require_java()
    os.environ.setdefault("PYSPARK_PYTHON", configuration.get(PYTHON_EXECUTABLE) or sys.executable)
    builder = SparkSession.builder.appName("firesteel").master(configuration.get(MASTER))
    for key, value in {**settings_for(configuration.get(MASTER)), **configuration.spark_options()}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def settings_for(master: str) -> dict[str, str]:
    """What Spark is told unless the user says otherwise."""
    java_options = [f"-Dlog4j2.configurationFile=file:{_LOG_SETTINGS}"]
    settings = dict(_SETTINGS)
    if master.startswith("local") and not master.startswith("local-cluster"):
        java_options.extend(_LOCAL_JAVA_OPTIONS)
        settings.update(_LOCAL_SETTINGS)
    return {**settings, "spark.driver.extraJavaOptions": " ".join(java_options)}


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and os.path.exists(os.path.join(home, "bin", "java"))):
        raise ConfigurationError(
            "Spark needs Java 17 or newer and none was found. Install it (on Debian and Ubuntu: "
            "apt-get install openjdk-17-jre-headless) or set JAVA_HOME, or run without Spark: "
            "execution.target: in-process"
        )


def executor_slots(context: Any) -> int:
    """How many tasks one executor runs at a time: so many slot processes it gets."""
    master = context.master
    if master.startswith("local"):
        return max(1, int(context.defaultParallelism))
    cores = context.getConf().get("spark.executor.cores", None)
    return int(cores) if cores else os.cpu_count() or 1


def executor_count(context: Any) -> int:
    """How many executors there are now."""
    return max(1, int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1)


def is_local(context: Any) -> bool:
    """Whether the one executor is in the driver's own JVM."""
    master: str = context.master
    return master.startswith("local") and not master.startswith("local-cluster")
