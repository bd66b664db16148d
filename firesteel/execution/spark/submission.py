"""What Spark was told before the program began: by spark-submit, by the environment, by spark-defaults.conf."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

_PROPERTY = re.compile(r"\s*([^\s=:#!][^\s=:]*)\s*[=:\s]\s*(.*?)\s*$")
_CONF_FLAGS = ("--conf", "-c")


def is_submitted() -> bool:
    """Whether spark-submit (or the pyspark shell) has started this process, and a JVM beside it."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def is_submitted_to_cluster(submitted: dict[str, str]) -> bool:
    """Whether spark-submit has started this driver inside the cluster (``--deploy-mode cluster``)."""
    return is_submitted() and submitted.get("spark.submit.deployMode") == "cluster"


def submitted_settings() -> dict[str, str]:
    """Spark's settings from outside of the program, as Spark itself would find them."""
    if is_submitted():
        return _settings_of_jvm()
    arguments = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    given = dict(_given_settings(arguments))
    file = _flag(arguments, "--properties-file") or _defaults_file()
    settings = {"spark.master": os.environ["MASTER"]} if os.environ.get("MASTER") else {}
    return {**settings, **_read_properties(file), **given}


def _settings_of_jvm() -> dict[str, str]:
    """What spark-submit has left in the JVM that it started: all flags, files and defaults together."""
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def _given_settings(arguments: list[str]) -> Iterator[tuple[str, str]]:
    for name in _CONF_FLAGS:
        for setting in _flags(arguments, name):
            key, _, value = setting.partition("=")
            yield key, value
    master = _flag(arguments, "--master")
    if master is not None:
        yield "spark.master", master


def _flags(arguments: list[str], name: str) -> Iterator[str]:
    """The values of a flag, written as two arguments or as one with an equals sign."""
    for position, argument in enumerate(arguments):
        if argument == name and position + 1 < len(arguments):
            yield arguments[position + 1]
        elif argument.startswith(f"{name}="):
            yield argument[len(name) + 1 :]


def _flag(arguments: list[str], name: str) -> str | None:
    return next(iter(reversed(list(_flags(arguments, name)))), None)


def _defaults_file() -> str:
    directory = os.environ.get("SPARK_CONF_DIR")
    if directory is None:
        directory = os.path.join(_spark_home(), "conf")
    return os.path.join(directory, "spark-defaults.conf")


def _spark_home() -> str:
    """Where Spark is: as the environment says, else in the package that pip has installed. Nothing is imported."""
    spec = importlib.util.find_spec("pyspark")
    return os.environ.get("SPARK_HOME") or os.path.dirname(spec.origin or "" if spec is not None else "")


def _read_properties(file: str) -> dict[str, str]:
    try:
        text = Path(file).read_text()
    except OSError:  # there need not be one, and Spark says it if one that was named is missing
        return {}
    found = (_PROPERTY.match(line) for line in text.splitlines())
    return {match.group(1): match.group(2) for match in found if match is not None}
