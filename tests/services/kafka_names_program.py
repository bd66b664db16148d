"""A job from one Kafka topic to another with Flink's older names, which kills itself when it is told to. A script."""

from __future__ import annotations

import sys

from firesteel.common import SimpleStringSchema
from firesteel.connectors.kafka.committer import TransactionCommitter
from firesteel.datastream.connectors.kafka import FlinkKafkaConsumer, FlinkKafkaProducer, Semantic
from tests.services.program import crash_around, environment


def main(servers: str, source: str, sink: str, checkpoints: str, last: str) -> None:
    if last == "crash":
        crash_around(TransactionCommitter, "commit", "after", 2)
    settings = {
        "execution.target": "in-process",
        "firesteel.epoch.max-records": "40",
        "execution.checkpointing.interval": "1 ms",
        "execution.checkpointing.dir": checkpoints,
    }
    env = environment(settings, 1)
    consumer = FlinkKafkaConsumer(source, SimpleStringSchema(), {"bootstrap.servers": servers, "group.id": "old"})
    lines = env.add_source(consumer.set_start_from_earliest(), "lines").uid("lines")
    producer = FlinkKafkaProducer(
        sink, SimpleStringSchema(), {"bootstrap.servers": servers}, semantic=Semantic.EXACTLY_ONCE
    )
    lines.map(str.upper).uid("upper").add_sink(producer).uid("out")
    env.execute("older names")


if __name__ == "__main__":
    main(*sys.argv[1:])
