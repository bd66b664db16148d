"""What a task does with records: combining, grouping, aggregating, sorting. Plain functions of iterators."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from firesteel.dataset.plan.nodes import AggregateNode, Order, SortKey
from firesteel.execution.dataset.exchange import Row, batches_of, chunks_of
from firesteel.execution.dataset.spilling import Part, external_sort, together
from firesteel.model.functions.fields import Field

Extract = Callable[[Any], Any]
Emit = Callable[[Iterable[Any]], Iterable[Any] | None]

MOST_HELD = 500_000
"""A combiner holds so many keys; then it sends what it has, and begins anew."""


# --- reducing ---------------------------------------------------------------------------------------


def combined(records: Iterable[Any], extract: Extract, reduce: Callable[[Any, Any], Any]) -> Iterator[Any]:
    """Records of a key reduced to one, as far as they fit into memory together."""
    held: dict[Any, Any] = {}
    for record in records:
        key = extract(record)
        if key in held:
            held[key] = reduce(held[key], record)
        else:
            held[key] = record
            if len(held) >= MOST_HELD:
                yield from held.values()
                held = {}
    yield from held.values()


def reduced(rows: Iterable[Row], extract: Extract, reduce: Callable[[Any, Any], Any], memory: int) -> Iterator[Any]:
    """Records of a key reduced to one, after an exchange."""
    for part in _by_key(rows, extract, memory):
        (records,) = part.sides
        held: dict[Any, Any] = {}
        for record in records:
            key = extract(record)
            held[key] = reduce(held[key], record) if key in held else record
        yield from held.values()


def reduced_to_one(records: Iterable[Any], reduce: Callable[[Any, Any], Any]) -> Iterator[Any]:
    """All records reduced to one; none if there are none."""
    iterator = iter(records)
    try:
        result = next(iterator)
    except StopIteration:
        return
    for record in iterator:
        result = reduce(result, record)
    yield result


# --- aggregating ------------------------------------------------------------------------------------

_STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda one, other: one + other,
    "min": lambda one, other: other if other < one else one,
    "max": lambda one, other: other if other > one else one,
}


class Aggregation:
    """Aggregates fields of records: the fields that are not aggregated are those of the last record."""

    def __init__(self, node: AggregateNode) -> None:
        self._fields = [Field(field, "aggregate") for _, field in node.steps]
        self._steps = [_STEPS[kind] for kind, _ in node.steps]
        self._kinds = [kind for kind, _ in node.steps]
        keys = node.keys.positions if node.keys is not None else None
        places = [field for _, field in node.steps]
        self._sum_of_pair = self._kinds == ["sum"] and keys == (0,) and places == [1]

    def reduce(self, one: Any, other: Any) -> Any:
        """Two records into one."""
        result = other
        for field, step in zip(self._fields, self._steps):
            result = field.replace(result, step(field(one), field(other)))
        return result

    def combined(self, records: Iterator[Any], extract: Extract) -> Iterator[Any]:
        """Aggregate by key, as far as it fits into memory. Pairs that are summed have their own loop."""
        batches = batches_of(records)
        for first in batches:
            if self._sum_of_pair and all(record.__class__ is tuple and len(record) == 2 for record in first):
                yield from self._summed_pairs(first, batches, extract)
            else:
                yield from combined(_chain(first, batches), extract, self.reduce)

    def _summed_pairs(self, first: list[Any], batches: Iterator[list[Any]], extract: Extract) -> Iterator[Any]:
        sums: dict[Any, Any] = {}
        batch: list[Any] | None = first
        while batch is not None:
            if not all(record.__class__ is tuple and len(record) == 2 for record in batch):
                yield from sums.items()
                yield from combined(_chain(batch, batches), extract, self.reduce)
                return
            for key, value in batch:
                if key in sums:
                    sums[key] += value
                else:
                    sums[key] = value
            if len(sums) >= MOST_HELD:
                yield from sums.items()
                sums = {}
            batch = next(batches, None)
        yield from sums.items()

    def aggregated(self, rows: Iterable[Row], extract: Extract, memory: int) -> Iterator[Any]:
        """Aggregate by key, after an exchange."""
        for part in _by_key(rows, extract, memory):
            (records,) = part.sides
            yield from self.combined(iter(records), extract)


def _chain(first: list[Any], batches: Iterator[list[Any]]) -> Iterator[Any]:
    yield from first
    for batch in batches:
        yield from batch


# --- sorting ----------------------------------------------------------------------------------------


class _Descending:
    """Compares the other way round."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Descending) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]


def sort_value(order: Sequence[SortKey]) -> Extract:
    """From a record to what it is sorted by."""
    parts = [(keys.extractor(), direction is Order.DESCENDING) for keys, direction in order]
    if len(parts) == 1 and not parts[0][1]:
        return parts[0][0]
    return lambda record: tuple(_Descending(get(record)) if down else get(record) for get, down in parts)


def sorted_records(batches: Iterable[tuple[list[Any], int]], order: Sequence[SortKey], memory: int) -> Iterator[Any]:
    """Records in order, on disk if they do not fit into memory."""
    return external_sort(batches, sort_value(order), memory)


def weighed(records: Iterator[Any]) -> Iterator[tuple[list[Any], int]]:
    """Batches of records with their sizes; a batch is taken to weigh as much per record as a sample of it."""
    for batch in batches_of(records):
        sample = batch[:: max(len(batch) // 16, 1)]
        yield batch, len(pickle.dumps(sample, 5)) * len(batch) // len(sample)


# --- grouping ---------------------------------------------------------------------------------------


def grouped(records: Iterable[Any], extract: Extract) -> dict[Any, list[Any]]:
    """Records by key, keys in order of their first record."""
    groups: dict[Any, list[Any]] = {}
    for record in records:
        key = extract(record)
        if key in groups:
            groups[key].append(record)
        else:
            groups[key] = [record]
    return groups


def _by_key(rows: Iterable[Row], extract: Extract, memory: int) -> Iterator[Part]:
    return together(((0, chunk) for _, (_, chunk) in rows), [extract], memory)


def _from_disk(records: Iterable[Any], order: Sequence[SortKey], memory: int) -> Iterator[Any]:
    """The records of a group that does not fit into memory."""
    return sorted_records(weighed(iter(records)), order, memory) if order else iter(records)


def _in_order(records: list[Any], order: Sequence[SortKey]) -> Iterator[Any]:
    if order:
        records.sort(key=sort_value(order))
    return iter(records)


def group_reduced(
    rows: Iterable[Row], extract: Extract, order: Sequence[SortKey], emit: Emit, memory: int
) -> Iterator[Any]:
    """A function of the records of each key, after an exchange."""
    for part in _by_key(rows, extract, memory):
        (records,) = part.sides
        if part.fits:
            for group in grouped(records, extract).values():
                yield from emit(_in_order(group, order)) or ()
        else:
            yield from emit(_from_disk(records, order, memory)) or ()


def groups_combined(records: Iterator[Any], extract: Extract, order: Sequence[SortKey], emit: Emit) -> Iterator[Any]:
    """A function of the records of each key that are here, a part at a time."""
    held: list[Any] = []
    for batch in batches_of(records):
        held.extend(batch)
        if len(held) >= MOST_HELD:
            yield from _combined_part(held, extract, order, emit)
            held = []
    yield from _combined_part(held, extract, order, emit)


def _combined_part(held: list[Any], extract: Extract, order: Sequence[SortKey], emit: Emit) -> Iterator[Any]:
    for group in grouped(held, extract).values():
        yield from emit(_in_order(group, order)) or ()


def co_grouped(
    rows: Iterable[Row],
    sides: dict[int, int],
    extractors: Sequence[Extract],
    orders: Sequence[Sequence[SortKey]],
    emit: Callable[[Iterable[Any], Iterable[Any]], Iterable[Any] | None],
    memory: int,
) -> Iterator[Any]:
    """A function of the records of each key from two inputs."""
    for part in together(chunks_of(rows, sides), extractors, memory):
        first, second = part.sides
        if not part.fits:
            yield from emit(_from_disk(first, orders[0], memory // 2), _from_disk(second, orders[1], memory // 2)) or ()
            continue
        one, other = grouped(first, extractors[0]), grouped(second, extractors[1])
        for key in dict.fromkeys([*one, *other]):
            yield from emit(_in_order(one.get(key, []), orders[0]), _in_order(other.get(key, []), orders[1])) or ()


def distinct(records: Iterable[Any], extract: Extract) -> Iterator[Any]:
    """The first record of each key, as far as keys fit into memory."""
    seen: set[Any] = set()
    for record in records:
        key = extract(record)
        if key not in seen:
            if len(seen) >= MOST_HELD:
                seen = set()  # some will come twice: whoever gathers them takes care of that
            seen.add(key)
            yield record


def distinct_after(rows: Iterable[Row], extract: Extract, memory: int) -> Iterator[Any]:
    """The first record of each key, after an exchange."""
    for part in _by_key(rows, extract, memory):
        seen: dict[Any, Any] = {}
        for record in part.sides[0]:
            seen.setdefault(extract(record), record)
        yield from seen.values()
