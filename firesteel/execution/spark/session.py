"""Getting a SparkSession that fits the engine: the user's own, the one that is running, or a new one."""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
from typing import Any

from firesteel.common import Configuration
from firesteel.common.options import MASTER, PYTHON_EXECUTABLE
from firesteel.common.warnings import warn_once
from firesteel.errors import ConfigurationError
from firesteel.execution.spark.resources import is_local_master, local_cores
from firesteel.execution.spark.starting import check_start, explained_start
from firesteel.execution.spark.submission import is_submitted, is_submitted_to_cluster, submitted_settings
from firesteel.state.work_directory import process_folder

LOCAL_MASTER = "local[*]"
"""Where jobs run if nobody says where: on all cores of this machine."""

_SECONDS_FOR_JAVA = 10
_DAEMON = "firesteel.execution.spark.daemon"
_SOCKETS = "spark.python.unix.domain.socket.dir"
_SHORT_FOLDER = "/tmp"
_LONGEST_FOLDER_OF_SOCKETS = 60
"""A socket's path has at most 107 bytes, and Spark's names for sockets have 42."""
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

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
    # Everything is in one process on one host: nobody else has to reach it, and nobody who does gets in. Spark makes up
    # the secret; given as a setting, it would be seen among the arguments of the JVM.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
}


_CLUSTER_SETTINGS = {
    # The path of a Unix socket is short. Spark would take the JVM's temporary directory: on YARN that is the
    # container's own, and too long. Only the owner may connect, and names cannot be guessed.
    _SOCKETS: _SHORT_FOLDER,
    # A subtask that moves to another executor takes its job back to the last checkpoint: better to wait for its own,
    # which may be busy with the task of another job. If it is gone, Spark does not wait.
    "spark.locality.wait.process": "30s",
}


def spark_session(configuration: Configuration) -> Any:
    """The running SparkSession, or a new one with settings that suit the engine.

    The new one runs where the program says (``firesteel.master``, ``spark.master``), else where spark-submit or Spark's
    own configuration says, else on this machine. ``spark.*`` keys of the configuration win over what Spark was told
    from outside, and that wins over our settings.
    """
    running = running_session()
    if running is not None:
        return running
    from pyspark.sql import SparkSession

    submitted = submitted_settings()
    master = chosen_master(configuration, submitted)
    os.environ.setdefault("PYSPARK_PYTHON", _workers_python(configuration, submitted))
    if not is_submitted():
        check_start(master)
    folder = None if is_submitted() or not is_local_master(master) else process_folder("spark")
    builder = SparkSession.builder
    for key, value in new_session_settings(configuration, submitted, master, folder).items():
        builder = builder.config(key, value)
    with explained_start(master):
        session = builder.getOrCreate()
    if folder is not None:
        atexit.register(_end_java, session, os.getpid())
    if not is_submitted() and not session.sparkContext.getConf().contains("spark.log.level"):
        session.sparkContext.setLogLevel("ERROR")
    return session


def _end_java(session: Any, process: int) -> None:
    """At the end of the program: end the JVM that was started for it, and wait for that, but not long."""
    java = getattr(session.sparkContext._gateway, "proc", None)
    if java is None or java.stdin is None or os.getpid() != process:
        return
    with contextlib.suppress(Exception):  # nobody is there any more to whom an error would matter
        session.stop()
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        java.stdin.close()
        java.wait(_SECONDS_FOR_JAVA)


def running_session() -> Any | None:
    """The session of the Spark application that runs in this process, or None."""
    if "pyspark" not in sys.modules:  # importing it takes a while, and would start nothing
        return None
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is None:
        return None
    # A session is active in the thread that made it; in others the application's only one is found by the builder.
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def require_classic(session: Any) -> Any:
    """The session itself, if it has a SparkContext: one of Spark Connect has none, and epochs are jobs of RDDs."""
    try:
        session.sparkContext  # noqa: B018 - Connect's sessions raise here
    except Exception as error:
        raise ConfigurationError(
            f"Firesteel needs a SparkSession with a SparkContext, got {type(session).__module__}."
            f"{type(session).__qualname__}. A session of Spark Connect has none: run the program with spark-submit, "
            "or make a classic session (no SPARK_REMOTE, spark.api.mode: classic)."
        ) from error
    return session


def parallelism_before_start(configuration: Configuration) -> int | None:
    """The default parallelism of a session that is not there yet, where its master says it."""
    asked = configuration.spark_options().get("spark.default.parallelism")
    master = chosen_master(configuration, submitted_settings())
    return int(asked) if asked is not None else local_cores(master)


def chosen_master(configuration: Configuration, submitted: dict[str, str]) -> str:
    """The master for a new session: the program's, else the one that Spark was told, else this machine."""
    told = submitted.get("spark.master")
    own = program_master(configuration)
    if own is None:
        return told or LOCAL_MASTER
    if told is not None and told != own and is_submitted_to_cluster(submitted):
        raise ConfigurationError(
            f"spark-submit has started this driver in the cluster of {told!r}, but the program asks for {own!r} "
            "(firesteel.master or spark.master). Leave the program's master out: spark-submit's counts then."
        )
    if told is not None and told != own and is_submitted():
        warn_once(
            "firesteel.master",
            f"The program asks for the master {own!r} (firesteel.master or spark.master), so spark-submit's "
            f"{told!r} has no effect. Leave the program's out, and spark-submit's counts.",
        )
    return own


def program_master(configuration: Configuration) -> str | None:
    """The master that the program itself asks for."""
    return configuration.get(MASTER) or configuration.spark_options().get("spark.master")


def new_session_settings(
    configuration: Configuration, submitted: dict[str, str], master: str, folder: str | None = None
) -> dict[str, str]:
    """What a new session is told: by the program, and by us where neither the program nor Spark's own settings say.

    :param folder: For Spark's temporary files: it goes with this process, also if the JVM is killed.
    """
    ours = {"spark.app.name": "firesteel", **settings_for(master)}
    asked = configuration.spark_options()
    if folder is not None and len(folder) > _LONGEST_FOLDER_OF_SOCKETS:
        ours[_SOCKETS] = _SHORT_FOLDER
    settings = {key: value for key, value in ours.items() if key not in submitted} | asked
    if is_submitted():
        settings.pop(_JAVA_OPTIONS, None)  # the JVM has been started with spark-submit's
    else:
        told = asked.get(_JAVA_OPTIONS) or submitted.get(_JAVA_OPTIONS) or ""
        if folder is not None and _workers_find(_DAEMON):
            settings.setdefault("spark.python.daemon.module", _DAEMON)
        temporary = "" if folder is None else f"-Djava.io.tmpdir={folder} -XX:-UsePerfData"
        # Of two that contradict each other, the last one wins.
        settings[_JAVA_OPTIONS] = " ".join(filter(None, (ours[_JAVA_OPTIONS], temporary, told)))
    return settings | {"spark.master": master}


def _workers_find(module: str) -> bool:
    """Whether the Python that will run Spark's workers on this host can import a module."""
    command = [os.environ.get("PYSPARK_PYTHON", sys.executable), "-c", f"import {module}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _workers_python(configuration: Configuration, submitted: dict[str, str]) -> str:
    told = configuration.spark_options().get("spark.pyspark.python") or submitted.get("spark.pyspark.python")
    return configuration.get(PYTHON_EXECUTABLE) or told or sys.executable


def warn_of_ignored_settings(configuration: Configuration, context: Any) -> None:
    """Say which settings come too late for a session that runs already."""
    master = program_master(configuration)
    if master is not None and master != context.master:
        warn_once(
            "firesteel.master: running session",
            f"The master {master!r} has no effect: the program runs on the SparkSession that is there already, whose "
            f"master is {context.master!r}. Stop that session first, or leave firesteel.master out.",
        )
    running = context.getConf()
    for key, value in configuration.spark_options().items():
        if key != "spark.master" and not key.startswith("spark.sql.") and running.get(key, None) != value:
            warn_once(
                f"{key}: running session",
                f"{key} has no effect: the program runs on the SparkSession that is there already. Give this setting "
                "to the session when it is built.",
            )


def settings_for(master: str) -> dict[str, str]:
    """What Spark is told unless the user says otherwise."""
    java_options = [f"-Dlog4j2.configurationFile=file:{_LOG_SETTINGS}"]
    settings = dict(_SETTINGS)
    if is_local_master(master):
        java_options.extend(_LOCAL_JAVA_OPTIONS)
        settings.update(_LOCAL_SETTINGS)
    else:
        settings.update(_CLUSTER_SETTINGS)
    return {**settings, _JAVA_OPTIONS: " ".join(java_options)}
