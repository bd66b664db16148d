"""Top-N and deduplication: as Flink emits them, and against the first rows of the final table."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.table.physical.rank import EarliestRow, FirstRow, LastRow, TopN
from firesteel.testing import KeyedOneInputOperatorHarness
from tests.unit.table.physical.changes import (
    ascending,
    changelogs,
    descending,
    first_column,
    no_key,
    replayed,
    run,
    shown,
)

pytestmark = pytest.mark.feature("SQ-03")
ROWS = st.tuples(st.sampled_from(["a", "b"]), st.one_of(st.none(), st.integers(1, 4)), st.integers(1, 2))


def inserts(*rows: Any) -> list[Any]:
    return [(0, row) for row in rows]


def place(row: Any) -> Any:
    return (row[1] is not None, row[1] or 0)


@pytest.mark.parametrize("with_rank", [False, True])
@settings(max_examples=20)
@given(
    changes=changelogs(ROWS, 18),
    start=st.integers(1, 2),
    length=st.integers(0, 2),
    append_only=st.booleans(),
    data=st.data(),
)
def test_the_changelog_gives_the_first_rows_of_the_final_table(
    with_rank: bool, changes: list[Any], start: int, length: int, append_only: bool, data: Any
) -> None:
    if append_only:
        changes = [change for change in changes if change[0] == 0]
    end = start + length
    factory = partial(TopN, (ascending(1),), start, end, with_rank, append_only)
    cut = data.draw(st.integers(0, len(changes)))
    table = replayed(run(factory, changes, cut=cut))
    for key in ("a", "b"):
        rows = sorted((row for row in replayed(changes).elements() if row[0] == key), key=place)
        expected = rows[start - 1 : end]
        found = sorted((row for row in table.elements() if row[0] == key), key=place)
        assert Counter(map(place, found)) == Counter(map(place, expected))
        if with_rank:
            assert [row[-1] for row in sorted(found, key=lambda row: row[-1])] == list(
                range(start, start + len(expected))
            )
            assert [place(row) for row in sorted(found, key=lambda row: row[-1])] == list(map(place, expected))


def test_a_row_that_enters_drives_the_last_one_out() -> None:
    changes = inserts(("a", 1), ("a", 3), ("a", 2), ("a", 9), ("a", 1))
    assert shown(run(partial(TopN, (descending(1),), 1, 2, False, True), changes)) == [
        "+I a 1", "+I a 3", "-D a 1", "+I a 2", "-D a 2", "+I a 9",
    ]  # fmt: skip


def test_with_their_numbers_all_rows_behind_the_new_one_move() -> None:
    changes = inserts(("a", 1), ("a", 3), ("a", 2))
    assert shown(run(partial(TopN, (descending(1),), 1, 2, True, True), changes)) == [
        "+I a 1 1", "-U a 1 1", "+U a 3 1", "+I a 1 2", "-U a 1 2", "+U a 2 2",
    ]  # fmt: skip


def test_a_row_that_goes_lets_the_next_one_in() -> None:
    changes = [*inserts(("a", 1), ("b", 1), ("c", 2)), (3, ("a", 1))]
    assert shown(run(partial(TopN, (ascending(1),), 1, 2, False, False), changes, no_key)) == [
        "+I a 1", "+I b 1", "-D a 1", "+I c 2",
    ]  # fmt: skip
    assert shown(run(partial(TopN, (ascending(1),), 1, 2, True, False), changes, no_key))[2:] == [
        "-U a 1 1", "+U b 1 1", "-U b 1 2", "+U c 2 2",
    ]  # fmt: skip


def test_rows_that_only_rise_replace_themselves() -> None:
    changes = [(0, ("a", 1)), (0, ("b", 1)), (1, ("a", 1)), (2, ("a", 2)), (0, ("c", 1)), (1, ("c", 1)), (2, ("c", 2)),
               (1, ("c", 2)), (2, ("c", 3))]  # fmt: skip
    factory = partial(TopN, (descending(1),), 1, 2, False, False, 0, (0,))
    assert shown(run(factory, changes, no_key, cut=4)) == [
        "+I a 1", "+I b 1", "-U a 1", "+U a 2", "-D b 1", "+I c 2", "-U c 2", "+U c 3",
    ]  # fmt: skip
    factory = partial(TopN, (descending(1),), 1, 2, True, False, 0, (0,))
    assert shown(run(factory, changes, no_key, cut=4))[-4:] == ["-U a 2 1", "+U c 3 1", "-U c 2 2", "+U a 2 2"]


def test_the_first_row_that_came_and_the_last_one() -> None:
    changes = inserts(("a", 5), ("a", 7), ("b", 1), ("a", 6), ("a", 6))
    assert shown(run(FirstRow, changes, cut=1)) == ["+I a 5", "+I b 1"]
    assert shown(run(LastRow, changes, cut=1)) == ["+I a 5", "-U a 5", "+U a 7", "+I b 1", "-U a 7", "+U a 6"]


def test_the_latest_row_may_be_another_of_the_same_time_but_none_before() -> None:
    changes = inserts(("a", 5, 1), ("a", 7, 2), ("a", 6, 3), ("a", 7, 4))
    assert shown(run(partial(LastRow, 1), changes, cut=2)) == [
        "+I a 5 1", "-U a 5 1", "+U a 7 2", "-U a 7 2", "+U a 7 4",
    ]  # fmt: skip


def test_the_earliest_row_comes_when_the_watermark_has_reached_it() -> None:
    steps = [*inserts(("a", 5, 1), ("a", 3, 2)), 2, *inserts(("a", 3, 3), ("b", 2, 0)), 4, *inserts(("a", 5, 4))]
    for cut in range(len(steps)):
        assert shown(run(partial(EarliestRow, 1), steps, cut=cut)) == ["+I a 3 2"]
    with KeyedOneInputOperatorHarness(partial(EarliestRow, 1), first_column) as harness:
        harness.process_watermark(4)
        harness.process_element((0, ("a", 4)))
        assert harness.metrics().counters["numLateRecordsDropped"] == 1


def test_forgotten_rows_begin_anew() -> None:
    with KeyedOneInputOperatorHarness(partial(LastRow, None, 100), first_column) as harness:
        harness.process_element((0, ("a", 1)))
        harness.process_element((0, ("a", 1)))
        harness.set_processing_time(100)
        harness.process_element((0, ("a", 2)))
        assert shown(harness.output_values()) == ["+I a 1", "-U a 1", "+U a 1", "+I a 2"]
