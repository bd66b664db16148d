"""What the contract tests of windows share: functions, triggers that follow a script, and the two time domains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Any

from firesteel.model.assigners import (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from firesteel.model.functions import AggregateFunction, ProcessWindowFunction, ReduceFunction
from firesteel.model.output_tag import OutputTag
from firesteel.model.triggers import PurgingTrigger, Trigger
from firesteel.runtime.windowing import WindowSpec, make_window_operator
from firesteel.testing.harness import KeyedOneInputOperatorHarness

LATE = OutputTag("late")


class Sum(AggregateFunction):
    """The sum of the numbers in (key, number)."""

    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value[1]

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class AddUp(ReduceFunction):
    """(key, sum of the numbers)."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]


class Contents(ProcessWindowFunction):
    """(key, start, end, numbers in the order in which they came)."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        window = context.window()
        yield key, window.start, window.end, [value[1] for value in elements]


class Numbers(ProcessWindowFunction):
    """The numbers in the order in which they came; for windows without start and end."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield [value[1] for value in elements]


class KeyEndAndAggregate(ProcessWindowFunction):
    """(key, end of the window, the only element)."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        (aggregate,) = elements
        yield key, context.window().end, aggregate


def windows(
    assigner: WindowAssigner[Any, Any],
    function: Any = None,
    fold: Any = None,
    *,
    trigger: Trigger[Any, Any] | None = None,
    evictor: Any = None,
    lateness: int = 0,
    late_tag: OutputTag | None = None,
    **settings: Any,
) -> KeyedOneInputOperatorHarness:
    """A window operator under test, keyed by the first field of its records."""
    if function is None and fold is None:
        function = Contents()
    spec = WindowSpec(assigner, trigger or assigner.get_default_trigger(), fold, function, evictor, lateness, late_tag)
    return KeyedOneInputOperatorHarness(partial(make_window_operator, spec), lambda value: value[0], **settings)


class Domain(ABC):
    """A time domain: how windows are assigned in it, and how it advances."""

    @abstractmethod
    def tumbling(self, size: int, offset: int = 0) -> WindowAssigner[Any, Any]: ...

    @abstractmethod
    def sliding(self, size: int, slide: int, offset: int = 0) -> WindowAssigner[Any, Any]: ...

    @abstractmethod
    def sessions(self, gap: int) -> WindowAssigner[Any, Any]: ...

    @abstractmethod
    def send(self, harness: KeyedOneInputOperatorHarness, at: int, *values: Any) -> None:
        """Records come at a time."""

    @abstractmethod
    def advance(self, harness: KeyedOneInputOperatorHarness, to: int) -> None:
        """Time advances."""


class EventTime(Domain):
    def tumbling(self, size: int, offset: int = 0) -> WindowAssigner[Any, Any]:
        return TumblingEventTimeWindows(size, offset)

    def sliding(self, size: int, slide: int, offset: int = 0) -> WindowAssigner[Any, Any]:
        return SlidingEventTimeWindows(size, slide, offset)

    def sessions(self, gap: int) -> WindowAssigner[Any, Any]:
        return EventTimeSessionWindows(gap)

    def send(self, harness: KeyedOneInputOperatorHarness, at: int, *values: Any) -> None:
        harness.process_elements((value, at) for value in values)

    def advance(self, harness: KeyedOneInputOperatorHarness, to: int) -> None:
        harness.process_watermark(to)


class ProcessingTime(Domain):
    def tumbling(self, size: int, offset: int = 0) -> WindowAssigner[Any, Any]:
        return TumblingProcessingTimeWindows(size, offset)

    def sliding(self, size: int, slide: int, offset: int = 0) -> WindowAssigner[Any, Any]:
        return SlidingProcessingTimeWindows(size, slide, offset)

    def sessions(self, gap: int) -> WindowAssigner[Any, Any]:
        return ProcessingTimeSessionWindows(gap)

    def send(self, harness: KeyedOneInputOperatorHarness, at: int, *values: Any) -> None:
        harness.set_processing_time(at)
        harness.process_elements((value, None) for value in values)

    def advance(self, harness: KeyedOneInputOperatorHarness, to: int) -> None:
        harness.set_processing_time(to + 1)  # a millisecond is over when the next one begins


class Way(ABC):
    """A way to have the same windows computed: every way must give the same results."""

    @abstractmethod
    def windows(self, assigner: WindowAssigner[Any, Any], **settings: Any) -> KeyedOneInputOperatorHarness:
        """Windows whose results are (key, end, sum)."""


class _SumOfRecords(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield key, context.window().end, sum(value[1] for value in elements)


class _SumOfReduced(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        ((_, total),) = elements
        yield key, context.window().end, total


class Aggregated(Way):
    def windows(self, assigner: WindowAssigner[Any, Any], **settings: Any) -> KeyedOneInputOperatorHarness:
        return windows(assigner, KeyEndAndAggregate(), Sum(), **settings)


class Reduced(Way):
    def windows(self, assigner: WindowAssigner[Any, Any], **settings: Any) -> KeyedOneInputOperatorHarness:
        return windows(assigner, _SumOfReduced(), AddUp(), **settings)


class WholeRecords(Way):
    def windows(self, assigner: WindowAssigner[Any, Any], **settings: Any) -> KeyedOneInputOperatorHarness:
        return windows(assigner, _SumOfRecords(), **settings)


class WithTriggerOfItsOwn(Way):
    """The general operator: the quick ones know only the usual triggers."""

    def windows(self, assigner: WindowAssigner[Any, Any], **settings: Any) -> KeyedOneInputOperatorHarness:
        trigger = PurgingTrigger(assigner.get_default_trigger())
        return windows(assigner, KeyEndAndAggregate(), Sum(), trigger=trigger, **settings)


DOMAINS = {"event time": EventTime(), "processing time": ProcessingTime()}
WAYS = {
    "aggregate": Aggregated(),
    "reduce": Reduced(),
    "records": WholeRecords(),
    "general": WithTriggerOfItsOwn(),
}
