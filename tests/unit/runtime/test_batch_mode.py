"""Operators in BATCH mode: one key after the other, the records of a key in order of time, timers at the end of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from firesteel.common import Time, Types
from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.model.assigners import (
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from firesteel.model.functions import KeyedCoProcessFunction, KeyedProcessFunction, ProcessWindowFunction
from firesteel.model.state import ValueStateDescriptor
from firesteel.model.triggers import ContinuousEventTimeTrigger, EventTimeTrigger
from firesteel.runtime.co import KeyedCoProcessOperator
from firesteel.runtime.failure import OperatorFailure
from firesteel.runtime.process import KeyedProcessOperator
from firesteel.runtime.windowing.choice import make_window_operator
from firesteel.runtime.windowing.spec import WindowSpec
from firesteel.testing import KeyedOneInputOperatorHarness, KeyedTwoInputOperatorHarness


class Diary(KeyedProcessFunction):
    """Writes down everything, with what is in state from before."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value(), ctx.timer_service().current_watermark()
        ctx.timer_service().register_processing_time_timer(1)
        ctx.timer_service().register_event_time_timer(value[1] + 100)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), ctx.time_domain().name, timestamp, ctx.timer_service().current_watermark()
        ctx.timer_service().register_event_time_timer(timestamp + 1)


def first(value: Any) -> Any:
    return value[0]


def test_a_key_is_done_before_the_next_one_begins() -> None:
    harness = KeyedOneInputOperatorHarness(partial(KeyedProcessOperator, Diary()), first, batch_mode=True)
    harness.process_elements([(("b", 2), 2), (("a", 9), 9)])
    harness.set_processing_time(10**12)
    harness.end_epoch()
    harness.process_elements([(("a", 3), 3), (("b", 1), 1)])
    assert harness.output() == []
    harness.end_input()
    assert harness.output_values() == [
        (("a", 3), 1, MIN_WATERMARK),
        (("a", 9), 2, MIN_WATERMARK),
        ("a", "EVENT_TIME", 103, MAX_WATERMARK),
        ("a", "EVENT_TIME", 109, MAX_WATERMARK),
        ("a", "PROCESSING_TIME", 1, MAX_WATERMARK),
        (("b", 1), 1, MIN_WATERMARK),
        (("b", 2), 2, MIN_WATERMARK),
        ("b", "EVENT_TIME", 101, MAX_WATERMARK),
        ("b", "EVENT_TIME", 102, MAX_WATERMARK),
        ("b", "PROCESSING_TIME", 1, MAX_WATERMARK),
    ]
    assert harness.output_watermarks() == [MAX_WATERMARK]
    assert harness.state_entries() == harness.timers() == 0


class Sides(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        yield 1, value

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        yield 2, value


def test_two_inputs_are_merged_by_key_and_time() -> None:
    harness = KeyedTwoInputOperatorHarness(partial(KeyedCoProcessOperator, Sides()), first, first, batch_mode=True)
    harness.process_elements1([(("b", 1), 1), (("a", 5), 5), (("a", 1), 1)])
    harness.process_elements2([(("a", 3), 3), (("a", 1), 1), (("c", 0), None)])
    harness.end_input()
    assert harness.output_values() == [
        (1, ("a", 1)),
        (2, ("a", 1)),
        (2, ("a", 3)),
        (1, ("a", 5)),
        (1, ("b", 1)),
        (2, ("c", 0)),
    ]


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: ProcessWindowFunction.Context, elements: Any) -> Iterator[Any]:
        window = context.window()
        yield key, getattr(window, "start", None), [value[1] for value in elements]


def windows(assigner: Any, trigger: Any = None) -> Callable[[], Any]:
    default = assigner.get_default_trigger(None) if trigger is None else trigger
    return partial(make_window_operator, WindowSpec(assigner, default, function=Contents()))


TEN = Time.milliseconds(10)


@pytest.mark.parametrize(
    ("assigner", "expected"),
    [
        (TumblingEventTimeWindows.of(TEN), [("a", 0, [3, 9]), ("a", 10, [12]), ("b", 0, [1])]),
        (
            SlidingEventTimeWindows.of(Time.milliseconds(20), TEN),
            [("a", -10, [3, 9]), ("a", 0, [3, 9, 12]), ("a", 10, [12]), ("b", -10, [1]), ("b", 0, [1])],
        ),
        (TumblingProcessingTimeWindows.of(TEN), [("a", 0, [3, 9, 12]), ("b", 0, [1])]),
    ],
)
def test_windows_fire_at_the_end_of_each_key_and_nothing_is_late(assigner: Any, expected: list[Any]) -> None:
    harness = KeyedOneInputOperatorHarness(windows(assigner), first, batch_mode=True)
    harness.process_elements([(("a", 12), 12), (("b", 1), 1), (("a", 3), 3)])
    harness.process_watermark(1000)
    harness.process_element(("a", 9), 9)
    harness.end_input()
    assert harness.output_values() == expected


def test_a_continuous_trigger_on_a_global_window_ends_in_batch_mode() -> None:
    harness = KeyedOneInputOperatorHarness(
        windows(GlobalWindows.create(), ContinuousEventTimeTrigger.of(TEN)), first, batch_mode=True
    )
    harness.process_elements([(("a", 3), 3), (("a", 25), 25)])
    harness.end_input()
    assert set(map(str, harness.output_values())) == {"('a', None, [3, 25])"}


def test_while_streaming_it_goes_on_for_ever_but_lets_the_epoch_end() -> None:
    harness = KeyedOneInputOperatorHarness(
        windows(GlobalWindows.create(), ContinuousEventTimeTrigger.of(TEN)), first
    ).open()
    harness.process_element(("a", 3), 3)
    harness.operator.context.clock.expired = lambda: True
    harness.end_input()
    fired = len(harness.output_values())
    assert fired > 100 and harness.output_watermarks() == []
    assert harness.operator.end_of_time_under_way


class Setting(KeyedProcessFunction):
    def __init__(self, method: str, time: Any) -> None:
        self.method, self.time = method, time

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        getattr(ctx.timer_service(), self.method)(self.time)


@pytest.mark.parametrize("time", [None, 1.5, 2.0, True, "7"], ids=repr)
@pytest.mark.parametrize(
    "method",
    [
        "register_event_time_timer",
        "register_processing_time_timer",
        "delete_event_time_timer",
        "delete_processing_time_timer",
    ],
)
def test_a_timer_needs_whole_milliseconds(method: str, time: Any) -> None:
    harness = KeyedOneInputOperatorHarness(partial(KeyedProcessOperator, Setting(method, time)), first)
    message = rf"{method}\(\) in operator 'operator under test' takes milliseconds as int, got {type(time).__name__}"
    with pytest.raises(OperatorFailure, match=message):
        harness.process_element(("a", 1), 1)


class BadTrigger(EventTimeTrigger):
    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
        ctx.register_event_time_timer(None)


def test_a_trigger_too_needs_whole_milliseconds() -> None:
    harness = KeyedOneInputOperatorHarness(windows(GlobalWindows.create(), BadTrigger()), first)
    with pytest.raises(OperatorFailure, match="takes milliseconds as int, got NoneType"):
        harness.process_element(("a", 1), 1)
