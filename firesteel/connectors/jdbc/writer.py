"""The tasks' half of the sink: rows to the database in batches, or into the checkpoint."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

from firesteel.connectors.jdbc.database import Database
from firesteel.connectors.jdbc.options import JdbcExecutionOptions
from firesteel.connectors.jdbc.session import Session
from firesteel.connectors.jdbc.statements import Change, Statements
from firesteel.model.functions import RuntimeContext
from firesteel.model.sink import SinkWriter, WriterContext

__all__ = ["JdbcWriter", "StagingWriter", "run_all"]


def run_all(session: Session, changes: Sequence[Change], size: int) -> None:
    """Run statements, so many rows in a call."""
    for sql, rows in changes:
        for start in range(0, len(rows), size):
            session.execute_many(sql, rows[start : start + size])


class JdbcWriter(SinkWriter):
    """Each batch is a transaction. Nothing waits longer than for the checkpoint."""

    def __init__(self, database: Database, statements: Statements, options: JdbcExecutionOptions) -> None:
        self._session = Session(database)
        self._statements = statements
        self._size = options.get_batch_size()
        self._interval = options.get_batch_interval_ms() / 1000
        self._retries = options.get_max_retries()
        self._waiting = 0
        self._sent_at = 0.0

    def open(self, context: RuntimeContext, restored: Sequence[Any]) -> None:
        group = context.get_metrics_group()
        self._records = group.counter("numRecordsSend")
        self._errors = group.counter("numRecordsSendErrors")
        self._sent_at = time.monotonic()

    def write(self, value: Any, context: WriterContext) -> None:
        self._waiting = self._statements.add(value)
        if self._waiting >= self._size:
            self._send()

    def flush(self, end_of_input: bool) -> None:
        if end_of_input or (self._interval and time.monotonic() - self._sent_at >= self._interval):
            self._send()

    def prepare_commit(self, checkpoint_id: int) -> Sequence[Any]:
        self._send()
        return ()

    def _send(self) -> None:
        self._sent_at = time.monotonic()
        changes, self._waiting = self._statements.take(), 0
        if not changes:
            return
        count = sum(len(rows) for _, rows in changes)
        doing = f"writing {count} rows by {changes[-1][0]!r:.300}"
        try:
            self._session.transact(doing, lambda: run_all(self._session, changes, self._size), self._retries)
        except Exception:
            self._errors.inc(count)
            raise
        self._records.inc(count)

    def close(self) -> None:
        self._session.close()


class StagingWriter(SinkWriter):
    """Rows wait for the checkpoint, within it."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements

    def open(self, context: RuntimeContext, restored: Sequence[Any]) -> None:
        self._records = context.get_metrics_group().counter("numRecordsSend")

    def write(self, value: Any, context: WriterContext) -> None:
        self._statements.add(value)

    def prepare_commit(self, checkpoint_id: int) -> Sequence[dict[str, Any]]:
        changes = self._statements.take()
        if not changes:
            return ()
        self._records.inc(sum(len(rows) for _, rows in changes))
        return [{"id": uuid.uuid4().hex, "changes": changes}]
