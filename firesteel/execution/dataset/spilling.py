"""More records than memory: runs sorted on disk and merged, and buckets on disk that fit one by one.

How much memory records take is judged by their pickled size, which is known of every chunk that comes.
"""

from __future__ import annotations

import heapq
import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from firesteel.state.key_groups import stable_hash

Chunk = bytes
_FIRST_BATCH, _BATCH, _BATCH_BYTES = 16, 1000, 1 << 20
"""Records that are written at once: so many at first, then this many, but not more bytes than these."""
_RUNS = 50
"""So many sorted runs can be merged, a batch of each at a time, within the memory that they were sorted in."""
_BUCKETS = 16
_DEEPEST = 3
"""Buckets of buckets of buckets: what is larger then has few keys, each of which gets a file of its own."""


def pack(records: list[Any]) -> Chunk:
    """Records as bytes."""
    return pickle.dumps(records, 5)


class Spill:
    """Records on disk, in a file that is gone when it is closed (or the process ends). Few records stay in memory.

    :param batch_bytes: Records are written, and read, about so many bytes at once.
    """

    def __init__(self, batch_bytes: int = _BATCH_BYTES) -> None:
        self._file: IO[bytes] | None = None
        self._waiting: list[Any] = []
        self._batch_bytes = batch_bytes
        self._batch = _FIRST_BATCH
        self.size = 0
        self.records = 0

    def add(self, records: Iterable[Any]) -> None:
        """Write records."""
        self._waiting.extend(records)
        begin = 0
        while len(self._waiting) - begin >= self._batch:
            end = begin + self._batch
            self._write(self._waiting[begin:end])
            begin = end
        if begin:
            self._waiting = self._waiting[begin:]

    def flush(self) -> None:
        """Have everything on disk, and counted."""
        if self._waiting:
            batch, self._waiting = self._waiting, []
            self._write(batch)

    def _write(self, batch: list[Any]) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="firesteel-spill-")  # noqa: SIM115
        self._file.seek(0, os.SEEK_END)
        pickle.dump(batch, self._file, 5)
        self.size, self.records = self._file.tell(), self.records + len(batch)
        self._batch = max(1, min(_BATCH, self._batch_bytes * self.records // self.size))

    def batches(self) -> Iterator[list[Any]]:
        """Read everything, from the start."""
        self.flush()
        if self._file is None:
            return
        place = 0
        while place < self.size:
            self._file.seek(place)
            batch = pickle.load(self._file)
            place = self._file.tell()
            yield batch

    def __iter__(self) -> Iterator[Any]:
        for batch in self.batches():
            yield from batch

    def close(self) -> None:
        """Give the space back."""
        if self._file is not None:
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
            run = Spill(min(_BATCH_BYTES, max(self._memory // _RUNS, 1)))
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
                yield from heapq.merge(*self._runs, self._held, key=self._key)
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


@dataclass(frozen=True)
class Part:
    """Records of some keys, all that there are of them, by input.

    :param fits: The records are lists. If not, they are all of one key, can be read more than once, and are on disk.
    """

    sides: Sequence[Iterable[Any]]
    fits: bool


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

    def each(self, memory: int) -> Iterator[Part]:
        """The records of each input, bucket by bucket; a bucket that does not fit is divided again."""
        for spills in self._buckets:
            try:
                for spill in spills:
                    spill.flush()
                if sum(spill.size for spill in spills) <= memory:
                    yield Part([list(spill) for spill in spills], True)
                elif self._depth < _DEEPEST:
                    yield from self._divided(spills, memory)
                else:
                    yield from self._by_key(spills)
            finally:
                for spill in spills:
                    spill.close()

    def _divided(self, spills: Sequence[Spill], memory: int) -> Iterator[Part]:
        smaller = Bucketed(self._extractors, self._depth + 1)
        for side, spill in enumerate(spills):
            for batch in spill.batches():
                smaller.add(side, batch)
        yield from smaller.each(memory)

    def _by_key(self, spills: Sequence[Spill]) -> Iterator[Part]:
        keys: dict[Any, list[Spill]] = {}
        try:
            for side, spill in enumerate(spills):
                for record in spill:
                    key = self._extractors[side](record)
                    if key not in keys:
                        keys[key] = [Spill() for _ in spills]
                    keys[key][side].add((record,))
            for own in keys.values():
                yield Part(own, False)
        finally:
            for own in keys.values():
                for spill in own:
                    spill.close()


def together(
    chunks: Iterable[tuple[int, Chunk]], extractors: Sequence[Callable[[Any], Any]], memory: int
) -> Iterator[Part]:
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
        yield Part(held, True)
    else:
        yield from buckets.each(memory)
