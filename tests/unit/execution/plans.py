"""Plans of small programs, for tests of what carries them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from firesteel.common import Configuration, JobClient
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.plan.executor import DriverSink, Executor, substitute_executor
from firesteel.plan.job_plan import JobPlan


class _Taken(Exception):
    """Stands for the end of the program: its plan has been taken."""


class _PlanTaker(Executor):
    def __init__(self) -> None:
        self.plans: list[JobPlan] = []

    def submit(self, plan: JobPlan, driver_sinks: Mapping[str, DriverSink], detached: bool) -> JobClient:
        self.plans.append(plan)
        raise _Taken


def plan_of(
    program: Callable[[StreamExecutionEnvironment], object],
    parallelism: int = 1,
    settings: dict[str, str] | None = None,
) -> JobPlan:
    """The plan of a program that is given an environment."""
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings or {}))
    env.set_parallelism(parallelism)
    program(env)
    taker = _PlanTaker()
    with substitute_executor(taker), pytest.raises(_Taken):
        env.execute("planned")
    return taker.plans[0]
