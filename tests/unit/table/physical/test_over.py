"""OVER windows and ORDER BY."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.table.functions import Argument, Call, find_function
from firesteel.table.logical.plan import OverBound, OverCall, OverWindow
from firesteel.table.physical.over import Frame, OverAggregate, OverInOrder
from firesteel.table.physical.sort import FinalSort, TimeSort
from firesteel.testing import KeyedOneInputOperatorHarness
from tests.unit.table.physical.changes import (
    ascending,
    changelogs,
    column,
    descending,
    first_column,
    no_key,
    replayed,
    run,
    shown,
)

pytestmark = pytest.mark.feature("SQ-03")
WINDOW = OverWindow((), (), "ROWS", OverBound("PRECEDING"), OverBound("CURRENT ROW"))


def over(name: str, *arguments: int) -> OverCall:
    columns = tuple(column(index) for index in arguments)
    call = Call(name, tuple(Argument(each.type) for each in columns))
    return OverCall(find_function(name), call, columns, WINDOW)


SUM, COUNT = over("SUM", 2), over("COUNT", 2)
ROWS = st.tuples(st.sampled_from("ab"), st.integers(0, 6), st.one_of(st.none(), st.integers(1, 4)))


def inserts(*rows: Any) -> list[Any]:
    return [(0, row) for row in rows]


def expected(rows: list[Any], frame: Frame) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for key in "ab":
        mine = sorted((row for row in rows if row[0] == key), key=lambda row: row[1])
        for at, row in enumerate(mine):
            if frame.unit == "ROWS":
                first = 0 if frame.preceding is None else max(0, at - frame.preceding)
                seen = mine[first : at + 1]
            else:
                earliest = -1 if frame.preceding is None else row[1] - frame.preceding
                seen = [other for other in mine if earliest <= other[1] <= row[1]]
            values = [other[2] for other in seen if other[2] is not None]
            found[(*row, sum(values) if values else None, len(values))] += 1
    return found


@pytest.mark.parametrize("frame", [Frame(unit, size) for unit in ("ROWS", "RANGE") for size in (None, 0, 2)], ids=str)
@settings(max_examples=12)
@given(rows=st.lists(ROWS, max_size=10), data=st.data())
def test_frames_of_rows_that_come_in_time_in_any_order(frame: Frame, rows: list[Any], data: Any) -> None:
    steps: list[Any] = inserts(*rows)
    reached = data.draw(st.integers(0, len(rows)))
    steps.insert(reached, min([row[1] for row in rows[reached:]], default=7) - 1)
    cut = data.draw(st.integers(0, len(steps)))
    changes = run(partial(OverAggregate, 1, frame, (SUM, COUNT)), steps, cut=cut)
    assert Counter(row for _, row in changes) == expected(rows, frame)


def test_what_comes_late_is_dropped_by_the_watermark_or_by_how_far_the_partition_has_come() -> None:
    steps = [*inserts(("a", 3, 1), ("b", 1, 1)), 5, *inserts(("a", 2, 1), ("a", 4, 1), ("b", 2, 1))]
    unbounded = partial(OverAggregate, 1, Frame("ROWS", None), (COUNT,))
    assert shown(run(unbounded, steps)) == ["+I b 1 1 1", "+I a 3 1 1"]
    bounded = partial(OverAggregate, 1, Frame("ROWS", 1), (COUNT,))
    for cut in range(len(steps)):
        assert sorted(shown(run(bounded, steps, cut=cut))) == ["+I a 3 1 1", "+I a 4 1 2", "+I b 1 1 1", "+I b 2 1 2"]
    with KeyedOneInputOperatorHarness(unbounded, first_column) as harness:
        harness.process_watermark(5)
        harness.process_element((0, ("a", 5, 1)))
        assert harness.metrics().counters["numLateRecordsDropped"] == 1


def test_numbers_ranks_and_the_row_before() -> None:
    calls = (over("ROW_NUMBER"), over("RANK"), over("DENSE_RANK"), over("LAG", 2))
    steps = inserts(("a", 1, 7), ("a", 1, 8), ("a", 3, 9))
    assert shown(run(partial(OverAggregate, 1, Frame("ROWS", None), calls), steps, cut=2)) == [
        "+I a 1 7 1 1 1 None", "+I a 1 8 2 1 1 7", "+I a 3 9 3 3 2 8",
    ]  # fmt: skip


def test_in_processing_time_rows_are_taken_as_they_come() -> None:
    with KeyedOneInputOperatorHarness(partial(OverAggregate, None, Frame("ROWS", 1), (SUM,)), first_column) as harness:
        for value in (1, 2, 3):
            harness.process_element((0, ("a", 0, value)))
        assert [row[-1] for _, row in harness.output_values()] == [1, 3, 5]
    ranged = partial(OverAggregate, None, Frame("RANGE", 10), (SUM,))
    with KeyedOneInputOperatorHarness(ranged, first_column, now=100) as harness:
        harness.process_element((0, ("a", 0, 1)))
        harness.process_element((0, ("a", 0, 2)))
        assert harness.output_values() == []
        harness.set_processing_time(101)
        harness.set_processing_time(111)
        harness.process_element((0, ("a", 0, 4)))
        harness.set_processing_time(112)
        assert [row[-1] for _, row in harness.output_values()] == [3, 3, 4]


@pytest.mark.parametrize("unit", ["ROWS", "RANGE"])
@settings(max_examples=12)
@given(changes=changelogs(ROWS), data=st.data())
def test_in_another_order_than_that_of_time_the_rows_behind_change(unit: str, changes: list[Any], data: Any) -> None:
    cut = data.draw(st.integers(0, len(changes)))
    found = replayed(run(partial(OverInOrder, (ascending(1),), unit, (SUM, COUNT)), changes, cut=cut))
    rows = list(replayed(changes).elements())
    if unit == "RANGE":
        assert found == expected(rows, Frame(unit, None))
    else:  # which of equal rows comes first is open, but not how many of them there are and what the last one sees
        assert Counter(row[:3] for row in found.elements()) == Counter(rows)
        last = {key: max((row[-1] for row in found if row[0] == key), default=0) for key in "ab"}
        assert last == {key: sum(row[0] == key and row[2] is not None for row in rows) for key in "ab"}


def test_a_peer_changes_before_the_new_row_comes() -> None:
    changes = inserts(("b", 5, 5), ("b", 5, 5), ("b", 1, 1))
    assert shown(run(partial(OverInOrder, (ascending(1),), "RANGE", (SUM,)), changes, cut=1)) == [
        "+I b 5 5 5", "-U b 5 5 5", "+U b 5 5 10", "+I b 5 5 10",
        "+I b 1 1 1", "-U b 5 5 10", "+U b 5 5 11", "-U b 5 5 10", "+U b 5 5 11",
    ]  # fmt: skip


def test_rows_come_in_order_of_time_and_then_of_what_is_asked_for() -> None:
    steps = [*inserts(("a", 2, 1), ("b", 1, 2), ("c", 2, 3)), 2, *inserts(("d", 2, 9), ("e", 3, 1))]
    for cut in range(len(steps)):
        found = shown(run(partial(TimeSort, 1, (descending(2),)), steps, no_key, cut))
        assert found == ["+I b 1 2", "+I c 2 3", "+I a 2 1", "+I e 3 1"]


def test_a_bounded_table_in_order() -> None:
    steps = inserts(("a", 2), ("b", None), ("c", 1))
    assert shown(run(partial(FinalSort, (ascending(1),)), steps, no_key, 2)) == ["+I b None", "+I c 1", "+I a 2"]
    assert shown(run(partial(FinalSort, (descending(1),), 1, 1), steps, no_key)) == ["+I c 1"]
