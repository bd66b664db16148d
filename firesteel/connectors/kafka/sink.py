"""A sink into Kafka topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firesteel.connectors.base import DeliveryGuarantee
from firesteel.connectors.kafka.client import client_settings, text_setting
from firesteel.connectors.kafka.committer import TransactionCommitter
from firesteel.connectors.kafka.serializing import KafkaRecordSerializationSchema
from firesteel.connectors.kafka.wire import check_security
from firesteel.connectors.kafka.writer import KafkaWriter, TransactionalWriter
from firesteel.errors import ConfigurationError
from firesteel.model.sink import Committer, Sink, SinkWriter

__all__ = ["KafkaSink", "KafkaSinkBuilder"]

_DEFAULTS = {
    "linger.ms": "20",
    "batch.size": "1000000",
    "queue.buffering.max.messages": "1000000",
    "enable.idempotence": "true",
    "partitioner": "murmur2_random",  # where Java's client puts a key
}
_TRANSACTION_MS = "900000"
"""The longest that brokers allow unless they are told otherwise."""
_LONGEST_ID = 200


class KafkaSink(Sink):
    r"""Writes records to Kafka topics.

    ::

        sink = KafkaSink.builder() \
            .set_bootstrap_servers("broker:9092") \
            .set_record_serializer(
                KafkaRecordSerializationSchema.builder()
                .set_topic("counts")
                .set_value_serialization_schema(SimpleStringSchema())
                .build()
            ) \
            .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE) \
            .set_transactional_id_prefix("counts-job") \
            .build()
        stream.sink_to(sink)

    With ``EXACTLY_ONCE`` records are written in a transaction per checkpoint, and seen by readers with
    ``isolation.level=read_committed`` when the checkpoint is complete. With ``AT_LEAST_ONCE`` they are seen at once,
    and are with the brokers when a checkpoint is complete. With ``NONE`` nobody waits for them.
    """

    guarantee = "exactly-once"

    def __init__(
        self,
        settings: Mapping[str, str],
        schema: KafkaRecordSerializationSchema,
        delivery: DeliveryGuarantee,
        prefix: str | None,
    ) -> None:
        self.guarantee = delivery.value
        self._settings = dict(settings)
        self._schema = schema
        self._delivery = delivery
        self._prefix = prefix

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Begin to build a sink."""
        return KafkaSinkBuilder()

    def create_writer(self) -> SinkWriter:
        """Writes messages."""
        if self._delivery is DeliveryGuarantee.EXACTLY_ONCE:
            assert self._prefix is not None
            return TransactionalWriter(self._settings, self._schema, self._prefix)
        return KafkaWriter(self._settings, self._schema, self._delivery)

    def create_committer(self) -> Committer | None:
        """Ends transactions."""
        exactly_once = self._delivery is DeliveryGuarantee.EXACTLY_ONCE
        return TransactionCommitter(self._settings) if exactly_once else None


class KafkaSinkBuilder:
    """Builds a :class:`KafkaSink`. Servers and a record serializer are needed."""

    def __init__(self) -> None:
        self._schema: KafkaRecordSerializationSchema | None = None
        self._delivery = DeliveryGuarantee.NONE
        self._prefix: str | None = None
        self._properties: dict[str, str] = {}

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """The brokers to ask first: ``host:port``, several with commas between."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema) -> KafkaSinkBuilder:
        """How records become messages."""
        if not isinstance(record_serializer, KafkaRecordSerializationSchema):
            raise ConfigurationError(
                f"set_record_serializer() takes a KafkaRecordSerializationSchema, got {record_serializer!r}. Make one "
                "with KafkaRecordSerializationSchema.builder()."
            )
        self._schema = record_serializer
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """What the sink promises. The default is ``NONE``."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise ConfigurationError(f"set_delivery_guarantee() takes a DeliveryGuarantee, got {delivery_guarantee!r}")
        self._delivery = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """How the ids of transactions begin. Each exactly-once sink of a cluster needs one of its own.

        It has to stay the same from run to run: by it a job finds the transactions that an earlier run has left open.
        """
        if not isinstance(transactional_id_prefix, str) or not 0 < len(transactional_id_prefix) <= _LONGEST_ID:
            raise ConfigurationError(
                f"a transactional id prefix is a text of 1 to {_LONGEST_ID} characters, got {transactional_id_prefix!r}"
            )
        self._prefix = transactional_id_prefix
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """Set a property of the client."""
        name, text = text_setting("set_property()", key, value)
        self._properties[name] = text
        return self

    def build(self) -> KafkaSink:
        """The sink."""
        if not self._properties.get("bootstrap.servers"):
            raise ConfigurationError("a Kafka sink needs set_bootstrap_servers()")
        if self._schema is None:
            raise ConfigurationError("a Kafka sink needs set_record_serializer()")
        settings = {**_DEFAULTS, **client_settings(self._properties)}
        if self._delivery is DeliveryGuarantee.EXACTLY_ONCE:
            self._prepare_transactions(settings)
        return KafkaSink(settings, self._schema, self._delivery, self._prefix)

    def _prepare_transactions(self, settings: dict[str, Any]) -> None:
        if self._prefix is None:
            raise ConfigurationError(
                "a Kafka sink that is exactly-once needs set_transactional_id_prefix(): a name of its own, the same in "
                "every run"
            )
        settings.setdefault("transaction.timeout.ms", _TRANSACTION_MS)
        settings.pop("transactional.id", None)
        check_security(settings)
