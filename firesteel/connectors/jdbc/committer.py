"""The driver's half of the exactly-once sink: rows and a mark for them, in one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from firesteel.connectors.jdbc.database import Database, JdbcError
from firesteel.connectors.jdbc.options import JdbcExactlyOnceOptions, JdbcExecutionOptions
from firesteel.connectors.jdbc.session import Session
from firesteel.connectors.jdbc.writer import run_all
from firesteel.errors import CommitError
from firesteel.model.sink import CommitRequest, Committer

__all__ = ["MarkerCommitter"]

_LOG = logging.getLogger("firesteel.jdbc")
_PRUNE_SECONDS = 3600.0


class MarkerCommitter(Committer):
    """What has a mark was written. All that is committed together becomes visible together."""

    def __init__(self, database: Database, execution: JdbcExecutionOptions, options: JdbcExactlyOnceOptions) -> None:
        self._session = Session(database)
        self._size = execution.get_batch_size()
        self._retries = execution.get_max_retries()
        self._options = options
        self._has_table = False
        self._pruned_at: float | None = None

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        session = self._session
        try:
            if not self._has_table:
                self._make_table()
            doing = f"committing {len(requests)} parts of checkpoint {requests[-1].checkpoint_id}"
            before = session.transact(doing, lambda: self._write(requests), retries=0)
        except JdbcError as error:
            cause = error.__cause__
            if isinstance(cause, Exception) and session.is_passing(cause):
                _LOG.warning("rows cannot be committed now: %s", error)
                for request in requests:
                    request.retry_later()
                return
            raise CommitError(str(error)) from error
        for request in before:
            request.already_committed()
        self._prune()

    def _write(self, requests: Sequence[CommitRequest]) -> list[CommitRequest]:
        """Write what has no mark; gives those that have one."""
        session, table = self._session, self._options.marker_table
        before = []
        for request in requests:
            name = request.committable["id"]
            if session.execute(f"SELECT 1 FROM {table} WHERE id = ?", (name,)).fetchone() is not None:
                before.append(request)
                continue
            # The mark comes first: should another driver write the same, its key makes one of both wait and fail.
            mark = (name, request.checkpoint_id, int(time.time() * 1000))
            session.execute(f"INSERT INTO {table} (id, checkpoint_id, committed_ms) VALUES (?, ?, ?)", mark)
            run_all(session, request.committable["changes"], self._size)
        return before

    def _make_table(self) -> None:
        session, table = self._session, self._options.marker_table
        try:
            session.transact("looking for marks", lambda: session.execute(f"SELECT 1 FROM {table} WHERE id = ''"), 0)
        except JdbcError as error:
            if isinstance(error.__cause__, Exception) and session.is_passing(error.__cause__):
                raise
            columns = "id VARCHAR(32) PRIMARY KEY, checkpoint_id BIGINT NOT NULL, committed_ms BIGINT NOT NULL"
            create = f"CREATE TABLE IF NOT EXISTS {table} ({columns})"
            session.transact(f"making the table {table}", lambda: session.execute(create), self._retries)
        self._has_table = True

    def _prune(self) -> None:
        """Forget old marks, once an hour."""
        now = time.monotonic()
        if self._pruned_at is not None and now - self._pruned_at < _PRUNE_SECONDS:
            return
        self._pruned_at = now
        session, table = self._session, self._options.marker_table
        oldest = (int(time.time() * 1000) - self._options.retention_ms,)
        delete = f"DELETE FROM {table} WHERE committed_ms < ?"
        try:
            session.transact("forgetting old marks", lambda: session.execute(delete, oldest), retries=0)
        except JdbcError as error:
            _LOG.warning("old marks stay: %s", error)

    def close(self) -> None:
        self._session.close()
