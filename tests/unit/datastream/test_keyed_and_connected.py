"""Keyed streams and connected streams: graph and complaints."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    ConnectedStreams,
    CoProcessFunction,
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStream,
    KeySelector,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream._internal.keyed_stream import ProcessFunctionOnKeys
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.errors import ConfigurationError, FiresteelError, ProgramError
from firesteel.plan.graph import PartitionTransformation
from firesteel.runtime.basic import FilterOperator, FlatMapOperator, MapOperator, ReduceOperator
from firesteel.runtime.co import CoFlatMapOperator, CoMapOperator, CoProcessOperator, KeyedCoProcessOperator
from firesteel.runtime.process import KeyedProcessOperator


@dataclass(frozen=True)
class Ride:
    taxi: str
    minutes: int


def node_of(stream: DataStream) -> Any:
    return stream.get_transformation()


@pytest.fixture
def rides(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([Ride("a", 5), Ride("b", 7)])


class ByTaxi(KeySelector):
    def get_key(self, value: Any) -> Any:
        return value.taxi


class KeyedPass(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        yield value


# ---- keyed streams -----------------------------------------------------------------------------------------


@pytest.mark.feature("KS-01", "KS-03")
@pytest.mark.parametrize("selector", [lambda ride: ride.taxi, ByTaxi(), "taxi", 0])
def test_key_by_takes_functions_selectors_names_and_positions(rides: DataStream, selector: Any) -> None:
    partition = node_of(rides.key_by(selector))
    assert isinstance(partition, PartitionTransformation)
    assert partition.partitioning.kind == "HASH"
    assert partition.partitioning.key_selector is not None
    assert partition.partitioning.key_selector(Ride("a", 5)) == "a"


@pytest.mark.feature("KS-04")
def test_composite_keys_are_tuples(rides: DataStream) -> None:
    selector = node_of(rides.key_by(("taxi", "minutes"))).partitioning.key_selector  # type: ignore[arg-type]
    assert selector(Ride("a", 5)) == ("a", 5)


@pytest.mark.parametrize(
    ("method", "function", "operator"),
    [
        ("map", lambda ride: ride, MapOperator),
        ("flat_map", lambda ride: [ride], FlatMapOperator),
        ("filter", lambda ride: True, FilterOperator),
        ("process", KeyedPass(), KeyedProcessOperator),
        ("process", lambda ride, ctx: [ride], KeyedProcessOperator),
        ("reduce", lambda first, second: first, ReduceOperator),
    ],
)
def test_functions_on_keyed_streams_have_keys(rides: DataStream, method: str, function: Any, operator: type) -> None:
    keyed = rides.key_by("taxi")
    result = getattr(keyed, method)(function)
    node = node_of(result)
    assert node.factory.func is operator
    assert node.inputs == [node_of(keyed)]
    assert node.key_selectors == (node_of(keyed).partitioning.key_selector,)
    assert not isinstance(result, KeyedStream)


@pytest.mark.feature("PA-05")
def test_another_key_by_replaces_the_key(env: StreamExecutionEnvironment, rides: DataStream) -> None:
    again = rides.key_by("minutes").key_by("taxi").key_by("taxi")
    partition = node_of(again)
    assert partition.inputs == [node_of(rides)]
    assert partition.partitioning.key_selector(Ride("a", 5)) == "a"
    again.map(str).print()
    exchanges = [
        edge["ship_strategy"]
        for node in json.loads(env.get_execution_plan())["nodes"]
        for edge in node.get("predecessors", [])
    ]
    assert exchanges.count("HASH") == 1


def test_key_types_are_declared_or_come_from_the_stream(env: StreamExecutionEnvironment) -> None:
    pairs = env.from_collection([(1, "a")], Types.TUPLE([Types.INT(), Types.STRING()]))
    assert pairs.key_by(1).get_key_type() == Types.STRING()
    assert pairs.key_by("f0").get_key_type() == Types.INT()
    assert pairs.key_by(lambda pair: pair[0]).get_key_type() is None
    assert pairs.key_by(lambda pair: pair[0], Types.LONG()).get_key_type() == Types.LONG()
    with pytest.raises(ConfigurationError, match=r"key_by.*no field 2"):
        pairs.key_by(2)


@pytest.mark.parametrize("method", ["shuffle", "rebalance", "rescale", "forward", "global_", "broadcast"])
def test_the_partitioning_of_a_keyed_stream_cannot_be_overridden(rides: DataStream, method: str) -> None:
    with pytest.raises(ProgramError, match=rf"{method}\(\) on a keyed stream"):
        getattr(rides.key_by("taxi"), method)()
    with pytest.raises(ProgramError, match=r"partition_custom\(\) on a keyed stream"):
        rides.key_by("taxi").partition_custom(lambda key, count: 0, "taxi")


def test_keyed_streams_can_be_united_printed_and_projected(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection([(1, 2)]).key_by(0)
    assert node_of(keyed.union(keyed)).inputs == [node_of(keyed), node_of(keyed)]
    assert node_of(keyed.project(1)).inputs == [node_of(keyed)]
    keyed.print()
    assert env.graph.graph.sinks()[0].inputs == [node_of(keyed)]


def test_a_plain_process_function_runs_on_a_keyed_stream(rides: DataStream) -> None:
    calls: list[Any] = []

    class Plain(ProcessFunction):
        def open(self, runtime_context: Any) -> None:
            calls.append(("open", runtime_context))

        def process_element(self, value: Any, ctx: Any, out: Any) -> None:  # type: ignore[override]
            out.collect((value, ctx))

        def close(self) -> None:
            calls.append("close")

    function = node_of(rides.key_by("taxi").process(Plain())).factory.args[0]
    assert isinstance(function, ProcessFunctionOnKeys)
    function.open("context")  # type: ignore[arg-type]
    assert list(function.process_element(1, "ctx") or []) == [(1, "ctx")]  # type: ignore[arg-type]
    function.close()
    assert calls == [("open", "context"), "close"]


@pytest.mark.parametrize("method", ["sum", "min", "max", "min_by", "max_by"])
def test_aggregations_are_keyed_reduces(env: StreamExecutionEnvironment, method: str) -> None:
    keyed = env.from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.INT()])).key_by(0)
    for field in (1, "f1"):
        stream = getattr(keyed, method)(field)
        assert node_of(stream).factory.func is ReduceOperator
        assert node_of(stream).key_selectors is not None
        assert stream.get_name() == "Keyed Aggregation"
        assert stream.get_type() == keyed.get_type()
    assert getattr(keyed, method)().get_name() == "Keyed Aggregation"
    with pytest.raises(ConfigurationError, match=f"{method}: .*no field 2"):
        getattr(keyed, method)(2)
    for wrong in (-1, None, True, "", 1.5):
        with pytest.raises(ConfigurationError, match=f"{method}: position_to_{method} must be"):
            getattr(keyed, method)(wrong)


@pytest.mark.parametrize("method", ["sum", "min", "max"])
def test_with_a_function_the_results_are_aggregated(rides: DataStream, method: str) -> None:
    stream = getattr(rides.key_by("taxi"), method)(lambda ride: ride.minutes)
    last = node_of(stream)
    assert last.factory.args[0].map(("a", 12)) == 12
    reduced = last.inputs[0]
    assert reduced.factory.func is ReduceOperator
    partition = reduced.inputs[0]
    assert partition.partitioning.key_selector(("a", 12)) == "a"
    pairs = partition.inputs[0]
    assert pairs.factory.args[0].map(Ride("a", 5)) == ("a", 5)
    assert pairs.parallelism == node_of(rides).parallelism


@pytest.mark.parametrize("method", ["min_by", "max_by"])
def test_min_by_and_max_by_compare_what_a_function_says(rides: DataStream, method: str) -> None:
    function = node_of(getattr(rides.key_by("taxi"), method)(lambda ride: ride.minutes)).factory.args[0]
    short, long = Ride("a", 1), Ride("a", 2)
    assert function.reduce(short, long) is (long if method == "max_by" else short)


@pytest.mark.parametrize(
    ("method", "argument", "message"),
    [
        ("reduce", 3, "reduce: func"),
        ("reduce", lambda one: one, "reduce: func"),
        ("process", 3, "process: func"),
        ("map", None, "map: func"),
    ],
)
def test_wrong_functions_are_refused(rides: DataStream, method: str, argument: Any, message: str) -> None:
    with pytest.raises(FiresteelError, match=message):
        getattr(rides.key_by("taxi"), method)(argument)


# ---- connected streams -------------------------------------------------------------------------------------


class CoMap(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


class CoFlatMap(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        yield value

    def flat_map2(self, value: Any) -> Any:
        yield value


class RememberingCoFlatMap(CoFlatMap):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))


class CoProcess(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield value


class KeyedCoProcess(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield value


@pytest.mark.feature("CO-01")
@pytest.mark.parametrize(
    ("method", "function", "operator", "keyed_operator", "name"),
    [
        ("map", CoMap(), CoMapOperator, CoMapOperator, "Co-Map"),
        ("map", (str, str), CoMapOperator, CoMapOperator, "Co-Map"),
        ("flat_map", CoFlatMap(), CoFlatMapOperator, CoFlatMapOperator, "Co-Flat Map"),
        ("process", CoProcess(), CoProcessOperator, CoProcessOperator, "Co-Process"),
    ],
)
def test_connected_streams_have_two_inputs(
    env: StreamExecutionEnvironment,
    rides: DataStream,
    method: str,
    function: Any,
    operator: type,
    keyed_operator: type,
    name: str,
) -> None:
    words = env.from_elements("a", "b")
    plain = getattr(rides.connect(words), method)(function, Types.STRING())
    assert node_of(plain).factory.func is operator
    assert node_of(plain).inputs == [node_of(rides), node_of(words)]
    assert node_of(plain).key_selectors is None
    assert plain.get_type() == Types.STRING()
    assert plain.get_name() == name

    keyed = rides.connect(words).key_by("taxi", lambda word: word)
    node = node_of(getattr(keyed, method)(function))
    assert node.factory.func is keyed_operator
    assert [selector(record) for selector, record in zip(node.key_selectors, [Ride("a", 1), "b"], strict=True)] == [
        "a",
        "b",
    ]
    assert [partition.partitioning.kind for partition in node.inputs] == ["HASH", "HASH"]


def test_keyed_process_functions_need_two_keyed_streams(env: StreamExecutionEnvironment, rides: DataStream) -> None:
    words = env.from_elements("a")
    keyed = rides.key_by("taxi").connect(words.key_by(lambda word: word))
    assert node_of(keyed.process(KeyedCoProcess())).factory.func is KeyedCoProcessOperator
    assert node_of(keyed.process((lambda r, c: [r], lambda w, c: [w]))).factory.func is KeyedCoProcessOperator


@pytest.mark.feature("CO-03")
@pytest.mark.parametrize("function", [KeyedCoProcess(), RememberingCoFlatMap()])
def test_state_with_an_unkeyed_side_is_an_error_when_the_graph_is_built(
    env: StreamExecutionEnvironment, rides: DataStream, function: Any
) -> None:
    words = env.from_elements("a")
    method = "process" if isinstance(function, KeyedCoProcess) else "flat_map"
    for connected, which in [
        (rides.key_by("taxi").connect(words), "stream 2 has no keys"),
        (rides.connect(words.key_by(lambda word: word)), "stream 1 has no keys"),
        (rides.connect(words), "neither stream has keys"),
    ]:
        with pytest.raises(ProgramError, match=which):
            getattr(connected, method)(function)
    getattr(rides.connect(words).key_by("taxi", lambda word: word), method)(function)


def test_a_function_without_state_may_have_one_keyed_side(env: StreamExecutionEnvironment, rides: DataStream) -> None:
    node = node_of(rides.key_by("taxi").connect(env.from_elements("a").broadcast()).flat_map(CoFlatMap()))
    assert node.key_selectors is None
    assert [each.partitioning.kind for each in node.inputs] == ["HASH", "BROADCAST"]


@pytest.mark.feature("CO-03")
def test_keys_of_different_declared_types_never_meet(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1]).key_by(lambda n: n, Types.INT())
    words = env.from_collection(["a"]).key_by(lambda word: word, Types.STRING())
    with pytest.raises(ProgramError, match="keyed by Integer, the second by String"):
        numbers.connect(words)
    assert isinstance(numbers.connect(env.from_collection([1]).key_by(lambda n: n)), ConnectedStreams)


@pytest.mark.parametrize(
    ("method", "argument", "message"),
    [
        ("map", str, "map: func must be a CoMapFunction or a pair of functions"),
        ("flat_map", CoMap(), "flat_map: func"),
        ("process", 3, "process: func"),
    ],
)
def test_wrong_functions_for_connected_streams(
    env: StreamExecutionEnvironment, rides: DataStream, method: str, argument: Any, message: str
) -> None:
    with pytest.raises(FiresteelError, match=message):
        getattr(rides.connect(env.from_elements("a")), method)(argument)
