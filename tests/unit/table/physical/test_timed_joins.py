"""Interval joins, joins with versions of a table, look-ups."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.table.physical.joins_interval import IntervalBounds, IntervalJoin
from firesteel.table.physical.joins_temporal import LookupJoin, VersionedJoin
from firesteel.table.physical.lookup_cache import LookupCache
from firesteel.testing import KeyedTwoInputOperatorHarness, OneInputOperatorHarness
from tests.unit.table.physical.changes import column, first_column, less, run_two, shown

pytestmark = pytest.mark.feature("SQ-03")
ROWS = st.tuples(st.integers(0, 1), st.sampled_from(["a", "b", None]), st.integers(0, 12), st.integers(1, 2))


@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL"])
@settings(max_examples=15)
@given(rows=st.lists(ROWS, max_size=10), lower=st.integers(-4, 2), length=st.integers(0, 4), data=st.data())
def test_pairs_within_the_bounds_and_padded_rows_where_there_is_none(
    kind: str, rows: list[Any], lower: int, length: int, data: Any
) -> None:
    steps: list[Any] = [(side, (0, (key, time, value))) for side, key, time, value in rows]
    watermark = data.draw(st.integers(-3, min([row[2] for row in rows], default=0) - 1))
    steps.insert(data.draw(st.integers(0, len(steps))), watermark)  # nobody comes late
    cut = data.draw(st.integers(0, len(steps)))
    bounds = IntervalBounds(lower, lower + length, (1, 1))
    changes = run_two(partial(IntervalJoin, kind, bounds, (3, 3), None, (False,)), steps, cut=cut)
    left, right = ([row[1:] for row in rows if row[0] == side] for side in (0, 1))
    pairs = [
        (one, other)
        for one in range(len(left))
        for other in range(len(right))
        if left[one][0] == right[other][0] is not None and lower <= left[one][1] - right[other][1] <= lower + length
    ]
    expected = [left[one] + right[other] for one, other in pairs]
    if kind in ("LEFT", "FULL"):
        expected += [(*row, None, None, None) for at, row in enumerate(left) if at not in {one for one, _ in pairs}]
    if kind in ("RIGHT", "FULL"):
        expected += [(None, None, None, *row) for at, row in enumerate(right) if at not in {two for _, two in pairs}]
    assert Counter(row for _, row in changes) == Counter(expected)


def test_state_goes_with_the_watermark_which_is_held_back() -> None:
    factory = partial(IntervalJoin, "LEFT", IntervalBounds(-4, 2, (1, 1)), (2, 2), less(column(1), column(3)), (False,))
    with KeyedTwoInputOperatorHarness(factory, first_column, first_column) as harness:
        harness.process_element1((0, ("a", 10)))
        harness.process_element2((0, ("a", 9)))
        harness.process_both_watermarks(17)
        assert harness.output_values() == []
        harness.process_both_watermarks(18)
        assert shown(harness.output_values()) == ["+I a 10 None None"]
        assert harness.output_watermarks() == [10, 11]
        assert harness.state_entries() == 0
        assert harness.timers() == 0
        harness.process_element1((0, ("a", 11)))
        assert shown(harness.output_values())[1:] == ["+I a 11 None None"]


def test_in_processing_time_the_clock_says_what_is_near() -> None:
    factory = partial(IntervalJoin, "INNER", IntervalBounds(-5, 5, None), (2, 2), None, (False,))
    with KeyedTwoInputOperatorHarness(factory, first_column, first_column, now=100) as harness:
        harness.process_element1((0, ("a", 1)))
        harness.set_processing_time(105)
        harness.process_element2((0, ("a", 2)))
        harness.set_processing_time(111)
        harness.process_element1((0, ("a", 3)))
        assert shown(harness.output_values()) == ["+I a 1 a 2"]
        harness.set_processing_time(130)
        assert harness.state_entries() == 0


def versions(*lines: str) -> list[Any]:
    kinds = {"+I": 0, "-U": 1, "+U": 2, "-D": 3}
    parts = [line.split() for line in lines]
    sides = {"L": 0, "R": 1}
    return [
        int(line[1]) if line[0] == "W" else (sides[line[0]], (kinds[line[1]], (line[2], *map(int, line[3:]))))
        for line in parts
    ]


@pytest.mark.parametrize("outer", [False, True])
def test_each_row_meets_the_version_of_its_time(outer: bool) -> None:
    steps = versions(
        "R +I a 2 100", "L +I a 1 1", "L +I a 6 2", "L +I a 3 3", "R -U a 2 100", "R +U a 5 200", "W 4",
        "L +I a 9 4", "R -D a 8 0", "W 7", "L +I b 7 5", "L +I a 7 6",
    )  # fmt: skip
    expected = ["+I a 3 3 a 2 100", "+I a 6 2 a 5 200", "+I a 7 6 a 5 200"]
    if outer:
        expected += ["+I a 1 1 None None None", "+I a 9 4 None None None", "+I b 7 5 None None None"]
    for cut in range(len(steps)):
        changes = run_two(partial(VersionedJoin, (1, 1), 3, outer), steps, cut=cut)
        assert sorted(shown(changes)) == sorted(expected)


def test_versions_that_no_row_can_ask_for_are_forgotten() -> None:
    with KeyedTwoInputOperatorHarness(partial(VersionedJoin, (1, 1), 3), first_column, first_column) as harness:
        for time in (1, 2, 3):
            harness.process_element2((0, ("a", time, 0)))
        harness.process_both_watermarks(3)
        assert harness.state_entries() == 1


class _Table:
    """A table elsewhere that notes what it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, key: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        self.asked += 1
        return [(key[0], self.asked)] if key[0] != "none" else []


@pytest.mark.parametrize("outer", [False, True])
def test_rows_are_looked_up_and_what_was_found_is_kept_for_a_while(outer: bool) -> None:
    factory = partial(LookupJoin, (column(0),), _Table, 2, outer, None, LookupCache(1, expire_after_write=100))
    with OneInputOperatorHarness(factory) as harness:
        for key in ("a", "a", "none", None, "a"):
            harness.process_element((0, (key,)))
        harness.set_processing_time(100)
        harness.process_element((2, ("a",)))
        padded = ["+I none None None", "+I None None None"] if outer else []
        assert shown(harness.output_values()) == ["+I a a 1", "+I a a 1", *padded, "+I a a 3", "+U a a 4"]


def test_a_cache_forgets_by_access_and_may_leave_out_what_is_missing() -> None:
    cache = LookupCache(expire_after_access=10, cache_missing=False)
    cache.put("a", [1], 0)
    cache.put("b", [], 0)
    assert cache.get("b", 0) is None
    assert cache.get("a", 9) == [1]
    assert cache.get("a", 18) == [1]
    assert cache.get("a", 28) is None
