"""The contract of window functions, their contexts and their state, and of assigners that users write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pytest

from firesteel.common.typeinfo import Types
from firesteel.model.assigners import (
    EventTimeSessionWindows,
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from firesteel.model.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from firesteel.model.output_tag import OutputTag
from firesteel.model.state import ValueStateDescriptor
from firesteel.model.triggers import CountTrigger, EventTimeTrigger
from firesteel.model.windows import TimeWindow, TimeWindowSerializer
from firesteel.runtime.failure import OperatorFailure
from tests.contract.windows import AddUp, Contents, KeyEndAndAggregate, Sum, windows

SIDE = OutputTag("side")


@pytest.mark.feature("WI-01")
def test_reduce_aggregate_and_process_agree() -> None:
    totals = []
    for function, fold in ((None, Sum()), (None, AddUp()), (Contents(), None)):
        harness = windows(TumblingEventTimeWindows(10), function, fold)
        harness.process_elements([(("a", number), number) for number in range(15)])
        harness.process_watermark(100)
        totals.append(harness.output_values())
    aggregated, reduced, processed = totals
    assert aggregated == [45, 60]
    assert [value[1] for value in reduced] == aggregated
    assert [sum(value[3]) for value in processed] == aggregated


@pytest.mark.feature("WI-14")
@pytest.mark.parametrize("fold", [Sum(), AddUp()], ids=["aggregate", "reduce"])
@pytest.mark.parametrize("assigner", [TumblingEventTimeWindows(10), EventTimeSessionWindows(100)], ids=repr)
def test_an_incremental_function_keeps_one_value_per_key_and_window(fold: Any, assigner: Any) -> None:
    harness = windows(assigner, None, fold)
    harness.process_elements([((key, 1), 3) for key in "ab" for _ in range(100)])
    assert harness.state_entries() == 2
    assert len(harness.snapshot()) < 1000


@pytest.mark.feature("WI-14", "WI-23")
def test_overlapping_windows_keep_one_value_per_key_and_pane() -> None:
    harness = windows(SlidingEventTimeWindows(24 * 3600, 900), None, Sum())
    harness.process_elements([(("a", 1), 3) for _ in range(100)])
    assert harness.state_entries() == 1
    harness.process_watermark(10**9)
    assert harness.output_values() == [100] * 96


@pytest.mark.feature("WI-15")
def test_a_process_function_gets_key_context_and_all_records_once() -> None:
    harness = windows(TumblingEventTimeWindows(10), Contents())
    harness.process_elements([(("a", 1), 3), (("b", 2), 4), (("a", 3), 5)])
    harness.process_watermark(100)
    assert harness.output_values() == [("a", 0, 10, [1, 3]), ("b", 0, 10, [2])]


@pytest.mark.feature("WI-16")
@pytest.mark.parametrize(
    ("fold", "expected"), [(Sum(), ("a", 10, 4)), (AddUp(), ("a", 10, ("a", 4)))], ids=["aggregate", "reduce"]
)
def test_after_an_incremental_function_there_is_exactly_one_element(fold: Any, expected: Any) -> None:
    for assigner in (TumblingEventTimeWindows(10), SlidingEventTimeWindows(10, 10), EventTimeSessionWindows(5)):
        harness = windows(assigner, KeyEndAndAggregate(), fold)
        harness.process_elements([(("a", 1), 3), (("a", 3), 5)])
        harness.process_watermark(100)
        assert harness.output_values() == [expected]


class Sums(WindowFunction):
    def apply(self, key: Any, window: TimeWindow, inputs: Iterable[Any]) -> Iterator[Any]:
        yield key, window.end, sum(value[1] for value in inputs)


class SumsCollected(WindowFunction):
    def apply(self, key: Any, window: TimeWindow, inputs: Iterable[Any], out: Any) -> None:  # type: ignore[override]
        out.collect((key, window.end, sum(value[1] for value in inputs)))


class AllSums(AllWindowFunction):
    def apply(self, window: TimeWindow, inputs: Iterable[Any]) -> Any:
        return [("all", window.end, sum(value[1] for value in inputs))]


class ProcessAllSums(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[Any]) -> Any:
        return [("all", context.window().end, sum(value[1] for value in elements))]


@pytest.mark.parametrize(
    "function", [Sums(), SumsCollected(), AllSums(), ProcessAllSums()], ids=lambda f: type(f).__name__
)
def test_every_kind_of_window_function_can_be_used(function: Any) -> None:
    harness = windows(TumblingEventTimeWindows(10), function)
    harness.process_elements([(("all", 1), 3), (("all", 3), 5)])
    harness.process_watermark(100)
    assert harness.output_values() == [("all", 10, 4)]


def test_a_function_that_returns_nothing_gives_nothing() -> None:
    class Silent(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> None:
            return None

    harness = windows(TumblingEventTimeWindows(10), Silent())
    harness.process_element(("a", 1), 3)
    harness.process_watermark(100)
    assert harness.output_values() == []


class Everything(ProcessWindowFunction):
    """Emits everything that a context knows; counts firings per window and per key."""

    def __init__(self) -> None:
        self._firings = ValueStateDescriptor("firings", Types.INT())

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        in_window = context.window_state().get_state(self._firings)
        in_key = context.global_state().get_state(self._firings)
        in_window.update((in_window.value() or 0) + 1)
        in_key.update((in_key.value() or 0) + 1)
        clocks = context.current_watermark(), context.current_processing_time()
        context.output(SIDE, ("said", key))
        yield SIDE, ("yielded", key)
        yield key, tuple(context.window()), clocks, in_window.value(), in_key.value()

    def clear(self, context: Any) -> None:
        context.window_state().get_state(self._firings).clear()


@pytest.mark.feature("WI-17", "EX-23")
@pytest.mark.parametrize("fold", [None, Sum()], ids=["records", "aggregate"])
def test_the_context_knows_window_clocks_and_state(fold: Any) -> None:
    harness = windows(TumblingEventTimeWindows(10), Everything(), fold, now=70)
    harness.process_elements([(("a", 1), 3), (("a", 1), 13), (("b", 1), 13)])
    harness.process_watermark(12)
    harness.process_watermark(25)
    assert harness.output_values() == [
        ("a", (0, 10), (12, 70), 1, 1),
        ("a", (10, 20), (25, 70), 1, 2),
        ("b", (10, 20), (25, 70), 1, 1),
    ]
    assert harness.side_output(SIDE)[:2] == [(("said", "a"), 9), (("yielded", "a"), 9)]
    assert harness.state_entries() == 2  # the global state of both keys


@pytest.mark.feature("WI-17")
def test_the_state_of_a_window_lives_from_firing_to_firing() -> None:
    harness = windows(TumblingEventTimeWindows(10), Everything(), trigger=CountTrigger(1))
    harness.process_elements([(("a", 1), 3), (("a", 1), 4), (("a", 1), 13)])
    assert [value[3:] for value in harness.output_values()] == [(1, 1), (2, 2), (1, 3)]


def test_windows_that_merge_have_no_state_of_their_own() -> None:
    harness = windows(EventTimeSessionWindows(10), Everything(), Sum())
    harness.process_element(("a", 1), 3)
    with pytest.raises(OperatorFailure, match="Use global_state"):
        harness.process_watermark(100)


class Difference(ProcessWindowFunction):
    """Emits the difference to the result of the window before."""

    def open(self, runtime_context: Any) -> None:
        self._last = runtime_context.get_state(ValueStateDescriptor("last", Types.INT()))

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        (total,) = elements
        yield key, total - (self._last.value() or 0)
        self._last.update(total)


@pytest.mark.feature("WI-18")
def test_global_state_carries_the_result_of_the_window_before() -> None:
    harness = windows(TumblingEventTimeWindows(10), Difference(), Sum())
    totals = [5, 7, 4, 4, 10]
    harness.process_elements([(("a", total), 10 * number) for number, total in enumerate(totals)])
    harness.process_watermark(100)
    assert harness.output_values() == [("a", 5), ("a", 2), ("a", -3), ("a", 0), ("a", 6)]


class Opened(Sum):
    """An aggregate function with a life of its own."""

    def open(self, runtime_context: Any) -> None:
        self._factor = int(runtime_context.get_job_parameter("factor", "1"))

    def get_result(self, accumulator: Any) -> Any:
        return accumulator * self._factor


@pytest.mark.parametrize("function", [None, KeyEndAndAggregate()], ids=["alone", "with a window function"])
def test_incremental_functions_are_opened(function: Any) -> None:
    harness = windows(TumblingEventTimeWindows(10), function, Opened(), job_parameters={"factor": "100"})
    harness.process_element(("a", 2), 3)
    harness.process_watermark(100)
    assert harness.output_values() in ([200], [("a", 10, 200)])


def test_an_error_in_a_function_names_the_record() -> None:
    class Bad(Sum):
        def add(self, value: Any, accumulator: Any) -> Any:
            return accumulator + 1 // value[1]

    for assigner in (TumblingEventTimeWindows(10), SlidingEventTimeWindows(10, 5), EventTimeSessionWindows(10)):
        for elements in ([(("a", 1), 1), (("b", 0), 2)], [(("a", 1), 1), (("b", 0), 12), (("c", 1), 13)]):
            harness = windows(assigner, None, Bad())
            with pytest.raises(OperatorFailure) as failure:
                harness.process_elements(elements)
            assert failure.value.exception_type == "ZeroDivisionError"
            assert failure.value.record == "('b', 0)"


# ---- assigners that users write ------------------------------------------------------------------------------------


class _OwnAssigner(WindowAssigner[Any, TimeWindow]):
    def get_default_trigger(self, env: Any = None) -> Any:
        return EventTimeTrigger()

    def get_window_serializer(self) -> Any:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


class ByField(_OwnAssigner):
    """The record says how long its window is."""

    def assign_windows(self, element: Any, timestamp: Any, context: Any) -> Collection[TimeWindow]:
        length = element[2]
        return [TimeWindow(timestamp - timestamp % length, timestamp - timestamp % length + length)] if length else []


@pytest.mark.feature("WI-10")
def test_an_assigner_of_the_users_own_opens_windows_by_a_field() -> None:
    harness = windows(ByField())
    harness.process_elements([(("a", 1, 10), 3), (("a", 2, 100), 4), (("a", 3, 10), 5), (("a", 4, 0), 6)])
    harness.process_watermark(1000)
    assert harness.output_values() == [("a", 0, 10, [1, 3]), ("a", 0, 100, [2])]


def test_a_record_without_windows_is_nowhere_and_not_late() -> None:
    harness = windows(ByField())
    harness.process_element(("a", 4, 0), 6)
    assert harness.metrics().counters["numLateRecordsDropped"] == 0
    assert harness.state_entries() == 0


class UntilLogout(_OwnAssigner, MergingWindowAssigner[Any, TimeWindow]):
    """Sessions that a logout ends at once: it covers the time up to it, and later records do not touch it."""

    def assign_windows(self, element: Any, timestamp: Any, context: Any) -> Collection[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + (1 if element[2] == "logout" else 20))]

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        TimeWindow.merge_windows(windows, callback)


@pytest.mark.feature("WI-10")
@pytest.mark.parametrize("fold", [None, Sum()], ids=["records", "aggregate"])
def test_a_merging_assigner_of_the_users_own_works(fold: Any) -> None:
    harness = windows(UntilLogout(), None if fold else Contents(), fold)
    harness.process_elements([(("a", 1, "login"), 0), (("a", 2, "click"), 15), (("a", 4, "logout"), 40)])
    harness.process_watermark(1000)
    assert harness.output_values() == ([3, 4] if fold else [("a", 0, 35, [1, 2]), ("a", 40, 41, [4])])
    assert harness.state_entries() == 0


def test_dynamic_gaps_make_sessions_of_different_length() -> None:
    assigner = EventTimeSessionWindows.with_dynamic_gap(lambda element: element[2])
    for fold in (None, Sum()):
        harness = windows(assigner, None if fold else Contents(), fold)
        harness.process_elements([(("a", 1, 5), 0), (("a", 2, 50), 10), (("a", 4, 5), 40), (("a", 8, 5), 61)])
        harness.process_watermark(1000)
        expected = [1, 6, 8] if fold else [("a", 0, 5, [1]), ("a", 10, 60, [2, 4]), ("a", 61, 66, [8])]
        assert harness.output_values() == expected


class Shrinking(UntilLogout):
    """Merges windows into one that is over: nonsense, and refused."""

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        known = list(windows)
        if len(known) > 1:
            callback.merge(known, TimeWindow(0, 5))


def test_a_merged_window_must_not_lie_in_the_past() -> None:
    harness = windows(Shrinking())
    harness.process_watermark(10)
    harness.process_element(("a", 1, "login"), 11)
    with pytest.raises(OperatorFailure, match="over at 10"):
        harness.process_element(("a", 1, "login"), 12)
