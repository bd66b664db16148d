"""What can be wrong before Spark starts, found and said by us: Spark says it in pages, or after a minute."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from firesteel.errors import ConfigurationError, FiresteelError
from firesteel.execution.spark.failures import headline

_MASTERS = (
    r"local(\[(\*|\d+)(\s*,\s*\d+)?\])?",
    r"local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]",
    r"spark://.+",
    r"yarn",
    r"k8s://.+",
)
_KNOWN = "local[4], local[*], spark://host:7077, yarn, k8s://https://host:443"
_CONNECT_SECONDS = 5.0
_STANDALONE_PORT = 7077
_WITHOUT_SPARK = "or run without Spark: execution.target: in-process"


def check_start(master: str) -> None:
    """Look at what Spark needs to start: its master, Java, and for local masters the Python of the workers."""
    _check_master(master)
    _check_java()
    if master.startswith("local"):
        _check_python()


def _check_master(master: str) -> None:
    if not any(re.fullmatch(form, master) for form in _MASTERS):
        raise ConfigurationError(
            f"firesteel.master (--master) is {master!r}, which is no Spark master. Expected one like: {_KNOWN}."
        )
    if master == "yarn" and not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
        raise ConfigurationError(
            "the master is yarn, but neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set. Point one of them at the folder "
            "with the cluster's yarn-site.xml and core-site.xml."
        )
    if master.startswith("spark://"):
        _check_standalone(master)


def _check_standalone(master: str) -> None:
    """Whether one of the masters answers. Spark would try for a minute and then say that its context was stopped."""
    problems = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            if not host:
                host, port = address, str(_STANDALONE_PORT)
            with socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS):
                return
        except (OSError, ValueError) as error:
            problems.append(f"{address}: {getattr(error, 'strerror', None) or error}")
    raise ConfigurationError(
        f"no Spark master answers at {master} ({'; '.join(problems)}). Check firesteel.master (--master) and that the "
        "master runs; its web page shows its URL."
    )


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if home and not os.path.exists(os.path.join(home, "bin", "java")):
        raise ConfigurationError(
            f"JAVA_HOME is {home!r}, but there is no {os.path.join(home, 'bin', 'java')}. Set it to a Java 17 or "
            f"newer, or unset it to use the java of the PATH, {_WITHOUT_SPARK}."
        )
    if not home and shutil.which("java") is None:
        raise ConfigurationError(
            "Spark needs Java 17 or newer and none was found. Install it (on Debian and Ubuntu: "
            f"apt-get install openjdk-17-jre-headless) or set JAVA_HOME, {_WITHOUT_SPARK}."
        )


def _check_python() -> None:
    python = os.environ.get("PYSPARK_PYTHON")
    if python and shutil.which(python) is None:
        raise ConfigurationError(
            f"the workers' Python, {python!r} (python.executable, PYSPARK_PYTHON), is no program on this machine. Set "
            "neither to use the driver's own, or name one that has Firesteel's dependencies."
        )


@contextmanager
def explained_start(master: str) -> Iterator[None]:
    """What goes wrong while Spark starts, in a line or two; Spark's own words have gone to standard error before."""
    from pyspark import SparkContext

    before = SparkContext._active_spark_context
    try:
        yield
    except FiresteelError:
        raise
    except Exception as error:
        half_started = SparkContext._active_spark_context
        if half_started is not None and half_started is not before:  # it must not answer for the next try
            with contextlib.suppress(Exception):
                half_started.stop()
        raise ConfigurationError(
            f"Spark did not start with the master {master!r}: {headline(error)}. `firesteel doctor` checks Java, "
            "Python and the settings."
        ) from None
