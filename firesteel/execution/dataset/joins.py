"""Joins within a task: one side in a table and the other streaming by, or both sorted; on disk what does not fit."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from firesteel.dataset.plan.nodes import JoinKind
from firesteel.execution.dataset.exchange import BATCH, Row, batches_of, chunks_of
from firesteel.execution.dataset.kernels import Extract, grouped
from firesteel.execution.dataset.spilling import Bucketed, Chunk, ExternalSort, Spill

Pair = Callable[[Any, Any], Iterable[Any]]
"""What becomes of a pair; either may be None in an outer join."""


@dataclass(frozen=True)
class LocalJoin:
    """How two inputs are joined.

    :param build: Which input is held in a table: 0 or 1.
    """

    kind: JoinKind
    build: int
    extractors: tuple[Extract, Extract]
    memory: int

    def _keeps(self, side: int) -> bool:
        return self.kind.keeps_first if side == 0 else self.kind.keeps_second

    # --- hash ---------------------------------------------------------------------------------------

    def hash_join(self, rows: Iterable[Row], sides: dict[int, int]) -> Iterator[tuple[Any, Any]]:
        """Pairs. All chunks of the side that is built come before those of the other: the runner sees to that."""
        chunks = chunks_of(rows, sides)
        built: list[Any] = []
        size = 0
        for side, chunk in chunks:
            if side != self.build:
                yield from self._probe(built, self._probing(chunk, chunks))
                return
            built.extend(pickle.loads(chunk))
            size += len(chunk)
            if size > self.memory:
                yield from self._on_disk(built, chunks)
                return
        yield from self._probe(built, [])

    @staticmethod
    def _probing(first: Chunk, others: Iterable[tuple[int, Chunk]]) -> Iterator[list[Any]]:
        yield pickle.loads(first)
        for _, chunk in others:
            yield pickle.loads(chunk)

    def _probe(self, built: Iterable[Any], batches: Iterable[Iterable[Any]]) -> Iterator[tuple[Any, Any]]:
        table = grouped(built, self.extractors[self.build])
        extract, swap = self.extractors[1 - self.build], self.build == 1
        keeps_probe, keeps_built = self._keeps(1 - self.build), self._keeps(self.build)
        met: set[Any] = set()
        for batch in batches:
            for record in batch:
                key = extract(record)
                partners = table.get(key)
                if partners is None:
                    if keeps_probe:
                        yield (record, None) if swap else (None, record)
                    continue
                if keeps_built:
                    met.add(key)
                if swap:
                    for partner in partners:
                        yield record, partner
                else:
                    for partner in partners:
                        yield partner, record
        if keeps_built:
            for key, partners in table.items():
                if key not in met:
                    for partner in partners:
                        yield (None, partner) if swap else (partner, None)

    def _on_disk(self, built: list[Any], chunks: Iterable[tuple[int, Chunk]]) -> Iterator[tuple[Any, Any]]:
        """Both sides in buckets on disk, of which one at a time is joined in memory."""
        buckets = Bucketed(self.extractors)
        buckets.add(self.build, built)
        for side, chunk in chunks:
            buckets.add(side, pickle.loads(chunk))
        for part in buckets.each(self.memory):
            if part.fits:
                yield from self._probe(part.sides[self.build], [part.sides[1 - self.build]])
            else:
                yield from self._pairs_of_one_key(*part.sides)

    def _pairs_of_one_key(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """All pairs of what may be more than fits into memory: the second is read once for each batch of the first."""
        met_first = met_second = False
        for batch in batches_of(iter(first)):
            met_first = True
            for partner in second:
                met_second = True
                for record in batch:
                    yield record, partner
        if not met_second and self.kind.keeps_first:
            yield from ((record, None) for record in first)
        if not met_first and self.kind.keeps_second:
            yield from ((None, record) for record in second)

    def broadcast_join(self, table: Iterable[Any], records: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Pairs with a side that is here whole."""
        return self._probe(table, ([record] for record in records))

    # --- sort and merge -----------------------------------------------------------------------------

    def merge_join(self, rows: Iterable[Row], sides: dict[int, int]) -> Iterator[tuple[Any, Any]]:
        """Pairs, of both inputs sorted by their keys."""
        sorts = [ExternalSort(extract, self.memory // 2) for extract in self.extractors]
        for side, chunk in chunks_of(rows, sides):
            sorts[side].add(pickle.loads(chunk), len(chunk))
        one, other = (groupby(sort.records(), extract) for sort, extract in zip(sorts, self.extractors))
        left, right = next(one, None), next(other, None)
        while left is not None or right is not None:
            if right is None or (left is not None and left[0] < right[0]):
                assert left is not None
                if self.kind.keeps_first:
                    yield from ((record, None) for record in left[1])
                left = next(one, None)
            elif left is None or right[0] < left[0]:
                if self.kind.keeps_second:
                    yield from ((None, record) for record in right[1])
                right = next(other, None)
            else:
                yield from self._merged(left[1], right[1])
                left, right = next(one, None), next(other, None)

    def _merged(self, left: Iterator[Any], right: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
        """All pairs of one key; the right side on disk, if it is more than a batch."""
        partners = list(islice(right, BATCH))
        if len(partners) < BATCH:
            yield from ((record, partner) for record in left for partner in partners)
            return
        spill = Spill()
        try:
            spill.add(partners)
            partners.clear()
            for batch in batches_of(right):
                spill.add(batch)
            yield from self._pairs_of_one_key(left, spill)
        finally:
            spill.close()
