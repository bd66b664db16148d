"""Keyed streams: which keys there can be, and the rolling aggregations."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy
import pytest

from firesteel.common import Row, Types
from firesteel.connectors.taxi import GeoUtils
from firesteel.datastream import (
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.errors import JobFailedError
from tests.features.executors import MakeEnv, collect, on_both


@dataclass
class Ride:
    ride: int
    startCell: int
    minutes: int


RIDES = [Ride(n, n * 7 % 5, n * 13 % 30) for n in range(40)]


class WithKeyAndSubtask(KeyedProcessFunction):
    def open(self, runtime_context):
        self.index = runtime_context.get_index_of_this_subtask()

    def process_element(self, value, ctx):
        yield value, ctx.get_current_key(), self.index


class RunningMinutes(MapFunction):
    """Adds up minutes per key."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def map(self, value):
        self.total.update((self.total.value() or 0) + value.minutes)
        return value.ride, self.total.value()


class StartCell(KeySelector):
    def get_key(self, value):
        return value.startCell


@on_both
@pytest.mark.feature("KS-01")
def test_a_lambda_and_a_key_selector_are_the_same(make_env: MakeEnv) -> None:
    def run(selector):
        keyed = make_env(2).from_collection(RIDES).key_by(selector)
        both = keyed.process(WithKeyAndSubtask()).union(keyed.map(RunningMinutes()))
        return sorted(collect(both), key=repr)

    assert run(lambda ride: ride.startCell) == run(StartCell())


@on_both
@pytest.mark.feature("KS-02")
def test_keys_may_be_computed(make_env: MakeEnv) -> None:
    places = [(-73.98 + n * 0.01, 40.75 - n % 2 * 0.05, n) for n in range(20)] * 2
    keyed = make_env(2).from_collection(places).key_by(lambda place: GeoUtils.map_to_grid_cell(place[0], place[1]))

    cells = {}
    for place, key, subtask in collect(keyed.process(WithKeyAndSubtask())):
        assert key == GeoUtils.map_to_grid_cell(*place[:2])
        assert cells.setdefault(key, subtask) == subtask
    assert len(cells) == 20


class Colour(Enum):
    RED = 1


@dataclass
class Changeable:
    n: int


class WithoutValue:
    def __init__(self, n):
        self.n = n


UNUSABLE = {
    "array": (lambda n: numpy.array([n, n]), "a ndarray cannot be a key"),
    "dict": (lambda n: {n: n}, "a dict cannot be a key"),
    "enum": (lambda n: Colour.RED, "an Enum cannot be a key"),
    "dict in a list": (lambda n: [{n: n}], "a dict cannot be a key"),
    "dataclass that can change": (lambda n: Changeable(n), "a Changeable cannot be a key"),
    "nan": (lambda n: float("nan"), "NaN cannot be a key"),
}


@pytest.mark.feature("KS-02")
@pytest.mark.parametrize("name", UNUSABLE)
def test_keys_that_cannot_be_used_are_refused_with_the_selector(env: StreamExecutionEnvironment, name: str) -> None:
    selector, reason = UNUSABLE[name]
    with pytest.raises(JobFailedError) as failure:
        collect(env.from_collection([1]).key_by(selector).map(lambda n: n))
    message = str(failure.value)
    assert message.startswith("KeyError_: the key selector <lambda> (")
    assert f"test_keyed_streams.py:{selector.__code__.co_firstlineno})" in message
    assert reason in message.partition("\n")[0]
    assert "operator: key_by()" in message


@on_both
@pytest.mark.feature("KS-02")
def test_a_bad_key_is_refused_with_its_record(make_env: MakeEnv) -> None:
    numbers = make_env(2).from_collection(range(10))
    with pytest.raises(JobFailedError, match="a dict cannot be a key") as failure:
        collect(numbers.key_by(lambda n: {n: n} if n == 4 else n).map(lambda n: n))
    assert str(failure.value).endswith("record:   4")


class CountPerKey(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


@on_both
@pytest.mark.feature("KS-02")
def test_a_list_is_a_key_by_its_items(make_env: MakeEnv) -> None:
    numbers = make_env(2).from_collection(range(6))
    counts = collect(numbers.key_by(lambda n: [n % 2, "odd" if n % 2 else "even"]).process(CountPerKey()))
    assert sorted(counts) == [((n, name), count) for n, name in ((0, "even"), (1, "odd")) for count in (1, 2, 3)]


@on_both
@pytest.mark.feature("KS-02")
def test_a_selector_that_gives_another_key_each_time_is_refused(env: StreamExecutionEnvironment) -> None:
    def dice(_):
        return random.random()

    with pytest.raises(JobFailedError, match=r"the key selector .*dice \(.*is not deterministic: for one record"):
        collect(env.from_collection([1, 2]).key_by(dice).map(lambda n: n))


@pytest.mark.feature("KS-02")
def test_an_object_that_hashes_by_identity_is_refused(env: StreamExecutionEnvironment) -> None:
    objects = [WithoutValue(1)]
    with pytest.raises(JobFailedError, match="a WithoutValue cannot be a key: its hash is not known to be the same"):
        collect(env.from_collection(objects).key_by(lambda value: value).map(lambda n: n))


class Point(NamedTuple):
    x: int
    y: int


BY_FIELD = {
    "dataclass": (RIDES, "startCell", lambda ride: ride.startCell),
    "tuple": ([(n % 4, n) for n in range(20)], 0, lambda pair: pair[0]),
    "named tuple": ([Point(n % 4, n) for n in range(20)], "x", lambda point: point.x),
    "dict": ([{"x": n % 4, "y": n} for n in range(20)], "x", lambda record: record["x"]),
    "Row": ([Row(x=n % 4, y=n) for n in range(20)], "x", lambda row: row.x),
    "Row by index": ([Row(x=n % 4, y=n) for n in range(20)], 0, lambda row: row[0]),
}


@pytest.mark.feature("KS-03")
@pytest.mark.parametrize("kind", BY_FIELD)
def test_a_field_is_the_same_as_a_lambda(make_env: MakeEnv, kind: str) -> None:
    records, field, selector = BY_FIELD[kind]
    by_field = collect(make_env(2).from_collection(records).key_by(field).process(WithKeyAndSubtask()))
    by_lambda = collect(make_env(2).from_collection(records).key_by(selector).process(WithKeyAndSubtask()))
    assert by_field == by_lambda
    assert len(by_field) == len(records)


@on_both
@pytest.mark.feature("KS-03")
def test_fields_can_be_named_or_counted(make_env: MakeEnv) -> None:
    def run(records, key):
        # Which of two subtasks tells of its records first is not defined.
        return sorted(collect(make_env(2).from_collection(records).key_by(key).process(WithKeyAndSubtask())), key=repr)

    assert run(RIDES, "startCell") == run(RIDES, lambda ride: ride.startCell)
    pairs = [(n % 4, n) for n in range(20)]
    assert run(pairs, 0) == run(pairs, lambda pair: pair[0])


@dataclass(frozen=True)
class Cell:
    column: str
    row: int


@on_both
@pytest.mark.feature("KS-04")
@pytest.mark.parametrize("make_key", [lambda a, b: (a, b), Cell], ids=["tuple", "dataclass"])
def test_composite_keys_are_grouped_by_value(make_env: MakeEnv, make_key) -> None:
    records = [("abc"[n % 3], n % 2, n) for n in range(60)]
    # Two senders, in two processes on Spark: equal keys made by both have to meet.
    keyed = make_env(2).from_collection(records).rebalance().map(lambda r: r).key_by(lambda r: make_key(r[0], r[1]))

    found = defaultdict(list)
    for record, key, subtask in collect(keyed.process(WithKeyAndSubtask())):
        found[key, subtask].append(record)
    assert {key for key, _ in found} == {make_key(a, b) for a in "abc" for b in (0, 1)}
    assert all(len(records) == 10 for records in found.values())


@on_both
@pytest.mark.feature("KS-05")
def test_max_by_and_min_by_emit_whole_records(env: StreamExecutionEnvironment) -> None:
    records = [("a", 1, "one"), ("a", 5, "two"), ("a", 3, "three"), ("a", 5, "four"), ("a", 1, "five")]
    keyed = env.from_collection(records).key_by(0)
    largest = collect(keyed.max_by(1).map(lambda r: ("max", r)).union(keyed.min_by(1).map(lambda r: ("min", r))))
    assert [r for kind, r in largest if kind == "max"] == [records[i] for i in (0, 1, 1, 1, 1)]
    assert [r for kind, r in largest if kind == "min"] == [records[0]] * 5


@pytest.mark.feature("KS-05")
@pytest.mark.parametrize("measure", ["minutes", lambda ride: ride.minutes], ids=["by name", "by function"])
def test_max_by_takes_names_and_functions(env: StreamExecutionEnvironment, measure) -> None:
    rides = [Ride(1, 7, 10), Ride(2, 7, 30), Ride(3, 7, 20)]
    assert collect(env.from_collection(rides).key_by("startCell").max_by(measure)) == [rides[0], rides[1], rides[1]]


@on_both
@pytest.mark.feature("KS-06")
def test_sum_min_and_max_roll(env: StreamExecutionEnvironment) -> None:
    records = [("a", 2, 0), ("a", 1, 1), ("a", 3, 2)]
    keyed = env.from_collection(records).key_by(0)
    sums, least, most = (getattr(keyed, name)(1).map(lambda r, name=name: (name, *r)) for name in ("sum", "min", "max"))
    rolled = collect(sums.union(least, most))
    assert [r for r in rolled if r[0] == "sum"] == [("sum", "a", 2, 0), ("sum", "a", 3, 0), ("sum", "a", 6, 0)]
    assert [r for r in rolled if r[0] == "min"] == [("min", "a", 2, 0), ("min", "a", 1, 0), ("min", "a", 1, 0)]
    assert [r for r in rolled if r[0] == "max"] == [("max", "a", 2, 0), ("max", "a", 2, 0), ("max", "a", 3, 0)]


SUMMED = {
    "number": ([1, 2, 3], 0, lambda n: 0, [1, 3, 6]),
    "tuple": ([("a", 1), ("a", 2), ("a", 3)], 1, 0, [("a", 1), ("a", 3), ("a", 6)]),
    "named tuple": ([Point(0, 1), Point(0, 2), Point(0, 3)], "y", "x", [Point(0, 1), Point(0, 3), Point(0, 6)]),
    "dict": ([{"k": 0, "n": n} for n in (1, 2, 3)], "n", "k", [{"k": 0, "n": n} for n in (1, 3, 6)]),
    "Row": ([Row(k=0, n=n) for n in (1, 2, 3)], "n", "k", [Row(k=0, n=n) for n in (1, 3, 6)]),
    "dataclass": ([Ride(n, 0, n) for n in (1, 2, 3)], "minutes", "startCell", [Ride(1, 0, n) for n in (1, 3, 6)]),
    "function": ([Ride(n, 0, n) for n in (1, 2, 3)], lambda ride: ride.minutes, "startCell", [1, 3, 6]),
}


@pytest.mark.feature("KS-06")
@pytest.mark.parametrize("kind", SUMMED)
def test_sum_takes_every_kind_of_record(env: StreamExecutionEnvironment, kind: str) -> None:
    records, field, key, expected = SUMMED[kind]
    assert collect(env.from_collection(records).key_by(key).sum(field)) == expected


def later_if_larger(first, second):
    return second if second[1] > first[1] else first


@on_both
@pytest.mark.feature("KS-07")
def test_reduce_can_do_what_max_by_does(make_env: MakeEnv) -> None:
    dice = random.Random(4)
    records = [(dice.randrange(10), dice.randrange(1000), n) for n in range(500)]
    keyed = make_env(2).from_collection(records).key_by(0)
    reduced = keyed.reduce(later_if_larger).map(lambda r: ("reduce", r))
    results = collect(reduced.union(keyed.max_by(1).map(lambda r: ("max_by", r))))
    assert [r for how, r in results if how == "reduce"] == [r for how, r in results if how == "max_by"]
    assert len(results) == 1000


@on_both
@pytest.mark.feature("KS-07")
def test_reduce_emits_per_record_when_streaming_and_once_per_key_in_batch_mode(make_env: MakeEnv) -> None:
    def run(mode):
        env = make_env(2)
        env.set_runtime_mode(mode)
        return sorted(collect(env.from_sequence(1, 6).key_by(lambda n: n % 2).reduce(lambda a, b: a + b)))

    assert run(RuntimeExecutionMode.STREAMING) == sorted([1, 4, 9, 2, 6, 12])
    assert run(RuntimeExecutionMode.BATCH) == [9, 12]


class LastSeen(KeyedProcessFunction):
    """Remembers every key, and forgets it when a negative number comes."""

    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value, ctx):
        if value < 0:
            self.last.clear()
        else:
            self.last.update(value)
        yield value


@on_both
@pytest.mark.feature("KS-08")
def test_state_entries_are_counted(make_env: MakeEnv) -> None:
    records = [(n % 1000, n) for n in range(2000)]
    keyed = make_env(2).from_collection(records).key_by(0)
    with keyed.max_by(1).name("largest").execute_and_collect() as results:
        assert len(list(results)) == 2000
        metrics = results.get_job_client().get_metrics()
    assert metrics.operator("largest").keyed_state_entries == 1000


@pytest.mark.feature("KS-08")
@pytest.mark.parametrize(("forgotten", "left"), [(0, 1000), (400, 600), (1000, 0)])
def test_state_entries_fall_when_state_is_cleared(make_env: MakeEnv, forgotten: int, left: int) -> None:
    numbers = [*range(1, 1001), *range(-forgotten, 0)]
    remembered = make_env(2).from_collection(numbers).key_by(abs).process(LastSeen()).name("last seen")
    with remembered.execute_and_collect() as results:
        assert len(list(results)) == len(numbers)
        metrics = results.get_job_client().get_metrics()
    assert metrics.operator("last seen").keyed_state_entries == left
