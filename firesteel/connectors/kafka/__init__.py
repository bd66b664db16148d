"""Kafka: a source and a sink of topics. Needs ``firesteel[kafka]``."""

from firesteel.connectors.kafka.deserializing import KafkaRecord, KafkaRecordDeserializationSchema
from firesteel.connectors.kafka.dynamic import (
    DynamicKafkaSource,
    DynamicKafkaSourceBuilder,
    KafkaMetadataService,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    SingleClusterTopicMetadataService,
    StreamPatternSubscriber,
)
from firesteel.connectors.kafka.legacy import FlinkKafkaConsumer, FlinkKafkaProducer, Semantic
from firesteel.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from firesteel.connectors.kafka.serializing import (
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from firesteel.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder
from firesteel.connectors.kafka.source import KafkaSource, KafkaSourceBuilder

__all__ = [
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "KafkaMetadataService",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "Semantic",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecord",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
]
