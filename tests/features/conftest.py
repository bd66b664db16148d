"""Environments for end-to-end tests: the same test runs in-process and, if it says so, on Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.dataset import ExecutionEnvironment
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.execution.clock import monotonic_ms
from firesteel.execution.control.language import Event, LookForFiles
from firesteel.execution.driver import _HANDS, JobDriver
from tests.features.executors import MakeBatchEnv, MakeEnv


@pytest.fixture
def executor(request: pytest.FixtureRequest) -> str:
    """``execution.target`` of the test; see ``executors.on_both``."""
    return str(getattr(request, "param", "in-process"))


@pytest.fixture
def make_env(executor: str, request: pytest.FixtureRequest) -> MakeEnv:
    """Makes environments on the executor of the test: ``make_env(parallelism, {option: value})``."""

    def make(parallelism: int = 1, options: dict[str, Any] | None = None) -> StreamExecutionEnvironment:
        configuration = Configuration.from_dict({"execution.target": executor, **(options or {})})
        session = request.getfixturevalue("spark") if executor == "spark" else None
        environment = StreamExecutionEnvironment.get_execution_environment(configuration, spark=session)
        environment.set_parallelism(parallelism)
        return environment

    return make


@pytest.fixture(autouse=True)
def _snapshots_are_waited_for(executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Spark another process writes full snapshots. Where a test moves the clock, its checkpoints must not depend on
    how long that takes: they are complete when the next epoch begins.
    """
    if executor != "spark":
        return
    look = JobDriver._look_for_files

    def look_when_written(self: JobDriver, told: LookForFiles) -> Event:
        deadline = time.monotonic() + 30
        while self._ticks is not monotonic_ms and time.monotonic() < deadline and not _is_written(self, told):
            time.sleep(0.01)
        return look(self, told)

    monkeypatch.setitem(_HANDS, LookForFiles, look_when_written)


def _is_written(driver: JobDriver, told: LookForFiles) -> bool:
    return driver._checkpoints.has_files(told.checkpoint_id)


@pytest.fixture
def make_batch_env(executor: str, request: pytest.FixtureRequest) -> MakeBatchEnv:
    """The same for DataSet programs."""

    def make(parallelism: int = 2, options: dict[str, Any] | None = None) -> ExecutionEnvironment:
        configuration = Configuration.from_dict({"execution.target": executor, **(options or {})})
        session = request.getfixturevalue("spark") if executor == "spark" else None
        environment = ExecutionEnvironment.get_execution_environment(configuration, session)
        return environment.set_parallelism(parallelism)

    return make


@pytest.fixture
def env(make_env: MakeEnv) -> StreamExecutionEnvironment:
    """An environment with parallelism 1."""
    return make_env()


@pytest.fixture(autouse=True)
def _fresh_warnings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test sees the warnings that are given only once."""
    monkeypatch.setattr("firesteel.common.warnings._given", set())
    yield
