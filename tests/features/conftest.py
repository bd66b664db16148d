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
from firesteel.execution.hands.run import JobRun
from firesteel.execution.hands.snapshots import SnapshotHands
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
    make_hands = SnapshotHands.__init__

    def make_patient_hands(self: SnapshotHands, run: JobRun) -> None:
        make_hands(self, run)
        look = self.table[LookForFiles]

        def look_when_written(told: LookForFiles) -> Event | None:
            deadline = time.monotonic() + 30
            while run.ticks is not monotonic_ms and time.monotonic() < deadline and not _is_written(run, told):
                time.sleep(0.01)
            return look(told)

        self.table[LookForFiles] = look_when_written

    monkeypatch.setattr(SnapshotHands, "__init__", make_patient_hands)


def _is_written(run: JobRun, told: LookForFiles) -> bool:
    return run.checkpoints.has_files(told.checkpoint_id)


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
