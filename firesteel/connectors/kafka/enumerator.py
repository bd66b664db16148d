"""The driver's half of the source: finds partitions and where to begin, watches their ends, commits the group."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from firesteel.connectors.kafka.look import Broker, Subscription
from firesteel.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition
from firesteel.model.coordinator import CoordinatorContext
from firesteel.model.source import SourceSplit, SplitEnumerator

__all__ = ["KafkaEnumerator", "PartitionRange", "Plan", "split_of"]

_LOG = logging.getLogger("firesteel.kafka")
_LOOK_MS = 100
"""How often the ends of partitions are asked for while nothing comes."""


@dataclass(frozen=True)
class Plan:
    """What a source reads, as its builder was told.

    :param stop: None: for ever.
    :param ends: Whether the source ends when all partitions have come to their stop.
    :param discovery_ms: How often to look for new partitions; None: once.
    :param commits: Whether the group's offsets are committed with each checkpoint.
    """

    subscription: Subscription
    start: KafkaOffsetsInitializer
    stop: KafkaOffsetsInitializer | None
    ends: bool
    discovery_ms: int | None
    commits: bool


PartitionRange = tuple[str, int, int, "int | None"]
"""What a split holds: topic, partition, first offset, and the offset to stop before."""


def split_of(where: KafkaTopicPartition, start: int, stop: int | None) -> SourceSplit:
    """The split of a partition."""
    payload: PartitionRange = (where.topic, where.partition, start, stop)
    return SourceSplit(f"{where.topic}-{where.partition}", payload)


@dataclass
class _Seen:
    """The answer to one look."""

    new: list[SourceSplit] = field(default_factory=list)
    discovered: bool = False
    ends: dict[KafkaTopicPartition, int] = field(default_factory=dict)


class KafkaEnumerator(SplitEnumerator):
    """Asks the broker beside the driver's loop. What it has found is part of the checkpoint."""

    def __init__(self, plan: Plan, broker: Broker) -> None:
        self._plan = plan
        self._broker = broker
        self._known: set[KafkaTopicPartition] = set()
        self._began = False
        """The partitions of the beginning are known: those that come later are read from their start."""
        self._new: list[SourceSplit] = []
        self._asking = False
        self._next_discovery: int | None = 0
        self._next_look = 0
        self._ends: dict[KafkaTopicPartition, int] = {}
        self._positions: dict[KafkaTopicPartition, int] = {}
        self._asked_at: dict[KafkaTopicPartition, int] = {}
        """The positions when the ends were asked for last."""

    def open(self, context: CoordinatorContext) -> None:
        self._context = context
        context.metrics.gauge("pendingRecords", lambda: sum(self._lags()))
        context.metrics.gauge("records-lag-max", lambda: max(self._lags(), default=0))
        self._succeeded = context.metrics.counter("commitsSucceeded")
        self._failed = context.metrics.counter("commitsFailed")

    def _lags(self) -> list[int]:
        return [max(0, end - self._positions.get(where, end)) for where, end in self._ends.items()]

    def start(self, restored: Mapping[str, Any] | None) -> None:
        if restored is not None:
            self._known = {KafkaTopicPartition(*where) for where in restored["partitions"]}
            self._began = restored["began"]
            self._new = [split_of(KafkaTopicPartition(*each[:2]), *each[2:]) for each in restored["waiting"]]
            if self._began and self._plan.discovery_ms is None:
                self._next_discovery = None

    def discover_splits(self, now: int) -> list[SourceSplit]:
        discovery = self._next_discovery is not None and now >= self._next_discovery
        if not self._asking and (discovery or (now >= self._next_look and self._watches())):
            self._ask(now, discovery)
        new, self._new = self._new, []
        return new

    def _watches(self) -> bool:
        """Whether there are partitions without a known end."""
        return self._plan.stop is None and bool(self._known)

    def _ask(self, now: int, discovery: bool) -> None:
        self._asking = True
        self._next_look = now + _LOOK_MS
        if discovery:
            self._next_discovery = None if self._plan.discovery_ms is None else now + self._plan.discovery_ms
        known, began = frozenset(self._known), self._began
        self._asked_at = dict(self._positions)
        self._context.call_async(lambda: self._look(known, began, discovery), self._seen)

    def _look(self, known: frozenset[KafkaTopicPartition], began: bool, discovery: bool) -> _Seen:
        """In a thread of its own: nothing of this object is changed here."""
        plan, seen = self._plan, _Seen(discovered=discovery)
        if discovery:
            new = [where for where in self._broker.partitions(plan.subscription) if where not in known]
            start = KafkaOffsetsInitializer.earliest() if began else plan.start
            starts = self._broker.offsets(start, new)
            stops = {} if plan.stop is None else self._broker.offsets(plan.stop, new)
            seen.new = [split_of(where, starts[where], stops.get(where)) for where in new]
        if plan.stop is None:
            found = [KafkaTopicPartition(*split.payload[:2]) for split in seen.new]
            seen.ends = self._broker.ends(sorted({*known, *found}))
        return seen

    def _seen(self, seen: _Seen | None, error: Exception | None) -> None:
        """Called between two epochs."""
        self._asking = False
        if error is not None:
            if not self._began:
                raise error
            _LOG.warning("source %r goes on with the partitions it has: %s", self._context.name, error)
            return
        assert seen is not None
        self._ends.update(seen.ends)
        self._began = self._began or seen.discovered
        for split in seen.new:
            where = KafkaTopicPartition(*split.payload[:2])
            self._known.add(where)
            self._positions[where] = self._asked_at[where] = split.payload[2]
            self._new.append(split)
            self._show(where)
        if seen.new:
            names = ", ".join(split.split_id for split in seen.new)
            _LOG.info("source %r reads %d partitions: %.500s", self._context.name, len(seen.new), names)

    def _show(self, where: KafkaTopicPartition) -> None:
        group = self._context.metrics.add_group("KafkaSourceReader").add_group("topic", where.topic)
        group.add_group("partition", str(where.partition)).gauge("currentOffset", lambda: self._positions[where] - 1)

    def no_more_splits(self) -> bool:
        return self._plan.ends and self._began and not self._new

    def has_data(self, split: SourceSplit, position: int, now: int) -> bool:
        topic, partition, _, stop = split.payload
        where = KafkaTopicPartition(topic, partition)
        if where not in self._positions:  # restored
            self._show(where)
            self._asked_at[where] = position
        self._positions[where] = position
        if stop is not None:
            return True
        # What has been moving since the last look will go on: only silence is worth asking for.
        return self._ends.get(where, 0) > position or self._asked_at.get(where, position) < position

    def next_data_time(self, now: int) -> int | None:
        if self._asking:
            return None
        times = [self._next_discovery] if self._next_discovery is not None else []
        return min([*times, self._next_look] if self._watches() else times, default=None)

    def snapshot(self) -> dict[str, Any]:
        return {
            "partitions": [tuple(where) for where in sorted(self._known)],
            "waiting": [split.payload for split in self._new],
            "began": self._began,
        }

    def committed(self, positions: Mapping[str, int]) -> None:
        """Tell Kafka how far the group is. The job does not depend on it, so a failure is counted and no more."""
        marks = {
            where: at for where in self._known if (at := positions.get(f"{where.topic}-{where.partition}")) is not None
        }
        if self._plan.commits and marks:
            self._context.call_async(lambda: self._broker.commit(marks), self._marked)

    def _marked(self, _: None, error: Exception | None) -> None:
        if error is None:
            self._succeeded.inc()
        else:
            self._failed.inc()
            _LOG.warning(
                "source %r: %s. The job goes on: its own offsets are in the checkpoint", self._context.name, error
            )

    def close(self) -> None:
        self._broker.close()
