"""Stopping with a savepoint is exactly once too: whatever fails on the way, output comes once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import JobClient
from firesteel.connectors.datagen import RateLimiterStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.base import CommitRequest, Committer, Sink, SinkWriter
from firesteel.errors import CommitError
from firesteel.state.store import CheckpointStore
from firesteel.testing import InjectedFailure
from tests.features.executors import MakeEnv
from tests.features.scripts import recovering
from tests.features.test_exactly_once import committed_files, file_sink

WAIT = 60


class FailingCommits(Committer):
    """Commits, and then fails once, when the mark is there."""

    def __init__(self, inner: Committer, mark: Path) -> None:
        self._inner = inner
        self._mark = mark

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        self._inner.commit(requests)
        if self._mark.exists():
            self._mark.unlink()
            raise InjectedFailure("after the commit")

    def abort(self, committables: Sequence[Any]) -> None:
        self._inner.abort(committables)


class FailingSink(Sink):
    guarantee = "exactly-once"

    def __init__(self, inner: Sink, mark: Path) -> None:
        self._inner = inner
        self._mark = mark

    def for_operator(self) -> Sink:
        return FailingSink(self._inner.for_operator(), self._mark)

    def create_writer(self) -> SinkWriter:
        return self._inner.create_writer()

    def create_committer(self) -> Committer:
        committer = self._inner.create_committer()
        assert committer is not None
        return FailingCommits(committer, self._mark)


def started(make_env: MakeEnv, directory: Path, interval: str) -> JobClient:
    """Numbers without end into files, with checkpoints in a directory of the job's own."""
    options = {
        "execution.checkpointing.dir": str(directory / "checkpoints"),
        "execution.checkpointing.interval": interval,
        "firesteel.epoch.max-records": 20,
    }
    env: StreamExecutionEnvironment = recovering(make_env(2, options))
    env.enable_checkpointing(int(interval))
    numbers = env.from_data_generator(lambda number: number, None, RateLimiterStrategy.per_second(2000))
    numbers.uid("numbers").sink_to(FailingSink(file_sink(directory / "out"), directory / "mark")).uid("files")
    client = env.execute_async("numbers")
    while sum(epoch.records for epoch in client.get_metrics().epochs) < 100:
        assert not client.get_job_status().result().is_terminal_state()
    return client


def stop(client: JobClient, directory: Path) -> None:
    path = client.stop_with_savepoint(False, str(directory / "savepoints")).result(WAIT)
    client.get_job_execution_result().result(WAIT)
    assert Path(path).is_dir()


def assert_each_once(directory: Path) -> int:
    found = committed_files(directory / "out")
    assert found == list(range(len(found)))
    return len(found)


@pytest.mark.feature("SV-02", "EO-02")
@pytest.mark.parametrize("interval", ["20", "3600000"], ids=["some checkpoints", "no checkpoint yet"])
def test_a_job_that_dies_before_it_has_cleaned_up_goes_on_from_its_savepoint(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interval: str
) -> None:
    with monkeypatch.context() as dying:
        dying.setattr(CheckpointStore, "delete_everything", lambda store: None)
        stop(started(make_env, tmp_path, interval), tmp_path)
    before = assert_each_once(tmp_path)
    assert before >= 100
    stop(started(make_env, tmp_path, interval), tmp_path)
    assert assert_each_once(tmp_path) >= before + 100


@pytest.mark.feature("SV-02", "EO-02")
def test_a_commit_that_fails_while_stopping_does_not_repeat_its_output(make_env: MakeEnv, tmp_path: Path) -> None:
    client = started(make_env, tmp_path, "3600000")
    (tmp_path / "mark").touch()
    with pytest.raises(CommitError, match="InjectedFailure: after the commit"):
        client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(WAIT)
    stop(client, tmp_path)
    assert assert_each_once(tmp_path) >= 100


@pytest.mark.feature("SV-02")
def test_a_job_that_has_stopped_in_good_order_starts_anew(make_env: MakeEnv, tmp_path: Path) -> None:
    for _ in range(2):
        stop(started(make_env, tmp_path, "20"), tmp_path)
        assert not (tmp_path / "checkpoints" / "_stopped").exists()
    assert committed_files(tmp_path / "out").count(0) == 2
