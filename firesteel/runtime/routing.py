"""Which emitter an edge has: by its partitioning, and by the format in which records travel on it."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial
from typing import Any

from firesteel.errors import ProgramError
from firesteel.runtime import partitioners
from firesteel.runtime.batch import Format
from firesteel.runtime.emitters import (
    BroadcastEmitter,
    ChannelWriter,
    Emitter,
    ForwardEmitter,
    HashEmitter,
    Place,
    RoundRobinEmitter,
    RoutingEmitter,
    SingleTargetEmitter,
    rescale_range,
)
from firesteel.runtime.failure import OperatorInfo
from firesteel.runtime.partitioners import Partitioning


def make_emitter(
    partitioning: Partitioning,
    *,
    edge: int,
    level: int,
    subtask: int,
    producers: int,
    targets: int,
    max_parallelism: int,
    chunk_records: int,
    producer: OperatorInfo,
    format: Format = Format.ROWS,
) -> Emitter:
    """The emitter for a partitioning. ``producers`` and ``targets`` are the parallelisms of the two ends."""
    place = Place(edge, level, subtask, targets)
    kind = partitioning.kind
    if format is Format.COLUMNS:
        # Imported where there are columns: Arrow takes its time, and most programs have rows only.
        from firesteel.runtime.columns.emitters import column_emitter

        return column_emitter(partitioning, place, producers, max_parallelism, chunk_records, producer)
    common = (place, partial(ChannelWriter, chunk_records, producer))
    if kind == partitioners.HASH:
        assert partitioning.key_selector is not None
        return HashEmitter(*common, partitioning.key_selector, max_parallelism)
    if kind == partitioners.FORWARD:
        return ForwardEmitter(*common)
    if kind == partitioners.BROADCAST:
        return BroadcastEmitter(*common)
    if kind == partitioners.GLOBAL:
        return SingleTargetEmitter(*common, 0)
    if kind == partitioners.REBALANCE:
        return RoundRobinEmitter(*common, range(targets))
    if kind == partitioners.RESCALE:
        return RoundRobinEmitter(*common, rescale_range(subtask, producers, targets))
    if kind == partitioners.SHUFFLE:
        chooser = random.Random(f"{edge}/{subtask}")  # seeded: an epoch that is run again routes the same
        return RoutingEmitter(*common, lambda values: [chooser.randrange(targets) for _ in values])
    if kind == partitioners.CUSTOM:
        return RoutingEmitter(*common, _CustomChoice(partitioning, targets))
    raise ProgramError(f"unknown partitioning {kind!r}")


class _CustomChoice:
    """Targets chosen by a user's partitioner."""

    def __init__(self, partitioning: Partitioning, targets: int) -> None:
        assert partitioning.key_selector is not None and partitioning.partitioner is not None
        self._select = partitioning.key_selector
        self._partition = partitioning.partitioner
        self._targets = targets

    def __call__(self, values: Iterable[Any]) -> list[int]:
        return [self._checked(self._partition(self._select(value), self._targets)) for value in values]

    def _checked(self, target: Any) -> int:
        if isinstance(target, int) and 0 <= target < self._targets:
            return target
        raise ProgramError(f"the partitioner returned {target!r}; expected a number from 0 to {self._targets - 1}")
