"""A job from one Kafka topic to another, exactly once, which kills itself where it is told to. A script."""

from __future__ import annotations

import argparse
from typing import Any

from firesteel.common import SimpleStringSchema, WatermarkStrategy
from firesteel.connectors.kafka.committer import TransactionCommitter
from firesteel.connectors.kafka.transactions import Transactions
from firesteel.connectors.kafka.writer import TransactionalWriter
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from firesteel.state.store import CheckpointStore
from tests.services.program import crash_around, environment

CRASH_POINTS: dict[str, tuple[Any, str]] = {
    "manifest": (CheckpointStore, "write_manifest"),
    "prepare": (TransactionalWriter, "prepare_commit"),
    "commit": (TransactionCommitter, "commit"),
    "end": (Transactions, "end"),
    "open": (TransactionalWriter, "open"),
}


def bounded_source(servers: str, *topics: str) -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(*topics)
    builder.set_bounded(KafkaOffsetsInitializer.latest()).set_group_id("program")
    return builder.set_value_only_deserializer(SimpleStringSchema()).build()


def sink_to(servers: str, topic: str, guarantee: DeliveryGuarantee, **properties: str) -> KafkaSink:
    messages = KafkaRecordSerializationSchema.builder().set_topic(topic)
    messages.set_value_serialization_schema(SimpleStringSchema())
    builder = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(messages.build())
    builder.set_delivery_guarantee(guarantee).set_transactional_id_prefix(f"to-{topic}")
    for key, value in properties.items():
        builder.set_property(key.replace("_", "."), value)
    return builder.build()


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("servers", "source", "sink", "checkpoints"):
        parser.add_argument(name)
    parser.add_argument("--conf", action="append", default=[])
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--crash", help="point:before|after:n")
    options = parser.parse_args()
    if options.crash:
        point, when, nth = options.crash.split(":")
        crash_around(*CRASH_POINTS[point], when, int(nth))
    settings = {
        "execution.target": "in-process",
        "firesteel.epoch.max-records": "40",
        "execution.checkpointing.interval": "1 ms",
        "execution.checkpointing.dir": options.checkpoints,
        **dict(each.split("=", 1) for each in options.conf),
    }
    env = environment(settings, options.parallelism)
    source = bounded_source(options.servers, options.source)
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").uid("lines")
    sink = sink_to(options.servers, options.sink, DeliveryGuarantee.EXACTLY_ONCE)
    lines.map(str.upper).uid("upper").sink_to(sink).uid("out")
    env.execute("kafka")


if __name__ == "__main__":
    main()
