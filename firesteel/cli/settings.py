"""Settings given on the command line, and handing them to the program."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import yaml

from firesteel.common import Configuration
from firesteel.common.configuration import PROPERTIES_VARIABLE
from firesteel.common.options import REST_PORT
from firesteel.errors import ConfigurationError

__all__ = ["DEFAULT_REST_PORT", "add_settings", "properties_text", "settings_from", "with_settings"]

DEFAULT_REST_PORT = 8081
"""Where the REST API is if it is wanted and nobody says where: Flink's port."""


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where and how a program runs."""
    group = parser.add_argument_group(
        "settings", "What the program sets itself comes before these, and these before FIRESTEEL_PROPERTIES."
    )
    group.add_argument("--master", metavar="URL", help="Spark master, such as local[4], yarn or spark://host:7077")
    group.add_argument(
        "--in-process", action="store_true", help="run in this process, without Spark: for debugging and small jobs"
    )
    group.add_argument(
        "-p", "--parallelism", type=int, metavar="N", help="subtasks of operators that set no parallelism"
    )
    group.add_argument("--name", metavar="NAME", help="name of the job, where the program gives none")
    group.add_argument(
        "-c",
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="any option that `firesteel config` lists, or one of Spark's (spark.*); may be repeated",
    )
    group.add_argument(
        "--conf-file", metavar="FILE", help="read settings from a file (config.yaml, flink-conf.yaml); --conf wins"
    )


def settings_from(parsed: argparse.Namespace) -> Configuration:
    """All settings that apply: FIRESTEEL_PROPERTIES, then the file, then the options."""
    configuration = Configuration.from_environment()
    if parsed.conf_file is not None:
        configuration.add_all(Configuration.from_file(parsed.conf_file))
    for entry in parsed.conf:
        key, equals, value = entry.partition("=")
        if not equals or not key.strip():
            raise ConfigurationError(
                f"--conf takes KEY=VALUE, got {entry!r}. For instance: --conf state.backend.type=rocksdb"
            )
        configuration.set_string(key.strip(), value)
    for key, value in _named_settings(parsed).items():
        configuration.set_string(key, value)
    if getattr(parsed, "rest", False) and configuration.get(REST_PORT) is None:
        configuration.set_string(REST_PORT.key, str(DEFAULT_REST_PORT))
    return configuration


def _named_settings(parsed: argparse.Namespace) -> dict[str, str]:
    """The settings that have an option of their own."""
    if parsed.in_process and parsed.master is not None:
        raise ConfigurationError("--in-process runs without Spark, so that --master has no meaning: leave one out.")
    unclaimed = getattr(parsed, "allow_non_restored_state", False)
    values = {
        "firesteel.master": parsed.master,
        "execution.target": "in-process" if parsed.in_process else "spark" if parsed.master is not None else None,
        "parallelism.default": parsed.parallelism,
        "pipeline.name": parsed.name,
        "execution.state-recovery.path": getattr(parsed, "from_savepoint", None),
        "execution.state-recovery.ignore-unclaimed-state": "true" if unclaimed else None,
    }
    return {key: str(value) for key, value in values.items() if value is not None}


@contextmanager
def with_settings(configuration: Configuration) -> Iterator[None]:
    """Let environments that are made inside the block start with these settings."""
    before = os.environ.get(PROPERTIES_VARIABLE)
    os.environ[PROPERTIES_VARIABLE] = properties_text(configuration.to_dict())
    try:
        yield
    finally:
        if before is None:
            del os.environ[PROPERTIES_VARIABLE]
        else:
            os.environ[PROPERTIES_VARIABLE] = before


def properties_text(settings: Mapping[str, str]) -> str:
    """Settings in the form of FIRESTEEL_PROPERTIES: a YAML mapping."""
    return yaml.safe_dump(dict(settings), sort_keys=False) if settings else ""
