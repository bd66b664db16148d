from __future__ import annotations

import asyncio
import operator
import pickle
from dataclasses import dataclass
from functools import partial

import pytest

from firesteel.errors import ConfigurationError
from firesteel.model import functions
from firesteel.model.functions import adapt
from firesteel.model.functions.adapt import ListCollector, bound_call, emitting


@dataclass
class Ride:
    cell: str
    fare: int


class Doubling(functions.MapFunction):
    def map(self, value):
        return value * 2


class Splitting(functions.FlatMapFunction):
    def flat_map(self, value):
        yield from value.split()


class CollectingSplit(functions.FlatMapFunction):
    def flat_map(self, value, out):
        for word in value.split():
            out.collect(word)


class ByLength(functions.KeySelector):
    def get_key(self, value):
        return len(value)


def yielding_split(value):
    yield from value.split()


def collecting_split(value, out):
    for word in value.split():
        out.collect(word)


def test_function_objects_are_taken_as_they_are():
    function = Doubling()
    assert adapt.as_map_function(function) is function
    assert bound_call(function, "map")(4) == 8


def test_callables_become_function_objects_and_are_called_directly():
    double = lambda value: value * 2  # noqa: E731
    function = adapt.as_map_function(double)
    assert isinstance(function, functions.MapFunction)
    assert function.map(4) == 8
    assert bound_call(function, "map") is double
    assert adapt.as_map_function(int).map("5") == 5
    assert adapt.as_map_function(partial(operator.add, 1)).map(2) == 3


@pytest.mark.parametrize(
    "split",
    [
        yielding_split,
        collecting_split,
        str.split,
        Splitting(),
        CollectingSplit(),
        lambda value: value.split(),
        lambda value, out: [out.collect(word) for word in value.split()],
    ],
)
def test_flat_map_takes_iterables_generators_and_collectors(split):
    call = emitting(adapt.as_flat_map_function(split), "flat_map", 1)
    assert [list(call(line)) for line in ("a b", "")] == [["a", "b"], []]


def test_adapted_flat_map_functions_can_be_called_as_such():
    assert list(adapt.as_flat_map_function(collecting_split).flat_map("a b")) == ["a", "b"]


def test_optional_parameters_are_not_taken_for_a_collector():
    call = emitting(adapt.as_flat_map_function(lambda value, times=2: [value] * times), "flat_map", 1)
    assert call("x") == ["x", "x"]


def test_a_flat_map_may_return_none():
    assert emitting(adapt.as_flat_map_function(lambda value: None), "flat_map", 1)("x") is None


def test_filter_reduce_and_partitioner():
    assert adapt.as_filter_function(lambda value: value % 2).filter(3) is True
    assert adapt.as_reduce_function(max).reduce(3, 4) == 4
    assert adapt.as_partitioner(operator.mod).partition(7, 4) == 3


@pytest.mark.parametrize(
    ("key", "record", "expected"),
    [
        ("cell", Ride("x", 5), "x"),
        (0, ("x", 5), "x"),
        (("cell", "fare"), Ride("x", 5), ("x", 5)),
        ([1, lambda each: "k"], ("x", 5), (5, "k")),
        (ByLength(), "abc", 3),
        (len, "abc", 3),
        (lambda each: each.fare, Ride("x", 5), 5),
    ],
)
def test_keys_by_field_position_function_and_selector(key, record, expected):
    selector = adapt.as_key_selector(key)
    assert isinstance(selector, functions.KeySelector)
    assert selector.get_key(record) == expected


def test_field_selectors_can_be_pickled():
    selector = adapt.as_key_selector(("cell", 1))
    assert pickle.loads(pickle.dumps(selector)).get_key(Ride("x", 5)) == ("x", 5)


def test_aggregates_of_plain_functions():
    mean = adapt.as_aggregate_function(
        (
            lambda: (0, 0),
            lambda value, acc: (acc[0] + value, acc[1] + 1),
            lambda acc: acc[0] / acc[1],
            lambda a, b: (a[0] + b[0], a[1] + b[1]),
        )
    )
    accumulator = mean.add(5, mean.add(1, mean.create_accumulator()))
    assert mean.get_result(mean.merge(accumulator, (3, 1))) == 3.0
    with pytest.raises(ConfigurationError, match="without a merge function"):
        adapt.as_aggregate_function((int, lambda value, acc: acc, str)).merge(1, 2)


def test_pairs_of_functions_for_two_inputs():
    co_map = adapt.as_co_map_function((str.upper, str.lower))
    assert (co_map.map1("a"), co_map.map2("B")) == ("A", "b")
    co_flat_map = adapt.as_co_flat_map_function((yielding_split, collecting_split))
    assert (list(co_flat_map.flat_map1("a b")), list(co_flat_map.flat_map2("c"))) == (["a", "b"], ["c"])


@pytest.mark.parametrize(
    ("keyed", "kind"), [(False, functions.ProcessFunction), (True, functions.KeyedProcessFunction)]
)
def test_process_functions_of_generators_and_collectors(keyed, kind):
    def emit(value, ctx, out):
        out.collect((value, ctx))

    function = adapt.as_process_function(lambda value, ctx: [value, ctx], keyed)
    assert isinstance(function, kind)
    assert list(function.process_element(1, "ctx")) == [1, "ctx"]
    assert adapt.as_process_function(emit, keyed).process_element(1, "ctx") == [(1, "ctx")]


@pytest.mark.parametrize(
    ("keyed", "kind"), [(False, functions.CoProcessFunction), (True, functions.KeyedCoProcessFunction)]
)
def test_co_process_functions_of_pairs(keyed, kind):
    function = adapt.as_co_process_function((lambda v, ctx: [v], lambda v, ctx, out: out.collect(-v)), keyed)
    assert isinstance(function, kind)
    assert (list(function.process_element1(1, None)), list(function.process_element2(2, None))) == ([1], [-2])


class Process(functions.ProcessFunction):
    def process_element(self, value, ctx): ...


class KeyedProcess(functions.KeyedProcessFunction):
    def process_element(self, value, ctx): ...


class CoProcess(functions.CoProcessFunction):
    def process_element1(self, value, ctx): ...

    def process_element2(self, value, ctx): ...


class KeyedCoProcess(functions.KeyedCoProcessFunction):
    def process_element1(self, value, ctx): ...

    def process_element2(self, value, ctx): ...


@pytest.mark.parametrize(
    ("make", "plain", "keyed"),
    [
        (adapt.as_process_function, Process(), KeyedProcess()),
        (adapt.as_co_process_function, CoProcess(), KeyedCoProcess()),
    ],
)
def test_keyed_process_functions_need_a_keyed_stream(make, plain, keyed):
    assert make(plain, keyed=False) is plain
    assert make(plain, keyed=True) is plain
    assert make(keyed, keyed=True) is keyed
    with pytest.raises(ConfigurationError, match="key_by"):
        make(keyed, keyed=False)


def test_sinks_of_plain_functions():
    seen = []
    adapt.as_sink_function(seen.append).invoke(5, None)
    assert seen == [5]


async def lookup(value):
    return [value, value]


def test_async_functions():
    function = adapt.as_async_function(lookup)
    assert asyncio.run(function.async_invoke(3)) == [3, 3]
    assert adapt.as_async_function(function) is function
    with pytest.raises(ConfigurationError, match="async def"):
        adapt.as_async_function(len)
    with pytest.raises(TimeoutError, match="'x'"):
        function.timeout("x")


def generator(value):
    yield value


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: adapt.as_map_function(5), "map: func must be a MapFunction or a function of one record; got 5"),
        (lambda: adapt.as_map_function(Doubling), r"give an instance: Doubling\(\)"),
        (lambda: adapt.as_map_function(Splitting()), "must be a MapFunction.*got Splitting"),
        (lambda: adapt.as_map_function(lambda a, b: a), r"test_adapt.py:\d+\) cannot be called with 1 argument\."),
        (lambda: adapt.as_map_function(generator), r"generator.*Use flat_map\(\)"),
        (lambda: adapt.as_map_function(lookup), "AsyncDataStream"),
        (lambda: adapt.as_filter_function(None), "filter: func"),
        (lambda: adapt.as_flat_map_function(lambda: ["a"]), "cannot be called with 1 argument"),
        (lambda: adapt.as_flat_map_function(lambda a, b, c: []), "cannot be called"),
        (lambda: adapt.as_reduce_function(abs), "reduce: func must be .*two values"),
        (lambda: adapt.as_partitioner("x"), "partition_custom: func"),
        (lambda: adapt.as_key_selector(None), "key_by: key must be .*field name"),
        (lambda: adapt.as_key_selector(ByLength), r"ByLength\(\)"),
        (lambda: adapt.as_key_selector(()), "at least one field"),
        (lambda: adapt.as_key_selector(True), "a name .* or a position"),
        (lambda: adapt.as_aggregate_function(max), "create_accumulator"),
        (lambda: adapt.as_aggregate_function((int, len, str)), "aggregate: add"),
        (lambda: adapt.as_co_map_function(len), "pair of functions"),
        (lambda: adapt.as_co_map_function((len, 3)), r"func\[1\]"),
        (lambda: adapt.as_co_map_function(functions.RichCoMapFunction), r"RichCoMapFunction\(\)"),
        (lambda: adapt.as_process_function(lambda value: value, False), "cannot be called with 2 arguments"),
        (lambda: adapt.expect_function(5, "window", "trigger", Process, CoProcess), "Process or a CoProcess; got 5"),
    ],
)
def test_wrong_functions_are_refused_when_the_graph_is_built(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()


def test_expect_function_returns_what_fits():
    function = Process()
    assert adapt.expect_function(function, "process", "func", Process) is function


@pytest.mark.parametrize(
    ("func", "shown"),
    [
        (Doubling(), "Doubling"),
        (Doubling, "class Doubling"),
        (len, "len"),
        (partial(len), "partial of len"),
        (adapt.as_map_function(len), "len"),
    ],
)
def test_descriptions_are_short(func, shown):
    assert adapt.describe(func) == shown


def test_list_collector_keeps_the_order():
    out = ListCollector()
    out.collect(2)
    out.collect(1)
    out.close()
    assert out.values == [2, 1]
