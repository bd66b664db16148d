"""Flink's older names for Kafka, and DynamicKafkaSource, on a real broker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from firesteel.common import SimpleStringSchema, Types, WatermarkStrategy
from firesteel.datastream.connectors.dynamic_kafka import DynamicKafkaSource, SingleClusterTopicMetadataService
from firesteel.datastream.connectors.kafka import FlinkKafkaProducer, KafkaOffsetsInitializer
from tests.services.kafka import Topics
from tests.services.program import environment
from tests.services.servers import ROOT
from tests.services.test_kafka import until

NOTHING = WatermarkStrategy.no_watermarks()


@pytest.mark.feature("CN-01", "CN-02")
def test_consumer_and_producer_are_killed_and_each_record_is_there_once(kafka: Topics, tmp_path: Path) -> None:
    source, sink = kafka.create(2), kafka.create(2)
    kafka.write(source, [f"line {number}" for number in range(400)])
    program = [sys.executable, "-m", "tests.services.kafka_names_program", kafka.servers, source, sink]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (tmp_path / "log").open("wb") as log:
        command = [*program, str(tmp_path / "checkpoints")]
        killed = subprocess.run([*command, "crash"], cwd=ROOT, env=environ, stderr=log, timeout=120, check=False)
        assert killed.returncode == -signal.SIGKILL, (tmp_path / "log").read_text()[-3000:]
        running = subprocess.Popen([*command, "go on"], cwd=ROOT, env=environ, stderr=log)
    try:
        until("all lines have come", lambda: running.poll() is not None or len(kafka.texts(sink)) >= 400)
    finally:
        running.kill()
        running.wait()
    assert kafka.texts(sink) == sorted(f"LINE {number}" for number in range(400)), (tmp_path / "log").read_text()[
        -3000:
    ]


@pytest.mark.feature("CN-01")
def test_streams_are_topics_of_the_cluster_that_the_service_knows(kafka: Topics) -> None:
    first, second = kafka.create(2), kafka.create(1)
    kafka.write(first, ["a", "b"])
    kafka.write(second, ["c"])
    service = SingleClusterTopicMetadataService("here", {"bootstrap.servers": kafka.servers})
    builder = DynamicKafkaSource.builder().set_kafka_metadata_service(service).set_stream_ids({first, second})
    builder.set_value_only_deserializer(SimpleStringSchema()).set_bounded(KafkaOffsetsInitializer.latest())
    stream = environment({"execution.target": "in-process"}).from_source(builder.build(), NOTHING, "streams")
    with stream.execute_and_collect() as results:
        assert sorted(results) == ["a", "b", "c"]


@pytest.mark.feature("CN-02")
def test_timestamps_are_written_if_they_are_asked_for(kafka: Topics) -> None:
    for asked in (False, True):
        topic = kafka.create(1)
        by_value = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: 5000)
        env = environment({"execution.target": "in-process"}, 1)
        values = env.from_collection(["a"], Types.STRING()).assign_timestamps_and_watermarks(by_value)
        producer = FlinkKafkaProducer(topic, SimpleStringSchema(), {"bootstrap.servers": kafka.servers})
        values.add_sink(producer.set_write_timestamp_to_kafka(asked))
        env.execute()
        (message,) = kafka.messages(topic)
        assert (message.timestamp()[1] == 5000) == asked
