"""How messages become records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

from firesteel.common.serialization import DeserializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.errors import MalformedRecordError

__all__ = ["KafkaRecord", "KafkaRecordDeserializationSchema", "records_of"]

_TIMESTAMP, _VALUE = methodcaller("timestamp"), methodcaller("value")


@dataclass(frozen=True, slots=True)
class KafkaRecord:
    """A message as it is in Kafka.

    :param timestamp: In milliseconds, or None if the message has none.
    :param key: None if it has none.
    :param value: None of a message that deletes its key.
    :param headers: Names and values, in order; a name may come twice.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class KafkaRecordDeserializationSchema(ABC):
    """Makes records of whole messages, with key, headers, timestamp and place. Must be picklable."""

    @abstractmethod
    def deserialize(self, record: KafkaRecord) -> Iterable[Any]:
        """The records of one message: none, one or several. Each gets the message's timestamp. Called in the task."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The declared type of the records."""

    @staticmethod
    def value_only(deserialization_schema: DeserializationSchema) -> KafkaRecordDeserializationSchema:
        """A schema of values only. Messages without a value are left out."""
        return ValueOnly(deserialization_schema)


class ValueOnly(KafkaRecordDeserializationSchema):
    """Makes a record of each message's value."""

    def __init__(self, schema: DeserializationSchema) -> None:
        self.schema = schema

    def deserialize(self, record: KafkaRecord) -> Iterable[Any]:
        """The record of the value, unless the schema leaves it out."""
        value = None if record.value is None else self.schema.deserialize(record.value)
        return () if value is None else (value,)

    def get_produced_type(self) -> TypeInformation:
        """That of the schema."""
        return self.schema.get_produced_type()


def records_of(schema: KafkaRecordDeserializationSchema, messages: Sequence[Any]) -> tuple[list[Any], list[int] | None]:
    """Records and their timestamps; None if there is a message without a timestamp.

    :param messages: Of confluent-kafka, none of them an error.
    """
    stamps = list(map(_TIMESTAMP, messages))
    if type(schema) is ValueOnly:
        values, whole = _values(schema.schema, messages)
        if whole:
            return values, _milliseconds(stamps)
        kept = [index for index, value in enumerate(values) if value is not None]
        return [values[index] for index in kept], _milliseconds([stamps[index] for index in kept])
    records: list[Any] = []
    owners: list[Any] = []
    for message, stamp in zip(messages, stamps):
        try:
            made = list(schema.deserialize(_whole(message, stamp)))
        except Exception as error:
            raise _malformed(message, error) from error
        records += made
        owners += [stamp] * len(made)
    return records, _milliseconds(owners)


def _values(schema: DeserializationSchema, messages: Sequence[Any]) -> tuple[list[Any], bool]:
    """The record of each message, None where it is left out, and whether none is left out."""
    deserialize = schema.deserialize
    values: list[Any] = []
    append, whole = values.append, True
    try:
        for message in map(_VALUE, messages):
            value = None if message is None else deserialize(message)
            if value is None:
                whole = False
            append(value)
    except Exception as error:
        raise _malformed(messages[len(values)], error) from error
    return values, whole


def _milliseconds(stamps: list[tuple[int, int]]) -> list[int] | None:
    """Of (kind, time): kind 0 says that there is none."""
    times = [time for kind, time in stamps if kind]
    return times if len(times) == len(stamps) else None


def _whole(message: Any, stamp: tuple[int, int]) -> KafkaRecord:
    return KafkaRecord(
        message.topic(),
        message.partition(),
        message.offset(),
        stamp[1] if stamp[0] else None,
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )


def _malformed(message: Any, error: Exception) -> MalformedRecordError:
    where = f"offset {message.offset()} of partition {message.partition()} of topic {message.topic()!r}"
    return MalformedRecordError(
        f"the message at {where} cannot be deserialized: {type(error).__name__}: {error}. Its value is "
        f"{message.value()!r:.200}. A schema that returns None leaves a message out."
    )
