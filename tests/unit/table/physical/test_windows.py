"""Windows of time: aggregation, the table of windows, joins, Top-N and deduplication within them."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.runtime.failure import OperatorFailure
from firesteel.table.physical.window_contents import WindowDeduplicate, WindowJoin, WindowTopN
from firesteel.table.physical.window_times import Windows
from firesteel.table.physical.windows import SessionAggregate, SessionTable, WindowAggregate, WindowRows
from firesteel.testing import KeyedOneInputOperatorHarness, OneInputOperatorHarness
from tests.unit.table.physical.changes import aggregate, descending, first_column, run, run_two, shown

pytestmark = pytest.mark.feature("SQ-02")
CALLS = (aggregate("SUM", 2), aggregate("COUNT", 2, distinct=True))
KINDS_OF_WINDOWS = [
    Windows("TUMBLE", (5,)),
    Windows("TUMBLE", (5,), 2),
    Windows("HOP", (2, 6)),
    Windows("HOP", (4, 6), 1),
    Windows("HOP", (5, 3)),
    Windows("CUMULATE", (2, 6)),
    Windows("SESSION", (3,)),
]


def rows(*values: tuple[str, int, int | None]) -> list[Any]:
    return [(0, value) for value in values]


def plain_windows(windows: Windows, time: int) -> list[tuple[int, int]]:
    """Start and end, by looking at all there could be."""
    found = []
    for start in range(time - 20, time + 1):
        if windows.kind == "CUMULATE":
            ends = range(start + windows.step, start + windows.size + 1, windows.step)
            if (start - windows.offset) % windows.size == 0:
                found += [(start, end) for end in ends if start <= time < end]
        elif (start - windows.offset) % windows.step == 0 and time < start + windows.size:
            found.append((start, start + windows.size))
    return found


@st.composite
def streams(draw: Any) -> list[Any]:
    """Rows, and watermarks that rise."""
    steps: list[Any] = []
    watermark = -1
    for _ in range(draw(st.integers(0, 12))):
        if draw(st.integers(0, 3)) == 0:
            watermark += draw(st.integers(0, 6))
            steps.append(watermark)
        else:
            value = draw(st.one_of(st.none(), st.integers(1, 4)))
            steps.append((0, (draw(st.sampled_from("ab")), draw(st.integers(0, 20)), value)))
    return steps


def expected_aligned(windows: Windows, steps: list[Any]) -> Counter[Any]:
    content: dict[Any, list[Any]] = {}
    watermark = -(1 << 62)
    for step in steps:
        if isinstance(step, int):
            watermark = max(watermark, step)
            continue
        key, time, value = step[1]
        for start, end in plain_windows(windows, time):
            if end - 1 > watermark:
                content.setdefault((key, start, end), []).append(value)
    return results(content)


def results(content: dict[Any, list[Any]]) -> Counter[Any]:
    found = Counter()
    for (key, start, end), values in content.items():
        there = [value for value in values if value is not None]
        found[(key, sum(there) if there else None, len(set(there)), start, end, end - 1)] += 1
    return found


def expected_sessions(windows: Windows, steps: list[Any]) -> Counter[Any]:
    open_ones: list[tuple[str, int, int, list[Any]]] = []
    content: dict[Any, list[Any]] = {}
    watermark = -(1 << 62)
    for step in [*steps, 1 << 40]:
        if isinstance(step, int):
            watermark = max(watermark, step)
            for key, start, end, values in [each for each in open_ones if each[2] - 1 <= watermark]:
                content[(key, start, end)] = values
            open_ones = [each for each in open_ones if each[2] - 1 > watermark]
            continue
        key, time, value = step[1]
        start, end, values = time, time + windows.size, [value]
        near = [each for each in open_ones if each[0] == key and each[1] <= end and start <= each[2]]
        for _, begin, until, others in near:
            start, end, values = min(start, begin), max(end, until), [*values, *others]
        if end - 1 > watermark:
            open_ones = [each for each in open_ones if each not in near]
            open_ones.append((key, start, end, values))
    return results(content)


@pytest.mark.parametrize("windows", KINDS_OF_WINDOWS, ids=str)
@settings(max_examples=12)
@given(steps=streams(), data=st.data())
def test_each_window_is_emitted_once_with_all_that_came_in_time_wherever_it_is_cut(
    windows: Windows, steps: list[Any], data: Any
) -> None:
    cut = data.draw(st.integers(0, len(steps)))
    if windows.kind == "SESSION":
        changes, expected = run(partial(SessionAggregate, windows, 1, CALLS), steps, cut=cut), expected_sessions
    else:
        changes, expected = run(partial(WindowAggregate, windows, 1, CALLS), steps, cut=cut), expected_aligned
    assert all(kind == 0 for kind, _ in changes)
    assert Counter(row for _, row in changes) == expected(windows, steps)


def test_rows_that_come_when_all_their_windows_are_over_are_dropped_and_counted() -> None:
    for factory in (
        partial(WindowAggregate, Windows("HOP", (2, 4)), 1, CALLS),
        partial(SessionAggregate, Windows("SESSION", (3,)), 1, CALLS),
    ):
        with KeyedOneInputOperatorHarness(factory, first_column) as harness:
            harness.process_watermark(5)
            harness.process_element((0, ("a", 1, 1)))
            harness.process_element((0, ("a", 4, 1)))
            assert harness.metrics().counters["numLateRecordsDropped"] == 1
            assert harness.output_watermarks() == [5]


def test_what_is_taken_back_does_not_count_and_an_empty_window_is_none() -> None:
    steps = [(0, ("a", 1, 5)), (0, ("b", 1, 5)), (3, ("b", 1, 5)), (1, ("a", 1, 5)), (2, ("a", 2, 7))]
    assert shown(run(partial(WindowAggregate, Windows("TUMBLE", (5,)), 1, CALLS), steps)) == ["+I a 7 1 0 5 4"]
    assert shown(run(partial(SessionAggregate, Windows("SESSION", (5,)), 1, CALLS), steps)) == ["+I a 7 1 1 7 6"]


def test_windows_of_processing_time_end_with_the_clock() -> None:
    factory = partial(WindowAggregate, Windows("TUMBLE", (10,)), None, CALLS)
    with KeyedOneInputOperatorHarness(factory, first_column, now=3) as harness:
        harness.process_element((0, ("a", 99, 1)))
        assert harness.next_processing_timer() == 9
        harness.set_processing_time(9)
        assert shown(harness.output_values()) == ["+I a 1 1 0 10 9"]


def test_windows_of_a_zone_are_cut_on_its_clock() -> None:
    windows = Windows("TUMBLE", (86_400_000,), zone="Asia/Shanghai")
    (change,) = run(partial(WindowAggregate, windows, 1, CALLS), rows(("a", 60_000, 1)))
    assert change[1][3:] == (0, 86_400_000, 86_400_000 - 8 * 3_600_000 - 1)


def test_a_row_without_a_time_is_refused_by_groups_and_dropped_by_the_table() -> None:
    with pytest.raises(OperatorFailure, match="NULL"):
        run(partial(WindowAggregate, Windows("TUMBLE", (5,)), 1, CALLS), [(0, ("a", None, 1))])
    with OneInputOperatorHarness(partial(WindowRows, Windows("TUMBLE", (5,)), 1)) as harness:
        harness.process_element((0, ("a", None)))
        assert harness.output_values() == []
        assert harness.metrics().counters["numNullRowTimeRecordsDropped"] == 1


def test_the_table_of_windows_has_each_row_once_per_window() -> None:
    def table(windows: Windows) -> list[str]:
        with OneInputOperatorHarness(partial(WindowRows, windows, 1)) as harness:
            harness.process_element((0, ("a", 5)))
            return shown(harness.output_values())

    assert table(Windows("HOP", (2, 4))) == ["+I a 5 4 8 7", "+I a 5 2 6 5"]
    assert table(Windows("CUMULATE", (2, 6))) == ["+I a 5 0 6 5"]
    assert table(Windows("TUMBLE", (5,), -1)) == ["+I a 5 4 9 8"]


def test_the_table_of_sessions_has_each_row_when_its_session_is_over() -> None:
    steps = [*rows(("a", 1, 1), ("b", 2, 2), ("a", 5, 3), ("a", 3, 4)), 4, *rows(("b", 1, 9)), 7]
    for cut in range(len(steps)):
        assert sorted(shown(run(partial(SessionTable, Windows("SESSION", (3,)), 1), steps, cut=cut))) == [
            "+I a 1 1 1 8 7", "+I a 3 4 1 8 7", "+I a 5 3 1 8 7", "+I b 2 2 2 5 4",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("INNER", ["+I a 1 5 a 7 5"]),
        ("LEFT", ["+I None 3 5 None None None", "+I a 1 5 a 7 5", "+I b 2 5 None None None"]),
        ("RIGHT", ["+I None None None None 9 5", "+I None None None b 8 10", "+I a 1 5 a 7 5"]),
        ("SEMI", ["+I a 1 5"]),
        ("ANTI", ["+I None 3 5", "+I b 2 5"]),
        (
            "FULL",
            ["+I None 3 5 None None None", "+I None None None None 9 5", "+I None None None b 8 10", "+I a 1 5 a 7 5",
             "+I b 2 5 None None None"],
        ),
    ],
)  # fmt: skip
def test_rows_of_the_same_window_are_joined(kind: str, expected: list[str]) -> None:
    left = [(0, (0, row)) for row in (("a", 1, 5), ("b", 2, 5), (None, 3, 5))]
    right = [(1, (0, row)) for row in (("a", 7, 5), ("b", 8, 10), (None, 9, 5))]
    steps = [*left, *right, 4, (0, (0, ("a", 4, 5)))]
    for cut in range(len(steps)):
        changes = run_two(partial(WindowJoin, kind, (2, 2), (3, 3), None, (False,)), steps, cut=cut)
        assert sorted(shown(changes)) == expected


def test_the_best_rows_of_a_window_come_in_order_when_it_is_over() -> None:
    steps = [*rows(("a", 1, 5), ("a", 3, 5), ("a", 2, 5), ("a", 9, 10)), 4, *rows(("a", 8, 5))]
    for cut in range(len(steps)):
        found = run(partial(WindowTopN, (descending(1),), 1, 2, True, 2), steps, cut=cut)
        assert shown(found) == ["+I a 3 5 1", "+I a 2 5 2", "+I a 9 10 1"]
    assert shown(run(partial(WindowTopN, (descending(1),), 2, 2, False, 2), steps)) == ["+I a 2 5"]


def test_one_row_of_a_window_is_left() -> None:
    steps = [*rows(("a", 1, 5), ("a", 3, 5), ("a", 1, 5)), 4, *rows(("a", 0, 5))]
    assert shown(run(partial(WindowDeduplicate, 1, False, 2), steps, cut=2)) == ["+I a 3 5"]
    assert shown(run(partial(WindowDeduplicate, 1, True, 2), steps, cut=2)) == ["+I a 1 5"]
