"""Flink's older names: ``FlinkKafkaConsumer`` for ``add_source``, ``FlinkKafkaProducer`` for ``add_sink``."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.common.warnings import warn_once
from firesteel.connectors.base import DeliveryGuarantee
from firesteel.connectors.kafka.client import client_settings
from firesteel.connectors.kafka.committer import TransactionCommitter
from firesteel.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from firesteel.connectors.kafka.serializing import KafkaRecordSerializationSchema
from firesteel.connectors.kafka.sink import KafkaSink
from firesteel.connectors.kafka.source import KafkaSource
from firesteel.connectors.kafka.writer import KafkaWriter, TransactionalWriter
from firesteel.errors import CommitError, ConfigurationError
from firesteel.model.functions import RuntimeContext
from firesteel.model.sink import CommitRequest, Committer, Sink, SinkWriter, WriterContext
from firesteel.model.source import Boundedness, Source, SourceReader, SourceSplit, SplitEnumerator

__all__ = ["FlinkKafkaConsumer", "FlinkKafkaProducer", "Semantic"]

_LOG = logging.getLogger("firesteel.kafka")
_POOL_SIZE = 5
_RESETS = {
    "earliest": KafkaOffsetResetStrategy.EARLIEST,
    "latest": KafkaOffsetResetStrategy.LATEST,
    "none": KafkaOffsetResetStrategy.NONE,
}


class Semantic(Enum):
    """What a :class:`FlinkKafkaProducer` promises."""

    EXACTLY_ONCE = "exactly-once"
    """A transaction per checkpoint."""
    AT_LEAST_ONCE = "at-least-once"
    """A checkpoint is complete when the brokers have everything."""
    NONE = "none"
    """Nobody waits for the brokers."""


class FlinkKafkaConsumer(Source):
    """Reads topics for ever, under Flink's older name: ``env.add_source(FlinkKafkaConsumer(...))``.

    It is a :class:`KafkaSource` in other words, with splits, positions and promises of that.

    :param topics: The name of a topic, or a list of names.
    :param deserialization_schema: Makes records of the values.
    :param properties: Properties of the client; ``bootstrap.servers`` is needed, and ``group.id``, as in Flink.
    """

    def __init__(
        self,
        topics: str | Sequence[str],
        deserialization_schema: DeserializationSchema,
        properties: Mapping[str, str],
    ) -> None:
        self._schema = deserialization_schema
        self._builder = KafkaSource.builder().set_topics(*([topics] if isinstance(topics, str) else topics))
        self._builder.set_value_only_deserializer(deserialization_schema).set_properties(properties)
        for needed in ("bootstrap.servers", "group.id"):
            if not properties.get(needed):
                raise ConfigurationError(f"a FlinkKafkaConsumer needs the property {needed}")
        self._reset = str(properties.get("auto.offset.reset", "latest"))
        if self._reset not in _RESETS:
            raise ConfigurationError(f"auto.offset.reset is one of {', '.join(_RESETS)}, got {self._reset!r}")
        self.set_start_from_group_offsets()

    def set_start_from_earliest(self) -> FlinkKafkaConsumer:
        """Begin with the oldest messages."""
        return self._start(KafkaOffsetsInitializer.earliest())

    def set_start_from_latest(self) -> FlinkKafkaConsumer:
        """Begin with what comes next."""
        return self._start(KafkaOffsetsInitializer.latest())

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumer:
        """Begin where the group is; where it has not been, as ``auto.offset.reset`` says. The default."""
        return self._start(KafkaOffsetsInitializer.committed_offsets(_RESETS[self._reset]))

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumer:
        """Begin with the first messages at or after a time in milliseconds."""
        return self._start(KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp))

    def _start(self, initializer: KafkaOffsetsInitializer) -> FlinkKafkaConsumer:
        self._builder.set_starting_offsets(initializer)
        return self

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> FlinkKafkaConsumer:
        """Whether the group's offsets are committed with each checkpoint, which they are if not set."""
        self._builder.set_property("commit.offsets.on.checkpoint", "true" if commit_on_checkpoints else "false")
        return self

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumer:
        """Read on, after a restore, partitions of topics that are not subscribed any more.

        Here that is so anyway: what is in a checkpoint is read on.
        """
        return self

    def get_produced_type(self) -> TypeInformation:
        """The type of the records."""
        return self._schema.get_produced_type()

    @property
    def boundedness(self) -> Boundedness:
        """It never ends."""
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """Finds partitions."""
        return self._builder.build().create_enumerator(parallelism)

    def create_reader(self) -> SourceReader:
        """Reads them."""
        return self._builder.build().create_reader()

    def initial_position(self, split: SourceSplit) -> Any:
        """The offset at which the split begins."""
        return self._builder.build().initial_position(split)


class FlinkKafkaProducer(Sink):
    """Writes to a topic, under Flink's older name: ``stream.add_sink(FlinkKafkaProducer(...))``.

    :param topic: The topic.
    :param serialization_schema: Makes values of the records; messages have no key.
    :param producer_config: Properties of the client; ``bootstrap.servers`` is needed. With ``EXACTLY_ONCE``,
        ``transactional.id`` is how the ids of transactions begin, ``firesteel-<topic>`` if it is not set: two such
        sinks of one topic need different ones.
    :param kafka_producer_pool_size: Has no meaning: there are as many producers as checkpoints under way.
    :param semantic: What it promises.
    """

    guarantee = "at-least-once"

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema,
        producer_config: Mapping[str, str],
        kafka_producer_pool_size: int = _POOL_SIZE,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        if not isinstance(semantic, Semantic):
            raise ConfigurationError(f"semantic is a Semantic, got {semantic!r}")
        if kafka_producer_pool_size != _POOL_SIZE:
            warn_once(
                "kafka_producer_pool_size",
                "kafka_producer_pool_size has no effect: a producer is made for each checkpoint that is under way.",
            )
        self.guarantee = semantic.value
        self._semantic = semantic
        messages = KafkaRecordSerializationSchema.builder().set_topic(topic)
        self._messages = messages.set_value_serialization_schema(serialization_schema).build()
        self._prefix = str(producer_config.get("transactional.id", f"firesteel-{topic}"))
        self._config = {key: value for key, value in producer_config.items() if key != "transactional.id"}
        self._log_only = False
        self._flushes = True
        self._stamps = False
        self._forgives = False
        self._sink()  # what is wrong is told now

    def set_log_failures_only(self, log_failures_only: bool) -> FlinkKafkaProducer:
        """Whether messages that cannot be written are only told in the log: they are lost then."""
        self._log_only = bool(log_failures_only)
        return self

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> FlinkKafkaProducer:
        """Whether a checkpoint waits for the brokers, which it does if not set. Otherwise messages may be lost."""
        self._flushes = bool(flush_on_checkpoint)
        if self._semantic is Semantic.AT_LEAST_ONCE:
            self.guarantee = "at-least-once" if self._flushes else "none"
        return self

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> FlinkKafkaProducer:
        """Whether messages get the timestamps of their records; otherwise the time when they are written."""
        self._stamps = bool(write_timestamp_to_kafka)
        return self

    def ignore_failures_after_transaction_timeout(self) -> FlinkKafkaProducer:
        """After a restart, go on without the records of a transaction that the brokers have aborted meanwhile."""
        self._forgives = True
        return self

    def _sink(self) -> KafkaSink:
        builder = KafkaSink.builder().set_record_serializer(self._messages)
        for key, value in self._config.items():
            builder.set_property(key, value)
        delivery = DeliveryGuarantee(self._semantic.value)
        if self._semantic is Semantic.AT_LEAST_ONCE and not self._flushes:
            delivery = DeliveryGuarantee.NONE
        return builder.set_delivery_guarantee(delivery).set_transactional_id_prefix(self._prefix).build()

    def create_writer(self) -> SinkWriter:
        """Writes messages."""
        writer = self._sink().create_writer()
        assert isinstance(writer, (KafkaWriter, TransactionalWriter))
        writer.log_failures_only = self._log_only
        return writer if self._stamps else _WithoutTimestamps(writer)

    def create_committer(self) -> Committer | None:
        """Ends transactions."""
        if not self._forgives:
            return self._sink().create_committer()
        return _Forgiving(client_settings(self._config)) if self._semantic is Semantic.EXACTLY_ONCE else None


class _WithoutTimestamps(SinkWriter):
    def __init__(self, writer: SinkWriter) -> None:
        self._writer = writer
        self._context = WriterContext(None, 0, 0)

    def open(self, context: RuntimeContext, restored: Sequence[Any]) -> None:
        self._writer.open(context, restored)

    def write(self, value: Any, context: WriterContext) -> None:
        self._writer.write(value, self._context)

    def flush(self, end_of_input: bool) -> None:
        self._writer.flush(end_of_input)

    def prepare_commit(self, checkpoint_id: int) -> Sequence[Any]:
        return self._writer.prepare_commit(checkpoint_id)

    def snapshot(self) -> Any | None:
        return self._writer.snapshot()

    def close(self) -> None:
        self._writer.close()


class _Forgiving(TransactionCommitter):
    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            try:
                super().commit([request])
            except CommitError as error:
                if not request.recovered:
                    raise
                _LOG.error("records are lost, as ignore_failures_after_transaction_timeout() allows: %s", error)
