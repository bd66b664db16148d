"""Kafka without a broker: what builders refuse, and what happens when a broker answers badly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from firesteel.common import SimpleStringSchema
from firesteel.connectors.base import DeliveryGuarantee
from firesteel.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordDeserializationSchema,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from firesteel.connectors.kafka.client import KafkaClientError, client_settings
from firesteel.connectors.kafka.committer import TransactionCommitter
from firesteel.connectors.kafka.enumerator import KafkaEnumerator, Plan, split_of
from firesteel.connectors.kafka.look import Subscription
from firesteel.connectors.kafka.reader import KafkaReader
from firesteel.connectors.kafka.transactions import Transaction, Transactions
from firesteel.errors import CommitError, ConfigurationError, MalformedRecordError
from firesteel.metrics import MetricGroup
from firesteel.model.sink import CommitRequest
from firesteel.model.source import Boundedness

confluent_kafka = pytest.importorskip("confluent_kafka")
SERVERS = {"bootstrap.servers": "broker:9092"}
VALUES = KafkaRecordDeserializationSchema.value_only(SimpleStringSchema())


def messages(topic: str = "out") -> KafkaRecordSerializationSchema:
    made = KafkaRecordSerializationSchema.builder().set_topic(topic)
    return made.set_value_serialization_schema(SimpleStringSchema()).build()


def source() -> Any:
    made = KafkaSource.builder().set_bootstrap_servers("broker:9092").set_topics("a")
    return made.set_value_only_deserializer(SimpleStringSchema())


# ---- builders ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: KafkaSource.builder().build(), "set_topics"),
        (lambda: KafkaSource.builder().set_topics("a").build(), "set_value_only_deserializer"),
        (lambda: KafkaSource.builder().set_topics("a").set_topic_pattern("b"), "already"),
        (lambda: KafkaSource.builder().set_topics(), "names of topics"),
        (lambda: KafkaSource.builder().set_topic_pattern("("), "regular expression"),
        (lambda: KafkaSource.builder().set_partitions([]), "at least one"),
        (lambda: KafkaSource.builder().set_bounded("latest"), "KafkaOffsetsInitializer"),
        (lambda: source().set_property("bootstrap.servers", "").build(), "set_bootstrap_servers"),
        (lambda: source().set_property("a", None), "a name and a text"),
        (lambda: source().set_property("partition.discovery.interval.ms", "soon").build(), "milliseconds"),
        (
            lambda: source().set_starting_offsets(KafkaOffsetsInitializer.committed_offsets()).build(),
            "set_group_id",
        ),
        (lambda: KafkaOffsetsInitializer.timestamp(-1), "milliseconds since 1970"),
        (lambda: KafkaOffsetsInitializer.offsets({KafkaTopicPartition("a", 0): -1}), "whole number"),
        (lambda: KafkaRecordSerializationSchema.builder().build(), "set_topic"),
        (lambda: KafkaRecordSerializationSchema.builder().set_topic("a").build(), "value_serialization_schema"),
        (lambda: KafkaRecordSerializationSchema.builder().set_topic("a").set_topic_selector(str), "already"),
        (lambda: KafkaSink.builder().build(), "set_bootstrap_servers"),
        (lambda: KafkaSink.builder().set_bootstrap_servers("b:1").build(), "set_record_serializer"),
        (lambda: KafkaSink.builder().set_record_serializer(SimpleStringSchema()), "builder"),
        (lambda: KafkaSink.builder().set_delivery_guarantee("exactly-once"), "DeliveryGuarantee"),
    ],
)
def test_what_is_wrong_is_said_when_it_is_built(build: Callable[[], Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        build()


def test_an_exactly_once_sink_needs_a_prefix_and_a_login_that_it_can_do() -> None:
    made = KafkaSink.builder().set_bootstrap_servers("b:1").set_record_serializer(messages())
    assert made.build().guarantee == "none"
    made.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    with pytest.raises(ConfigurationError, match="set_transactional_id_prefix"):
        made.build()
    made.set_transactional_id_prefix("job").set_property("security.protocol", "SASL_SSL")
    with pytest.raises(ConfigurationError, match="GSSAPI"):
        made.build()
    assert made.set_property("sasl.mechanism", "scram-sha-512").build().guarantee == "exactly-once"


def test_boundedness() -> None:
    latest = KafkaOffsetsInitializer.latest()
    assert source().build().boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    assert source().set_bounded(latest).build().boundedness is Boundedness.BOUNDED
    assert source().set_bounded(latest).set_unbounded(latest).build().boundedness is Boundedness.CONTINUOUS_UNBOUNDED


def test_settings_of_the_java_client_become_those_of_librdkafka() -> None:
    jaas = """org.apache.kafka.common.security.plain.PlainLoginModule required username='ada' password="a\\"b";"""
    given = {**SERVERS, "sasl.jaas.config": jaas, "key.deserializer": "x"}
    assert client_settings(given) == {**SERVERS, "sasl.username": "ada", "sasl.password": 'a"b'}
    with pytest.raises(ConfigurationError, match="username") as caught:
        client_settings({"sasl.jaas.config": "Module required secret='hush';"})
    assert "hush" not in str(caught.value)


# ---- the enumerator ----------------------------------------------------------------------------------------------


class Driver:
    """A coordinator's context whose calls are answered when the test says so."""

    name = "source"

    def __init__(self) -> None:
        self.metrics = MetricGroup()
        self.calls: list[tuple[Callable[[], Any], Callable[[Any, Any], None]]] = []

    def call_async(self, work: Callable[[], Any], then: Callable[[Any, Any], None]) -> None:
        self.calls.append((work, then))

    def answer(self) -> None:
        calls, self.calls = self.calls, []
        for work, then in calls:
            result, error = None, None
            try:
                result = work()
            except Exception as raised:
                error = raised
            then(result, error)


class FakeBroker:
    def __init__(self, **partitions: int) -> None:
        self.have = partitions
        self.failure: Exception | None = None
        self.commits: list[Any] = []
        self.asked: list[Any] = []

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure

    def partitions(self, subscription: Subscription) -> list[KafkaTopicPartition]:
        self._fail()
        return [KafkaTopicPartition(topic, number) for topic, count in self.have.items() for number in range(count)]

    def offsets(self, wanted: Any, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        self.asked.append((wanted.kind.value, [where.topic for where in partitions]))
        return dict.fromkeys(partitions, 0 if wanted.kind.value == "earliest" else 5)

    def ends(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        self._fail()
        return dict.fromkeys(partitions, 5)

    def commit(self, offsets: Any) -> None:
        self._fail()
        self.commits.append(offsets)

    def close(self) -> None: ...


def enumerator(broker: FakeBroker, restored: Any = None, stop: Any = None) -> tuple[KafkaEnumerator, Driver]:
    latest = KafkaOffsetsInitializer.latest()
    plan = Plan(Subscription(pattern=".*"), latest, stop, stop is not None, None if stop else 1000, commits=True)
    made, driver = KafkaEnumerator(plan, broker), Driver()  # type: ignore[arg-type]
    made.open(driver)  # type: ignore[arg-type]
    made.start(restored)
    return made, driver


def found(made: KafkaEnumerator, driver: Driver, now: int) -> list[str]:
    made.discover_splits(now)
    driver.answer()
    return [split.split_id for split in made.discover_splits(now)]


def test_partitions_of_the_start_begin_where_they_are_told_to_and_later_ones_at_their_beginning() -> None:
    broker = FakeBroker(a=2)
    made, driver = enumerator(broker)
    assert found(made, driver, 0) == ["a-0", "a-1"]
    broker.have["b"] = 1
    driver.calls.clear()
    assert found(made, driver, 500) == []
    made, driver = enumerator(broker, made.snapshot())
    assert found(made, driver, 2000) == ["b-0"]
    assert broker.asked == [("latest", ["a", "a"]), ("earliest", ["b"])]


def test_a_broker_that_is_away_at_the_start_fails_the_job_and_later_it_does_not() -> None:
    broker = FakeBroker(a=1)
    broker.failure = KafkaClientError("away")
    made, driver = enumerator(broker)
    with pytest.raises(KafkaClientError, match="away"):
        found(made, driver, 0)
    broker.failure = None
    made, driver = enumerator(broker)
    assert found(made, driver, 0) == ["a-0"]
    broker.failure = KafkaClientError("away")
    assert found(made, driver, 5000) == []
    driver.calls.clear()
    made.committed({"a-0": 3})
    driver.answer()
    assert driver.metrics.snapshot().counters["commitsFailed"] == 1
    broker.failure = None
    made.committed({"a-0": 3})
    driver.answer()
    assert broker.commits == [{KafkaTopicPartition("a", 0): 3}]


def test_what_was_found_and_not_handed_out_is_part_of_the_snapshot() -> None:
    broker = FakeBroker(a=1)
    made, driver = enumerator(broker)
    made.discover_splits(0)
    driver.answer()
    restored, _ = enumerator(broker, made.snapshot())
    assert [split.split_id for split in restored.discover_splits(0)] == ["a-0"]


def test_a_partition_has_data_up_to_its_end_and_while_it_moves() -> None:
    made, driver = enumerator(FakeBroker(a=1))
    assert found(made, driver, 0) == ["a-0"]
    split = split_of(KafkaTopicPartition("a", 0), 0, None)
    assert made.has_data(split, 4, 0)
    assert made.has_data(split, 6, 0), "it has moved since the ends were asked for"
    driver.calls.clear()
    made.discover_splits(200)
    driver.answer()
    assert not made.has_data(split, 6, 200)
    assert made.next_data_time(200) is None or made.next_data_time(200) == 300


def test_a_bounded_source_has_no_more_splits_when_it_has_found_them() -> None:
    made, driver = enumerator(FakeBroker(a=1), stop=KafkaOffsetsInitializer.latest())
    assert not made.no_more_splits()
    assert found(made, driver, 0) == ["a-0"]
    assert made.no_more_splits()
    restored, driver = enumerator(FakeBroker(a=1, b=1), made.snapshot(), stop=KafkaOffsetsInitializer.latest())
    assert restored.no_more_splits() and found(restored, driver, 0) == []


# ---- the reader --------------------------------------------------------------------------------------------------


class Message:
    def __init__(self, offset: int, value: bytes | None = b"", error: Any = None, stamp: int = 1) -> None:
        self._offset, self._value, self._error, self._stamp = offset, value, error, stamp

    def error(self) -> Any:
        return self._error

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes | None:
        return self._value

    def timestamp(self) -> tuple[int, int]:
        return (1, self._stamp)

    def topic(self) -> str:
        return "a"

    def partition(self) -> int:
        return 0


class FakeConsumer:
    def __init__(self, *batches: list[Message]) -> None:
        self.batches = list(batches)

    def incremental_assign(self, partitions: Any) -> None: ...

    def consume(self, count: int, timeout: float) -> list[Message]:
        return self.batches.pop(0) if self.batches else []

    def close(self) -> None: ...


def reader(*batches: list[Message]) -> KafkaReader:
    made = KafkaReader(SERVERS, VALUES, None)
    made._consumer = FakeConsumer(*batches)
    return made


def error(code: int) -> Any:
    return confluent_kafka.KafkaError(code, "why")


SPLIT = split_of(KafkaTopicPartition("a", 0), 0, 10)
END = error(confluent_kafka.KafkaError._PARTITION_EOF)


def test_a_partition_ends_behind_marks_that_are_no_records() -> None:
    """The last offsets before the stop are those of transactions: they never come as records."""
    result = reader([Message(3, b"x"), Message(10, error=END)]).read(SPLIT, 0, 100, 0)
    assert (result.values, result.position, result.finished, result.timestamps) == (["x"], 10, True, [1])


def test_records_behind_the_stop_are_left_out() -> None:
    result = reader([Message(8, b"x"), Message(12, b"y")]).read(SPLIT, 0, 100, 0)
    assert (result.values, result.position, result.finished) == (["x"], 10, True)


def test_messages_without_a_value_are_left_out() -> None:
    result = reader([Message(0, None, stamp=1), Message(1, b"x", stamp=2)]).read(SPLIT, 0, 100, 0)
    assert (result.values, result.timestamps, result.position) == (["x"], [2], 2)


def test_a_broker_that_is_away_is_waited_for_and_other_errors_name_the_partition() -> None:
    away = error(confluent_kafka.KafkaError._TRANSPORT)
    assert reader([Message(0, error=away)], [Message(0, b"x")]).read(SPLIT, 0, 100, 0).values == ["x"]
    refused = error(confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaClientError, match="broker:9092: reading partition 0 of topic 'a'"):
        reader([Message(0, error=refused)]).read(SPLIT, 0, 100, 0)


def test_a_message_that_cannot_be_read_is_named() -> None:
    with pytest.raises(MalformedRecordError, match="offset 1 of partition 0 of topic 'a'"):
        reader([Message(0, b"x"), Message(1, b"\xff")]).read(SPLIT, 0, 100, 0)


def test_no_more_than_asked_for_and_nothing_is_lost() -> None:
    made = reader([Message(number, b"%d" % number) for number in range(7)])
    values, position = [], 0
    for _ in range(4):
        result = made.read(SPLIT, position, 2, 0)
        assert len(result.values) <= 2
        values += result.values
        position = result.position
    assert values == [str(number) for number in range(7)]


# ---- the committer -----------------------------------------------------------------------------------------------


class FakeTransactions:
    def __init__(self, state: Transaction | Exception | None) -> None:
        self.state = state
        self.ended: list[tuple[str, bool]] = []

    def describe(self, name: str) -> Transaction | None:
        if isinstance(self.state, Exception):
            raise self.state
        return self.state

    def end(self, name: str, transaction: Transaction, commit: bool) -> None:
        self.ended.append((name, commit))


def asked(state: Transaction | Exception | None, **request: Any) -> tuple[CommitRequest, FakeTransactions]:
    committer, transactions = TransactionCommitter(SERVERS), FakeTransactions(state)
    committer._transactions = transactions  # type: ignore[assignment]
    made = CommitRequest({"id": "t", "producer": 7, "epoch": 1, "start": 100}, 3, **request)
    committer.commit([made])
    return made, transactions


def test_the_open_transaction_is_committed() -> None:
    request, transactions = asked(Transaction("Ongoing", 7, 1, 100))
    assert transactions.ended == [("t", True)] and not request.was_committed


@pytest.mark.parametrize(
    "state",
    [
        Transaction("Ongoing", 7, 1, 200),
        Transaction("CompleteCommit", 7, 1, -1),
        Transaction("PrepareCommit", 7, 1, 100),
        None,
    ],
)
def test_what_was_committed_is_left_alone(state: Transaction | None) -> None:
    request, transactions = asked(state, recovered=True)
    assert transactions.ended == [] and request.was_committed


@pytest.mark.parametrize(
    "state",
    [Transaction("CompleteAbort", 7, 2, -1), Transaction("CompleteAbort", 7, 1, -1), Transaction("Ongoing", 8, 0, 100)],
)
def test_what_was_aborted_fails_loudly(state: Transaction) -> None:
    with pytest.raises(CommitError, match="not in Kafka"):
        asked(state)


def test_a_commit_is_put_off_while_the_brokers_are_away_but_not_at_a_start() -> None:
    away = KafkaClientError("away")
    assert asked(away)[0].later
    assert asked(away, recovered=True, retries=1)[0].later
    with pytest.raises(KafkaClientError, match="away"):
        asked(away, recovered=True)


def test_only_what_is_still_open_is_aborted() -> None:
    for state, ended in [
        (Transaction("Ongoing", 7, 1, 100), [("t", False)]),
        (Transaction("Ongoing", 7, 1, 200), []),
        (Transaction("CompleteCommit", 7, 1, -1), []),
    ]:
        committer, transactions = TransactionCommitter(SERVERS), FakeTransactions(state)
        committer._transactions = transactions  # type: ignore[assignment]
        committer.abort([{"id": "t", "producer": 7, "epoch": 1, "start": 100}])
        assert transactions.ended == ended


def test_servers_that_cannot_be_reached_are_named() -> None:
    with pytest.raises(KafkaClientError, match=r"127\.0\.0\.1:1: listing transactions"):
        Transactions({"bootstrap.servers": "127.0.0.1:1"}).ongoing()


def test_reset_strategies_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="KafkaOffsetResetStrategy"):
        KafkaOffsetsInitializer.committed_offsets("earliest")  # type: ignore[arg-type]
    assert KafkaOffsetsInitializer.committed_offsets().reset is KafkaOffsetResetStrategy.NONE
