"""What is asked of the broker for the driver: partitions, offsets, ends. Each call waits for its answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from firesteel.connectors.kafka.client import KafkaClientError, confluent, explained
from firesteel.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
    OffsetKind,
)

__all__ = ["Broker", "Subscription"]

_SECONDS = 30.0


@dataclass(frozen=True)
class Subscription:
    """Which partitions a source reads; one of the three is given."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[KafkaTopicPartition, ...] = ()

    def __str__(self) -> str:
        if self.pattern is not None:
            return f"topics like {self.pattern!r}"
        return ", ".join(self.topics or (f"{topic}-{partition}" for topic, partition in self.partitions))


class Broker:
    """Clients of the driver, made when they are needed."""

    def __init__(self, settings: Mapping[str, str], group: str | None) -> None:
        self._settings = dict(settings)
        self._servers = self._settings["bootstrap.servers"]
        self._group = group
        self._admin_client: Any = None
        self._consumer_client: Any = None

    @property
    def _admin(self) -> Any:
        if self._admin_client is None:
            confluent()
            from confluent_kafka.admin import AdminClient

            wanted = (
                "bootstrap.servers",
                "client.id",
                "security.",
                "ssl.",
                "sasl.",
                "socket.",
                "broker.",
                "enable.ssl",
            )
            self._admin_client = AdminClient(
                {"log_level": "4", **{k: v for k, v in self._settings.items() if k.startswith(wanted)}}
            )
        return self._admin_client

    @property
    def _consumer(self) -> Any:
        if self._consumer_client is None:
            settings = {**self._settings, "group.id": self._group or "firesteel", "enable.auto.commit": "false"}
            self._consumer_client = confluent().Consumer(settings)
        return self._consumer_client

    def partitions(self, subscription: Subscription) -> list[KafkaTopicPartition]:
        """The partitions that there are, in order.

        :raises KafkaClientError: A topic or partition that is named is not there.
        """
        topics = self._metadata()
        if subscription.pattern is not None:
            pattern = re.compile(subscription.pattern)
            names: Iterable[str] = sorted(name for name in topics if pattern.fullmatch(name))
            return [KafkaTopicPartition(name, number) for name in names for number in topics[name]]
        if subscription.partitions:
            for topic, number in subscription.partitions:
                self._must_be_there(topic, topics)
                if number not in topics[topic]:
                    raise KafkaClientError(
                        f"Kafka at {self._servers}: topic {topic!r} has partitions {topics[topic]}, and no {number}"
                    )
            return sorted(subscription.partitions)
        for topic in subscription.topics:
            self._must_be_there(topic, topics)
        return [KafkaTopicPartition(name, number) for name in sorted(subscription.topics) for number in topics[name]]

    def _must_be_there(self, topic: str, topics: Mapping[str, Any]) -> None:
        if topic not in topics:
            raise KafkaClientError(
                f"Kafka at {self._servers}: there is no topic {topic!r}, or it may not be seen. Create it, or check "
                "its name and the rights of the user."
            )

    def _metadata(self) -> dict[str, list[int]]:
        try:
            found = self._admin.list_topics(timeout=_SECONDS).topics
        except confluent().KafkaException as error:
            raise explained(error, "asking for topics", self._servers) from error
        return {name: sorted(topic.partitions) for name, topic in found.items() if topic.error is None}

    def offsets(
        self, wanted: KafkaOffsetsInitializer, partitions: Sequence[KafkaTopicPartition]
    ) -> dict[KafkaTopicPartition, int]:
        """The offset of each partition."""
        known: dict[KafkaTopicPartition, int] = {}
        if not partitions:
            return known
        if wanted.kind is OffsetKind.COMMITTED:
            known = self._committed(partitions)
        elif wanted.kind is OffsetKind.GIVEN:
            known = {where: at for where, at in wanted.given if where in set(partitions)}
        elif wanted.kind is OffsetKind.TIMESTAMP:
            known = self._listed(partitions, wanted.milliseconds)
        missing = [where for where in partitions if where not in known]
        if missing and wanted.reset is KafkaOffsetResetStrategy.NONE:
            raise KafkaClientError(
                f"Kafka at {self._servers}: there is no offset for partition {missing[0].partition} of topic "
                f"{missing[0].topic!r} (group {self._group!r}). Choose a KafkaOffsetResetStrategy other than NONE."
            )
        at_end = wanted.kind is OffsetKind.LATEST or (
            wanted.kind is not OffsetKind.EARLIEST and wanted.reset is KafkaOffsetResetStrategy.LATEST
        )
        return {**known, **(self.ends(missing) if at_end else self._listed(missing, "earliest"))}

    def ends(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        """Where each partition ends for a reader of this isolation level."""
        return self._listed(partitions, "latest")

    def _committed(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        asked = [confluent().TopicPartition(*where) for where in partitions]
        try:
            answers = self._consumer.committed(asked, timeout=_SECONDS)
        except confluent().KafkaException as error:
            raise explained(error, f"asking for the offsets of group {self._group!r}", self._servers) from error
        return {KafkaTopicPartition(each.topic, each.partition): each.offset for each in answers if each.offset >= 0}

    def _listed(self, partitions: Sequence[KafkaTopicPartition], at: str | int) -> dict[KafkaTopicPartition, int]:
        """Offsets by time or by name. A time after the last record has none."""
        if not partitions:
            return {}
        module = confluent()
        from confluent_kafka.admin import OffsetSpec

        named = {"earliest": OffsetSpec.earliest, "latest": OffsetSpec.latest}
        spec = named[at]() if isinstance(at, str) else OffsetSpec.for_timestamp(at)
        committed_only = self._settings.get("isolation.level", "read_committed") == "read_committed"
        level = module.IsolationLevel.READ_COMMITTED if committed_only else module.IsolationLevel.READ_UNCOMMITTED
        asked = {module.TopicPartition(*where): spec for where in partitions}
        found: dict[KafkaTopicPartition, int] = {}
        try:
            futures = self._admin.list_offsets(asked, isolation_level=level, request_timeout=_SECONDS)
            for where, future in futures.items():
                offset = future.result().offset
                if offset >= 0:
                    found[KafkaTopicPartition(where.topic, where.partition)] = offset
        except module.KafkaException as error:
            raise explained(error, f"asking for {at} offsets", self._servers) from error
        return found

    def commit(self, offsets: Mapping[KafkaTopicPartition, int]) -> None:
        """Store the group's offsets, for those who watch it."""
        marks = [confluent().TopicPartition(*where, at) for where, at in offsets.items()]
        try:
            done = self._consumer.commit(offsets=marks, asynchronous=False)
        except confluent().KafkaException as error:
            raise explained(error, f"committing offsets of group {self._group!r}", self._servers) from error
        failed = [each for each in done or () if each.error is not None]
        if failed:
            raise explained(failed[0].error, f"committing offsets of group {self._group!r}", self._servers)

    def close(self) -> None:
        """Let go of the clients."""
        if self._consumer_client is not None:
            self._consumer_client.close()
        self._admin_client = self._consumer_client = None
