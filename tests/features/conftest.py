"""Environments for end-to-end tests: the same test runs in-process and, if it says so, on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from tests.features.executors import MakeEnv


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


@pytest.fixture
def env(make_env: MakeEnv) -> StreamExecutionEnvironment:
    """An environment with parallelism 1."""
    return make_env()


@pytest.fixture(autouse=True)
def _fresh_warnings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test sees the warnings that are given only once."""
    monkeypatch.setattr("firesteel.common.warnings._given", set())
    yield
