"""How records become messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from firesteel.common.serialization import SerializationSchema
from firesteel.errors import ConfigurationError

__all__ = ["KafkaRecordSerializationSchema", "KafkaRecordSerializationSchemaBuilder", "KafkaTopicSelector"]

Headers = Callable[[Any], "Mapping[str, bytes | str | None] | Iterable[tuple[str, bytes | str | None]] | None"]


class KafkaTopicSelector(ABC):
    """Says to which topic a record goes. Must be picklable."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """The name of the topic. Called in the task, once for each record."""


class KafkaRecordSerializationSchema(SerializationSchema):
    """Makes messages of records: where to, key, value and headers. Made by :meth:`builder`.

    :param topic: What gives the topic of a record.
    :param value: What gives the value.
    :param key: What gives the key; None: messages have none.
    :param headers: What gives the headers; None: messages have none.
    """

    def __init__(
        self,
        topic: str | Callable[[Any], str],
        value: SerializationSchema,
        key: SerializationSchema | None = None,
        headers: Headers | None = None,
    ) -> None:
        self.topic = topic
        self.value = value
        self.key = key
        self.headers = headers

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Begin to build a schema."""
        return KafkaRecordSerializationSchemaBuilder()

    def serialize(self, element: Any) -> bytes:
        """The value of the message."""
        return self.value.serialize(element)

    def topic_of(self, element: Any) -> str:
        """The topic of the message."""
        topic = self.topic if isinstance(self.topic, str) else self.topic(element)
        if not isinstance(topic, str) or not topic:
            raise ConfigurationError(f"the topic selector must return the name of a topic, got {topic!r}")
        return topic

    def headers_of(self, element: Any) -> list[tuple[str, Any]] | None:
        """The headers of the message."""
        found = None if self.headers is None else self.headers(element)
        if found is None:
            return None
        return list(found.items()) if isinstance(found, Mapping) else list(found)


class KafkaRecordSerializationSchemaBuilder:
    """Builds a :class:`KafkaRecordSerializationSchema`. A topic and a value schema are needed."""

    def __init__(self) -> None:
        self._topic: str | Callable[[Any], str] | None = None
        self._value: SerializationSchema | None = None
        self._key: SerializationSchema | None = None
        self._headers: Headers | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """All records go to this topic."""
        if not isinstance(topic, str) or not topic:
            raise ConfigurationError(f"set_topic() takes the name of a topic, got {topic!r}")
        return self._choose(topic)

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """The topic depends on the record.

        :param topic_selector: A function of the record, or a :class:`KafkaTopicSelector`.
        """
        selector = topic_selector.apply if isinstance(topic_selector, KafkaTopicSelector) else topic_selector
        if not callable(selector):
            raise ConfigurationError(f"set_topic_selector() takes a function, got {topic_selector!r}")
        return self._choose(selector)

    def _choose(self, topic: str | Callable[[Any], str]) -> KafkaRecordSerializationSchemaBuilder:
        if self._topic is not None:
            raise ConfigurationError("the topic is set already: call set_topic() or set_topic_selector(), once")
        self._topic = topic
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """What makes the key of a record's message. Messages of one key go to one partition."""
        if self._key is not None:
            raise ConfigurationError("the key serialization schema is set already")
        self._key = _schema("set_key_serialization_schema", key_serialization_schema)
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """What makes the value of a record's message."""
        if self._value is not None:
            raise ConfigurationError("the value serialization schema is set already")
        self._value = _schema("set_value_serialization_schema", value_serialization_schema)
        return self

    def set_header_provider(self, header_provider: Headers) -> KafkaRecordSerializationSchemaBuilder:
        """What makes the headers: a function from a record to names and values, or to None."""
        if not callable(header_provider):
            raise ConfigurationError(f"set_header_provider() takes a function, got {header_provider!r}")
        self._headers = header_provider
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """The schema."""
        if self._topic is None:
            raise ConfigurationError("a record serializer needs set_topic() or set_topic_selector()")
        if self._value is None:
            raise ConfigurationError("a record serializer needs set_value_serialization_schema()")
        return KafkaRecordSerializationSchema(self._topic, self._value, self._key, self._headers)


def _schema(method: str, value: Any) -> SerializationSchema:
    if not isinstance(value, SerializationSchema):
        raise ConfigurationError(f"{method}() takes a SerializationSchema, got {value!r}")
    return value
