"""Where reading a partition starts, and where it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from firesteel.errors import ConfigurationError

__all__ = ["KafkaOffsetResetStrategy", "KafkaOffsetsInitializer", "KafkaTopicPartition", "OffsetKind"]


class KafkaTopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class KafkaOffsetResetStrategy(Enum):
    """Where to read on when an offset is not there (any more)."""

    LATEST = "latest"
    """At the end."""
    EARLIEST = "earliest"
    """At the oldest record."""
    NONE = "error"
    """Nowhere: the job fails."""


class OffsetKind(Enum):
    """How an offset is found."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    COMMITTED = "committed"
    GIVEN = "given"


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """Says which offset of each partition to begin or to stop at. Use one of the static methods.

    :param kind: How the offset is found.
    :param reset: What to do where there is none.
    :param milliseconds: Of those found by time.
    :param given: Of those that are given.
    """

    kind: OffsetKind
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST
    milliseconds: int = 0
    given: tuple[tuple[KafkaTopicPartition, int], ...] = ()

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """The offsets that the consumer group has committed; where it has none, the strategy decides."""
        return KafkaOffsetsInitializer(OffsetKind.COMMITTED, _strategy(offset_reset_strategy))

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record whose timestamp is not before this, in milliseconds; without any, the end."""
        if isinstance(timestamp, bool) or not isinstance(timestamp, int) or timestamp < 0:
            raise ConfigurationError(f"timestamp() takes milliseconds since 1970, got {timestamp!r}")
        return KafkaOffsetsInitializer(OffsetKind.TIMESTAMP, KafkaOffsetResetStrategy.LATEST, timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The oldest records that there are."""
        return KafkaOffsetsInitializer(OffsetKind.EARLIEST, KafkaOffsetResetStrategy.EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """The end of each partition at the time when it is found."""
        return KafkaOffsetsInitializer(OffsetKind.LATEST, KafkaOffsetResetStrategy.LATEST)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """These offsets; partitions that are not among them are read from where the strategy says."""
        given = tuple((KafkaTopicPartition(*where), _offset(where, at)) for where, at in offsets.items())
        return KafkaOffsetsInitializer(OffsetKind.GIVEN, _strategy(offset_reset_strategy), given=given)


def _strategy(value: Any) -> KafkaOffsetResetStrategy:
    if not isinstance(value, KafkaOffsetResetStrategy):
        raise ConfigurationError(f"offset_reset_strategy is a KafkaOffsetResetStrategy, got {value!r}")
    return value


def _offset(where: Any, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigurationError(f"the offset of {where!r} is a whole number from 0, got {value!r}")
    return value
