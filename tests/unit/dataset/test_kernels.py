"""What tasks do with records: grouping and joining in memory and on disk give the same."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.dataset.keys import as_keys
from firesteel.dataset.plan.nodes import JoinKind, Order
from firesteel.errors import KeyError_, ProgramError
from firesteel.execution.dataset import kernels
from firesteel.execution.dataset.exchange import Row, by_hash, by_partitioner, chunked, in_turn, key_hash, records_of
from firesteel.execution.dataset.joins import LocalJoin
from firesteel.execution.dataset.spilling import ExternalSort, Spill, external_sort

Records = list[tuple[int, int]]
RECORDS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 50)), max_size=60)
MEMORY = st.sampled_from([1 << 20, 40, 0])
"""All in memory, some on disk, everything on disk."""


def key(record: tuple[int, int]) -> int:
    return record[0]


def rows(records: Records, number: int = 0, size: int = 7) -> Iterator[Row]:
    for start in range(0, len(records), size):
        yield 0, (number, pickle.dumps(records[start : start + size], 5))


@given(RECORDS, MEMORY)
def test_groups_are_whole_and_in_order_of_arrival(records: Records, memory: int) -> None:
    found = dict(kernels.group_reduced(rows(records), key, (), lambda group: [_keyed(list(group))], memory))
    expected: dict[int, Records] = {}
    for record in records:
        expected.setdefault(record[0], []).append(record)
    assert found == expected


def _keyed(group: Records) -> tuple[int, Records]:
    return group[0][0], group


@given(RECORDS, MEMORY)
def test_reduce_gives_one_record_per_key(records: Records, memory: int) -> None:
    def add(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
        return one[0], one[1] + other[1]

    totals: Counter[int] = Counter()
    for number, value in records:
        totals[number] += value
    assert dict(kernels.reduced(rows(records), key, add, memory)) == {number: totals[number] for number, _ in records}
    assert dict(kernels.combined(records, key, add)) == {number: totals[number] for number, _ in records}


@given(RECORDS, RECORDS, MEMORY, st.sampled_from(JoinKind), st.sampled_from([0, 1]))
def test_every_join_gives_the_pairs_of_a_nested_loop(
    first: Records, second: Records, memory: int, kind: JoinKind, build: int
) -> None:
    expected = Counter((one, other) for one in first for other in second if one[0] == other[0])
    if kind.keeps_first:
        expected += Counter((one, None) for one in first if all(one[0] != other[0] for other in second))
    if kind.keeps_second:
        expected += Counter((None, other) for other in second if all(one[0] != other[0] for one in first))
    join = LocalJoin(kind, build, (key, key), memory)
    sides = {10: 0, 20: 1}
    in_order = [rows(first, 10), rows(second, 20)]
    built_first = [row for part in (in_order if build == 0 else in_order[::-1]) for row in part]
    assert Counter(join.hash_join(iter(built_first), sides)) == expected
    both = [*rows(first, 10), *rows(second, 20)]
    assert Counter(join.merge_join(iter(both), sides)) == expected


@given(RECORDS, RECORDS, MEMORY)
def test_co_groups_have_both_sides_empty_ones_too(first: Records, second: Records, memory: int) -> None:
    def both(one: Any, other: Any) -> list[tuple[Records, Records]]:
        return [(list(one), list(other))]

    merged = [*rows(first, 10), *rows(second, 20)]
    found = list(kernels.co_grouped(iter(merged), {10: 0, 20: 1}, (key, key), ((), ()), both, memory))
    keys = {record[0] for record in (*first, *second)}
    assert len(found) == len(keys)
    for one, other in found:
        number = (one or other)[0][0]
        assert one == [record for record in first if record[0] == number]
        assert other == [record for record in second if record[0] == number]


@given(RECORDS, MEMORY)
def test_distinct_keeps_one_record_per_key(records: Records, memory: int) -> None:
    assert sorted(record[0] for record in kernels.distinct_after(rows(records), key, memory)) == sorted(
        {record[0] for record in records}
    )


@pytest.mark.feature("DA-06")
@given(st.lists(st.tuples(st.integers(0, 9), st.integers()), max_size=200), st.integers(0, 500))
def test_sorting_on_disk_is_sorting(records: Records, memory: int) -> None:
    order = ((as_keys((0,), "sort"), Order.DESCENDING), (as_keys((1,), "sort"), Order.ASCENDING))
    found = list(kernels.sorted_records(kernels.weighed(iter(records)), order, memory))
    assert found == sorted(records, key=lambda record: (-record[0], record[1]))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers()), max_size=100))
def test_equal_records_keep_their_order_on_disk_too(records: Records) -> None:
    batches = ([record] for record in records)
    assert list(external_sort(((batch, 100) for batch in batches), key, 150)) == sorted(records, key=key)


@pytest.mark.feature("DA-06")
def test_sorting_four_times_the_memory_uses_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    monkeypatch.setattr(Spill, "add", _noting(Spill.add, written))
    sort = ExternalSort(lambda record: record, 1000)
    for start in range(0, 4000, 100):
        sort.add(list(range(start + 100, start, -1)), 100)
    assert list(sort.records()) == list(range(1, 4001))
    assert sum(written) >= 3000


def _noting(add: Any, written: list[int]) -> Any:
    def noted(self: Spill, records: Any) -> None:
        batch = list(records)
        written.append(len(batch))
        add(self, batch)

    return noted


class Live:
    """A record that knows how many of its kind are in memory."""

    now = most = 0

    def __init__(self, number: int) -> None:
        self.number = number
        self._count()

    def _count(self) -> None:
        Live.now += 1
        Live.most = max(Live.most, Live.now)

    def __reduce__(self) -> Any:
        return Live, (self.number,)

    def __del__(self) -> None:
        Live.now -= 1


def live_rows(number: int, count: int) -> Iterator[Row]:
    for start in range(0, count, 100):
        yield 0, (number, pickle.dumps([Live(each) for each in range(start, min(start + 100, count))], 5))


BY_NUMBER = ((as_keys((lambda record: -record.number,), "sort"), Order.ASCENDING),)


@pytest.mark.feature("DA-06")
@pytest.mark.parametrize("order", [(), BY_NUMBER], ids=["as they come", "sorted"])
def test_a_group_that_does_not_fit_into_memory_comes_from_disk(order: Any) -> None:
    Live.most, count = 0, 30_000 if order else 12_000
    found = kernels.group_reduced(
        live_rows(0, count), lambda record: 0, order, lambda group: (record.number for record in group), 5000
    )
    numbers = list(found)
    assert sorted(numbers) == list(range(count))
    assert not order or numbers == sorted(numbers, reverse=True)
    assert 0 < Live.most < count / 2


@pytest.mark.feature("DA-06")
@pytest.mark.parametrize("way", ["hash_join", "merge_join"])
def test_pairs_of_a_key_that_does_not_fit_into_memory(way: str) -> None:
    join = LocalJoin(JoinKind.FULL, 0, (lambda record: 0, lambda record: 0), 5000)
    Live.most = 0
    pairs = getattr(join, way)(iter([*live_rows(10, 10), *live_rows(20, 30_000)]), {10: 0, 20: 1})
    assert sum(1 for _ in pairs) == 10 * 30_000
    assert 0 < Live.most < 30_000 / 2


def test_equal_keys_have_equal_hashes_whatever_their_classes() -> None:
    assert key_hash(1) == key_hash(1.0) == key_hash(True)
    assert key_hash((1, "a")) == key_hash((1.0, "a"))
    assert key_hash((1, None)) == key_hash((1.0, None))
    with pytest.raises(KeyError_):
        key_hash([1])


@given(RECORDS, st.integers(1, 4))
def test_records_of_a_key_go_to_one_task(records: Records, tasks: int) -> None:
    sent = list(chunked(iter(records), by_hash(key), tasks, 0))
    assert Counter(records_of(iter(sent))) == Counter(records)
    places: dict[int, set[int]] = {}
    for task, (_, chunk) in sent:
        for record in pickle.loads(chunk):
            places.setdefault(record[0], set()).add(task if tasks > 1 else 0)
    assert all(len(each) == 1 for each in places.values())


def test_rebalancing_is_even() -> None:
    sent = Counter(in_turn(1)(list(range(10)), 3))
    assert sorted(sent.values()) == [3, 3, 4]


def test_a_partitioner_that_leaves_the_range_is_named() -> None:
    route = by_partitioner(key, lambda number, tasks: tasks, "my step")
    with pytest.raises(ProgramError, match="my step"):
        route([(1, 2)], 2)
