"""Kafka, on a real broker: where reading starts and ends, what is in messages, each record once whatever is killed."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import SimpleStringSchema, TypeInformation, Types, WatermarkStrategy
from firesteel.connectors.kafka.client import KafkaClientError
from firesteel.connectors.kafka.committer import TransactionCommitter
from firesteel.connectors.kafka.enumerator import split_of
from firesteel.connectors.kafka.look import Broker
from firesteel.connectors.kafka.transactions import Transactions
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from firesteel.errors import CommitError, JobError
from firesteel.metrics import MetricGroup
from firesteel.model.sink import CommitRequest, WriterContext
from tests.services.kafka import PASSWORD, USER, Topics
from tests.services.kafka_program import sink_to
from tests.services.places import finished
from tests.services.program import environment
from tests.services.servers import ROOT

IN_PROCESS = {"execution.target": "in-process"}
NOTHING = WatermarkStrategy.no_watermarks()


def builder(topics: Topics) -> KafkaSourceBuilder:
    made = KafkaSource.builder().set_bootstrap_servers(topics.servers)
    return made.set_value_only_deserializer(SimpleStringSchema())


def bounded(made: KafkaSourceBuilder) -> KafkaSource:
    return made.set_bounded(KafkaOffsetsInitializer.latest()).build()


def collected(source: KafkaSource, parallelism: int = 2) -> list[Any]:
    stream = environment(IN_PROCESS, parallelism).from_source(source, NOTHING, "source")
    with stream.execute_and_collect() as results:
        return list(results)


def until(what: str, there: Callable[[], bool]) -> None:
    deadline, pause = time.monotonic() + 60, threading.Event()
    while not there():
        assert time.monotonic() < deadline, f"not after a minute: {what}"
        pause.wait(0.05)


# ---- the source --------------------------------------------------------------------------------------------------


@pytest.mark.feature("CN-01")
def test_a_bounded_source_reads_all_partitions_and_ends(kafka: Topics) -> None:
    topic = kafka.create(3)
    kafka.write(topic, [f"{number}" for number in range(5000)])
    assert sorted(collected(bounded(builder(kafka).set_topics(topic)))) == sorted(map(str, range(5000)))


@pytest.mark.feature("CN-01")
def test_reading_starts_where_it_is_told_to(kafka: Topics) -> None:
    topic = kafka.create(2)
    where = [KafkaTopicPartition(topic, number) for number in (0, 1)]
    for partition in (0, 1):
        kafka.write(topic, [f"old {partition}"], partition, timestamp=1000)
        kafka.write(topic, [f"new {partition}"], partition, timestamp=2000)
    Broker({"bootstrap.servers": kafka.servers}, "readers").commit({where[0]: 1})
    initializer = KafkaOffsetsInitializer
    cases = [
        (initializer.earliest(), ["new 0", "new 1", "old 0", "old 1"]),
        (initializer.latest(), []),
        (initializer.timestamp(1500), ["new 0", "new 1"]),
        (initializer.timestamp(5000), []),
        (initializer.offsets({where[1]: 1}), ["new 0", "new 1", "old 0"]),
        (initializer.offsets({where[1]: 1}, KafkaOffsetResetStrategy.LATEST), ["new 1"]),
        (initializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST), ["new 0", "new 1", "old 1"]),
        (initializer.committed_offsets(KafkaOffsetResetStrategy.LATEST), ["new 0"]),
    ]
    for start, expected in cases:
        made = builder(kafka).set_topics(topic).set_group_id("readers").set_starting_offsets(start)
        assert sorted(collected(bounded(made))) == expected, start
    made = builder(kafka).set_topics(topic).set_group_id("readers")
    made.set_starting_offsets(initializer.committed_offsets())
    with pytest.raises(JobError, match="partition 1 of topic"):
        collected(bounded(made))


@pytest.mark.feature("CN-01")
def test_reading_stops_where_it_is_told_to(kafka: Topics) -> None:
    topic = kafka.create(1)
    kafka.write(topic, [f"{number}" for number in range(10)], timestamp=1000)
    kafka.write(topic, ["late"], timestamp=9000)
    first = KafkaTopicPartition(topic, 0)
    for stop, count in [
        (KafkaOffsetsInitializer.offsets({first: 4}), 4),
        (KafkaOffsetsInitializer.timestamp(5000), 10),
        (KafkaOffsetsInitializer.earliest(), 0),
    ]:
        assert len(collected(builder(kafka).set_topics(topic).set_bounded(stop).build(), 1)) == count


@pytest.mark.feature("CN-01")
def test_partitions_and_patterns_choose_what_is_read(kafka: Topics) -> None:
    name = kafka.create(2)
    other = kafka.create(1, f"{name}-other")
    kafka.write(name, ["a"], 0)
    kafka.write(name, ["b"], 1)
    kafka.write(other, ["c"])
    assert collected(bounded(builder(kafka).set_partitions({KafkaTopicPartition(name, 1)}))) == ["b"]
    assert sorted(collected(bounded(builder(kafka).set_topic_pattern(name)))) == ["a", "b"]
    assert sorted(collected(bounded(builder(kafka).set_topic_pattern(f"{name}.*")))) == ["a", "b", "c"]


class Whole(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaRecord) -> Iterable[Any]:
        return [record] * (1 if record.value else 0)

    def get_produced_type(self) -> TypeInformation:
        return Types.PICKLED_BYTE_ARRAY()


@pytest.mark.feature("CN-01", "CN-02")
def test_key_headers_timestamp_and_topic_go_both_ways(kafka: Topics) -> None:
    topic = kafka.create(4)
    messages = (
        KafkaRecordSerializationSchema.builder()
        .set_topic_selector(lambda value: topic)
        .set_key_serialization_schema(SimpleStringSchema())
        .set_value_serialization_schema(SimpleStringSchema())
        .set_header_provider(lambda value: {"first": value.encode(), "second": b"2"})
        .build()
    )
    sink = KafkaSink.builder().set_bootstrap_servers(kafka.servers).set_record_serializer(messages)
    env = environment(IN_PROCESS)
    by_length = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: len(value) * 1000
    )
    words = env.from_collection(["a", "bb", "ccc"], Types.STRING()).assign_timestamps_and_watermarks(by_length)
    words.sink_to(sink.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE).build())
    env.execute()
    kafka.write(topic, [""])
    made = KafkaSource.builder().set_bootstrap_servers(kafka.servers).set_topics(topic).set_deserializer(Whole())
    found = sorted(collected(bounded(made)), key=lambda record: record.timestamp)
    assert [(each.topic, each.key, each.value, each.timestamp) for each in found] == [
        (topic, word.encode(), word.encode(), len(word) * 1000) for word in ("a", "bb", "ccc")
    ]
    assert found[1].headers == (("first", b"bb"), ("second", b"2"))


@pytest.mark.feature("CN-01")
def test_an_endless_source_finds_new_topics_and_commits_its_group(kafka: Topics, tmp_path: Path) -> None:
    name, group = kafka.create(1), f"group-{tmp_path.name}"
    kafka.write(name, ["first"])
    env = environment({**IN_PROCESS, "execution.checkpointing.dir": str(tmp_path)}, 1)
    env.enable_checkpointing(50)
    made = builder(kafka).set_topic_pattern(f"{name}.*").set_group_id(group)
    made.set_starting_offsets(KafkaOffsetsInitializer.latest()).set_property("partition.discovery.interval.ms", "100")
    results = env.from_source(made.build(), NOTHING, "endless").execute_and_collect()
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.extend(value for value in results), daemon=True)
    reader.start()
    watching, where = Broker({"bootstrap.servers": kafka.servers}, group), KafkaTopicPartition(name, 0)
    anywhere = KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST)
    try:
        until("the offset at which it began is committed", lambda: watching.offsets(anywhere, [where])[where] == 1)
        kafka.write(name, ["second"])
        until("a record that has come", lambda: found == ["second"])
        later = kafka.create(1, f"{name}-later")
        kafka.write(later, ["third"])
        until("a record of a topic that has come, from its beginning", lambda: found == ["second", "third"])
        until("the group's offset", lambda: watching.offsets(anywhere, [where])[where] == 2)
    finally:
        results.close()
        reader.join(30)
        watching.close()


@pytest.mark.feature("CN-01")
def test_a_reader_goes_back_to_an_older_position(kafka: Topics) -> None:
    topic = kafka.create(2)
    for partition in (0, 1):
        kafka.write(topic, [f"{partition} {number}" for number in range(100)], partition)
    source = bounded(builder(kafka).set_topics(topic))
    reader = pickle.loads(pickle.dumps(source)).create_reader()
    splits = [split_of(KafkaTopicPartition(topic, partition), 0, 100) for partition in (0, 1)]
    for start in (0, 60, 30):
        for partition, split in enumerate(splits):
            position, values = start, []
            while position < 100:
                result = reader.read(split, position, 7, 0)
                values += result.values
                position = result.position
            assert values == [f"{partition} {number}" for number in range(start, 100)]
    reader.close()


def test_a_topic_that_is_not_there_is_named(kafka: Topics) -> None:
    with pytest.raises(JobError, match="there is no topic 'nowhere'") as caught:
        collected(bounded(builder(kafka).set_topics("nowhere")))
    assert kafka.servers in str(caught.value)


# ---- the sink ----------------------------------------------------------------------------------------------------


@pytest.mark.feature("CN-02")
@pytest.mark.parametrize("guarantee", DeliveryGuarantee, ids=lambda each: each.name)
def test_all_records_arrive(kafka: Topics, tmp_path: Path, guarantee: DeliveryGuarantee) -> None:
    topic = kafka.create(2)
    env = environment({**IN_PROCESS, "execution.checkpointing.dir": str(tmp_path)})
    env.enable_checkpointing(10)
    numbers = env.from_sequence(1, 2000).map(str, Types.STRING())
    sink = sink_to(kafka.servers, topic, guarantee)
    assert sink.guarantee == guarantee.value
    numbers.sink_to(sink)
    env.execute()
    assert kafka.texts(topic) == sorted(map(str, range(1, 2001)))


def run(kafka: Topics, source: str, sink: str, checkpoints: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.services.kafka_program", kafka.servers, source, sink, str(checkpoints), *more],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


KILLS = [
    "open:after:1",
    "prepare:before:3",
    "prepare:after:3",
    "manifest:before:2",
    "manifest:after:2",
    "commit:before:2",
    "end:before:2",
    "end:after:2",
    "commit:after:2",
]


@pytest.mark.feature("CN-01", "CN-02")
def test_killed_at_every_point_each_record_is_there_once(kafka: Topics, tmp_path: Path) -> None:
    """One run is killed again and again, at another point each time, and resumed each time; then it ends."""
    source, sink = kafka.create(2), kafka.create(2)
    kafka.write(source, [f"line {number}" for number in range(1500)])
    for point in KILLS:
        killed = run(kafka, source, sink, tmp_path, "--crash", point)
        assert killed.returncode == -signal.SIGKILL, (point, killed.stderr[-3000:])
    finished(run(kafka, source, sink, tmp_path, "--parallelism", "1"))
    assert kafka.texts(sink) == sorted(f"LINE {number}" for number in range(1500))


@pytest.mark.feature("CN-01", "CN-02")
def test_a_job_on_spark_is_killed_and_goes_on(kafka: Topics, tmp_path: Path) -> None:
    source, sink = kafka.create(2), kafka.create(2)
    kafka.write(source, [f"line {number}" for number in range(300)])
    spark = ("--conf", "execution.target=spark", "--conf", "firesteel.master=local[2]")
    killed = run(kafka, source, sink, tmp_path, *spark, "--crash", "manifest:after:2")
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-3000:]
    finished(run(kafka, source, sink, tmp_path, *spark))
    assert kafka.texts(sink) == sorted(f"LINE {number}" for number in range(300))


class _Subtask:
    """As much of a runtime context as a writer asks for."""

    def get_index_of_this_subtask(self) -> int:
        return 0

    def get_number_of_parallel_subtasks(self) -> int:
        return 1

    def get_metrics_group(self) -> Any:
        return MetricGroup()


def open_writer(sink: KafkaSink) -> Any:
    writer: Any = sink.create_writer()
    writer.open(_Subtask(), [])
    return writer


AT = WriterContext(None, 0, 0)


def state_of(kafka: Topics, name: str) -> str | None:
    with contextlib.closing(Transactions({"bootstrap.servers": kafka.servers})) as transactions:
        found = transactions.describe(name)
        return None if found is None else found.state


def open_transactions(kafka: Topics, topic: str) -> list[str]:
    """Ids of the open transactions of a sink into a topic."""
    with contextlib.closing(Transactions({"bootstrap.servers": kafka.servers})) as transactions:
        return [name for name in transactions.ongoing() if topic in name]


@pytest.mark.feature("CN-02")
def test_an_old_checkpoint_does_not_commit_what_is_being_written(kafka: Topics) -> None:
    topic = kafka.create(1)
    sink = sink_to(kafka.servers, topic, DeliveryGuarantee.EXACTLY_ONCE)
    writer, committer = open_writer(sink), sink.create_committer()
    assert isinstance(committer, TransactionCommitter)
    writer.write("first", AT)
    (first,) = writer.prepare_commit(1)
    committer.commit([CommitRequest(first, 1)])
    until("the commit is complete", lambda: state_of(kafka, first["id"]) == "CompleteCommit")
    writer.write("half", AT)
    writer._outlet.producer.flush(30)
    assert open_transactions(kafka, topic) == [first["id"]], "the producer goes on with its id"
    again = CommitRequest(first, 1, recovered=True)
    committer.commit([again])
    assert again.was_committed
    assert kafka.texts(topic) == ["first"]
    (second,) = writer.prepare_commit(2)
    committer.commit([CommitRequest(second, 2)])
    assert kafka.texts(topic) == ["first", "half"]
    writer.close()
    committer.close()


@pytest.mark.feature("CN-02")
def test_a_transaction_that_has_run_into_its_time_limit_fails_loudly(kafka: Topics) -> None:
    topic = kafka.create(1)
    sink = sink_to(kafka.servers, topic, DeliveryGuarantee.EXACTLY_ONCE, transaction_timeout_ms="1000")
    writer, committer = open_writer(sink), sink.create_committer()
    assert committer is not None
    writer.write("late", AT)
    (prepared,) = writer.prepare_commit(1)
    until("the broker has aborted", lambda: not open_transactions(kafka, topic))
    with pytest.raises(CommitError, match=r"transaction\.timeout\.ms"):
        committer.commit([CommitRequest(prepared, 1)])
    assert kafka.texts(topic) == []
    writer.close()
    committer.close()


@pytest.mark.feature("CN-02")
def test_what_an_earlier_run_has_left_open_is_aborted(kafka: Topics) -> None:
    topic = kafka.create(1)
    sink = sink_to(kafka.servers, topic, DeliveryGuarantee.EXACTLY_ONCE)
    earlier = open_writer(sink)
    earlier.write("never stored", AT)
    earlier.prepare_commit(1)
    open_writer(sink).close()
    assert open_transactions(kafka, topic) == []
    assert kafka.texts(topic) == []
    earlier.close()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_job_logs_in(kafka: Topics, tmp_path: Path, mechanism: str) -> None:
    source, topic = kafka.create(1), kafka.create(1)
    kafka.write(source, ["a", "b"])
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'org.example.LoginModule required username="{USER}" password="{PASSWORD}";',
    }
    env = environment({**IN_PROCESS, "execution.checkpointing.dir": str(tmp_path)}, 1)
    env.enable_checkpointing(10)
    guarded = Topics(kafka.guarded)
    lines = env.from_source(bounded(builder(guarded).set_topics(source).set_properties(login)), NOTHING, "lines")
    lines.sink_to(sink_to(kafka.guarded, topic, DeliveryGuarantee.EXACTLY_ONCE, **login))
    env.execute()
    assert kafka.texts(topic) == ["a", "b"]
    wrong = {"bootstrap.servers": kafka.guarded, **login, "sasl.username": USER, "sasl.password": "wrong"}
    with (
        contextlib.closing(Transactions(wrong)) as transactions,
        pytest.raises(KafkaClientError, match="login") as caught,
    ):
        transactions.ongoing()
    assert "wrong" not in str(caught.value)


def test_a_topic_that_cannot_be_written_to_is_named(kafka: Topics) -> None:
    env = environment(IN_PROCESS, 1)
    sink = sink_to(kafka.servers, "nowhere", DeliveryGuarantee.AT_LEAST_ONCE, message_timeout_ms="2000")
    env.from_collection(["a"], Types.STRING()).sink_to(sink)
    with pytest.raises(JobError, match="nowhere"):
        env.execute()
