"""A record that was emitted never changes afterwards, and nothing downstream changes state upstream."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from firesteel.common import Configuration, Row, Time, Types, WatermarkStrategy
from firesteel.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoMapFunction,
    FilterFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.functions import ProcessJoinFunction
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import (
    CountEvictor,
    CountTrigger,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tests.features.executors import MakeEnv, on_both

ONE_EPOCH_PER_RECORD = {"firesteel.epoch.max-records": 1}


@dataclass
class Basket:
    owner: str
    items: list[str] = field(default_factory=list)


def collected(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as results:
        return list(results)


class Spoiler(MapFunction):
    """Keeps and changes whatever it is given."""

    def map(self, value: Any) -> Any:
        spoil(value)
        return value


def spoil(value: Any) -> None:
    if isinstance(value, (dict, Counter)):
        value["spoiled"] = 1
    elif isinstance(value, list):
        value.append("spoiled")
    elif isinstance(value, Basket):
        value.items.append("spoiled")
    elif isinstance(value, Row):
        value[0] = "spoiled"
    elif isinstance(value, tuple):
        spoil(value[-1])


# ---- what a function emits and goes on to change ----------------------------------------------------------------


class CountsSoFar(ProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen: Counter[str] = Counter()

    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterator[Any]:
        self.seen[value] += 1
        yield self.seen
        self.seen[value] += 10


@on_both
def test_a_generator_that_changes_what_it_has_emitted(make_env: MakeEnv) -> None:
    env = make_env()
    counted = env.from_collection(["a", "b", "a"]).process(CountsSoFar())
    assert collected(counted) == [{"a": 1}, {"a": 11, "b": 1}, {"a": 12, "b": 11}]


class SameListEveryTime(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.row: list[int] = []

    def map(self, value: int) -> Any:
        self.row.append(value)
        return self.row


@pytest.mark.parametrize("key", [None, lambda value: 0])
def test_a_map_that_returns_the_same_list_every_time(env: StreamExecutionEnvironment, key: Any) -> None:
    stream = env.from_collection([1, 2, 3])
    stream = stream if key is None else stream.key_by(key)
    assert collected(stream.map(SameListEveryTime())) == [[1], [1, 2], [1, 2, 3]]


def test_a_plain_function_that_keeps_in_a_default_argument_or_closure(env: StreamExecutionEnvironment) -> None:
    outer: list[int] = []

    def in_closure(value: int) -> list[int]:
        outer.append(value)
        return outer

    def in_default(value: int, kept: list[int] = []) -> list[int]:  # noqa: B006
        kept.append(value)
        return kept

    numbers = env.from_collection([1, 2])
    assert collected(numbers.map(in_closure)) == [[1], [1, 2]]
    assert collected(numbers.map(lambda value: in_default(value))) == [[1], [1, 2]]


def test_a_flat_map_that_gives_one_object_twice(env: StreamExecutionEnvironment) -> None:
    twice = env.from_collection([{"n": 1}]).flat_map(lambda value: [value, value])
    assert collected(twice.map(_number_them)) == [{"n": 1, "at": 1}, {"n": 1, "at": 1}]


def _number_them(value: dict[str, int]) -> dict[str, int]:
    value["at"] = value.get("at", 0) + 1
    return value


def test_a_collector_that_is_given_the_same_list(env: StreamExecutionEnvironment) -> None:
    def with_collector(value: int, out: Any) -> None:
        row: list[int] = []
        for number in range(value):
            row.append(number)
            out.collect(row)

    assert collected(env.from_collection([3]).flat_map(with_collector)) == [[0], [0, 1], [0, 1, 2]]


class KeepsTheLast(FilterFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last: dict[str, int] = {}

    def filter(self, value: dict[str, int]) -> bool:
        self.last["again"] = 1
        self.last = value
        return True


@pytest.mark.parametrize("stamped", [False, True])
def test_a_filter_that_changes_the_record_before(env: StreamExecutionEnvironment, stamped: bool) -> None:
    stream = env.from_collection([{"n": 1}, {"n": 2}])
    if stamped:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value["n"])
        stream = stream.assign_timestamps_and_watermarks(strategy)
    assert collected(stream.filter(KeepsTheLast())) == [{"n": 1}, {"n": 2}]


# ---- state ---------------------------------------------------------------------------------------------------------


class EmitsItsState(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value", Types.PICKLED_BYTE_ARRAY()))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", Types.PICKLED_BYTE_ARRAY()))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", Types.STRING(), Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        current = self.value.value() or []
        self.value.update([*current, value])
        self.list.add([value])
        self.map.put("all", [*(self.map.get("all") or []), value])
        yield self.value.value()
        yield from self.list.get()
        yield self.map.get("all")


@on_both
def test_a_chained_map_does_not_alter_state_before_it_across_epochs(make_env: MakeEnv) -> None:
    env = make_env(options=ONE_EPOCH_PER_RECORD)
    emitted = env.from_collection([1, 2]).key_by(lambda value: 0).process(EmitsItsState()).map(Spoiler())
    assert collected(emitted) == [
        [1, "spoiled"], [1, "spoiled"], [1, "spoiled"],
        [1, 2, "spoiled"], [1, "spoiled"], [2, "spoiled"], [1, 2, "spoiled"],
    ]  # fmt: skip


class Adds(ReduceFunction):
    def reduce(self, value1: dict[str, int], value2: dict[str, int]) -> dict[str, int]:
        value1["n"] += value2["n"]
        return value1


@on_both
def test_a_reduce_that_changes_its_first_argument(make_env: MakeEnv) -> None:
    records = make_env().from_collection([{"n": 1}, {"n": 2}, {"n": 4}])
    assert collected(records.key_by(lambda value: 0).reduce(Adds())) == [{"n": 1}, {"n": 3}, {"n": 7}]


def test_a_reduce_that_changes_and_returns_its_second_argument(env: StreamExecutionEnvironment) -> None:
    def into_second(first: list[int], second: list[int]) -> list[int]:
        second[0] += first[0]
        return second

    reduced = env.from_collection([[1], [2], [4]]).key_by(lambda value: 0).reduce(into_second)
    assert collected(reduced.map(Spoiler())) == [[1, "spoiled"], [3, "spoiled"], [7, "spoiled"]]


class ListAggregate(AggregateFunction):
    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return accumulator

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        acc_a.extend(acc_b)
        return acc_a


def stamped(env: StreamExecutionEnvironment, records: list[Any]) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value["t"])
    return env.from_collection(records).assign_timestamps_and_watermarks(strategy)


@pytest.mark.parametrize("lateness", [0, 5])  # two operators: panes, and the general one
def test_sliding_windows_with_folds_that_change_their_arguments(env: StreamExecutionEnvironment, lateness: int) -> None:
    records = stamped(env, [{"t": 1, "n": 1}, {"t": 6, "n": 2}, {"t": 11, "n": 4}])
    windows = records.key_by(lambda value: 0).window(
        SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))
    )
    sums = windows.allowed_lateness(lateness).reduce(Adds())
    assert [value["n"] for value in collected(sums)] == [1, 3, 6, 4]
    lists = windows.allowed_lateness(lateness).aggregate(ListAggregate()).map(Spoiler())
    assert [[each["n"] for each in value[:-1]] for value in collected(lists)] == [[1], [1, 2], [2, 4], [4]]


class SpoilsElements(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        for element in elements:
            element["seen"] = element.get("seen", 0) + 1
            yield element


def test_each_sliding_window_has_records_of_its_own(env: StreamExecutionEnvironment) -> None:
    windows = (
        stamped(env, [{"t": 6}])
        .key_by(lambda value: 0)
        .window(SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)))
    )
    assert collected(windows.process(SpoilsElements())) == [{"t": 6, "seen": 1}, {"t": 6, "seen": 1}]


# ---- several consumers ------------------------------------------------------------------------------------------


@on_both
@pytest.mark.parametrize("record", [{"n": 1}, ["n"], Basket("n"), Row("n", 1), ("n", ["n"]), Counter("n")])
def test_two_consumers_do_not_see_each_others_changes(make_env: MakeEnv, record: Any) -> None:
    env = make_env()
    stream = env.from_collection([record, record]).map(lambda value: value)
    first, second = stream.map(Spoiler()), stream.map(lambda value: value)
    both = collected(first.union(second))
    assert sum(value == record for value in both) == 2
    assert both.count(both[0]) == 2


class MainAndSide(ProcessFunction):
    tag = OutputTag("side")

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        ctx.output(self.tag, value)
        yield self.tag, value
        spoil(value)
        yield value


@pytest.mark.parametrize("stamped_records", [False, True])
def test_main_and_side_output_do_not_see_each_others_changes(
    env: StreamExecutionEnvironment, stamped_records: bool
) -> None:
    records = stamped(env, [{"t": 1}]) if stamped_records else env.from_collection([{"t": 1}])
    main = records.process(MainAndSide())
    side = main.get_side_output(MainAndSide.tag)
    assert collected(main.map(Spoiler()).union(side)) == [{"t": 1, "spoiled": 1}, {"t": 1}, {"t": 1}]


class MapsBoth(CoMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.log: list[Any] = []

    def map1(self, value: Any) -> Any:
        self.log.append(value)
        return self.log

    map2 = map1


def test_co_functions(env: StreamExecutionEnvironment) -> None:
    connected = env.from_collection([1, 2]).connect(env.from_collection([3]))
    assert collected(connected.map(MapsBoth())) == [[1], [1, 2], [1, 2, 3]]


class KeyedPair(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.log = runtime_context.get_state(ValueStateDescriptor("log", Types.PICKLED_BYTE_ARRAY()))

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        log = self.log.value() or []
        log.append(value)
        self.log.update(log)
        ctx.timer_service().register_event_time_timer(100)
        yield log

    process_element2 = process_element1

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield self.log.value()
        yield self.log.value()


def test_keyed_co_functions_and_timers(env: StreamExecutionEnvironment) -> None:
    first, second = (env.from_collection(values).key_by(lambda value: 0) for values in ([1], [2]))
    emitted = collected(first.connect(second).process(KeyedPair()).map(Spoiler()))
    assert emitted == [[1, "spoiled"], [1, 2, "spoiled"], [1, 2, "spoiled"], [1, 2, "spoiled"]]


class BroadcastRules(BroadcastProcessFunction):
    rules = MapStateDescriptor("rules", Types.STRING(), Types.PICKLED_BYTE_ARRAY())

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(self.rules).put("rule", value)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield ctx.get_broadcast_state(self.rules).get("rule")


def test_broadcast_state(env: StreamExecutionEnvironment) -> None:
    rules = env.from_collection([["rule"]]).broadcast(BroadcastRules.rules)
    emitted = env.from_collection([1, 2]).connect(rules).process(BroadcastRules()).map(Spoiler())
    assert collected(emitted) == [["rule", "spoiled"], ["rule", "spoiled"]]


class Cached(AsyncFunction[Any, Any]):
    def __init__(self) -> None:
        self.cache: list[Any] = []

    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0)
        self.cache.append(value)
        return [self.cache]


def test_results_of_asynchronous_calls(env: StreamExecutionEnvironment) -> None:
    looked_up = AsyncDataStream.ordered_wait(env.from_collection([1, 2]), Cached(), Time.seconds(10), capacity=1)
    assert collected(looked_up) == [[1], [1, 2]]


def test_records_of_a_collection_are_copied_when_it_is_given(env: StreamExecutionEnvironment) -> None:
    record = {"n": 1}
    stream = env.from_collection([record, record])
    record["n"] = 2
    assert collected(stream.map(_number_them)) == [{"n": 1, "at": 1}, {"n": 1, "at": 1}]
    assert record == {"n": 2}


# ---- what is copied and what is not ----------------------------------------------------------------------------


def test_what_is_shared_inside_a_record_stays_shared(env: StreamExecutionEnvironment) -> None:
    part: list[Any] = []
    part.append(part)
    stream = env.from_collection([(part, part)]).map(Spoiler()).map(Spoiler())
    ((first, second),) = collected(stream)
    assert first is second and first[0] is first and first[1:] == ["spoiled", "spoiled"]


class Uncopyable:
    def __reduce__(self) -> Any:
        raise TypeError("no way")


def test_a_record_that_cannot_be_copied_names_the_operator(env: StreamExecutionEnvironment) -> None:
    from firesteel.errors import JobFailedError

    class Emits(MapFunction):
        def map(self, value: Any) -> Any:
            return [Uncopyable()]

    stream = env.from_collection([1]).map(Emits()).name("the culprit")
    with pytest.raises(JobFailedError, match=r"(?s)Uncopyable cannot be copied.*no way.*object_reuse.*the culprit"):
        collected(stream)


@pytest.mark.parametrize("by_option", [True, False])
def test_with_object_reuse_nothing_is_copied(by_option: bool) -> None:
    configuration = Configuration.from_dict({"execution.target": "in-process"})
    if by_option:
        configuration.set_string("pipeline.object-reuse", "true")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    if not by_option:
        env.get_config().enable_object_reuse()
    assert collected(env.from_collection([1, 2]).map(SameListEveryTime())) == [[1, 2], [1, 2]]


# ---- point 9: keyed state in every function on a keyed stream --------------------------------------------------


class CountingReduce(ReduceFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.calls = runtime_context.get_state(ValueStateDescriptor("calls", Types.LONG()))

    def reduce(self, value1: Any, value2: Any) -> Any:
        self.calls.update((self.calls.value() or 0) + 1)
        return (value2[0], self.calls.value())


@on_both
def test_keyed_state_in_a_rolling_reduce(make_env: MakeEnv) -> None:
    records = make_env().from_collection([("a", 0), ("b", 0), ("a", 0), ("a", 0), ("b", 0)])
    reduced = collected(records.key_by(lambda value: value[0]).reduce(CountingReduce()))
    assert sorted(reduced) == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]


class CountingAggregate(ListAggregate):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.calls = runtime_context.get_state(ValueStateDescriptor("calls", Types.LONG()))

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        self.calls.update((self.calls.value() or 0) + 1)
        return accumulator

    def get_result(self, accumulator: list[Any]) -> Any:
        return self.calls.value()


@pytest.mark.parametrize("lateness", [0, 5])
def test_keyed_state_in_the_aggregate_of_a_window(env: StreamExecutionEnvironment, lateness: int) -> None:
    records = stamped(env, [{"t": 1, "k": "a"}, {"t": 2, "k": "b"}, {"t": 3, "k": "a"}])
    windows = records.key_by(lambda value: value["k"]).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    assert sorted(collected(windows.allowed_lateness(lateness).aggregate(CountingAggregate()))) == [1, 2]


class CountingSink(SinkFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        self.count.update((self.count.value() or 0) + 1)
        print(value, self.count.value())


def test_keyed_state_in_a_sink_function(env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]) -> None:
    env.from_collection(["a", "b", "a"]).key_by(lambda value: value).add_sink(CountingSink())
    env.execute()
    assert sorted(capsys.readouterr().out.split("\n")) == ["", "a 1", "a 2", "b 1"]


class NoResult(ListAggregate):
    def get_result(self, accumulator: list[Any]) -> Any:
        return None


class Unreachable(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield "called"


@pytest.mark.parametrize("lateness", [0, 5])
@pytest.mark.parametrize("function", [None, Unreachable()])
def test_an_aggregate_whose_result_is_none_emits_nothing(
    env: StreamExecutionEnvironment, lateness: int, function: Any
) -> None:
    windows = (
        stamped(env, [{"t": 1}]).key_by(lambda value: 0).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    )
    assert collected(windows.allowed_lateness(lateness).aggregate(NoResult(), window_function=function)) == []


# ---- point 10 --------------------------------------------------------------------------------------------------------


@on_both
def test_collecting_keeps_the_order_of_a_stream(make_env: MakeEnv) -> None:
    assert collected(make_env(4).from_collection(list(range(100)))) == list(range(100))


def test_collecting_a_keyed_stream_gives_rows_of_key_and_record(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(2)
    keyed = env.from_collection([("b", 1), ("a", 2)]).key_by(lambda value: value[0])
    assert collected(keyed) == [Row("b", ("b", 1)), Row("a", ("a", 2))]


# ---- functions that change what stays in state -----------------------------------------------------------------------


class SpoilsBoth(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left, right
        spoil(left)
        spoil(right)


def test_an_interval_join_whose_function_changes_its_records(env: StreamExecutionEnvironment) -> None:
    left, right = stamped(env, [{"t": 1}, {"t": 2}]), stamped(env, [{"t": 1}, {"t": 2}])
    joined = left.key_by(lambda value: 0).interval_join(right.key_by(lambda value: 0))
    pairs = collected(joined.between(Time.milliseconds(-5), Time.milliseconds(5)).process(SpoilsBoth()))
    assert sorted((one["t"], other["t"], len(one), len(other)) for one, other in pairs) == [
        (1, 1, 1, 1), (1, 2, 1, 1), (2, 1, 1, 1), (2, 2, 1, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("evictor", [None, CountEvictor.of(10)])
def test_a_window_that_fires_again_has_its_records_as_they_came(env: StreamExecutionEnvironment, evictor: Any) -> None:
    windows = env.from_collection([{"n": 1}, {"n": 2}]).key_by(lambda value: 0).window(GlobalWindows.create())
    windows = windows.trigger(CountTrigger.of(1))
    windows = windows if evictor is None else windows.evictor(evictor)
    assert collected(windows.process(SpoilsElements())) == [
        {"n": 1, "seen": 1}, {"n": 1, "seen": 1}, {"n": 2, "seen": 1}
    ]  # fmt: skip


class ChangesItsKey(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        value["key"][0] = "changed"
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


@on_both
def test_a_key_does_not_change_with_the_record_it_is_part_of(make_env: MakeEnv) -> None:
    env = make_env(options=ONE_EPOCH_PER_RECORD)
    records = env.from_collection([{"key": Row("a")}, {"key": Row("a")}, {"key": Row("b")}])
    counted = collected(records.key_by(lambda value: value["key"]).process(ChangesItsKey()))
    assert counted == [(Row("a"), 1), (Row("a"), 2), (Row("b"), 1)]
