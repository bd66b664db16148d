"""Regular joins, semi and anti joins, and counted set operations: against a join of the final tables."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.table.physical.joins_regular import RegularJoin, SemiJoin
from firesteel.table.physical.set_operations import CountedRows
from firesteel.testing import KeyedTwoInputOperatorHarness
from tests.unit.table.physical.changes import (
    KINDS,
    changelogs,
    column,
    first_column,
    less,
    replayed,
    run_two,
    shown,
    shuffled,
)

pytestmark = pytest.mark.feature("SQ-03")
ROWS = st.tuples(st.sampled_from(["a", "b", None]), st.integers(1, 3))
CONDITION = less(column(1), column(3))


@st.composite
def two_sided(draw: Any) -> tuple[list[Any], int]:
    steps = draw(shuffled(draw(changelogs(ROWS)), draw(changelogs(ROWS))))
    return steps, draw(st.integers(0, len(steps)))


def final(steps: list[Any]) -> tuple[Counter[Any], Counter[Any]]:
    return replayed(change for side, change in steps if side == 0), replayed(c for side, c in steps if side == 1)


def joined(steps: list[Any], kind: str, nulls: bool, true: Any) -> Counter[Any]:
    left, right = (list(side.elements()) for side in final(steps))
    pairs = [
        (one, other)
        for one in range(len(left))
        for other in range(len(right))
        if left[one][0] == right[other][0] and (nulls or left[one][0] is not None) and true(left[one] + right[other])
    ]
    if kind in ("SEMI", "ANTI"):
        matched = {one for one, _ in pairs}
        return Counter(row for at, row in enumerate(left) if (at in matched) is (kind == "SEMI"))
    rows = [left[one] + right[other] for one, other in pairs]
    if kind in ("LEFT", "FULL"):
        rows += [(*row, None, None) for at, row in enumerate(left) if at not in {one for one, _ in pairs}]
    if kind in ("RIGHT", "FULL"):
        rows += [(None, None, *row) for at, row in enumerate(right) if at not in {other for _, other in pairs}]
    return Counter(rows)


def operator(kind: str, condition: Any, nulls: bool) -> Any:
    if kind in ("SEMI", "ANTI"):
        return partial(SemiJoin, kind == "ANTI", condition, (nulls,))
    return partial(RegularJoin, kind, (2, 2), condition, (nulls,))


@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"])
@settings(max_examples=12)
@given(case=two_sided(), conditional=st.booleans(), nulls=st.booleans())
def test_the_changelog_gives_the_join_of_the_final_tables_wherever_it_is_cut(
    kind: str, case: tuple[list[Any], int], conditional: bool, nulls: bool
) -> None:
    steps, cut = case
    changes = run_two(operator(kind, CONDITION if conditional else None, nulls), steps, cut=cut)
    expected = joined(steps, kind, nulls, lambda row: not conditional or row[1] < row[3])
    assert replayed(changes) == expected


def steps_of(*lines: str) -> list[Any]:
    """``L +I a 1``."""
    parts = [line.split() for line in lines]
    return [(0 if side == "L" else 1, (KINDS[kind], (key, int(value)))) for side, kind, key, value in parts]


def test_an_outer_row_stands_alone_until_its_first_partner_comes_and_after_its_last_has_gone() -> None:
    steps = steps_of("L +I a 1", "R +I a 7", "R +I a 8", "R -D a 7", "R -U a 8", "R +U a 9", "L -D a 1")
    assert shown(run_two(operator("LEFT", None, False), steps)) == [
        "+I a 1 None None",
        "-D a 1 None None",
        "+I a 1 a 7",
        "+I a 1 a 8",
        "-D a 1 a 7",
        "-U a 1 a 8",
        "+I a 1 None None",
        "-D a 1 None None",
        "+I a 1 a 9",
        "-D a 1 a 9",
    ]


def test_an_inner_join_passes_the_kinds_of_changes_on() -> None:
    steps = steps_of("L +I a 1", "R +I a 7", "L -U a 1", "L +U a 2", "R -D a 7")
    assert shown(run_two(operator("INNER", None, False), steps)) == [
        "+I a 1 a 7",
        "-U a 1 a 7",
        "+U a 2 a 7",
        "-D a 2 a 7",
    ]


def test_state_that_was_not_written_for_its_time_to_live_is_forgotten_and_removed() -> None:
    factory = partial(RegularJoin, "INNER", (2, 2), None, (False,), (100, 0))
    with KeyedTwoInputOperatorHarness(factory, first_column, first_column) as harness:
        harness.process_element1((0, ("a", 1)))
        harness.process_element2((0, ("b", 1)))
        harness.set_processing_time(99)
        harness.process_element2((0, ("a", 2)))
        stored = harness.snapshot()
    with KeyedTwoInputOperatorHarness(factory, first_column, first_column, now=100).restore(stored) as later:
        later.process_element2((0, ("a", 3)))
        later.process_element1((0, ("b", 4)))  # the right side lives for ever
        assert shown(later.output_values()) == ["+I b 4 b 1"]
        assert later.state_entries() == 4
        for _ in range(2):
            later.end_epoch()
        assert later.state_entries() == 3


@pytest.mark.parametrize("name", ["INTERSECT", "EXCEPT"])
@settings(max_examples=12)
@given(case=two_sided())
def test_all_of_both_sides_are_counted(name: str, case: tuple[list[Any], int]) -> None:
    steps, cut = case

    def whole(change: Any) -> Any:
        return change[1]

    changes = run_two(partial(CountedRows, name), steps, (whole, whole), cut)
    left, right = final(steps)
    assert replayed(changes) == (left & right if name == "INTERSECT" else left - right)
