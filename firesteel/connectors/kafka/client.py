"""The way to librdkafka: settings under the names of Kafka's Java client, and errors that say what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from firesteel.errors import ConfigurationError, JobError

__all__ = ["KafkaClientError", "client_settings", "confluent", "explained", "text_setting"]

_OF_JAVA_ONLY = frozenset(
    {"key.serializer", "value.serializer", "key.deserializer", "value.deserializer", "max.poll.records"}
)
_LOGIN = re.compile(r"""(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""")


class KafkaClientError(JobError):
    """Kafka has refused something, or cannot be reached. The text names the servers and what was asked."""


def confluent() -> Any:
    """The module ``confluent_kafka``."""
    try:
        import confluent_kafka
    except ImportError as error:
        raise ConfigurationError(
            "Kafka needs the package confluent-kafka, in the driver and in the workers. Install firesteel[kafka]."
        ) from error
    return confluent_kafka


def client_settings(properties: Mapping[str, str]) -> dict[str, str]:
    """Settings for librdkafka: what only Java's client needs is left out, a JAAS login becomes name and password."""
    settings = {key: value for key, value in properties.items() if key not in _OF_JAVA_ONLY}
    jaas = settings.pop("sasl.jaas.config", None)
    if jaas is not None:
        login = {name: double or single for name, double, single in _LOGIN.findall(jaas)}
        if set(login) != {"username", "password"}:
            raise ConfigurationError(
                'sasl.jaas.config is understood if it has username="..." and password="...". For other ways to log in '
                "set librdkafka's own properties (sasl.oauthbearer..., sasl.kerberos...)."
            )
        for name, value in login.items():
            settings.setdefault(f"sasl.{name}", re.sub(r"\\(.)", r"\1", value))
    return settings


def text_setting(owner: str, key: Any, value: Any) -> tuple[str, str]:
    """A property as PyFlink takes it, two texts; whatever else is a likely mistake."""
    if not isinstance(key, str) or not key or not isinstance(value, (str, int, float)):
        raise ConfigurationError(f"{owner} takes a name and a text, got {key!r} and a {type(value).__name__}")
    return key, str(value).lower() if isinstance(value, bool) else str(value)


def explained(error: Exception, doing: str, servers: str) -> KafkaClientError:
    """An error of the client with what was being done, and where."""
    return KafkaClientError(f"Kafka at {servers}: {doing}: {error}")
