"""More records than memory: runs sorted on disk and merged, and buckets on disk that fit one by one.

How much memory records take is judged by their pickled size, which is known of every chunk that comes.
"""

from __future__ import annotations

import heapq
import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any

from firesteel.state.key_groups import stable_hash

Chunk = bytes
_BATCH = 1000
_BUCKETS = 16
_DEEPEST = 4
"""Buckets of buckets of buckets: what is larger then has few keys, and is held in memory after all."""


def pack(records: list[Any]) -> Chunk:
    """Records as bytes."""
    return pickle.dumps(records, 5)


class Spill:
    """Records on disk, in a file that is gone when it is closed (or the process ends)."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="firesteel-spill-")  # noqa: SIM115
        self._waiting: list[Any] = []
        self.size = 0
        self.records = 0

    def add(self, records: Iterable[Any]) -> None:
        """Write records."""
        self._waiting.extend(records)
        if len(self._waiting) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            pickle.dump(self._waiting, self._file, 5)
            self.records += len(self._waiting)
            self.size = self._file.tell()
            self._waiting = []

    def batches(self) -> Iterator[list[Any]]:
        """Read everything, from the start."""
        self._flush()
        self._file.seek(0)
        end = os.fstat(self._file.fileno()).st_size
        while self._file.tell() < end:
            yield pickle.load(self._file)

    def close(self) -> None:
        """Give the space back."""
        self._file.close()


class ExternalSort:
    """Sorts records that may be more than fit into memory; equal ones keep their order."""

    def __init__(self, key: Callable[[Any], Any], memory: int) -> None:
        self._key = key
        self._memory = memory
        self._runs: list[Spill] = []
        self._held: list[Any] = []
        self._size = 0

    def add(self, records: list[Any], size: int) -> None:
        """Take records; ``size`` is about how many bytes they are."""
        self._held.extend(records)
        self._size += size
        if self._size > self._memory:
            run = Spill()
            self._held.sort(key=self._key)
            for start in range(0, len(self._held), _BATCH):
                run.add(self._held[start : start + _BATCH])
            self._runs.append(run)
            self._held, self._size = [], 0

    def records(self) -> Iterator[Any]:
        """All of them in order, once; the space on disk is given back at the end."""
        try:
            self._held.sort(key=self._key)
            if self._runs:
                yield from heapq.merge(*map(_records, self._runs), self._held, key=self._key)
            else:
                yield from self._held
        finally:
            for run in self._runs:
                run.close()


def external_sort(batches: Iterable[tuple[list[Any], int]], key: Callable[[Any], Any], memory: int) -> Iterator[Any]:
    """Sort batches of records, given with their sizes."""
    sort = ExternalSort(key, memory)
    for records, size in batches:
        sort.add(records, size)
    return sort.records()


def _records(run: Spill) -> Iterator[Any]:
    for batch in run.batches():
        yield from batch


class Bucketed:
    """Several inputs, dealt out to buckets on disk by their keys: records of a key are in the same bucket."""

    def __init__(self, extractors: Sequence[Callable[[Any], Any]], depth: int = 0) -> None:
        self._extractors = extractors
        self._depth = depth
        self._buckets = [[Spill() for _ in extractors] for _ in range(_BUCKETS)]

    def add(self, side: int, records: Iterable[Any]) -> None:
        """Deal records out."""
        extract, shift = self._extractors[side], 8 * self._depth
        parts: dict[int, list[Any]] = {}
        for record in records:
            number = (stable_hash(extract(record)) >> (32 + shift % 32)) % _BUCKETS
            parts.setdefault(number, []).append(record)
        for number, part in parts.items():
            self._buckets[number][side].add(part)

    def each(self, memory: int) -> Iterator[list[list[Any]]]:
        """The records of each input, bucket by bucket; a bucket that does not fit is divided again."""
        for spills in self._buckets:
            try:
                contents = [spill.batches() for spill in spills]
                if sum(spill.size for spill in spills) > memory and self._depth < _DEEPEST:
                    yield from self._divided(contents, memory)
                else:
                    yield [[record for batch in batches for record in batch] for batches in contents]
            finally:
                for spill in spills:
                    spill.close()

    def _divided(self, contents: Sequence[Iterator[list[Any]]], memory: int) -> Iterator[list[list[Any]]]:
        smaller = Bucketed(self._extractors, self._depth + 1)
        for side, batches in enumerate(contents):
            for batch in batches:
                smaller.add(side, batch)
        yield from smaller.each(memory)


def together(
    chunks: Iterable[tuple[int, Chunk]], extractors: Sequence[Callable[[Any], Any]], memory: int
) -> Iterator[list[list[Any]]]:
    """All records of all inputs such that those of a key come at once: everything in one go if it fits into memory."""
    held: list[list[Any]] = [[] for _ in extractors]
    buckets: Bucketed | None = None
    size = 0
    for side, chunk in chunks:
        records = pickle.loads(chunk)
        size += len(chunk)
        if buckets is not None:
            buckets.add(side, records)
            continue
        held[side].extend(records)
        if size > memory:
            buckets = Bucketed(extractors)
            for number, part in enumerate(held):
                buckets.add(number, part)
            held = []
    if buckets is None:
        yield held
    else:
        yield from buckets.each(memory)
