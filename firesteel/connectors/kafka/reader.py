"""The tasks' half of the source: one consumer for all partitions of a subtask, read in batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Any

from firesteel.connectors.kafka.client import KafkaClientError, confluent, explained
from firesteel.connectors.kafka.deserializing import KafkaRecordDeserializationSchema, records_of
from firesteel.model.source import ReaderContext, ReadResult, SourceReader, SourceSplit

__all__ = ["KafkaReader"]

_ERROR = methodcaller("error")
_WAIT_SECONDS = 0.05
"""How long a partition that is not at its end is waited for: the first answer of a broker takes a moment."""
_AHEAD = 4
"""A partition of which so many batches wait, because others are read, is not fetched any more."""


@dataclass
class _Partition:
    """What has been fetched of a partition and not been read.

    :param next_offset: The position that the engine will ask for.
    :param end: Where the end of the partition was seen, behind all that waits.
    """

    topic: str
    number: int
    next_offset: int
    waiting: list[Any] = field(default_factory=list)
    end: int | None = None
    paused: bool = False


class KafkaReader(SourceReader):
    """Records come from ``consume``, many at a time, and are sorted by partition."""

    gives_away = True

    def __init__(
        self, settings: Mapping[str, str], schema: KafkaRecordDeserializationSchema, client: str | None
    ) -> None:
        self._settings = dict(settings)
        self._schema = schema
        self._client = client
        self._consumer: Any = None
        self._partitions: dict[tuple[str, int], _Partition] = {}
        self._failure: KafkaClientError | None = None

    def open(self, context: ReaderContext) -> None:
        if self._client is not None:
            self._settings["client.id"] = f"{self._client}-{context.subtask_index}"

    def read(self, split: SourceSplit, position: int, max_records: int, now: int) -> ReadResult:
        topic, number, _, stop = split.payload
        if stop is not None and position >= stop:
            return ReadResult([], position, finished=True)
        partition = self._at(topic, number, position)
        if not partition.waiting:
            self._fetch(partition, max_records)
        messages, partition.waiting = partition.waiting[:max_records], partition.waiting[max_records:]
        if partition.paused and not partition.waiting:
            partition.paused = False
            self._consumer.resume([confluent().TopicPartition(topic, number)])
        return self._result(partition, messages, stop)

    def _result(self, partition: _Partition, messages: list[Any], stop: int | None) -> ReadResult:
        finished = False
        if stop is not None and messages and messages[-1].offset() >= stop:
            messages = [message for message in messages if message.offset() < stop]
            partition.next_offset, finished = stop, True
        elif messages:
            partition.next_offset = messages[-1].offset() + 1
        if not finished and partition.end is not None and not partition.waiting:
            # Behind the last record there may be marks of transactions, or gaps.
            partition.next_offset = max(partition.next_offset, partition.end)
            finished = stop is not None and partition.next_offset >= stop
        values, timestamps = records_of(self._schema, messages)
        return ReadResult(values, partition.next_offset, finished, timestamps)

    def _at(self, topic: str, number: int, position: int) -> _Partition:
        """The partition, ready to be read from a position. One that the engine goes back to makes all begin anew."""
        partition = self._partitions.get((topic, number))
        if partition is not None and partition.next_offset == position:
            return partition
        if partition is not None:
            self.close()
        if self._consumer is None:
            self._consumer = self._connect()
        self._consumer.incremental_assign([confluent().TopicPartition(topic, number, position)])
        partition = self._partitions[topic, number] = _Partition(topic, number, position)
        return partition

    def _connect(self) -> Any:
        settings: dict[str, Any] = {
            **self._settings,
            "enable.auto.commit": "false",
            "enable.partition.eof": "true",
            "error_cb": self._note,
        }
        module = confluent()
        try:
            return module.Consumer(settings)
        except module.KafkaException as error:
            raise explained(error, "opening a consumer", self._settings["bootstrap.servers"]) from error

    def _note(self, error: Any) -> None:
        """What concerns the whole client: a broker that is away comes back, a login that is refused does not."""
        codes = confluent().KafkaError
        if error.fatal() or error.code() in (codes._AUTHENTICATION, codes._SSL, codes.SASL_AUTHENTICATION_FAILED):
            self._failure = explained(Exception(error.str()), "reading", self._settings["bootstrap.servers"])

    def _fetch(self, partition: _Partition, max_records: int) -> None:
        """Take what has come; wait a moment if something must come."""
        self._sort(self._consumer.consume(max_records, 0), max_records)
        if not partition.waiting and partition.end is None:
            first = self._consumer.consume(1, _WAIT_SECONDS)
            self._sort(first, max_records)
            if first:
                self._sort(self._consumer.consume(max_records, 0), max_records)
        if self._failure is not None:
            raise self._failure

    def _sort(self, messages: list[Any], max_records: int) -> None:
        if len(self._partitions) == 1 and not any(map(_ERROR, messages)):
            if messages:
                (only,) = self._partitions.values()
                only.waiting += messages
                only.end = None
            return
        partitions = self._partitions
        for message in messages:
            if message.error() is not None:
                self._take_note(message)
                continue
            partition = partitions[message.topic(), message.partition()]
            partition.waiting.append(message)
            partition.end = None
        self._hold_back(max_records)

    def _take_note(self, message: Any) -> None:
        error = message.error()
        if error.code() == confluent().KafkaError._PARTITION_EOF:
            self._partitions[message.topic(), message.partition()].end = message.offset()
        elif not error.retriable() and error.code() not in _passing():
            where = f"partition {message.partition()} of topic {message.topic()!r}"
            raise explained(Exception(error.str()), f"reading {where}", self._settings["bootstrap.servers"])

    def _hold_back(self, max_records: int) -> None:
        full = [
            each for each in self._partitions.values() if len(each.waiting) > _AHEAD * max_records and not each.paused
        ]
        if full:
            self._consumer.pause([confluent().TopicPartition(each.topic, each.number) for each in full])
            for each in full:
                each.paused = True

    def close(self) -> None:
        consumer, self._consumer = self._consumer, None
        self._partitions = {}
        if consumer is not None:
            consumer.close()


def _passing() -> tuple[int, ...]:
    """Errors of a broker that is away: the client tries again by itself."""
    codes = confluent().KafkaError
    return (codes._TRANSPORT, codes._ALL_BROKERS_DOWN, codes._TIMED_OUT, codes._RESOLVE)
