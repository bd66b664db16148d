"""``DynamicKafkaSource``: streams by name, whose topics and cluster a metadata service knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from firesteel.common.serialization import DeserializationSchema
from firesteel.connectors.kafka.deserializing import KafkaRecordDeserializationSchema
from firesteel.connectors.kafka.offsets import KafkaOffsetsInitializer
from firesteel.connectors.kafka.source import KafkaSource
from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.model.source import Boundedness, Source, SourceReader, SourceSplit, SplitEnumerator

__all__ = [
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "KafkaMetadataService",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]


class KafkaMetadataService:
    """Knows which topics of which cluster a stream is made of. There is :class:`SingleClusterTopicMetadataService`."""


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """One cluster, where each stream is the topic of its name.

    :param kafka_cluster_id: A name for the cluster, for logs.
    :param properties: Properties of its clients: ``bootstrap.servers``, logins.
    """

    def __init__(self, kafka_cluster_id: str, properties: Mapping[str, str]) -> None:
        if not isinstance(kafka_cluster_id, str) or not kafka_cluster_id:
            raise ConfigurationError(f"a cluster has a name, got {kafka_cluster_id!r}")
        if not properties.get("bootstrap.servers"):
            raise ConfigurationError(f"the cluster {kafka_cluster_id!r} needs the property bootstrap.servers")
        self.kafka_cluster_id = kafka_cluster_id
        self.properties = dict(properties)

    def __repr__(self) -> str:
        return f"SingleClusterTopicMetadataService({self.kafka_cluster_id!r})"


class KafkaStreamSubscriber:
    """Says which streams are read. There are :class:`KafkaStreamSetSubscriber` and :class:`StreamPatternSubscriber`."""


class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Streams by their names."""

    def __init__(self, stream_ids: Iterable[str]) -> None:
        self.stream_ids = sorted({stream_ids} if isinstance(stream_ids, str) else set(stream_ids))
        if not self.stream_ids:
            raise ConfigurationError("a set of streams has at least one name")


class StreamPatternSubscriber(KafkaStreamSubscriber):
    """All streams whose whole name fits a regular expression, also those that come later."""

    def __init__(self, stream_pattern: str) -> None:
        try:
            re.compile(stream_pattern)
        except (re.error, TypeError) as error:
            raise ConfigurationError(f"a stream pattern is a regular expression: {error}") from error
        self.stream_pattern = stream_pattern


class DynamicKafkaSource(Source):
    """Reads streams whose topics a metadata service knows. Made by :meth:`builder`.

    Positions, watermarks and promises are those of :class:`KafkaSource`.
    """

    def __init__(self, source: KafkaSource) -> None:
        self._source = source

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder:
        """Begin to build a source."""
        return DynamicKafkaSourceBuilder()

    @property
    def boundedness(self) -> Boundedness:
        """Bounded if it was told where to stop."""
        return self._source.boundedness

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """Finds partitions."""
        return self._source.create_enumerator(parallelism)

    def create_reader(self) -> SourceReader:
        """Reads them."""
        return self._source.create_reader()

    def initial_position(self, split: SourceSplit) -> Any:
        """The offset at which the split begins."""
        return self._source.initial_position(split)


class DynamicKafkaSourceBuilder:
    """Builds a :class:`DynamicKafkaSource`. A metadata service, streams and a deserializer are needed."""

    def __init__(self) -> None:
        self._builder = KafkaSource.builder()
        self._service: SingleClusterTopicMetadataService | None = None
        self._properties: dict[str, str] = {}

    def set_kafka_metadata_service(self, kafka_metadata_service: KafkaMetadataService) -> DynamicKafkaSourceBuilder:
        """What knows the topics and the cluster of a stream."""
        if not isinstance(kafka_metadata_service, KafkaMetadataService):
            raise ConfigurationError(f"a KafkaMetadataService was expected, got {kafka_metadata_service!r}")
        if not isinstance(kafka_metadata_service, SingleClusterTopicMetadataService):
            raise UnsupportedError(
                "streams are read of one cluster at a time: use SingleClusterTopicMetadataService, and union the "
                "sources of several clusters."
            )
        self._service = kafka_metadata_service
        return self

    def set_stream_ids(self, stream_ids: Iterable[str]) -> DynamicKafkaSourceBuilder:
        """Read these streams."""
        return self.set_kafka_stream_subscriber(KafkaStreamSetSubscriber(stream_ids))

    def set_stream_pattern(self, stream_pattern: str) -> DynamicKafkaSourceBuilder:
        """Read all streams whose name fits a regular expression, also those that come later."""
        return self.set_kafka_stream_subscriber(StreamPatternSubscriber(stream_pattern))

    def set_kafka_stream_subscriber(self, kafka_stream_subscriber: KafkaStreamSubscriber) -> DynamicKafkaSourceBuilder:
        """What says which streams are read."""
        if isinstance(kafka_stream_subscriber, KafkaStreamSetSubscriber):
            self._builder.set_topics(*kafka_stream_subscriber.stream_ids)
        elif isinstance(kafka_stream_subscriber, StreamPatternSubscriber):
            self._builder.set_topic_pattern(kafka_stream_subscriber.stream_pattern)
        else:
            raise ConfigurationError(
                f"a KafkaStreamSetSubscriber or a StreamPatternSubscriber was expected, got {kafka_stream_subscriber!r}"
            )
        return self

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> DynamicKafkaSourceBuilder:
        """Where to begin if the job does not go on from a checkpoint. The default is ``earliest()``."""
        self._builder.set_starting_offsets(starting_offsets_initializer)
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> DynamicKafkaSourceBuilder:
        """Read each partition up to an offset that is found when the job begins, and end."""
        self._builder.set_bounded(stopping_offsets_initializer)
        return self

    def set_deserializer(self, deserializer: KafkaRecordDeserializationSchema) -> DynamicKafkaSourceBuilder:
        """Make records of whole messages."""
        self._builder.set_deserializer(deserializer)
        return self

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema) -> DynamicKafkaSourceBuilder:
        """Make records of the values; messages without one are left out."""
        self._builder.set_value_only_deserializer(deserialization_schema)
        return self

    def set_client_id_prefix(self, prefix: str) -> DynamicKafkaSourceBuilder:
        """How the names begin under which brokers see the clients."""
        self._builder.set_client_id_prefix(prefix)
        return self

    def set_group_id(self, group_id: str) -> DynamicKafkaSourceBuilder:
        """The consumer group whose offsets are committed with each checkpoint, for those who watch it."""
        return self.set_property("group.id", group_id)

    def set_property(self, key: str, value: str) -> DynamicKafkaSourceBuilder:
        """Set a property of the client. It goes before that of the cluster."""
        self._properties[key] = value
        return self

    def set_properties(self, props: Mapping[str, str]) -> DynamicKafkaSourceBuilder:
        """Set several properties."""
        self._properties.update(props)
        return self

    def build(self) -> DynamicKafkaSource:
        """The source."""
        if self._service is None:
            raise ConfigurationError("a DynamicKafkaSource needs set_kafka_metadata_service()")
        properties = {**self._service.properties, **self._properties}
        interval = properties.pop("stream-metadata-discovery-interval-ms", None)
        if interval is not None:  # there are no other changes than new topics and partitions
            properties.setdefault("partition.discovery.interval.ms", interval)
        return DynamicKafkaSource(self._builder.set_properties(properties).build())
