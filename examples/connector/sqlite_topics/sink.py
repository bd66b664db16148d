"""Writes a topic exactly once: rows are staged in a table of their own, and moved when their checkpoint is complete."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from firesteel.datastream.connectors.base import CommitRequest, Committer, Sink, SinkWriter, WriterContext


class TopicSink(Sink):
    """Adds records to a topic.

    :param patience: How many seconds a commit waits for another writer before it is put off.
    """

    guarantee = "exactly-once"

    def __init__(self, path: str, topic: str, patience: float = 5.0) -> None:
        self._path = path
        self._topic = topic
        self._patience = patience

    def create_writer(self) -> SinkWriter:
        return TopicWriter(self._path)

    def create_committer(self) -> Committer:
        return TopicCommitter(self._path, self._topic, self._patience)


class TopicWriter(SinkWriter):
    """In a task."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._rows: list[tuple[Any]] = []

    def write(self, value: Any, context: WriterContext) -> None:
        self._rows.append((value,))

    def prepare_commit(self, checkpoint_id: int) -> Sequence[str]:
        """From here on the rows survive whatever happens to this process. The name goes into the checkpoint."""
        if not self._rows:
            return ()
        staged = f"staged_{checkpoint_id}_{uuid.uuid4().hex}"
        with closing(sqlite3.connect(self._path, timeout=60)) as connection, connection:
            connection.execute(f"CREATE TABLE {staged} (value)")
            connection.executemany(f"INSERT INTO {staged} VALUES (?)", self._rows)
        self._rows = []
        return [staged]


class TopicCommitter(Committer):
    """In the driver."""

    def __init__(self, path: str, topic: str, patience: float) -> None:
        self._path = path
        self._topic = topic
        self._patience = patience

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        with closing(sqlite3.connect(self._path, timeout=self._patience, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:  # somebody else writes: no reason to fail
                for request in requests:
                    request.retry_later()
                return
            connection.execute(f'CREATE TABLE IF NOT EXISTS "{self._topic}" (value, checkpoint_id)')
            for request in requests:
                self._move(connection, request)
            connection.execute("COMMIT")

    def _move(self, connection: sqlite3.Connection, request: CommitRequest) -> None:
        staged = request.committable
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (staged,)).fetchone() is None:
            request.already_committed()  # a crash came after the commit, before the engine could note it
            return
        number = request.checkpoint_id
        connection.execute(f'INSERT INTO "{self._topic}" SELECT value, ? FROM {staged} ORDER BY rowid', (number,))
        connection.execute(f"DROP TABLE {staged}")

    def abort(self, committables: Sequence[str]) -> None:
        with closing(sqlite3.connect(self._path, timeout=60)) as connection, connection:
            for staged in committables:
                connection.execute(f"DROP TABLE IF EXISTS {staged}")
