"""Trying out what jobs need of Spark: for ``firesteel doctor``."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import firesteel
from firesteel.common import Configuration
from firesteel.execution.spark.session import spark_session


@dataclass(frozen=True)
class WorkerFacts:
    """What a process on a worker says about itself."""

    host: str
    executable: str
    python: str
    firesteel: str


def find_java() -> str | None:
    """The Java that Spark would start: that of JAVA_HOME, else the one on the PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        inside = os.path.join(home, "bin", "java")
        return inside if os.path.exists(inside) else None
    return shutil.which("java")


def java_version(java: str) -> int | None:
    """The major version of a Java, or None if it cannot say."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found.group(1)) if found else None


def worker_facts(*_: Any) -> WorkerFacts:
    """Facts about the process that calls this: sent to workers as a map function."""
    return WorkerFacts(platform.node(), sys.executable, platform.python_version(), firesteel.__version__)


def probe_spark(configuration: Configuration) -> tuple[str, str, list[tuple[str, str]]]:
    """Start Spark and run a small job in plain Python workers.

    :return: Spark's version, its master, and host and version of each Python that answered.
    """
    context = spark_session(configuration).sparkContext
    tasks = max(2, context.defaultParallelism)

    def ask(_: Any) -> list[tuple[str, str]]:
        import platform

        return [(platform.node(), platform.python_version())]

    answers = context.parallelize(range(tasks), tasks).mapPartitions(ask).collect()
    return context.version, context.master, sorted(set(answers))
