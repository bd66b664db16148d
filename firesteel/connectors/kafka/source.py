"""A source of Kafka topics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from firesteel.common.serialization import DeserializationSchema
from firesteel.connectors.kafka.client import client_settings, text_setting
from firesteel.connectors.kafka.deserializing import KafkaRecordDeserializationSchema
from firesteel.connectors.kafka.enumerator import KafkaEnumerator, Plan
from firesteel.connectors.kafka.look import Broker, Subscription
from firesteel.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition
from firesteel.connectors.kafka.reader import KafkaReader
from firesteel.errors import ConfigurationError
from firesteel.model.source import Boundedness, Source, SourceReader, SourceSplit, SplitEnumerator

__all__ = ["KafkaSource", "KafkaSourceBuilder"]

_DISCOVERY = "partition.discovery.interval.ms"
_COMMITS = "commit.offsets.on.checkpoint"
_DEFAULTS = {
    "isolation.level": "read_uncommitted",  # as Kafka's Java client; librdkafka's is another
    "queued.min.messages": "500000",
    "fetch.wait.max.ms": "50",
}
_DISCOVERY_MS = 300_000


class KafkaSource(Source):
    r"""Records of Kafka topics. Offsets are kept in the checkpoint, so each record counts once.

    ::

        source = KafkaSource.builder() \
            .set_bootstrap_servers("broker:9092") \
            .set_topics("clicks") \
            .set_group_id("my-group") \
            .set_starting_offsets(KafkaOffsetsInitializer.earliest()) \
            .set_value_only_deserializer(SimpleStringSchema()) \
            .build()
        clicks = env.from_source(source, WatermarkStrategy.no_watermarks(), "clicks")

    Each partition is a split with a watermark of its own. Records carry their Kafka timestamps.
    """

    def __init__(
        self,
        plan: Plan,
        settings: Mapping[str, str],
        schema: KafkaRecordDeserializationSchema,
        group: str | None,
        client: str | None,
    ) -> None:
        self._plan = plan
        self._settings = dict(settings)
        self._schema = schema
        self._group = group
        self._client = client

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Begin to build a source."""
        return KafkaSourceBuilder()

    @property
    def boundedness(self) -> Boundedness:
        """Bounded if it was told where to stop by ``set_bounded``."""
        return Boundedness.BOUNDED if self._plan.ends else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """Finds partitions."""
        settings = dict(self._settings)
        if self._client is not None:
            settings["client.id"] = f"{self._client}-enumerator"
        return KafkaEnumerator(self._plan, Broker(settings, self._group))

    def create_reader(self) -> SourceReader:
        """Reads them."""
        settings = {**self._settings, "group.id": self._group or "firesteel"}
        return KafkaReader(settings, self._schema, self._client)

    def initial_position(self, split: SourceSplit) -> int:
        """The offset at which the split begins."""
        start: int = split.payload[2]
        return start


class KafkaSourceBuilder:
    """Builds a :class:`KafkaSource`. Servers, what to read, and a deserializer are needed."""

    def __init__(self) -> None:
        self._subscription: Subscription | None = None
        self._start = KafkaOffsetsInitializer.earliest()
        self._stop: KafkaOffsetsInitializer | None = None
        self._ends = False
        self._schema: KafkaRecordDeserializationSchema | None = None
        self._client: str | None = None
        self._properties: dict[str, str] = {}

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """The brokers to ask first: ``host:port``, several with commas between."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """The consumer group whose offsets are committed with each checkpoint, for those who watch it.

        The source reads all partitions by itself and is no member of the group.
        """
        return self.set_property("group.id", group_id)

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Where to begin if the job does not go on from a checkpoint. The default is ``earliest()``."""
        self._start = _initializer("set_starting_offsets", starting_offsets_initializer)
        return self

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Read these topics."""
        if not topics or not all(isinstance(topic, str) and topic for topic in topics):
            raise ConfigurationError(f"set_topics() takes names of topics, got {topics!r}")
        return self._subscribe(Subscription(topics=tuple(dict.fromkeys(topics))))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Read all topics whose whole name fits a regular expression, also those that come later."""
        try:
            re.compile(topic_pattern)
        except (re.error, TypeError) as error:
            raise ConfigurationError(f"set_topic_pattern() takes a regular expression: {error}") from error
        return self._subscribe(Subscription(pattern=topic_pattern))

    def set_partitions(self, partitions: Iterable[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Read these partitions."""
        chosen = tuple(sorted({KafkaTopicPartition(*each) for each in partitions}))
        if not chosen:
            raise ConfigurationError("set_partitions() takes at least one KafkaTopicPartition")
        return self._subscribe(Subscription(partitions=chosen))

    def _subscribe(self, subscription: Subscription) -> KafkaSourceBuilder:
        if self._subscription is not None:
            raise ConfigurationError(
                f"the source reads {self._subscription} already: only one of set_topics(), set_topic_pattern() and "
                "set_partitions() may be called, once"
            )
        self._subscription = subscription
        return self

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Read each partition up to an offset, but do not end: the job waits for what comes otherwise."""
        self._stop, self._ends = _initializer("set_unbounded", stopping_offsets_initializer), False
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Read each partition up to an offset that is found when the job begins, and end."""
        self._stop, self._ends = _initializer("set_bounded", stopping_offsets_initializer), True
        return self

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema) -> KafkaSourceBuilder:
        """Make records of the values; messages without one are left out."""
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise ConfigurationError(
                f"set_value_only_deserializer() takes a DeserializationSchema, got {deserialization_schema!r}"
            )
        return self.set_deserializer(KafkaRecordDeserializationSchema.value_only(deserialization_schema))

    def set_deserializer(self, record_deserializer: KafkaRecordDeserializationSchema) -> KafkaSourceBuilder:
        """Make records of whole messages: key, value, headers, timestamp, topic, partition, offset."""
        if not isinstance(record_deserializer, KafkaRecordDeserializationSchema):
            raise ConfigurationError(
                f"set_deserializer() takes a KafkaRecordDeserializationSchema, got {record_deserializer!r}"
            )
        self._schema = record_deserializer
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """How the names begin under which brokers see the clients; without it ``client.id`` is taken as it is."""
        self._client = prefix
        return self

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """Set a property of the client, or ``partition.discovery.interval.ms`` or ``commit.offsets.on.checkpoint``."""
        name, text = text_setting("set_property()", key, value)
        self._properties[name] = text
        return self

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder:
        """Set several properties."""
        for key, value in props.items():
            self.set_property(key, value)
        return self

    def build(self) -> KafkaSource:
        """The source."""
        properties = dict(self._properties)
        if self._subscription is None:
            raise ConfigurationError("a Kafka source needs set_topics(), set_topic_pattern() or set_partitions()")
        if self._schema is None:
            raise ConfigurationError("a Kafka source needs set_value_only_deserializer() or set_deserializer()")
        if not properties.get("bootstrap.servers"):
            raise ConfigurationError("a Kafka source needs set_bootstrap_servers()")
        group = properties.pop("group.id", None)
        self._check_group(group)
        plan = Plan(
            self._subscription,
            self._start,
            self._stop,
            self._ends,
            self._discovery(properties.pop(_DISCOVERY, str(_DISCOVERY_MS))),
            group is not None and properties.pop(_COMMITS, "true").lower() == "true",
        )
        properties.pop(_COMMITS, None)
        for given in ("enable.auto.commit", "enable.partition.eof"):
            properties.pop(given, None)  # the engine's own
        settings = {**_DEFAULTS, "auto.offset.reset": self._start.reset.value, **client_settings(properties)}
        return KafkaSource(plan, settings, self._schema, group, self._client)

    def _check_group(self, group: str | None) -> None:
        by_group = [each for each in (self._start, self._stop) if each is not None and each.kind.value == "committed"]
        if by_group and group is None:
            raise ConfigurationError("committed_offsets() needs set_group_id(): whose offsets are they?")

    def _discovery(self, text: str) -> int | None:
        try:
            interval = int(text)
        except ValueError:
            raise ConfigurationError(f"{_DISCOVERY} is a number of milliseconds, got {text!r}") from None
        return interval if interval > 0 and not self._ends else None


def _initializer(method: str, value: Any) -> KafkaOffsetsInitializer:
    if not isinstance(value, KafkaOffsetsInitializer):
        raise ConfigurationError(f"{method}() takes a KafkaOffsetsInitializer, got {value!r}")
    return value
