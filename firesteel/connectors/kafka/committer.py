"""The driver's half of the exactly-once sink: ends the transactions that the tasks have prepared."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from firesteel.connectors.kafka.client import KafkaClientError
from firesteel.connectors.kafka.transactions import Transaction, Transactions
from firesteel.errors import CommitError
from firesteel.model.sink import CommitRequest, Committer

__all__ = ["TransactionCommitter"]

_LOG = logging.getLogger("firesteel.kafka")
_COMMITTED = ("PrepareCommit", "CompleteCommit")


class TransactionCommitter(Committer):
    """Looks what has become of a transaction before it ends it.

    A producer's id and epoch stay the same over its transactions. So an old checkpoint, if it just asked for a commit,
    would commit what the producer is writing now: the time when the transaction began tells whether it is that one.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._transactions = Transactions(settings)

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            try:
                self._commit(request)
            except KafkaClientError:
                # After a start the tasks abort what is open: only what was prepared in this run can wait.
                if request.recovered and not request.retries:
                    raise
                _LOG.warning("a transaction cannot be committed now", exc_info=True)
                request.retry_later()

    def _commit(self, request: CommitRequest) -> None:
        prepared = request.committable
        name = prepared["id"]
        found = self._transactions.describe(name)
        if found is None:
            _LOG.warning("transaction %r is forgotten by the brokers: it ended more than some days ago", name)
            request.already_committed()
        elif (found.producer, found.epoch) != (prepared["producer"], prepared["epoch"]):
            raise self._lost(name, f"it belongs to epoch {found.epoch} of producer {found.producer} now")
        elif found.state == "Ongoing" and found.start == prepared["start"]:
            self._transactions.end(name, found, commit=True)
        elif found.state == "Ongoing" or found.state in _COMMITTED:
            request.already_committed()  # the producer goes on only after it has seen the commit
        else:
            raise self._lost(name, f"its state is {found.state}")

    def _lost(self, name: str, state: str) -> CommitError:
        return CommitError(
            f"transaction {name!r} was aborted by the brokers before it could be committed ({state}): it was open for "
            "longer than transaction.timeout.ms, or another job writes with the same transactional id prefix. Its "
            "records are not in Kafka. Start from an earlier checkpoint or savepoint to write them again, and "
            "allow transactions more time than the job may be down"
        )

    def abort(self, committables: Sequence[dict[str, Any]]) -> None:
        for prepared in committables:
            found = self._transactions.describe(prepared["id"])
            mine = Transaction("Ongoing", prepared["producer"], prepared["epoch"], prepared["start"])
            if found == mine:
                self._transactions.end(prepared["id"], found, commit=False)

    def close(self) -> None:
        self._transactions.close()
