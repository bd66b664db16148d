"""Window results equal a direct computation, for any order of input, any cut into batches and any restart.

Every history runs on the quick operator for its kind of window (if there is one) and on the general one, with one or
several subtasks, and with snapshots between any two steps: full, incremental, and with another parallelism.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.common.time import MIN_WATERMARK
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
from firesteel.model.triggers import PurgingTrigger
from firesteel.runtime.windowing import WindowSpec, make_window_operator, operator_class
from firesteel.runtime.windowing.merging import MergingWindowOperator
from firesteel.runtime.windowing.operator import WindowOperator
from firesteel.state.backend import HashMapBackend, KeyedStateBackend
from firesteel.state.rocksdb import RocksDBBackend
from firesteel.testing.harness import KeyedOneInputOperatorHarness

LATE = OutputTag("late")
Result = tuple[Any, int]


# ---- histories -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Elements:
    """A batch of (key, number, timestamp)."""

    batch: list[tuple[str, int, int]]


@dataclass(frozen=True)
class Advance:
    """The watermark, or processing time, advances by so much."""

    by: int


@dataclass(frozen=True)
class Restart:
    """The job is stopped with a snapshot and goes on from it, perhaps with another parallelism."""

    parallelism: int | None
    incremental: bool


elements = st.builds(
    Elements,
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 99), st.integers(-20, 60)), min_size=1, max_size=8),
)
advances = st.builds(Advance, st.integers(1, 25))
restarts = st.builds(Restart, st.sampled_from([None, None, 1, 2, 4]), st.booleans())
histories = st.lists(st.one_of(elements, elements, advances, restarts), max_size=14)


# ---- the direct computation ------------------------------------------------------------------------------------------


@dataclass
class Direct:
    """Windows computed the simple way: all records of all windows, looked at one by one."""

    windows_of: Callable[[int], list[tuple[int, int]]] | None
    gap: int = 0
    lateness: int = 0
    event_time: bool = True
    now: int = MIN_WATERMARK
    open: dict[tuple[str, tuple[int, int]], list[int]] = field(default_factory=dict)
    late: list[Any] = field(default_factory=list)

    def add(self, key: str, number: int, time: int) -> Iterator[Result]:
        if self.windows_of is None:
            yield from self._add_to_session(key, number, time)
            return
        windows = [window for window in self.windows_of(time) if not self._is_over(window)]
        if not windows:
            self.late.append((key, number, time))
        for window in windows:
            self.open.setdefault((key, window), []).append(number)
            if self.event_time and window[1] - 1 <= self.now:
                yield self._result(key, window)

    def _is_over(self, window: tuple[int, int]) -> bool:
        return self.event_time and window[1] - 1 + self.lateness <= self.now

    def _add_to_session(self, key: str, number: int, time: int) -> Iterator[Result]:
        start, end, numbers = time, time + self.gap, [number]
        met = [w for k, w in self.open if k == key and w[0] <= end and start <= w[1]]
        start, end = min([start, *(w[0] for w in met)]), max([end, *(w[1] for w in met)])
        if self._is_over((start, end)):
            self.late.append((key, number, time))
            return
        for window in met:
            numbers = self.open.pop((key, window)) + numbers
        self.open[key, (start, end)] = numbers
        if self.event_time and end - 1 <= self.now:
            yield self._result(key, (start, end))

    def _result(self, key: str, window: tuple[int, int]) -> Result:
        return (key, window, tuple(sorted(self.open[key, window]))), window[1] - 1

    def advance(self, time: int) -> Iterator[Result]:
        if not self.event_time:
            time -= 1  # a window takes records until its last millisecond is over
        due = [place for place in self.open if self.now < place[1][1] - 1 <= time]
        for key, window in sorted(due, key=lambda place: place[1][1]):
            yield self._result(key, window)
        self.now = time
        self.open = {place: n for place, n in self.open.items() if place[1][1] - 1 + self.lateness > time}


def tumbling(size: int, offset: int) -> Callable[[int], list[tuple[int, int]]]:
    return sliding(size, size, offset)


def sliding(size: int, slide: int, offset: int) -> Callable[[int], list[tuple[int, int]]]:
    def windows_of(time: int) -> list[tuple[int, int]]:
        starts = [start for start in range(time - size + 1, time + 1) if (start - offset) % slide == 0]
        return [(start, start + size) for start in starts]

    return windows_of


# ---- the operators ---------------------------------------------------------------------------------------------------


class SortedNumbers(AggregateFunction):
    """All numbers, in values that cannot be changed."""

    def create_accumulator(self) -> Any:
        return ()

    def add(self, value: Any, accumulator: Any) -> Any:
        return (*accumulator, value[1])

    def get_result(self, accumulator: Any) -> Any:
        return tuple(sorted(accumulator))

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class ChangedNumbers(SortedNumbers):
    """All numbers, in lists that are changed in place, and by merge on both sides."""

    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.append(value[1])
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        acc_b.extend(acc_a)
        acc_a.clear()
        return acc_b


class Joined(ReduceFunction):
    """All numbers as a record, by reduce."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return (value1[0], *value1[1:-1], *value2[1:-1], 0)


class WithKeyAndWindow(ProcessWindowFunction):
    """Adds key and window to the aggregate; sorts the numbers if it is given all records, or a reduced one."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        if self._kind == "records":
            numbers = tuple(sorted(record[1] for record in elements))
        else:
            (aggregate,) = elements
            numbers = aggregate if self._kind == "aggregate" else tuple(sorted(aggregate[1:-1]))
        yield key, (window.start, window.end), numbers


FOLDS: dict[str, Any] = {
    "aggregate": (SortedNumbers(), "aggregate"),
    "aggregate in place": (ChangedNumbers(), "aggregate"),
    "reduce": (Joined(), "reduce"),
    "records": (None, "records"),
}


def make_spec(assigner: WindowAssigner[Any, Any], fold: str, lateness: int, general: bool) -> WindowSpec:
    function, kind = FOLDS[fold]
    trigger = assigner.get_default_trigger()
    if general and lateness == 0:
        trigger = PurgingTrigger(trigger)  # the same, but not the trigger that the quick operators know
    return WindowSpec(assigner, trigger, function, WithKeyAndWindow(kind), allowed_lateness=lateness, late_tag=LATE)


class Subtasks:
    """All subtasks of a window operator."""

    def __init__(self, spec: WindowSpec, event_time: bool, backend: Callable[[int], KeyedStateBackend]) -> None:
        self._spec = spec
        self._backend = backend
        self._event_time = event_time
        self._now = MIN_WATERMARK if event_time else 0
        self._harnesses = [self._make(0, 1)]
        self._stored: list[list[bytes]] = [[]]

    def _make(self, subtask: int, parallelism: int) -> KeyedOneInputOperatorHarness:
        return KeyedOneInputOperatorHarness(
            partial(make_window_operator, self._spec),
            lambda value: value[0],
            subtask_index=subtask,
            parallelism=parallelism,
            now=0 if self._event_time else self._now,
            state_backend=self._backend,
        )

    def run(self, step: Any) -> tuple[list[Result], list[Any]]:
        if isinstance(step, Elements):
            for harness in self._harnesses:
                mine = [
                    (record, record[2] if self._event_time else None) for record in step.batch if harness.owns(record)
                ]
                harness.process_elements(mine)
        elif isinstance(step, Restart):
            self._restart(step)
        return self._take()

    def advance(self, time: int) -> tuple[list[Result], list[Any]]:
        self._now = time
        for harness in self._harnesses:
            if self._event_time:
                harness.process_watermark(time)
            else:
                harness.set_processing_time(time)
        return self._take()

    def _take(self) -> tuple[list[Result], list[Any]]:
        results = [tuple(record) for harness in self._harnesses for record in harness.output_records()]
        late = [record.value for harness in self._harnesses for record in harness.side_output(LATE)]
        for harness in self._harnesses:
            harness.clear_output()
        return results, late

    def close(self) -> None:
        for harness in self._harnesses:
            harness.close()

    def _restart(self, step: Restart) -> None:
        old = self._harnesses
        if step.parallelism is None:
            for stored, harness in zip(self._stored, old, strict=True):
                stored.append(harness.snapshot(full=not step.incremental))
                if not step.incremental:
                    del stored[:-1]
            self._harnesses = [
                self._make(index, len(old)).restore(*stored).open() for index, stored in enumerate(self._stored)
            ]
            for harness in old:
                harness.close()
            return
        everything = [harness.snapshot() for harness in old]
        self.close()
        count = step.parallelism
        self._harnesses = [self._make(index, count).restore(*everything, rescaled=True) for index in range(count)]
        self._stored = [[harness.snapshot()] for harness in self._harnesses]
        if self._event_time and self._now > MIN_WATERMARK:
            for harness in self._harnesses:  # a job that is rescaled learns its event time from its sources
                harness.process_watermark(self._now)


def check(
    history: list[Any],
    direct: Direct,
    spec: WindowSpec,
    event_time: bool,
    backend: Callable[[int], KeyedStateBackend] = HashMapBackend,
) -> None:
    subtasks = Subtasks(spec, event_time, backend)
    time = -25 if event_time else 0
    direct.event_time = event_time
    for step in history:
        expected: list[Result] = []
        late_before = len(direct.late)
        if isinstance(step, Advance):
            time += step.by
            expected = list(direct.advance(time))
            results, late = subtasks.advance(time)
        else:
            if isinstance(step, Restart) and not event_time:
                expected = list(direct.advance(time))  # a job that starts looks at its timers
            if isinstance(step, Elements):
                for key, number, stamp in step.batch:
                    expected.extend(direct.add(key, number, stamp if event_time else time))
            results, late = subtasks.run(step)
        assert Counter(results) == Counter(expected), step
        assert Counter(late) == Counter(direct.late[late_before:]), step
    assert Counter(subtasks.advance(10**6)[0]) == Counter(direct.advance(10**6))
    subtasks.close()


folds = pytest.mark.parametrize("fold", FOLDS)
ways = pytest.mark.parametrize(
    ("fold", "general"),
    [
        ("aggregate", False),
        ("aggregate in place", False),
        ("reduce", False),
        ("records", False),
        ("aggregate", True),
        ("records", True),
    ],
    ids=lambda way: {True: "general", False: "quick"}.get(way, way),
)


@ways
@pytest.mark.feature("WI-03", "WI-26")
@given(history=histories, size=st.integers(1, 20), offset=st.integers(-9, 9), lateness=st.sampled_from([0, 0, 7]))
def test_tumbling_windows_equal_a_direct_computation(
    fold: str, general: bool, history: list[Any], size: int, offset: int, lateness: int
) -> None:
    offset %= size
    spec = make_spec(TumblingEventTimeWindows(size, offset), fold, lateness, general)
    check(history, Direct(tumbling(size, offset), lateness=lateness), spec, event_time=True)


@ways
@pytest.mark.feature("WI-04")
@given(
    history=histories,
    size=st.integers(1, 20),
    slide=st.integers(1, 20),
    offset=st.integers(-9, 9),
    lateness=st.sampled_from([0, 0, 7]),
)
def test_sliding_windows_equal_a_direct_computation(
    fold: str, general: bool, history: list[Any], size: int, slide: int, offset: int, lateness: int
) -> None:
    slide = min(slide, size)
    offset %= slide
    spec = make_spec(SlidingEventTimeWindows(size, slide, offset), fold, lateness, general)
    check(history, Direct(sliding(size, slide, offset), lateness=lateness), spec, event_time=True)


@ways
@pytest.mark.feature("WI-05", "WI-27")
@given(history=histories, gap=st.integers(1, 20), lateness=st.sampled_from([0, 0, 7]))
def test_session_windows_equal_a_direct_computation(
    fold: str, general: bool, history: list[Any], gap: int, lateness: int
) -> None:
    spec = make_spec(EventTimeSessionWindows(gap), fold, lateness, general)
    if lateness > 0 and general:
        return  # the same operator as without ``general``
    check(history, Direct(None, gap=gap, lateness=lateness), spec, event_time=True)


@ways
@pytest.mark.feature("WI-06")
@given(history=histories, size=st.integers(2, 20), slide=st.integers(1, 20))
def test_windows_in_processing_time_equal_a_direct_computation(
    fold: str, general: bool, history: list[Any], size: int, slide: int
) -> None:
    slide = min(slide, size)
    assigner = TumblingProcessingTimeWindows(size) if slide == size else SlidingProcessingTimeWindows(size, slide)
    check(history, Direct(sliding(size, slide, 0)), make_spec(assigner, fold, 0, general), event_time=False)


@ways
@pytest.mark.feature("WI-06")
@given(history=histories, gap=st.integers(2, 20))
def test_sessions_in_processing_time_equal_a_direct_computation(
    fold: str, general: bool, history: list[Any], gap: int
) -> None:
    spec = make_spec(ProcessingTimeSessionWindows(gap), fold, 0, general)
    check(history, Direct(None, gap=gap), spec, event_time=False)


class AllOnDisk(RocksDBBackend):
    """RocksDB without any memory: before each batch all state goes to disk."""

    def __init__(self, max_parallelism: int) -> None:
        super().__init__(max_parallelism, memory=0)

    def begin_batch(self, keys: Any) -> None:
        self.trim()
        super().begin_batch(keys)


@folds
@settings(max_examples=15)
@given(history=histories, size=st.integers(2, 20), lateness=st.sampled_from([0, 7]))
def test_windows_whose_state_is_on_disk_equal_a_direct_computation(
    fold: str, history: list[Any], size: int, lateness: int
) -> None:
    half = size // 2
    for assigner, direct in (
        (TumblingEventTimeWindows(size), Direct(tumbling(size, 0), lateness=lateness)),
        (SlidingEventTimeWindows(size, half), Direct(sliding(size, half, 0), lateness=lateness)),
        (EventTimeSessionWindows(size), Direct(None, gap=size, lateness=lateness)),
    ):
        spec = make_spec(assigner, fold, lateness, general=False)
        check(history, direct, spec, event_time=True, backend=AllOnDisk)


@pytest.mark.parametrize("fold", [fold for fold in FOLDS if fold != "records"])
def test_the_two_ways_are_two_operators(fold: str) -> None:
    for assigner in (TumblingEventTimeWindows(5), SlidingEventTimeWindows(6, 4), EventTimeSessionWindows(5)):
        quick = operator_class(make_spec(assigner, fold, 0, general=False))
        general = operator_class(make_spec(assigner, fold, 0, general=True))
        assert general in (WindowOperator, MergingWindowOperator)
        assert quick is not general
