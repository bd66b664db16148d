"""``firesteel doctor``: check what jobs need, and say what to do where something is missing."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import re
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import firesteel
from firesteel.cli.settings import add_settings, settings_from
from firesteel.common import Configuration
from firesteel.common.options import CHECKPOINT_DIR, EXECUTION_TARGET, SAVEPOINT_DIR, WORK_DIR
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.errors import FiresteelError
from firesteel.execution.spark.probe import WorkerFacts, find_java, java_version, probe_spark, worker_facts
from firesteel.state.filesystem import file_store

__all__ = ["Finding", "add_command", "examine"]

_OLDEST_JAVA = 17
_OLDEST_PYTHON = (3, 11)
_INSTALL_JAVA = (
    f"Install Java {_OLDEST_JAVA} or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless) or set JAVA_HOME."
)

_DESCRIPTION = """\
Check what jobs need: Java, Python, the versions of packages, the directories for checkpoints and savepoints, Spark,
Python on its workers, and a small Firesteel job in slot processes. Exits with 1 if something is wrong, and says what
to do.
"""
_EPILOG = """\
examples:
  firesteel doctor
  firesteel doctor --in-process                         leave Spark and Java out
  firesteel doctor --master spark://host:7077           check a cluster
  firesteel doctor --conf execution.checkpointing.dir=s3://bucket/checkpoints
"""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check.

    :param advice: What to do; only if it is not ``ok``.
    """

    subject: str
    ok: bool
    text: str
    advice: str = ""


def add_command(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="check Java, Spark, Python and their versions",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_settings(parser)
    parser.set_defaults(handler=_doctor)


def _doctor(parsed: argparse.Namespace) -> int:
    wrong = 0
    for finding in examine(settings_from(parsed)):
        print(f"{'ok   ' if finding.ok else 'WRONG'}  {finding.subject:20} {finding.text}", flush=True)
        if not finding.ok:
            wrong += 1
            print(f"{'':28}{finding.advice}", flush=True)
    print("Everything is in order." if wrong == 0 else f"{wrong} thing(s) to put right.")
    return 0 if wrong == 0 else 1


def examine(configuration: Configuration) -> Iterator[Finding]:
    """All checks, one after the other; those of Spark only if the ones before have passed."""
    healthy = True
    checks: list[Callable[[], Finding]] = [_check_python, *_package_checks(), *_directory_checks(configuration)]
    on_spark = configuration.get(EXECUTION_TARGET) == "spark"
    if on_spark:
        checks.insert(0, _check_java)
    for check in checks:
        finding = check()
        healthy = healthy and finding.ok
        yield finding
    if on_spark and healthy:
        workers = _check_workers(configuration)
        yield workers
        healthy = workers.ok
    if healthy:
        yield _check_job(configuration)


def _check_java() -> Finding:
    java = find_java()
    if java is None:
        home = os.environ.get("JAVA_HOME")
        where = f"JAVA_HOME is {home}, where there is no bin/java" if home else "there is no java on the PATH"
        return Finding("Java", False, where, _INSTALL_JAVA)
    version = java_version(java)
    if version is None:
        return Finding("Java", False, f"{java} does not tell its version", _INSTALL_JAVA)
    return Finding("Java", version >= _OLDEST_JAVA, f"{version} ({java})", _INSTALL_JAVA)


def _check_python() -> Finding:
    ok = sys.version_info >= _OLDEST_PYTHON
    oldest = ".".join(map(str, _OLDEST_PYTHON))
    advice = f"Use Python {oldest} or newer: PySpark asks for it."
    return Finding("Python", ok, f"{platform.python_version()} ({sys.executable})", advice)


def _package_checks() -> list[Callable[[], Finding]]:
    """A check for each package that Firesteel says it needs."""
    try:
        requirements = importlib.metadata.requires("firesteel") or []
    except importlib.metadata.PackageNotFoundError:
        missing = Finding("firesteel", False, "not installed as a package", "Install it: pip install firesteel")
        return [lambda: missing]
    return [lambda each=each: check_requirement(each) for each in requirements if "extra ==" not in each]  # type: ignore[misc]


def check_requirement(requirement: str) -> Finding:
    """Whether a package is installed in a version that a requirement such as ``pandas<3,>=2.2`` allows."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    name, bounds = found.group(), requirement[found.end() :].strip()
    advice = f"Install it: pip install '{requirement}'"
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, False, "not installed", advice)
    ok = all(_holds(version, bound.strip()) for bound in bounds.split(",") if bound.strip())
    return Finding(name, ok, f"{version} (needs {bounds})", advice)


def _holds(version: str, bound: str) -> bool:
    operator, wanted = re.fullmatch(r"(>=|<=|==|!=|<|>)\s*(\S+)", bound).groups()  # type: ignore[union-attr]
    have, want = _numbers(version), _numbers(wanted)
    length = max(len(have), len(want))
    have, want = have + (0,) * (length - len(have)), want + (0,) * (length - len(want))
    return {
        ">=": have >= want,
        "<=": have <= want,
        "==": have == want,
        "!=": have != want,
        "<": have < want,
        ">": have > want,
    }[operator]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.match(r"\d+(?:\.\d+)*", version).group().split("."))  # type: ignore[union-attr]


def _directory_checks(configuration: Configuration) -> list[Callable[[], Finding]]:
    checkpoints = configuration.get(CHECKPOINT_DIR)
    savepoints = configuration.get(SAVEPOINT_DIR)
    work = configuration.get(WORK_DIR) or tempfile.gettempdir()
    checks: list[Callable[[], Finding]] = [lambda: check_directory("working files", work)]
    if checkpoints is None:
        text = "none is set: checkpoints live as long as the driver (execution.checkpointing.dir)"
        checks.append(lambda: Finding("checkpoints", True, text))
    else:
        checks.append(lambda: check_directory("checkpoints", checkpoints))
    if savepoints is not None:
        checks.append(lambda: check_directory("savepoints", savepoints))
    return checks


def check_directory(subject: str, directory: str) -> Finding:
    """Whether files can be written, read and deleted in a directory of any file system."""
    name = f"firesteel-doctor-{uuid.uuid4().hex[:12]}"
    try:
        files = file_store(directory)
        files.write(name, b"firesteel")
        readable = files.read(name) == b"firesteel"
        files.delete(name)
    except (FiresteelError, OSError) as error:
        advice = "Choose a directory that this user may write to, and that all hosts of the cluster reach."
        return Finding(subject, False, f"{directory}: {error}", advice)
    return Finding(subject, readable, f"{directory} can be written", "What was written could not be read back.")


def _check_workers(configuration: Configuration) -> Finding:
    try:
        version, master, answers = probe_spark(configuration)
    except Exception as error:  # whatever is wrong with Spark is what we are here to tell
        advice = "Does the master run, and do its workers have this Python? See PYSPARK_PYTHON and python.executable."
        return Finding("Spark", False, _first_line(error), advice)
    mine = platform.python_version_tuple()[:2]
    others = [f"{python} on {host}" for host, python in answers if tuple(python.split(".")[:2]) != mine]
    advice = f"Workers need Python {'.'.join(mine)}, as the driver has. Set python.executable to one on every host."
    text = f"{version} on {master}; Python of workers: " + ", ".join(sorted({python for _, python in answers}))
    return Finding("Spark", not others, text, advice)


def _check_job(configuration: Configuration) -> Finding:
    """Run a small job: its functions tell which process they run in."""
    subject = "a Firesteel job"
    try:
        env = StreamExecutionEnvironment(configuration)
        env.set_parallelism(2)
        stream = env.from_collection([1, 2, 3, 4]).rebalance().map(worker_facts)
        facts: list[WorkerFacts] = list(stream.execute_and_collect("firesteel doctor"))
    except Exception as error:  # whatever is wrong with jobs is what we are here to tell
        advice = "Slot processes need Firesteel and its packages. `firesteel --debug doctor` shows the whole error."
        return Finding(subject, False, _first_line(error), advice)
    versions = sorted({each.firesteel for each in facts})
    hosts = ", ".join(sorted({each.host for each in facts}))
    advice = f"Install Firesteel {firesteel.__version__} on the workers too, or none: then the driver's is sent there."
    return Finding(
        subject, versions == [firesteel.__version__], f"ran on {hosts}, version {', '.join(versions)}", advice
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else repr(error)
