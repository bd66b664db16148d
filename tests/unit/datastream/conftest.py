"""An environment to build programs in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from tests.unit.datastream.recording import RecordingExecutor


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({"execution.target": "in-process"})
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(2)
    return environment


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> RecordingExecutor:
    recording = RecordingExecutor()
    monkeypatch.setattr("firesteel.datastream._internal.environment_jobs.executor_for", lambda *_: recording)
    return recording


@pytest.fixture(autouse=True)
def _fresh_warnings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test sees the warnings that are given only once."""
    monkeypatch.setattr("firesteel.common.warnings._given", set())
    yield
