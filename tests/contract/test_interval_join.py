"""The contract of interval joins."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from firesteel.common.typeinfo import Types
from firesteel.model.functions import ProcessJoinFunction
from firesteel.model.output_tag import OutputTag
from firesteel.model.state import ValueStateDescriptor
from firesteel.runtime.failure import OperatorFailure
from firesteel.runtime.interval_join import IntervalJoinOperator, JoinBounds
from firesteel.testing.harness import KeyedTwoInputOperatorHarness

LEFT_LATE, RIGHT_LATE, SIDE = OutputTag("left late"), OutputTag("right late"), OutputTag("side")


class Pair(ProcessJoinFunction):
    """(left, right) with the numbers only."""

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left[1], right[1]


def join(lower: int, upper: int, function: Any = None, **settings: Any) -> KeyedTwoInputOperatorHarness:
    bounds = JoinBounds(lower, upper, LEFT_LATE, RIGHT_LATE)
    factory = partial(IntervalJoinOperator, function or Pair(), bounds)
    return KeyedTwoInputOperatorHarness(factory, lambda value: value[0], lambda value: value[0], **settings)


@pytest.mark.feature("DS-13")
def test_bounds_are_inclusive_on_both_sides() -> None:
    harness = join(-2, 3)
    harness.process_element1(("a", 10), 10)
    for time in (7, 8, 10, 13, 14):
        harness.process_element2(("a", time), time)
    assert harness.output_values() == [(10, 8), (10, 10), (10, 13)]


@pytest.mark.feature("DS-13")
def test_it_does_not_matter_which_side_comes_first() -> None:
    harness = join(-2, 3)
    for time in (7, 8, 10, 13, 14):
        harness.process_element2(("a", time), time)
    harness.process_element1(("a", 10), 10)
    assert harness.output_values() == [(10, 8), (10, 10), (10, 13)]


def test_results_carry_the_later_timestamp() -> None:
    harness = join(-5, 5)
    harness.process_element1(("a", 10), 10)
    harness.process_elements2([(("a", 8), 8), (("a", 12), 12)])
    assert [record.timestamp for record in harness.output_records()] == [10, 12]


def test_only_equal_keys_meet() -> None:
    harness = join(-5, 5)
    harness.process_element1(("a", 1), 10)
    harness.process_element2(("b", 2), 10)
    assert harness.output_values() == []


def test_records_with_the_same_timestamp_all_meet() -> None:
    harness = join(0, 0)
    harness.process_elements1([(("a", 1), 10), (("a", 2), 10)])
    harness.process_elements2([(("a", 3), 10), (("a", 4), 10)])
    assert sorted(harness.output_values()) == [(1, 3), (1, 4), (2, 3), (2, 4)]


@pytest.mark.feature("DS-13")
def test_records_behind_the_watermark_are_late_and_go_to_the_side_output_of_their_side() -> None:
    harness = join(-5, 5)
    harness.process_both_watermarks(10)
    harness.process_elements1([(("a", 9), 9), (("a", 10), 10)])
    harness.process_elements2([(("a", 9), 9), (("a", 10), 10)])
    assert harness.output_values() == [(10, 10)]
    assert harness.side_output(LEFT_LATE) == [(("a", 9), 9)]
    assert harness.side_output(RIGHT_LATE) == [(("a", 9), 9)]


@pytest.mark.parametrize(
    ("lower", "upper", "left_until", "right_until"),
    [(-2, 3, 13, 12), (1, 3, 13, 10), (-3, -1, 10, 13), (0, 0, 10, 10)],
)
def test_a_record_is_kept_exactly_as_long_as_a_partner_may_come(
    lower: int, upper: int, left_until: int, right_until: int
) -> None:
    for send, until in (("process_element1", left_until), ("process_element2", right_until)):
        harness = join(lower, upper)
        getattr(harness, send)(("a", 1), 10)
        harness.process_both_watermarks(until - 1)
        assert harness.state_entries() == 1
        harness.process_both_watermarks(until)
        assert harness.state_entries() == 0
        assert harness.timers() == 0


def test_the_slower_stream_decides_about_time() -> None:
    harness = join(-5, 5)
    harness.process_element1(("a", 1), 10)
    harness.process_watermark1(1000)
    harness.process_element2(("a", 2), 10)
    assert harness.output_values() == [(1, 2)]


@pytest.mark.parametrize("full", [True, False], ids=["full", "incremental"])
def test_waiting_records_survive_a_restart(full: bool) -> None:
    first, second = join(-5, 5), join(-5, 5)
    first.process_elements1([(("a", 1), 10), (("b", 2), 10)])
    second.restore(first.snapshot(full))
    second.process_elements2([(("a", 3), 10), (("b", 4), 14)])
    assert second.output_values() == [(1, 3), (2, 4)]


class Curious(ProcessJoinFunction):
    """Counts pairs per key; emits what the context knows."""

    def open(self, runtime_context: Any) -> None:
        self._pairs = runtime_context.get_state(ValueStateDescriptor("pairs", Types.INT()))

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        self._pairs.update((self._pairs.value() or 0) + 1)
        ctx.output(SIDE, "said")
        yield SIDE, "yielded"
        yield ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp(), self._pairs.value()


def test_the_function_has_a_context_and_state_per_key() -> None:
    harness = join(-5, 5, Curious())
    harness.process_elements1([(("a", 1), 10), (("b", 1), 11)])
    harness.process_elements2([(("a", 1), 12), (("b", 1), 7), (("a", 1), 13)])
    assert harness.output_values() == [(10, 12, 12, 1), (11, 7, 11, 1), (10, 13, 13, 2)]
    assert harness.side_output(SIDE)[:2] == [("said", 12), ("yielded", 12)]


class Collecting(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any, out: Any) -> None:  # type: ignore[override]
        out.collect(left[1] + right[1])


def test_the_function_may_be_written_with_a_collector() -> None:
    harness = join(0, 0, Collecting())
    harness.process_element1(("a", 1), 10)
    harness.process_element2(("a", 2), 10)
    assert harness.output_values() == [3]


def test_records_without_timestamps_are_a_clear_error() -> None:
    with pytest.raises(OperatorFailure, match="assign_timestamps_and_watermarks"):
        join(0, 0).process_element1(("a", 1))
