"""A sink that fails, or kills its process, at a chosen point around a commit, and a sqlite sink to try it on."""

from __future__ import annotations

import os
import signal
import sqlite3
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from firesteel.datastream import RuntimeContext
from firesteel.datastream.connectors.base import (
    CommitRequest,
    Committer,
    Sink,
    SinkWriter,
    TwoPhaseCommitSinkFunction,
    WriterContext,
)
from firesteel.testing import InjectedFailure

POINTS = ["while writing", "when prepared", "before the commit", "within the commit", "after the commit"]


class FailsAt(Sink):
    """Another sink, which breaks once, at one of :data:`POINTS`, when something has been committed before.

    :param mark: A file that is made when it happens, so that it happens once.
    :param kill: Kill the process instead of raising.
    """

    guarantee = "exactly-once"

    def __init__(self, sink: Sink, point: str, mark: Path, kill: bool = False) -> None:
        self.sink, self.point, self.mark, self.kill = sink, point, mark, kill

    def for_operator(self) -> Sink:
        return FailsAt(self.sink.for_operator(), self.point, self.mark, self.kill)

    def create_writer(self) -> SinkWriter:
        return _FailingWriter(self)

    def create_committer(self) -> Committer:
        return _FailingCommitter(self)

    def reached(self, point: str) -> None:
        if point != self.point or self.mark.exists():
            return
        self.mark.touch()
        if self.kill:
            os.kill(os.getpid(), signal.SIGKILL)
        raise InjectedFailure(point)


class _FailingWriter(SinkWriter):
    def __init__(self, sink: FailsAt) -> None:
        self._sink = sink
        self._writer = sink.sink.create_writer()
        self._written = self._prepared = 0

    def open(self, context: RuntimeContext, restored: Sequence[Any]) -> None:
        self._writer.open(context, restored)

    def write(self, value: Any, context: WriterContext) -> None:
        self._writer.write(value, context)
        self._written += 1
        if self._written > 1 and self._prepared > 1:
            self._sink.reached("while writing")

    def flush(self, end_of_input: bool) -> None:
        self._writer.flush(end_of_input)

    def prepare_commit(self, checkpoint_id: int) -> Sequence[Any]:
        self._written, self._prepared = 0, self._prepared + 1
        return self._writer.prepare_commit(checkpoint_id)

    def snapshot(self) -> Any | None:
        if self._prepared > 1:
            self._sink.reached("when prepared")
        return self._writer.snapshot()

    def close(self) -> None:
        self._writer.close()


class _FailingCommitter(Committer):
    def __init__(self, sink: FailsAt) -> None:
        self._sink = sink
        self._committer = sink.sink.create_committer()
        self._commits = 0

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        assert self._committer is not None
        self._commits += 1
        if self._commits == 1:
            self._committer.commit(requests)
            return
        self._sink.reached("before the commit")
        for number, each in enumerate(requests):
            if number == 1:
                self._sink.reached("within the commit")
            self._committer.commit([each])
        self._sink.reached("after the commit")

    def abort(self, committables: Sequence[Any]) -> None:
        assert self._committer is not None
        self._committer.abort(committables)

    def close(self) -> None:
        assert self._committer is not None
        self._committer.close()


class SqliteSink(TwoPhaseCommitSinkFunction):
    """Rows of one column in a table. A transaction is a table of its own, which the commit moves over at one stroke.

    A sink as a user would write it: nothing of the engine is used but the base class.
    """

    def __init__(self, database: Path) -> None:
        self.database = str(database)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.database, timeout=30, isolation_level=None)

    def begin_transaction(self) -> str:
        return f"staging_{uuid.uuid4().hex}"

    def open(self, runtime_context: RuntimeContext) -> None:
        self._rows: list[tuple[Any]] = []

    def invoke(self, transaction: str, value: Any, context: WriterContext) -> None:
        self._rows.append((value,))

    def pre_commit(self, transaction: str) -> None:
        rows, self._rows = self._rows, []
        connection = self._connect()
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"CREATE TABLE {transaction} (value)")
        connection.executemany(f"INSERT INTO {transaction} VALUES (?)", rows)
        connection.execute("COMMIT")
        connection.close()

    def commit(self, transaction: str) -> None:
        connection = self._connect()
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (transaction,)).fetchone():
            connection.execute("CREATE TABLE IF NOT EXISTS result (value)")
            connection.execute(f"INSERT INTO result SELECT value FROM {transaction}")
            connection.execute(f"DROP TABLE {transaction}")
        connection.execute("COMMIT")
        connection.close()

    def abort(self, transaction: str) -> None:
        connection = self._connect()
        connection.execute(f"DROP TABLE IF EXISTS {transaction}")
        connection.close()


def sqlite_rows(database: Path) -> list[Any]:
    """The committed rows, sorted."""
    connection = sqlite3.connect(database)
    try:
        return [value for (value,) in connection.execute("SELECT value FROM result ORDER BY value")]
    finally:
        connection.close()
