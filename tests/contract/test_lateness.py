"""The contract of late records: when they count, when they are dropped, and when a window's state goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.model.assigners import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from firesteel.model.functions import ProcessWindowFunction
from tests.contract.windows import LATE, Contents, Sum, windows

SECOND = 1000
folded = pytest.mark.parametrize("fold", [None, Sum()], ids=["records", "aggregate"])


def dropped(harness: Any) -> int:
    count: int = harness.metrics().counters["numLateRecordsDropped"]
    return count


@folded
@pytest.mark.feature("WI-19")
@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows(10), SlidingEventTimeWindows(10, 5), EventTimeSessionWindows(10)], ids=repr
)
def test_a_late_record_changes_nothing_and_is_counted(assigner: Any, fold: Any) -> None:
    harness = windows(assigner, None if fold else Contents(), fold)
    harness.process_element(("a", 1), 3)
    harness.process_watermark(30)
    before = harness.output_values()
    harness.process_element(("a", 5), 3)
    harness.process_watermark(100)
    assert harness.output_values() == before
    assert dropped(harness) == 1
    assert harness.state_entries() == 0


@folded
def test_a_record_behind_the_watermark_is_not_late_while_its_window_is_open(fold: Any) -> None:
    harness = windows(TumblingEventTimeWindows(10), None if fold else Contents(), fold)
    harness.process_watermark(8)
    harness.process_element(("a", 5), 3)
    harness.process_watermark(9)
    assert len(harness.output_values()) == 1
    assert dropped(harness) == 0


@folded
def test_a_record_counts_in_those_of_its_sliding_windows_that_are_still_open(fold: Any) -> None:
    harness = windows(SlidingEventTimeWindows(10, 5), None if fold else Contents(), fold)
    harness.process_element(("a", 1), 7)
    harness.process_watermark(9)  # the window up to 10 has fired
    harness.process_element(("a", 2), 8)
    harness.process_watermark(100)
    expected = [1, 3] if fold else [("a", 0, 10, [1]), ("a", 5, 15, [1, 2])]
    assert harness.output_values() == expected
    assert dropped(harness) == 0


@folded
@pytest.mark.feature("WI-20")
def test_late_records_go_to_the_side_output_unchanged_and_once(fold: Any) -> None:
    for assigner in (TumblingEventTimeWindows(10), SlidingEventTimeWindows(10, 2), EventTimeSessionWindows(10)):
        harness = windows(assigner, None if fold else Contents(), fold, late_tag=LATE)
        harness.process_watermark(100)
        harness.process_elements([(("a", 5), 3), (("a", 6), 101)])
        assert harness.side_output(LATE) == [(("a", 5), 3)]
        assert dropped(harness) == 0


@folded
@pytest.mark.feature("WI-21")
def test_with_allowed_lateness_a_late_record_fires_the_window_again(fold: Any) -> None:
    harness = windows(TumblingEventTimeWindows(60 * SECOND), None if fold else Contents(), fold, lateness=10 * SECOND)
    harness.process_element(("a", 1), 1 * SECOND)
    harness.process_watermark(60 * SECOND)
    harness.process_element(("a", 2), 2 * SECOND)
    expected = [1, 3] if fold else [("a", 0, 60 * SECOND, [1]), ("a", 0, 60 * SECOND, [1, 2])]
    assert harness.output_values() == expected
    assert [record.timestamp for record in harness.output_records()] == [60 * SECOND - 1] * 2


@folded
@pytest.mark.feature("WI-21")
def test_the_state_of_a_window_goes_exactly_when_the_watermark_passes_its_end_and_lateness(fold: Any) -> None:
    harness = windows(TumblingEventTimeWindows(10), None if fold else Contents(), fold, lateness=10)
    harness.process_element(("a", 1), 3)
    harness.process_watermark(18)
    assert harness.state_entries() == 1
    harness.process_watermark(19)
    assert harness.state_entries() == 0
    assert harness.timers() == 0
    assert len(harness.output_values()) == 1


@folded
@pytest.mark.feature("WI-22")
def test_with_lateness_only_records_that_are_too_late_go_to_the_side_output(fold: Any) -> None:
    function = None if fold else Contents()
    harness = windows(TumblingEventTimeWindows(60 * SECOND), function, fold, lateness=10 * SECOND, late_tag=LATE)
    harness.process_element(("a", 1), 30 * SECOND)
    harness.process_watermark(65 * SECOND)
    harness.process_element(("a", 2), 59 * SECOND)
    harness.process_watermark(75 * SECOND)
    harness.process_element(("a", 4), 59 * SECOND)
    assert harness.side_output(LATE) == [(("a", 4), 59 * SECOND)]
    assert len(harness.output_values()) == 2


@folded
def test_a_first_record_that_is_late_but_allowed_opens_its_window_and_fires_it(fold: Any) -> None:
    harness = windows(TumblingEventTimeWindows(10), None if fold else Contents(), fold, lateness=10)
    harness.process_watermark(12)
    harness.process_element(("a", 1), 3)
    assert len(harness.output_values()) == 1
    harness.process_watermark(19)
    assert len(harness.output_values()) == 1
    assert harness.state_entries() == 0


@folded
@pytest.mark.feature("WI-27")
def test_a_late_record_can_merge_two_sessions_and_gives_the_merged_result(fold: Any) -> None:
    minutes = 60 * SECOND
    function = None if fold else Contents()
    harness = windows(EventTimeSessionWindows(30 * minutes), function, fold, lateness=60 * minutes)
    for minute in (0, 10, 45, 50):
        harness.process_element(("a", 1), minute * minutes)
    harness.process_watermark(90 * minutes)
    assert len(harness.output_values()) == 2
    harness.process_element(("a", 1), 25 * minutes)
    merged = harness.output_values()[2:]
    assert merged == ([5] if fold else [("a", 0, 80 * minutes, [1] * 5)])
    harness.process_watermark(140 * minutes)
    assert len(harness.output_values()) == 3
    assert harness.state_entries() == 0


@folded
def test_windows_that_touch_are_one_session(fold: Any) -> None:
    harness = windows(EventTimeSessionWindows(10), None if fold else Contents(), fold)
    harness.process_elements([(("a", 1), 0), (("a", 2), 10), (("a", 4), 21)])
    harness.process_watermark(100)
    assert harness.output_values() == ([3, 4] if fold else [("a", 0, 20, [1, 2]), ("a", 21, 31, [4])])


@folded
def test_a_late_record_that_meets_an_open_session_is_not_late(fold: Any) -> None:
    harness = windows(EventTimeSessionWindows(10), None if fold else Contents(), fold)
    harness.process_element(("a", 1), 15)
    harness.process_watermark(20)
    harness.process_element(("a", 2), 8)
    harness.process_watermark(100)
    assert harness.output_values() == ([3] if fold else [("a", 8, 25, [1, 2])])
    assert dropped(harness) == 0


class CountsClears(ProcessWindowFunction):
    """Counts how often windows are deleted."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield "fired"

    def clear(self, context: Any) -> None:
        self.get_runtime_context().get_metrics_group().counter("cleared").inc()


@folded
@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows(10), SlidingEventTimeWindows(10, 10), EventTimeSessionWindows(10)], ids=repr
)
@pytest.mark.parametrize("lateness", [0, 10])
def test_the_function_is_cleared_once_per_window_when_it_is_deleted(assigner: Any, fold: Any, lateness: int) -> None:
    harness = windows(assigner, CountsClears(), fold, lateness=lateness)
    harness.process_elements([(("a", 1), 2), (("a", 1), 3), (("b", 1), 2)])
    harness.process_watermark(18)
    cleared_early = harness.metrics().counters.get("cleared", 0)
    harness.process_watermark(50)
    assert cleared_early == (0 if lateness else 2)
    assert harness.metrics().counters["cleared"] == 2
    assert harness.output_values() == ["fired", "fired"]


def test_negative_timestamps_have_windows_too() -> None:
    harness = windows(TumblingEventTimeWindows(10))
    harness.process_elements([(("a", 1), -1), (("a", 2), -10), (("a", 3), -11), (("a", 4), 0)])
    harness.process_watermark(100)
    expected = [("a", -20, -10, [3]), ("a", -10, 0, [1, 2]), ("a", 0, 10, [4])]
    assert harness.output_values() == expected
