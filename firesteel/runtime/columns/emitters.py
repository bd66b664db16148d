"""Carrying columns to other subtasks: targets are computed for a whole batch, then the records of each are taken."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from firesteel.runtime import partitioners
from firesteel.runtime.batch import COLUMN_FACTOR
from firesteel.runtime.columns.batch import ColumnBatch, to_bytes
from firesteel.runtime.columns.keys import KeyTargets
from firesteel.runtime.emitters import (
    BroadcastEmitter,
    ChannelWriter,
    Emitter,
    ForwardEmitter,
    Place,
    SingleTargetEmitter,
    rescale_range,
)
from firesteel.runtime.failure import OperatorInfo
from firesteel.runtime.partitioners import Partitioning


class ColumnChannelWriter(ChannelWriter):
    """Gathers batches of columns for one target, and packs them into chunks."""

    __slots__ = ("_batches", "_limit", "_waiting")

    def __init__(self, chunk_records: int, producer: OperatorInfo) -> None:
        super().__init__(chunk_records, producer)
        self._batches: list[ColumnBatch] = []
        self._waiting = 0
        self._limit = COLUMN_FACTOR * chunk_records

    def add(self, batch: ColumnBatch) -> None:
        """Add a batch."""
        self._batches.append(batch)
        self._waiting += len(batch)
        if self._waiting >= self._limit:
            self.pack()

    def close_segment(self) -> None:
        """Turn what has been gathered into entries."""
        if self._batches:
            batches, self._batches, self._waiting = self._batches, [], 0
            self.add_entries(to_bytes(batches))


class ColumnRoutingEmitter(Emitter):
    """Records to targets chosen for each of them. ``choose`` gives an array of targets for a batch."""

    def __init__(
        self, place: Place, make_writer: Callable[[], ChannelWriter], choose: Callable[[ColumnBatch], Any]
    ) -> None:
        super().__init__(place, make_writer)
        self._choose = choose

    def emit(self, batch: ColumnBatch) -> None:
        """Sort the records by target, keeping their order, and give each target its part."""
        chosen = self._choose(batch)
        first = int(chosen[0])
        if self.targets == 1 or (chosen == first).all():
            self.writers[first].add(batch)
            return
        order = np.argsort(chosen, kind="stable")
        ends = np.cumsum(np.bincount(chosen, minlength=self.targets)).tolist()
        sorted_batch, start = batch.take(order), 0
        for writer, end in zip(self.writers, ends):
            if end > start:
                writer.add(sorted_batch.slice(start, end))
            start = end

    @property
    def only_none(self) -> bool | None:
        """Of an edge with keys: whether None was the only key so far."""
        return self._choose.only_none if isinstance(self._choose, KeyTargets) else None


class _InTurn:
    """Records in turn to the subtasks of a range."""

    def __init__(self, turn: range, subtask: int) -> None:
        self._turn = turn
        self._next = subtask % len(turn)

    def __call__(self, batch: ColumnBatch) -> Any:
        places: Any = (self._next + np.arange(len(batch))) % len(self._turn)
        self._next = (self._next + len(batch)) % len(self._turn)
        return (self._turn.start + places).astype(np.int16)


class _AtRandom:
    """Records to any subtask. Seeded: an epoch that is run again routes the same."""

    def __init__(self, seed: str, targets: int) -> None:
        self._generator = np.random.default_rng(random.Random(seed).getrandbits(64))
        self._targets = targets

    def __call__(self, batch: ColumnBatch) -> Any:
        return self._generator.integers(self._targets, size=len(batch), dtype=np.int16)


def column_emitter(
    partitioning: Partitioning,
    place: Place,
    producers: int,
    max_parallelism: int,
    chunk_records: int,
    producer: OperatorInfo,
) -> Emitter:
    """The emitter for a partitioning that columns can take: see :meth:`Partitioning.carries_columns`."""
    make_writer = partial(ColumnChannelWriter, chunk_records, producer)
    edge, _, subtask, targets = place
    choices: dict[str, Callable[[], Any]] = {
        partitioners.HASH: lambda: KeyTargets(partitioning.required_key_fields, targets, max_parallelism),
        partitioners.REBALANCE: lambda: _InTurn(range(targets), subtask),
        partitioners.RESCALE: lambda: _InTurn(rescale_range(subtask, producers, targets), subtask),
        partitioners.SHUFFLE: lambda: _AtRandom(f"{edge}/{subtask}", targets),
    }
    if partitioning.kind in choices:
        return ColumnRoutingEmitter(place, make_writer, choices[partitioning.kind]())
    if partitioning.kind == partitioners.FORWARD:
        return ForwardEmitter(place, make_writer)
    if partitioning.kind == partitioners.BROADCAST:
        return BroadcastEmitter(place, make_writer)
    assert partitioning.kind == partitioners.GLOBAL, partitioning.kind
    return SingleTargetEmitter(place, make_writer, 0)
