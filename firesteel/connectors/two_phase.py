"""A base class for exactly-once sinks over anything that has transactions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from firesteel.errors import CommitError
from firesteel.model.functions import Function, RuntimeContext
from firesteel.model.sink import CommitRequest, Committer, Sink, SinkWriter, WriterContext

__all__ = ["TwoPhaseCommitSinkFunction"]


class TwoPhaseCommitSinkFunction(Function, Sink):
    """A sink that writes into a transaction, and commits it when the checkpoint that covers it is complete.

    ::

        class ToTable(TwoPhaseCommitSinkFunction):
            def begin_transaction(self):
                return f"staging_{uuid.uuid4().hex}"      # create the table, return its name

            def invoke(self, transaction, value, context): ...   # insert into it
            def pre_commit(self, transaction): ...               # flush: from here on it must survive a crash
            def commit(self, transaction): ...                   # move the rows, once, if the table is still there
            def abort(self, transaction): ...                    # drop the table, if it is there

        stream.sink_to(ToTable())       # or add_sink(...)

    A transaction is whatever :meth:`begin_transaction` returns: a name, an id. It is pickled into the checkpoint, so it
    refers to the outside transaction rather than being a connection.

    ``open``, ``begin_transaction``, ``invoke``, ``pre_commit`` and ``close`` are called in the tasks, on a copy of this
    object for each subtask; ``recover_and_abort`` too, after ``open``. ``commit``, ``recover_and_commit`` and ``abort``
    are called in the driver, on another copy, for which ``open`` is not called: connect there when it is needed.
    ``abort`` is also called in the tasks for the open transaction when the job fails or ends.
    """

    guarantee = "exactly-once"

    @abstractmethod
    def begin_transaction(self) -> Any:
        """Start a transaction. Called before the first record and after every checkpoint. Returns what to call it."""

    @abstractmethod
    def invoke(self, transaction: Any, value: Any, context: WriterContext) -> None:
        """Write a record into the transaction."""

    @abstractmethod
    def pre_commit(self, transaction: Any) -> None:
        """No record will follow. After this the transaction must survive any crash until it is committed or aborted."""

    @abstractmethod
    def commit(self, transaction: Any) -> None:
        """Make the transaction's records visible. May be called again for the same one: the second must do nothing.

        Raising fails the job, which commits again after its restart.
        """

    @abstractmethod
    def abort(self, transaction: Any) -> None:
        """Forget the transaction; if there is none, do nothing."""

    def recover_and_commit(self, transaction: Any) -> None:
        """Called instead of :meth:`commit` after a failure, when it is not known whether it was committed before."""
        self.commit(transaction)

    def recover_and_abort(self, transaction: Any) -> None:
        """Called instead of :meth:`abort` after a failure, for the transaction that was open in the checkpoint."""
        self.abort(transaction)

    def create_writer(self) -> SinkWriter:
        """The part in the tasks."""
        return _TransactionWriter(self)

    def create_committer(self) -> Committer:
        """The part in the driver."""
        return _TransactionCommitter(self)


class _TransactionWriter(SinkWriter):
    """Its state is the transaction that was begun last: after a failure it is aborted."""

    def __init__(self, function: TwoPhaseCommitSinkFunction) -> None:
        self._function = function
        self._transaction: Any = None
        self._begun = False
        self._ended = False

    def open(self, context: RuntimeContext, restored: Sequence[Any]) -> None:
        self._function.set_runtime_context(context)
        self._function.open(context)
        for state in restored:
            self._function.recover_and_abort(state["open"])
        self._begin()

    def _begin(self) -> None:
        self._transaction = self._function.begin_transaction()
        self._begun = True

    def write(self, value: Any, context: WriterContext) -> None:
        self._function.invoke(self._transaction, value, context)

    def flush(self, end_of_input: bool) -> None:
        self._ended = self._ended or end_of_input

    def prepare_commit(self, checkpoint_id: int) -> Sequence[Any]:
        if not self._begun:
            return ()
        self._function.pre_commit(self._transaction)
        prepared, self._begun = self._transaction, False
        if not self._ended:
            self._begin()
        return [prepared]

    def snapshot(self) -> Any | None:
        return {"open": self._transaction} if self._begun else None

    def close(self) -> None:
        try:
            if self._begun:
                self._function.abort(self._transaction)
        finally:
            self._function.close()


class _TransactionCommitter(Committer):
    def __init__(self, function: TwoPhaseCommitSinkFunction) -> None:
        self._function = function

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        function = self._function
        for request in requests:
            transaction = request.committable
            try:
                (function.recover_and_commit if request.recovered else function.commit)(transaction)
            except Exception as error:
                message = f"transaction {transaction!r:.200}: {type(error).__name__}: {error}"
                raise CommitError(message) from error

    def abort(self, committables: Sequence[Any]) -> None:
        for transaction in committables:
            self._function.abort(transaction)
