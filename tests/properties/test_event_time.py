"""Event time: gates against a model of Flink's valve; crashes change nothing; busy streams are never late."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.common import Configuration, Duration, WatermarkStrategy
from firesteel.common.time import MIN_WATERMARK
from firesteel.connectors.number_seq import NumberSequenceSource
from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.runtime.input_gate import InputGate
from firesteel.testing import ACTIVE, CRASH, EPOCH_CUT, IDLE, element, use_clock, watermark
from tests.features.executors import collect
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted

# ---- the valve ---------------------------------------------------------------------------------------------------


@dataclass
class ValveModel:
    """Flink's rules, written down plainly: a channel is [watermark, idle, counts]."""

    channels: list[list[Any]]
    last: int = MIN_WATERMARK
    said: list[int] = field(default_factory=list)

    def say(self, mark: int) -> None:
        if mark > self.last:
            self.last = mark
            self.said.append(mark)

    def lowest(self) -> None:
        counting = [mark for mark, _, counts in self.channels if counts]
        if counting:
            self.say(min(counting))

    def take(self, index: int, mark: int | bool) -> None:
        channel = self.channels[index]
        if mark is True and not channel[1]:
            channel[1:] = [True, False]
            if all(idle for _, idle, _ in self.channels):
                self.say(max(mark for mark, _, _ in self.channels))
            elif channel[0] == self.last:
                self.lowest()
        elif mark is False and channel[1]:
            channel[1:] = [False, channel[0] >= self.last]
        elif mark.__class__ is int and not channel[1] and mark > channel[0]:
            channel[0] = mark
            channel[2] = channel[2] or mark >= self.last
            self.lowest()


MARKS = st.lists(st.tuples(st.integers(0, 2), st.one_of(st.booleans(), st.integers(0, 20))), max_size=40)


def fed(gate: InputGate, marks: list[tuple[int, int | bool]]) -> list[int]:
    said = []
    for sender, mark in marks:
        advanced = gate.set_idle((0, sender), mark) if mark.__class__ is bool else gate.advance((0, sender), mark)
        if advanced is not None:
            said.append(advanced)
    return said


def gate_of(edge: int = 0, name: str = "producer") -> InputGate:
    return InputGate([[(edge, sender) for sender in range(3)]], {edge: (0, name, "", 0)})


@given(MARKS)
def test_a_gate_with_one_input_is_flinks_valve(marks: list[tuple[int, int | bool]]) -> None:
    model = ValveModel([[MIN_WATERMARK, False, True] for _ in range(3)])
    for index, mark in marks:
        model.take(index, mark)
    gate = gate_of()
    assert fed(gate, marks) == model.said
    assert gate.idle == all(idle for _, idle, _ in model.channels)


@given(MARKS, st.integers(0, 40))
def test_a_gate_goes_on_where_it_stood(marks: list[tuple[int, int | bool]], cut: int) -> None:
    whole = fed(gate_of(), marks)
    first = gate_of()
    before = fed(first, marks[:cut])
    second = gate_of()
    assert second.restore([first.snapshot()], rescaled=False)
    assert before + fed(second, marks[cut:]) == whole


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 20), st.booleans()), max_size=30))
def test_of_two_inputs_the_lowest_counts_and_of_idle_ones_the_highest(marks: list[tuple[int, int, bool]]) -> None:
    gate = InputGate([[(0, 0)], [(1, 0)]], {0: (0, "a", "", 0), 1: (1, "b", "", 0)})
    inputs: list[list[Any]] = [[MIN_WATERMARK, False], [MIN_WATERMARK, False]]
    highest = MIN_WATERMARK
    for index, mark, idle in marks:
        gate.set_idle((index, 0), False)
        gate.advance((index, 0), mark)
        gate.set_idle((index, 0), idle)
        inputs[index] = [max(inputs[index][0], mark), idle]
        awake = [at for at, sleeps in inputs if not sleeps]
        active_before = [at for (at, sleeps), i in zip(inputs, (0, 1)) if not sleeps or i == index]
        highest = max(highest, min(active_before), min(awake) if awake else max(at for at, _ in inputs))
        assert gate.watermark == highest


# ---- restarts ----------------------------------------------------------------------------------------------------


class Clocks(KeyedProcessFunction):
    """Each record with its timestamp and the watermark before it."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield (value, ctx.timestamp(), ctx.timer_service().current_watermark())


STEPS = st.lists(
    st.one_of(
        st.builds(lambda at: element(at, at), st.integers(0, 30)),
        st.builds(watermark, st.integers(0, 30)),
        st.sampled_from([IDLE, ACTIVE]),
        st.just(EPOCH_CUT),
    ),
    max_size=12,
)


def in_process(**options: Any) -> StreamExecutionEnvironment:
    given_options = {"execution.target": "in-process", "parallelism.default": 2, **options}
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(given_options))


@settings(max_examples=20, deadline=None)
@given(STEPS, STEPS, st.integers(0, 12))
def test_a_crash_changes_nothing_of_what_functions_see_of_event_time(
    first: list[Any], second: list[Any], at: int
) -> None:
    def run(crash: Any) -> list[Any]:
        script = [*first[:at], EPOCH_CUT, crash, *first[at:], EPOCH_CUT]
        env = recovering(in_process())
        with use_clock(checkpoint_each_epoch()):
            seen = scripted(env, script, [*second, EPOCH_CUT]).key_by(lambda at: at % 5).process(Clocks())
            return sorted(collect(seen.key_by(lambda value: value[0] % 2).process(Clocks())), key=repr)

    assert run(CRASH) == run(EPOCH_CUT)


# ---- idleness ----------------------------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 20), st.integers(100, 5000), st.booleans())
def test_no_record_of_a_stream_that_never_pauses_is_late_whatever_the_length_of_epochs(
    records_per_epoch: int, epoch_ms: int, in_the_middle: bool
) -> None:
    env = in_process(**{"firesteel.epoch.max-records": records_per_epoch})
    strategy = (
        WatermarkStrategy.for_monotonous_timestamps()
        .with_timestamp_assigner(lambda n, _: n)
        .with_idleness(Duration.of_seconds(1))
    )
    with use_clock(itertools.count(0, epoch_ms).__next__):
        if in_the_middle:
            numbers = env.from_sequence(0, 59).map(lambda n: n).disable_chaining()
            stream = numbers.assign_timestamps_and_watermarks(strategy)
        else:
            stream = env.from_source(NumberSequenceSource(0, 59), strategy, "numbers")
        seen = collect(stream.key_by(lambda n: n % 5).process(Clocks()))
    assert len(seen) == 60
    assert all(stamp > mark for _, stamp, mark in seen)
