"""A real Kafka broker on this machine, of Maven Central's jars, started for the tests and ended with them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.services.servers import download, free_ports, running, wait_for

VERSION = "4.3.1"
_JACKSON = "2.21.2"
JARS = [
    ("at/yawk/lz4", "lz4-java", "1.10.2"),
    ("com/dynatrace/hash4j", "hash4j", "0.22.0"),
    ("com/fasterxml/jackson/core", "jackson-annotations", "2.21"),
    ("com/fasterxml/jackson/core", "jackson-core", _JACKSON),
    ("com/fasterxml/jackson/core", "jackson-databind", _JACKSON),
    ("com/fasterxml/jackson/dataformat", "jackson-dataformat-csv", _JACKSON),
    ("com/fasterxml/jackson/datatype", "jackson-datatype-jdk8", _JACKSON),
    ("com/github/ben-manes/caffeine", "caffeine", "3.2.0"),
    ("com/github/luben", "zstd-jni", "1.5.6-10"),
    ("com/google/re2j", "re2j", "1.8"),
    ("com/typesafe/scala-logging", "scala-logging_2.13", "3.9.6"),
    ("com/yammer/metrics", "metrics-core", "2.2.0"),
    ("commons-beanutils", "commons-beanutils", "1.11.0"),
    ("commons-collections", "commons-collections", "3.2.2"),
    ("commons-digester", "commons-digester", "2.1"),
    ("commons-logging", "commons-logging", "1.3.5"),
    ("commons-validator", "commons-validator", "1.10.1"),
    ("net/sf/jopt-simple", "jopt-simple", "5.0.4"),
    ("net/sourceforge/argparse4j", "argparse4j", "0.7.0"),
    *(
        ("org/apache/kafka", name, VERSION)
        for name in (
            "kafka-clients",
            "kafka-coordinator-common",
            "kafka-group-coordinator",
            "kafka-group-coordinator-api",
            "kafka-metadata",
            "kafka-raft",
            "kafka-server",
            "kafka-server-common",
            "kafka-share-coordinator",
            "kafka-storage",
            "kafka-storage-api",
            "kafka-tools-api",
            "kafka-transaction-coordinator",
            "kafka_2.13",
        )
    ),
    ("org/apache/logging/log4j", "log4j-api", "2.25.4"),
    ("org/apache/logging/log4j", "log4j-core", "2.25.4"),
    ("org/bitbucket/b_c", "jose4j", "0.9.6"),
    ("org/hdrhistogram", "HdrHistogram", "2.2.2"),
    ("org/pcollections", "pcollections", "4.0.2"),
    ("org/scala-lang", "scala-library", "2.13.18"),
    ("org/scala-lang", "scala-reflect", "2.13.18"),
    ("org/slf4j", "slf4j-api", "1.7.36"),
    ("org/slf4j", "slf4j-simple", "1.7.36"),
    ("org/xerial/snappy", "snappy-java", "1.1.10.7"),
]
_JAVA = ["java", "-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_MODULES = "org.apache.kafka.common.security"
USER, PASSWORD = "ada", "lovelace"
_PLAIN = f'{_MODULES}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
_SCRAM = f"SCRAM-SHA-256=[name={USER},password={PASSWORD}]"
_FORMAT = ["-t", "AAAAAAAAAAAAAAAAAAAAAQ", "--add-scram", _SCRAM]
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"


@contextlib.contextmanager
def kafka_broker(directory: Path) -> Iterator[tuple[str, str]]:
    """One broker that is its own controller; gives its address, and the one where a login is asked for."""
    port, guarded, control = free_ports(3)
    settings = directory / "server.properties"
    settings.write_text(_settings(directory, port, guarded, control))
    path = os.pathsep.join(str(download(*jar)) for jar in JARS)
    made = subprocess.run(
        [*_JAVA, "-cp", path, "kafka.tools.StorageTool", "format", *_FORMAT, "-c", str(settings)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr[-3000:]
    log = directory / "broker.log"
    with running([*_JAVA, _QUIET, "-cp", path, "kafka.Kafka", str(settings)], log) as process:
        wait_for("Kafka", lambda: _listens(port), process, log)
        yield f"127.0.0.1:{port}", f"127.0.0.1:{guarded}"


def _settings(directory: Path, port: int, guarded: int, control: int) -> str:
    listeners = f"PLAINTEXT://127.0.0.1:{port},GUARDED://127.0.0.1:{guarded}"
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{control}",
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{control}",
        "advertised.listeners": listeners,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,GUARDED:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "listener.name.guarded.plain.sasl.jaas.config": _PLAIN,
        "listener.name.guarded.scram-sha-256.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
        "log.dirs": str(directory / "data"),
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
        "num.network.threads": "2",
        "num.io.threads": "2",
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@dataclass
class Topics:
    """Topics of a test's own on a broker."""

    servers: str
    guarded: str = ""
    """The same broker, where it asks for a login."""

    def create(self, partitions: int = 2, name: str | None = None) -> str:
        from confluent_kafka.admin import AdminClient, NewTopic

        name = name or f"topic-{uuid.uuid4().hex[:12]}"
        admin = AdminClient({"bootstrap.servers": self.servers})
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
        return name

    def write(self, topic: str, values: Sequence[str], partition: int = -1, **more: Any) -> None:
        """Write texts; ``more`` as ``produce`` takes it."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 1})
        for value in values:
            producer.produce(topic, value.encode(), partition=partition, **more)
        assert producer.flush(30) == 0

    def messages(self, topic: str, isolation: str = "read_committed") -> list[Any]:
        """All messages that a reader sees now, partition by partition."""
        from confluent_kafka import Consumer, KafkaError, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "check",
                "isolation.level": isolation,
                "enable.partition.eof": True,
            }
        )
        numbers = consumer.list_topics(topic, 30).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in numbers])
        found, ended = [], 0
        while ended < len(numbers):
            for message in consumer.consume(1000, 0.2):
                if message.error() is None:
                    found.append(message)
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended += 1
                else:
                    raise AssertionError(message.error())
        consumer.close()
        return found

    def texts(self, topic: str, isolation: str = "read_committed") -> list[str]:
        return sorted(message.value().decode() for message in self.messages(topic, isolation))
