"""Exchanges: records become chunks, each for one task of the next step, and Spark brings them there.

A chunk is a pickled list of records with the number of the exchange it belongs to, so that a step with two inputs tells
them apart without a mark on every record.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import islice
from typing import Any

from firesteel.dataset.keys import quick_extractor
from firesteel.errors import ProgramError
from firesteel.execution.dataset.spilling import Chunk, pack
from firesteel.state.key_groups import stable_hash

BATCH = 4096
"""So many records are handled at once."""
_PLAIN = {int, str, bytes}
_NUMBERS = (int, float, complex, Decimal, Fraction)
_SAME_HASH = os.environ.get("PYTHONHASHSEED", "random") != "random"
"""Whether ``hash()`` of texts is the same in all processes: Spark sees to that in its workers."""

Row = tuple[int, tuple[int, Chunk]]
"""Task, and the chunk with the number of its exchange."""
Route = Callable[[list[Any], int], Iterable[int]]
"""From a batch of records and the number of tasks to a task for each."""


def by_hash(extract: Callable[[Any], Any]) -> Route:
    """Records of a key go to the same task."""

    def route(batch: list[Any], tasks: int) -> list[int]:
        return tasks_of(list(map(_quick(extract, batch), batch)), tasks)

    return route


def tasks_of(keys: list[Any], tasks: int) -> list[int]:
    """The task of each key."""
    if _SAME_HASH and set(map(type, keys)) <= _PLAIN:
        return [hash(key) % tasks for key in keys]
    return [key_hash(key) % tasks for key in keys]


def key_hash(key: Any) -> int:
    """A hash that is the same in all workers. Python's own is, where Spark has set its seed, but for None."""
    kind = key.__class__
    if not _SAME_HASH or isinstance(key, Enum):
        return stable_hash(key)
    if kind in _PLAIN or (isinstance(key, _NUMBERS) and key == key):
        return hash(key)
    if kind is tuple and all(part.__class__ in _PLAIN for part in key):
        return hash(key)
    return stable_hash(key)


def _quick(extract: Callable[[Any], Any], batch: list[Any]) -> Callable[[Any], Any]:
    kinds = set(map(type, batch))
    return quick_extractor(extract, batch[0]) if len(kinds) == 1 else extract


def by_partitioner(extract: Callable[[Any], Any], partition: Callable[[Any, int], int], name: str) -> Route:
    """Records go where the user's function says."""

    def route(batch: list[Any], tasks: int) -> list[int]:
        targets = []
        for record in batch:
            target = partition(extract(record), tasks)
            if not isinstance(target, int) or not 0 <= target < tasks:
                raise ProgramError(
                    f"the partitioner of {name!r} gave {target!r} for the key {extract(record)!r:.100}; "
                    f"expected a whole number from 0 to {tasks - 1}"
                )
            targets.append(target)
        return targets

    return route


def to_one(batch: list[Any], tasks: int) -> Iterable[int]:
    """Everything to the first task."""
    return [0] * len(batch)


def in_turn(index: int) -> Route:
    """Evenly, each task beginning elsewhere."""
    place = index

    def route(batch: list[Any], tasks: int) -> list[int]:
        nonlocal place
        begin, place = place, place + len(batch)
        return [number % tasks for number in range(begin, place)]

    return route


def batches_of(records: Iterator[Any]) -> Iterator[list[Any]]:
    """Records in lists."""
    while batch := list(islice(records, BATCH)):
        yield batch


def chunked(records: Iterator[Any], route: Route, tasks: int, number: int) -> Iterator[Row]:
    """Records as chunks for the tasks of the next step."""
    buffers: list[list[Any]] = [[] for _ in range(tasks)]
    if tasks == 1:
        for batch in batches_of(records):
            yield 0, (number, pack(batch))
        return
    for batch in batches_of(records):
        for target, record in zip(route(batch, tasks), batch):
            buffers[target].append(record)
        for target, buffer in enumerate(buffers):
            if len(buffer) >= BATCH:
                yield target, (number, pack(buffer))
                buffers[target] = []
    for target, buffer in enumerate(buffers):
        if buffer:
            yield target, (number, pack(buffer))


def chunks_of(rows: Iterable[Row], sides: dict[int, int]) -> Iterator[tuple[int, Chunk]]:
    """The chunks that came, each with the input that it belongs to."""
    return ((sides[number], chunk) for _, (number, chunk) in rows)


def records_of(rows: Iterable[Row]) -> Iterator[Any]:
    """The records that came, of whichever input."""
    for _, (_, chunk) in rows:
        yield from pickle.loads(chunk)


def sized_batches(rows: Iterable[Row]) -> Iterator[tuple[list[Any], int]]:
    """The records that came, in batches with their sizes."""
    for _, (_, chunk) in rows:
        yield pickle.loads(chunk), len(chunk)
