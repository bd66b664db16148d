"""Connected streams: two inputs, one function, shared state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    DataStream,
    KeyedCoProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.functions import InputSelectable, InputSelection
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.errors import JobFailedError, ProgramError
from firesteel.testing import CRASH, EPOCH_CUT, element, use_clock, watermark
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted


class ToText(CoMapFunction):
    def map1(self, value: int) -> str:
        return f"number {value}"

    def map2(self, value: tuple[str, float]) -> str:
        return f"{value[0]} costs {value[1]}"


class Words(CoFlatMapFunction):
    def flat_map1(self, value: str) -> Iterator[str]:
        yield from (f"first: {word}" for word in value.split())

    def flat_map2(self, value: int) -> Iterator[str]:
        if value > 0:
            yield f"second: {value}"


@pytest.mark.feature("CO-01")
@on_both
def test_co_map_gives_one_typed_output_of_two_inputs(make_env: MakeEnv) -> None:
    env = make_env(2)
    numbers, prices = env.from_collection([1, 2]), env.from_collection([("tea", 2.5)])
    texts = numbers.connect(prices).map(ToText(), output_type=Types.STRING())
    assert texts.get_type() == Types.STRING()
    assert sorted(collect(texts)) == ["number 1", "number 2", "tea costs 2.5"]


@pytest.mark.feature("CO-01")
@on_both
def test_flat_map1_gets_the_first_stream_and_flat_map2_the_second(make_env: MakeEnv) -> None:
    env = make_env(2)
    texts = env.from_collection(["a b", ""]).connect(env.from_collection([7, -1])).flat_map(Words())
    assert sorted(collect(texts)) == ["first: a", "first: b", "second: 7"]


class RememberThenAnswer(CoFlatMapFunction):
    """The first input writes, the second reads. Answers come whatever the order: questions wait in state too."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.known = runtime_context.get_state(ValueStateDescriptor("known"))

    def flat_map1(self, value: tuple[str, int]) -> Iterator[Any]:
        self.known.update(value[1])
        yield from ()

    def flat_map2(self, value: str) -> Iterator[Any]:
        yield (value, self.known.value())


@pytest.mark.feature("CO-02")
@on_both
def test_what_one_input_writes_for_a_key_the_other_reads(make_env: MakeEnv) -> None:
    env = make_env(2)
    facts = scripted(env, [("a", 1), ("b", 2)])
    questions = scripted(env, [EPOCH_CUT, "b", "a", "c"])  # in the second epoch: all facts are known then
    answers = facts.key_by(lambda fact: fact[0]).connect(questions.key_by(lambda name: name))
    assert sorted(collect(answers.flat_map(RememberThenAnswer()))) == [("a", 1), ("b", 2), ("c", None)]


@pytest.mark.feature("CO-03")
def test_keys_of_different_types_cannot_be_connected(env: StreamExecutionEnvironment) -> None:
    typed = Types.TUPLE([Types.STRING(), Types.LONG()])
    texts = env.from_collection([("a", 1)], typed).key_by(0)
    numbers = env.from_collection([("a", 1)], typed).key_by(1)
    with pytest.raises(ProgramError, match=r"first stream is keyed by String, the second by Long"):
        texts.connect(numbers)


@pytest.mark.feature("CO-03")
@pytest.mark.parametrize("unkeyed", [1, 2])
def test_state_with_one_side_unkeyed_is_an_error_when_the_program_is_built(
    env: StreamExecutionEnvironment, unkeyed: int
) -> None:
    plain, keyed = env.from_collection([("a", 1)]), env.from_collection(["a"]).key_by(lambda name: name)
    first, second = (plain, keyed) if unkeyed == 1 else (keyed, plain)
    with pytest.raises(ProgramError, match=rf"RememberThenAnswer uses state per key, but stream {unkeyed} has no keys"):
        first.connect(second).flat_map(RememberThenAnswer())


@dataclass
class Ride:
    ride_id: int
    driver: str


@dataclass
class Fare:
    ride_id: int
    total: float


class RidesAndFares(KeyedCoProcessFunction):
    """Emits a pair when both halves have come; the half that came first waits in state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.ride = runtime_context.get_state(ValueStateDescriptor("ride"))
        self.fare = runtime_context.get_state(ValueStateDescriptor("fare"))

    def process_element1(self, ride: Ride, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        fare = self.fare.value()
        if fare is None:
            self.ride.update(ride)
        else:
            self.fare.clear()
            yield (ride.ride_id, ride.driver, fare.total)

    def process_element2(self, fare: Fare, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        ride = self.ride.value()
        if ride is None:
            self.fare.update(fare)
        else:
            self.ride.clear()
            yield (ride.ride_id, ride.driver, fare.total)


PAIRS = [(1, "ann", 10.0), (2, "bob", 20.0), (3, "cid", 30.0)]


def join(rides: DataStream, fares: DataStream) -> list[Any]:
    keyed = rides.key_by(lambda ride: ride.ride_id).connect(fares.key_by(lambda fare: fare.ride_id))
    return sorted(collect(keyed.process(RidesAndFares())))


RIDES = [Ride(number, driver) for number, driver, _ in PAIRS]
FARES = [Fare(number, total) for number, _, total in PAIRS]
INTERLEAVED = (
    [RIDES[0], EPOCH_CUT, RIDES[2], EPOCH_CUT, RIDES[1]],
    [FARES[1], EPOCH_CUT, FARES[0], EPOCH_CUT, FARES[2]],
)
ORDERS = {
    "rides first": (RIDES, [EPOCH_CUT, *FARES]),
    "fares first": ([EPOCH_CUT, *RIDES], FARES),
    "together": (RIDES, FARES),
    "interleaved": INTERLEAVED,
}


@pytest.mark.feature("CO-04")
@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("order", ORDERS)
def test_rides_and_fares_meet_in_whatever_order_they_come(make_env: MakeEnv, order: str, parallelism: int) -> None:
    env = make_env(parallelism)
    rides, fares = ORDERS[order]
    assert join(scripted(env, rides), scripted(env, fares)) == PAIRS


@pytest.mark.feature("CO-04")
@on_both
def test_rides_and_fares_meet_across_a_failure(make_env: MakeEnv) -> None:
    env = recovering(make_env(2))
    rides = [RIDES[0], EPOCH_CUT, EPOCH_CUT, CRASH, RIDES[1], RIDES[2]]
    fares = [FARES[1], EPOCH_CUT, FARES[0], EPOCH_CUT, EPOCH_CUT, FARES[2]]
    with use_clock(checkpoint_each_epoch()):
        assert join(scripted(env, rides), scripted(env, fares)) == PAIRS


def test_every_order_of_the_fares_gives_the_same_pairs(make_env: MakeEnv) -> None:
    for fares in permutations(FARES):
        env = make_env(2)
        assert join(scripted(env, RIDES), scripted(env, list(fares))) == PAIRS


class ControlFirst(CoFlatMapFunction, InputSelectable):
    """Reads the control input to its end before any data."""

    def next_selection(self) -> InputSelection:
        return InputSelection.FIRST

    def flat_map1(self, value: str) -> Iterator[str]:
        yield f"control {value}"

    def flat_map2(self, value: str) -> Iterator[str]:
        yield f"data {value}"


CONTROL_THEN_DATA = ["control x", "control y", "control z", "data 1", "data 2", "data 3"]


@pytest.mark.feature("CO-05")
@on_both
def test_an_input_selectable_function_reads_the_first_input_to_its_end_before_the_second(
    env: StreamExecutionEnvironment,
) -> None:
    control = scripted(env, ["x", EPOCH_CUT, "y", EPOCH_CUT, "z"])
    data = scripted(env, ["1", "2", EPOCH_CUT, "3"])
    assert collect(control.connect(data).flat_map(ControlFirst())) == CONTROL_THEN_DATA


@pytest.mark.feature("CO-05")
def test_records_that_wait_for_the_other_input_survive_a_failure(env: StreamExecutionEnvironment) -> None:
    recovering(env)
    control = scripted(env, ["x", EPOCH_CUT, EPOCH_CUT, CRASH, "y", EPOCH_CUT, "z"])
    data = scripted(env, ["1", "2", EPOCH_CUT, EPOCH_CUT, EPOCH_CUT, "3"])
    with use_clock(checkpoint_each_epoch()):
        assert collect(control.connect(data).flat_map(ControlFirst())) == CONTROL_THEN_DATA


class Alternating(KeyedCoProcessFunction, InputSelectable):
    """Reads the two inputs in turn; a timer of the second input's time tells the key."""

    def __init__(self) -> None:
        self.turn = InputSelection.FIRST

    def next_selection(self) -> InputSelection:
        return self.turn

    def process_element1(self, value: str, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        self.turn = InputSelection.SECOND
        yield value

    def process_element2(self, value: str, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        self.turn = InputSelection.FIRST
        ctx.timer_service().register_event_time_timer(100)
        yield f"{1 // len(value)}{value}"

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"timer {ctx.get_current_key()}"


@pytest.mark.feature("CO-05")
def test_the_selection_may_change_with_every_record_and_watermarks_wait_with_the_records(
    env: StreamExecutionEnvironment,
) -> None:
    first = scripted(env, [element("a", 1), element("b", 2), EPOCH_CUT, EPOCH_CUT, element("c", 3)])
    second = scripted(env, [element("x", 1), element("y", 2), element("z", 3), watermark(200)])
    keyed = first.key_by(lambda _: "key").connect(second.key_by(lambda _: "key"))
    assert collect(keyed.process(Alternating())) == ["a", "1x", "b", "1y", "c", "1z", "timer key"]


def test_an_error_names_the_record_that_had_to_wait(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection(["a"]).key_by(len).connect(env.from_collection([""]).key_by(len))
    with pytest.raises(JobFailedError, match=r"(?s)ZeroDivisionError.*record:   ''"):
        collect(keyed.process(Alternating()))


class Thresholds(KeyedCoProcessFunction):
    """Passes values above their key's threshold; the first input sets thresholds."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.threshold = runtime_context.get_state(ValueStateDescriptor("threshold"))

    def process_element1(self, value: tuple[str, int], ctx: KeyedCoProcessFunction.Context) -> None:
        self.threshold.update(value[1])

    def process_element2(self, value: tuple[str, int], ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        if value[1] > (self.threshold.value() or 0):
            yield value


@pytest.mark.feature("CO-06")
@on_both
def test_a_new_threshold_holds_for_later_records_of_its_key(make_env: MakeEnv) -> None:
    env = make_env(2)
    rules = scripted(env, [("a", 10), ("b", 10), EPOCH_CUT, EPOCH_CUT, ("a", 3)])
    values = [("a", 5), ("a", 15), ("b", 5), ("b", 15)]
    data = scripted(env, [EPOCH_CUT, *values, EPOCH_CUT, EPOCH_CUT, *values])
    connected = rules.key_by(lambda rule: rule[0]).connect(data.key_by(lambda record: record[0]))
    results = collect(connected.process(Thresholds()))
    assert sorted(results) == [("a", 5), ("a", 15), ("a", 15), ("b", 15), ("b", 15)]
