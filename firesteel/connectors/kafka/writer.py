"""The tasks' half of the sink: messages into a producer, plain or within transactions."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from firesteel.connectors.base import DeliveryGuarantee
from firesteel.connectors.kafka.client import KafkaClientError, confluent, explained
from firesteel.connectors.kafka.serializing import KafkaRecordSerializationSchema
from firesteel.connectors.kafka.transactions import Transactions
from firesteel.model.functions import RuntimeContext
from firesteel.model.sink import SinkWriter, WriterContext

__all__ = ["KafkaWriter", "TransactionalWriter"]

_LOG = logging.getLogger("firesteel.kafka")
_SECONDS = 120.0
_FULL_SECONDS = 0.1


class _Outlet:
    """A producer that tells of failures: not by message, but when it is asked."""

    def __init__(
        self, settings: Mapping[str, str], transactional_id: str | None = None, log_only: bool = False
    ) -> None:
        self.name = transactional_id
        self._log_only = log_only
        self._servers = settings["bootstrap.servers"]
        self._failure: KafkaClientError | None = None
        self.errors = 0
        own: dict[str, Any] = {**settings, "delivery.report.only.error": True, "on_delivery": self._not_delivered}
        if transactional_id is not None:
            own["transactional.id"] = transactional_id
        try:
            self.producer: Any = confluent().Producer(own)
        except confluent().KafkaException as error:
            raise explained(error, "opening a producer", self._servers) from error

    def _not_delivered(self, error: Any, message: Any) -> None:
        self.errors += 1
        failure = explained(Exception(error.str()), f"writing to topic {message.topic()!r}", self._servers)
        if self._log_only:
            _LOG.error("a message is lost: %s", failure)
        elif self._failure is None:
            self._failure = failure

    def transact(self, step: str) -> None:
        """``init_transactions``, ``begin_transaction``, ``commit_transaction`` or ``abort_transaction``."""
        try:
            arguments = () if step == "begin_transaction" else (_SECONDS,)
            getattr(self.producer, step)(*arguments)
        except confluent().KafkaException as error:
            doing = f"{step.replace('_', ' ')} of {self.name!r}"
            raise explained(error, doing, self._servers) from error

    def refused(self, message: Any, error: Exception) -> None:
        """A message was not taken. A full queue is waited for: that is the sink's back pressure."""
        if not isinstance(error, BufferError):
            raise explained(error, f"writing to topic {message[0]!r}", self._servers) from error
        while True:
            self.producer.poll(_FULL_SECONDS)
            self.check()
            try:
                self.producer.produce(*message)
                return
            except BufferError:
                continue

    def check(self) -> None:
        """Raise what has gone wrong meanwhile."""
        if self._failure is not None:
            raise self._failure

    def poll(self) -> None:
        """Hear of failures."""
        self.producer.poll(0)
        self.check()

    def drop(self) -> None:
        """Let go of the producer, without a word to the brokers: a transaction that is open stays so."""
        self.producer = None

    def flush(self) -> None:
        """Wait until everything is with the brokers."""
        left = self.producer.flush(_SECONDS)
        self.check()
        if left:
            raise KafkaClientError(
                f"Kafka at {self._servers}: {left} messages are not delivered after {_SECONDS:.0f} s"
            )


class _Writer(SinkWriter):
    """What both kinds share: making messages."""

    log_failures_only = False
    """Messages that cannot be written are told in the log, and lost."""

    def __init__(self, settings: Mapping[str, str], schema: KafkaRecordSerializationSchema) -> None:
        self._settings = settings
        self._schema = schema
        self._outlet: _Outlet | None = None
        self._sent = 0

    def open(self, context: RuntimeContext, restored: Sequence[Any]) -> None:
        group = context.get_metrics_group()
        self._records = group.counter("numRecordsSend")
        self._errors = group.counter("numRecordsSendErrors")

    def _outlet_for_writing(self) -> _Outlet:
        raise NotImplementedError

    def write(self, value: Any, context: WriterContext) -> None:
        outlet = self._outlet
        if outlet is None:
            outlet = self._outlet = self._outlet_for_writing()
        schema, stamp = self._schema, context.timestamp
        key = None if schema.key is None else schema.key.serialize(value)
        # In the order of produce(): topic, value, key, partition, two callbacks, timestamp, headers.
        message = (
            schema.topic_of(value),
            schema.value.serialize(value),
            key,
            -1,
            None,
            None,
            stamp if stamp is not None and stamp > 0 else 0,
            None if schema.headers is None else schema.headers_of(value),
        )
        try:
            outlet.producer.produce(*message)
        except (BufferError, confluent().KafkaException) as error:
            outlet.refused(message, error)
        self._sent += 1

    def flush(self, end_of_input: bool) -> None:
        self._records.inc(self._sent)
        self._sent = 0
        if self._outlet is not None:
            try:
                self._outlet.flush() if end_of_input else self._outlet.poll()
            finally:
                self._errors.inc(self._outlet.errors)
                self._outlet.errors = 0


class KafkaWriter(_Writer):
    """Without transactions: flushed with each checkpoint, or left to the client."""

    def __init__(
        self, settings: Mapping[str, str], schema: KafkaRecordSerializationSchema, guarantee: DeliveryGuarantee
    ) -> None:
        super().__init__(settings, schema)
        self._flushes = guarantee is DeliveryGuarantee.AT_LEAST_ONCE

    def _outlet_for_writing(self) -> _Outlet:
        return _Outlet(self._settings, log_only=self.log_failures_only)

    def prepare_commit(self, checkpoint_id: int) -> Sequence[Any]:
        if self._flushes:
            self.flush(end_of_input=True)
        return ()

    def close(self) -> None:
        outlet, self._outlet = self._outlet, None
        if outlet is not None:
            outlet.drop()


class TransactionalWriter(_Writer):
    """A transaction per checkpoint. Another process ends it: the driver, or its successor.

    Ids begin with the sink's prefix and the subtask, so that a later run finds what was left open, and go on with a
    name of this writer's own: so an id is never taken over, and what has become of a transaction can always be seen.
    A writer has a few of them: while one waits for its checkpoint, the next is written.
    """

    def __init__(self, settings: Mapping[str, str], schema: KafkaRecordSerializationSchema, prefix: str) -> None:
        super().__init__(settings, schema)
        self._prefix = prefix
        self._transactions = Transactions(settings)
        self._prepared: list[_Outlet] = []
        """Those whose transaction waits for its end, oldest first."""
        self._own = ""
        self._made = 0

    def open(self, context: RuntimeContext, restored: Sequence[Any]) -> None:
        super().open(context, restored)
        subtask, parallelism = context.get_index_of_this_subtask(), context.get_number_of_parallel_subtasks()
        self._own = f"{self._prefix}-{subtask}-{uuid.uuid4().hex[:12]}"
        self._abort_left_over(subtask, parallelism)

    def _abort_left_over(self, subtask: int, parallelism: int) -> None:
        """What an earlier run has not prepared or not stored: nobody will commit it, and readers wait behind it."""
        for name in self._transactions.ongoing():
            if name.startswith(f"{self._prefix}-"):
                number = name[len(self._prefix) + 1 :].split("-")
                if len(number) == 3 and number[0].isdigit() and int(number[0]) % parallelism == subtask:
                    found = self._transactions.describe(name)
                    if found is not None and found.state == "Ongoing":
                        self._transactions.end(name, found, commit=False)

    def _outlet_for_writing(self) -> _Outlet:
        outlet = self._ended_one()
        if outlet is None:
            outlet = _Outlet(self._settings, f"{self._own}-{self._made}", self.log_failures_only)
            self._made += 1
            outlet.transact("init_transactions")
        outlet.transact("begin_transaction")
        return outlet

    def _ended_one(self) -> _Outlet | None:
        """A producer whose transaction the driver has committed. It must hear of that before it begins another."""
        if not self._prepared:
            return None
        outlet = self._prepared[0]
        found = self._transactions.describe(str(outlet.name))
        if found is None or found.state != "CompleteCommit":
            return None
        self._prepared.pop(0)
        outlet.transact("commit_transaction")
        return outlet

    def prepare_commit(self, checkpoint_id: int) -> Sequence[dict[str, Any]]:
        outlet, self._outlet = self._outlet, None
        if outlet is None:
            return ()
        outlet.flush()
        found = self._transactions.describe(str(outlet.name))
        if found is None or found.state != "Ongoing":
            state = "unknown to the brokers" if found is None else f"in state {found.state}"
            raise KafkaClientError(
                f"transaction {outlet.name!r} is {state} before it was committed: it was open for longer than "
                "transaction.timeout.ms. Checkpoint more often, or allow it more time."
            )
        self._prepared.append(outlet)
        return [{"id": outlet.name, "producer": found.producer, "epoch": found.epoch, "start": found.start}]

    def close(self) -> None:
        outlet, self._outlet = self._outlet, None
        try:
            if outlet is not None:
                outlet.transact("abort_transaction")
        finally:
            for each in (*self._prepared, *([] if outlet is None else [outlet])):
                each.drop()  # what was prepared is ended by the driver
            self._prepared = []
            self._transactions.close()
