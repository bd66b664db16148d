"""Transactions of other processes: which are open, what has become of one, and ending it."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from firesteel.connectors.kafka.client import KafkaClientError, explained
from firesteel.connectors.kafka.wire import Connection, Reader, compact

__all__ = ["Transaction", "TransactionError", "Transactions"]

_T = TypeVar("_T")
_FIND_COORDINATOR, _END, _DESCRIBE_CLUSTER, _DESCRIBE, _LIST = 10, 26, 60, 65, 66
_OF_TRANSACTIONS = b"\1"
_NOT_FOUND = 105
_SOON = {14: "it is loading", 15: "there is none", 16: "it has moved", 51: "the transaction is being ended"}
_PAUSE, _PATIENCE = 0.05, 30.0


class TransactionError(KafkaClientError):
    """A transaction cannot be ended any more: it is not that of the producer who has written it.

    :param code: Kafka's number of the error.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Transaction(NamedTuple):
    """The state of a transactional id.

    :param state: ``Ongoing``, ``PrepareCommit``, ``CompleteCommit``, ``PrepareAbort``, ``CompleteAbort``, ``Empty``.
    :param start: When the transaction began, in milliseconds; -1 if there is none. Producer and epoch stay the same
        over many transactions: this is what tells one from the next.
    """

    state: str
    producer: int
    epoch: int
    start: int


class Transactions:
    """Asks the brokers that coordinate transactions. Connections are kept, and made anew when they break."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._servers = settings["bootstrap.servers"]
        self._connections: dict[tuple[str, int], Connection] = {}
        self._coordinators: dict[str, tuple[str, int]] = {}

    def describe(self, name: str) -> Transaction | None:
        """What has become of a transaction; None: the brokers do not know the id (any more)."""

        def read(answer: Reader) -> tuple[int, Transaction]:
            answer.take("i")
            answer.varint()
            error = answer.take("h")
            answer.text()
            state, _, start = answer.text() or "", answer.take("i"), answer.take("q")
            producer, epoch = answer.take("q"), answer.take("h")
            return error, Transaction(state, producer, epoch, start)

        body = b"\2" + compact(name)
        code, found = self._of_coordinator(name, "describing transaction", _DESCRIBE, 0, body, read)
        if code == _NOT_FOUND:
            return None
        self._refuse(code, f"describing transaction {name!r}")
        return found

    def end(self, name: str, transaction: Transaction, commit: bool) -> None:
        """Commit or abort. Doing it twice does no harm.

        :raises TransactionError: The producer has been replaced, or the transaction has run into its time limit.
        """

        def read(answer: Reader) -> tuple[int, None]:
            answer.take("i")
            return answer.take("h"), None

        body = compact(name) + struct.pack(">qh?", transaction.producer, transaction.epoch, commit)
        doing = "committing transaction" if commit else "aborting transaction"
        code, _ = self._of_coordinator(name, doing, _END, 3, body, read)
        self._refuse(code, f"{doing} {name!r}")

    def ongoing(self) -> list[str]:
        """The ids of all transactions that are open, of whoever."""
        try:
            return self._ongoing()
        except OSError as error:
            raise explained(error, "listing transactions", self._servers) from error

    def _ongoing(self) -> list[str]:
        names: list[str] = []
        for host, port in self._brokers():
            answer = self._ask((host, port), _LIST, 0, b"\2" + compact("Ongoing") + b"\1")
            answer.take("i")
            self._refuse(answer.take("h"), "listing transactions")
            answer.each(answer.text)
            names += answer.each(lambda answer=answer: _listed(answer))  # type: ignore[misc]
        return names

    def _brokers(self) -> list[tuple[str, int]]:
        answer = self._of_anyone(_DESCRIBE_CLUSTER, 0, b"\0")
        answer.take("i")
        code, _, _, _ = answer.take("h"), answer.text(), answer.text(), answer.take("i")
        self._refuse(code, "asking for brokers")
        return answer.each(lambda: _address(answer))

    def _refuse(self, code: int, doing: str) -> None:
        if code:
            raise TransactionError(f"Kafka at {self._servers}: {doing}: the broker answers error {code}", code)

    def _of_coordinator(
        self, name: str, doing: str, key: int, version: int, body: bytes, read: Callable[[Reader], tuple[int, _T]]
    ) -> tuple[int, _T]:
        """Ask the broker that has the transaction, which may move to another, or be away for a moment."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                if name not in self._coordinators:
                    self._coordinators[name] = self._coordinator(name)
                code, found = read(self._ask(self._coordinators[name], key, version, body))
                if code not in _SOON:
                    return code, found
                reason: object = f"its coordinator: {_SOON[code]}"
            except (OSError, _NoCoordinator) as error:
                reason = error
            self._coordinators.pop(name, None)
            if time.monotonic() > deadline:
                raise explained(Exception(reason), f"{doing} {name!r}", self._servers)
            time.sleep(_PAUSE)

    def _coordinator(self, name: str) -> tuple[str, int]:
        answer = self._of_anyone(_FIND_COORDINATOR, 3, compact(name) + _OF_TRANSACTIONS)
        answer.take("i")
        code, message = answer.take("h"), answer.text()
        if code in _SOON:
            raise _NoCoordinator(message or _SOON[code])
        self._refuse(code, f"looking for the coordinator of transaction {name!r} ({message})")
        answer.take("i")
        return answer.text() or "", answer.take("i")

    def _of_anyone(self, key: int, version: int, body: bytes) -> Reader:
        """Ask the first of the servers that answers."""
        failure: OSError | None = None
        for server in self._servers.split(","):
            host, _, port = server.strip().rpartition("://")[2].rpartition(":")
            try:
                return self._ask((host.strip("[]"), int(port)), key, version, body)
            except OSError as error:
                failure = error
        raise failure if failure is not None else OSError("no servers are named")

    def _ask(self, address: tuple[str, int], key: int, version: int, body: bytes) -> Reader:
        connection = self._connections.pop(address, None)
        if connection is not None:
            try:
                answer = connection.ask(key, version, body)
            except OSError:  # hung up since: a new one may do
                connection.close()
            else:
                self._connections[address] = connection
                return answer
        connection = Connection(*address, self._settings)
        try:
            answer = connection.ask(key, version, body)
        except BaseException:
            connection.close()
            raise
        self._connections[address] = connection
        return answer

    def close(self) -> None:
        """Hang up."""
        for connection in self._connections.values():
            connection.close()
        self._connections = {}


class _NoCoordinator(Exception):
    """Nobody has the transactions at the moment."""


def _listed(answer: Reader) -> str:
    name = answer.text() or ""
    answer.take("q")
    answer.text()
    answer.tags()
    return name


def _address(answer: Reader) -> tuple[str, int]:
    answer.take("i")
    host, port = answer.text() or "", answer.take("i")
    answer.text()
    answer.tags()
    return host, port
