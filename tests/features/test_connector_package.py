"""A connector that is a package of its own: installed as any other, it does what those of Firesteel do."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import WatermarkStrategy
from firesteel.datastream.connectors.base import CommitRequest, WriterContext
from firesteel.testing import InjectedFailure
from tests.features.executors import MakeEnv, on_both
from tests.features.scripts import recovering

PACKAGE = Path(__file__).resolve().parents[2] / "examples" / "connector"
OLDEST_SETUPTOOLS = 77
WAIT = 60
ROWS = 200


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip has put the package, without a network."""
    if int(importlib.metadata.version("setuptools").partition(".")[0]) < OLDEST_SETUPTOOLS:
        pytest.skip("the setuptools of this environment is too old to build the package without a network")
    folder = tmp_path_factory.mktemp("connector")
    shutil.copytree(PACKAGE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "install", *options, "--target", folder / "site", folder / "source"]
    done = subprocess.run(list(map(str, pip)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture
def sqlite_topics(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The package as a program sees it."""
    monkeypatch.syspath_prepend(str(installed))
    yield importlib.import_module("sqlite_topics")
    for name in [name for name in sys.modules if name.partition(".")[0] == "sqlite_topics"]:
        del sys.modules[name]


def add_topic(database: Path, name: str) -> list[str]:
    """Make a topic; returns its records."""
    records = [f"{name} {number}" for number in range(ROWS)]
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(f"CREATE TABLE {name} (value)")
        connection.executemany(f"INSERT INTO {name} VALUES (?)", [(record,) for record in records])
    return records


def written(database: Path) -> list[tuple[str, int]]:
    """The records of the topic ``out``, with the checkpoints that they were committed for."""
    with closing(sqlite3.connect(database, timeout=WAIT)) as connection:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'out'").fetchone() is None:
            return []
        return connection.execute("SELECT value, checkpoint_id FROM out ORDER BY rowid").fetchall()


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait for what a job does in its own thread."""
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline, "it has not come in time"
        time.sleep(0.02)


def crashing(mark: Path, kill: bool) -> Callable[[str], str]:
    """Breaks once, in the middle of the second topic."""

    def pass_on(record: str) -> str:
        if record == f"in_2 {ROWS // 2}" and not mark.exists():
            mark.touch()
            if kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise InjectedFailure("once")
        return record

    return pass_on


@pytest.mark.feature("EO-02")
@on_both
def test_topics_are_found_while_the_job_runs_and_written_once_whatever_breaks(
    sqlite_topics: Any, make_env: MakeEnv, executor: str, tmp_path: Path
) -> None:
    database = tmp_path / "topics.db"
    expected = add_topic(database, "in_1")
    env = recovering(make_env(2, {"firesteel.epoch.max-records": 50}))
    source = sqlite_topics.TopicSource(str(database), "in_", interval_ms=20)
    topics = env.from_source(source, WatermarkStrategy.no_watermarks(), "topics")
    broken = topics.map(crashing(tmp_path / "mark", kill=executor == "spark"))
    broken.sink_to(sqlite_topics.TopicSink(str(database), "out")).uid("out")
    client = env.execute_async()
    try:
        wait_for(lambda: len(written(database)) == len(expected))
        expected += add_topic(database, "in_2")
        wait_for(lambda: len(written(database)) >= len(expected))
        wait_for(lambda: client.get_metrics().operator("Source: topics").user.counters["discoveredTopics"] >= 2)
    finally:
        client.cancel().result(WAIT)
    rows = written(database)
    assert (tmp_path / "mark").exists()
    assert sorted(record for record, _ in rows) == sorted(expected)
    numbers = [checkpoint for _, checkpoint in rows]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) >= 2  # the second topic came when the first had been committed


def test_a_commit_is_put_off_while_somebody_else_writes(sqlite_topics: Any, tmp_path: Path) -> None:
    database = str(tmp_path / "topics.db")
    sink = sqlite_topics.TopicSink(database, "out", patience=0.0)
    writer, committer = sink.create_writer(), sink.create_committer()
    writer.write("a", WriterContext(None, 0, 0))
    (staged,) = writer.prepare_commit(3)
    request = CommitRequest(staged, 3)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        committer.commit([request])
        other.execute("ROLLBACK")
    assert request.later
    request = CommitRequest(staged, 3)
    committer.commit([request])
    assert not request.later and not request.was_committed
    again = CommitRequest(staged, 3, recovered=True)
    committer.commit([again])
    assert again.was_committed
    assert written(Path(database)) == [("a", 3)]
