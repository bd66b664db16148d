"""The seam between programs and engines: ``submit(plan) -> JobClient``."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from firesteel.common import Configuration, JobClient
from firesteel.errors import ConfigurationError
from firesteel.model.sink import DriverSink
from firesteel.plan.job_plan import JobPlan

_EXECUTORS = {
    "spark": "firesteel.execution.spark.executor:SparkExecutor",
    "in-process": "firesteel.execution.in_process:InProcessExecutor",
}


class Executor(ABC):
    """Runs job plans."""

    @abstractmethod
    def submit(self, plan: JobPlan, driver_sinks: Mapping[str, DriverSink], detached: bool) -> JobClient:
        """Run a job.

        :param driver_sinks: By collector id.
        :param detached: Return at once and run in the background. Otherwise the job runs in the calling thread (so
            that breakpoints in user functions work with the in-process executor) and has ended when this returns.
        """

    def default_parallelism(self, configuration: Configuration) -> int | None:
        """The parallelism of operators that set none; None: as many as this machine has cores."""
        return None


_substitutes: list[Executor] = []
"""Executors that stand in for the configured one; the last one counts."""


@contextmanager
def substitute_executor(executor: Executor) -> Iterator[None]:
    """Inside the block all jobs of this process go to ``executor``, whatever they are configured for.

    This is how ``firesteel explain`` gets hold of a program's plan instead of running it.
    """
    _substitutes.append(executor)
    try:
        yield
    finally:
        _substitutes.remove(executor)


def executor_for(configuration: Configuration, session: Any | None = None) -> Executor:
    """The executor that ``execution.target`` names. ``session``: a SparkSession to use, if the user gave one."""
    if _substitutes:
        return _substitutes[-1]
    target = configuration.get_string("execution.target", "spark")
    if target not in _EXECUTORS:
        known = ", ".join(sorted(_EXECUTORS))
        raise ConfigurationError(f"execution.target is {target!r}; expected one of: {known}")
    module_name, _, class_name = _EXECUTORS[target].partition(":")
    executor_class = getattr(importlib.import_module(module_name), class_name)
    executor: Executor = executor_class(configuration, session)
    return executor
