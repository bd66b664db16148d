"""Flink's older names for Kafka, and DynamicKafkaSource, without a broker: what they become and what they refuse."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import SimpleStringSchema, Types
from firesteel.common.warnings import FiresteelWarning
from firesteel.connectors.kafka.client import KafkaClientError
from firesteel.connectors.kafka.committer import TransactionCommitter
from firesteel.connectors.kafka.dynamic import (
    DynamicKafkaSource,
    KafkaMetadataService,
    SingleClusterTopicMetadataService,
    StreamPatternSubscriber,
)
from firesteel.connectors.kafka.legacy import FlinkKafkaConsumer, FlinkKafkaProducer, Semantic
from firesteel.connectors.kafka.transactions import Transaction, Transactions
from firesteel.connectors.kafka.writer import KafkaWriter, TransactionalWriter, _Outlet
from firesteel.errors import CommitError, ConfigurationError, UnsupportedError
from firesteel.model.sink import CommitRequest, WriterContext
from firesteel.model.source import Boundedness

pytest.importorskip("confluent_kafka")
SCHEMA = SimpleStringSchema()
SERVERS = {"bootstrap.servers": "broker:9092"}
GROUP = {**SERVERS, "group.id": "readers"}


def plan_of(consumer: FlinkKafkaConsumer) -> Any:
    return pickle.loads(pickle.dumps(consumer))._builder.build()._plan


def test_a_consumer_begins_where_it_is_told_to() -> None:
    def consumer(**more: str) -> FlinkKafkaConsumer:
        return FlinkKafkaConsumer(["a", "b"], SCHEMA, {**GROUP, **more})

    assert plan_of(consumer()).subscription.topics == ("a", "b")
    assert plan_of(FlinkKafkaConsumer("a", SCHEMA, GROUP)).subscription.topics == ("a",)
    starts = [
        plan_of(made).start
        for made in (
            consumer(),
            consumer(**{"auto.offset.reset": "earliest"}),
            consumer().set_start_from_earliest(),
            consumer().set_start_from_latest(),
            consumer().set_start_from_timestamp(5),
            consumer().set_start_from_latest().set_start_from_group_offsets(),
        )
    ]
    assert [start.kind.value for start in starts] == [
        "committed",
        "committed",
        "earliest",
        "latest",
        "timestamp",
        "committed",
    ]
    assert [start.reset.value for start in starts[:2]] == ["latest", "earliest"]
    assert plan_of(consumer()).commits
    assert not plan_of(consumer().set_commit_offsets_on_checkpoints(False)).commits
    made = consumer().disable_filter_restored_partitions_with_subscribed_topics()
    assert (made.get_produced_type(), made.boundedness) == (Types.STRING(), Boundedness.CONTINUOUS_UNBOUNDED)


def producer(semantic: Semantic = Semantic.AT_LEAST_ONCE, **more: str) -> FlinkKafkaProducer:
    return FlinkKafkaProducer("out", SCHEMA, {**SERVERS, **more}, semantic=semantic)


def test_a_producer_promises_what_it_is_asked_for() -> None:
    assert [producer(each).guarantee for each in Semantic] == ["exactly-once", "at-least-once", "none"]
    assert producer().set_flush_on_checkpoint(False).guarantee == "none"
    assert producer(Semantic.EXACTLY_ONCE).set_flush_on_checkpoint(False).guarantee == "exactly-once"
    plain = producer().set_write_timestamp_to_kafka(True).create_writer()
    assert isinstance(plain, KafkaWriter) and plain._flushes and not plain.log_failures_only
    hasty = producer().set_flush_on_checkpoint(False).set_write_timestamp_to_kafka(True).create_writer()
    assert isinstance(hasty, KafkaWriter) and not hasty._flushes
    once = producer(Semantic.EXACTLY_ONCE, **{"transactional.id": "mine"})
    writer = once.set_write_timestamp_to_kafka(True).set_log_failures_only(True).create_writer()
    assert isinstance(writer, TransactionalWriter) and writer._prefix == "mine" and writer.log_failures_only
    assert isinstance(once.create_committer(), TransactionCommitter)
    assert producer().create_committer() is None


def test_timestamps_are_left_out_unless_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(KafkaWriter, "write", lambda self, value, context: seen.append(context.timestamp))
    context = WriterContext(5, 0, 0)
    producer().create_writer().write("a", context)
    producer().set_write_timestamp_to_kafka(True).create_writer().write("a", context)
    assert seen == [None, 5]


class Failed:
    def topic(self) -> str:
        return "out"

    def str(self) -> str:
        return "too large"


def test_failures_are_told_by_an_error_or_by_the_log(caplog: pytest.LogCaptureFixture) -> None:
    loud = _Outlet(SERVERS)
    loud._not_delivered(Failed(), Failed())
    with pytest.raises(KafkaClientError, match="too large"):
        loud.check()
    quiet = _Outlet(SERVERS, log_only=True)
    quiet._not_delivered(Failed(), Failed())
    quiet.check()
    assert quiet.errors == 1
    assert "a message is lost: Kafka at broker:9092: writing to topic 'out': too large" in caplog.text


def test_a_transaction_that_has_timed_out_may_be_forgiven(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Transactions, "describe", lambda self, name: Transaction("CompleteAbort", 1, 0, 5))
    prepared = {"id": "t", "producer": 1, "epoch": 0, "start": 5}
    committer = producer(Semantic.EXACTLY_ONCE).ignore_failures_after_transaction_timeout().create_committer()
    assert committer is not None
    committer.commit([CommitRequest(prepared, 1, recovered=True)])
    assert "records are lost, as ignore_failures_after_transaction_timeout() allows" in caplog.text
    with pytest.raises(CommitError, match="aborted"):
        committer.commit([CommitRequest(prepared, 1)])


def test_a_size_of_the_pool_has_no_effect_and_says_so() -> None:
    with pytest.warns(FiresteelWarning, match="kafka_producer_pool_size has no effect"):
        FlinkKafkaProducer("out", SCHEMA, SERVERS, 7)


def dynamic() -> Any:
    service = SingleClusterTopicMetadataService("here", {**SERVERS, "client.rack": "a"})
    return DynamicKafkaSource.builder().set_kafka_metadata_service(service).set_value_only_deserializer(SCHEMA)


def test_streams_become_topics() -> None:
    made = dynamic().set_stream_ids({"b", "a"}).set_group_id("readers").set_client_id_prefix("me")
    made.set_properties({"client.rack": "b"}).set_property("stream-metadata-discovery-interval-ms", "70")
    source = pickle.loads(pickle.dumps(made.build()))._source
    assert source._plan.subscription.topics == ("a", "b")
    assert (source._plan.discovery_ms, source._group, source._client) == (70, "readers", "me")
    assert (source._settings["bootstrap.servers"], source._settings["client.rack"]) == ("broker:9092", "b")
    pattern = dynamic().set_kafka_stream_subscriber(StreamPatternSubscriber("a.*")).build()
    assert pattern._source._plan.subscription.pattern == "a.*"
    assert pattern.boundedness is Boundedness.CONTINUOUS_UNBOUNDED


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: FlinkKafkaConsumer("a", SCHEMA, SERVERS), "group.id"),
        (lambda: FlinkKafkaConsumer("a", SCHEMA, {"group.id": "a"}), "bootstrap.servers"),
        (lambda: FlinkKafkaConsumer("a", SCHEMA, {**GROUP, "auto.offset.reset": "begin"}), "earliest, latest, none"),
        (lambda: FlinkKafkaProducer("a", SCHEMA, {}), "set_bootstrap_servers"),
        (lambda: producer("once"), "is a Semantic"),  # type: ignore[arg-type]
        (lambda: DynamicKafkaSource.builder().build(), "set_kafka_metadata_service"),
        (lambda: dynamic().build(), "set_topics"),
        (lambda: dynamic().set_stream_ids([]), "at least one name"),
        (lambda: dynamic().set_stream_pattern("("), "regular expression"),
        (lambda: dynamic().set_kafka_stream_subscriber("a"), "StreamPatternSubscriber"),
        (lambda: dynamic().set_kafka_metadata_service("a"), "KafkaMetadataService"),
        (lambda: SingleClusterTopicMetadataService("here", {}), "bootstrap.servers"),
    ],
)
def test_what_cannot_work_is_refused(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make()


def test_several_clusters_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="one cluster at a time"):
        dynamic().set_kafka_metadata_service(KafkaMetadataService())
