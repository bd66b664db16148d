"""Whole programs, run by the in-process executor with parallelism 1, 2 and 4."""

from __future__ import annotations

import random
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from firesteel.common import Configuration, JobStatus, Row, Tuple, Types, WatermarkStrategy
from firesteel.datastream import (
    CoFlatMapFunction,
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ReduceFunction,
    RuntimeExecutionMode,
    SinkFunction,
    SourceFunction,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.errors import JobFailedError, NoKeyError, SerializationError, TypeMismatchError


@pytest.fixture(params=[1, 2, 4])
def env(request: pytest.FixtureRequest) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({"execution.target": "in-process"})
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(request.param)
    return environment


def collected(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as results:  # type: ignore[union-attr]
        return list(results)


def by_key(records: list[Any]) -> dict[Any, list[Any]]:
    """The records of each key, in the order in which they came."""
    grouped = defaultdict(list)
    for record in records:
        grouped[record[0]].append(record)
    return dict(grouped)


# ---- record by record --------------------------------------------------------------------------------------


@pytest.mark.feature("DS-05")
def test_map_emits_one_record_each_and_none_is_a_record(env: StreamExecutionEnvironment) -> None:
    assert sorted(collected(env.from_collection([1, 2, 3]).map(lambda n: n * 10))) == [10, 20, 30]
    assert collected(env.from_collection([1, 2]).map(lambda n: None)) == [None, None]


@pytest.mark.feature("DS-06")
def test_flat_map_yields_returns_or_collects(env: StreamExecutionEnvironment) -> None:
    def with_yield(line: str) -> Any:
        yield from line.split()

    def with_collector(line: str, out: Any) -> None:
        for word in line.split():
            out.collect(word)

    for function in (with_yield, with_collector, str.split):
        assert sorted(collected(env.from_collection(["a b", ""]).flat_map(function))) == ["a", "b"]


@pytest.mark.feature("DS-07")
def test_filter_keeps_what_fits(env: StreamExecutionEnvironment) -> None:
    people = env.from_elements(("Fred", 35), ("Wilma", 35), ("Pebbles", 2))
    assert sorted(collected(people.filter(lambda person: person[1] >= 18))) == [("Fred", 35), ("Wilma", 35)]


class TimesTen(MapFunction):
    def map(self, value: Any) -> Any:
        return value * 10


class Twice(FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        yield value
        yield value


class Large(FilterFunction):
    def filter(self, value: Any) -> bool:
        return bool(value > 10)


class Add(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1 + value2


@pytest.mark.feature("DS-08")
def test_classes_and_lambdas_give_the_same(env: StreamExecutionEnvironment) -> None:
    def program(*functions: Any) -> list[Any]:
        times, twice, large, add = functions
        source = env.from_collection(range(5))
        return sorted(collected(source.map(times).flat_map(twice).filter(large).key_by(lambda n: n).reduce(add)))

    lambdas = (lambda n: n * 10, lambda n: [n, n], lambda n: n > 10, lambda a, b: a + b)
    assert program(TimesTen(), Twice(), Large(), Add()) == program(*lambdas) == [20, 30, 40, 40, 60, 80]


@pytest.mark.feature("SS-01", "SS-02")
def test_collections_come_in_order_and_may_be_empty(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(1)
    assert collected(env.from_elements("x", "y", "z")) == ["x", "y", "z"]
    assert collected(env.from_collection([])) == []


def test_project_keeps_fields(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([(1, "a", True), Row(2, "b", False)])
    assert sorted(collected(stream.project(1, 0))) == [("a", 1), ("b", 2)]


# ---- partitioning ------------------------------------------------------------------------------------------


class Subtask(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.parallelism = runtime_context.get_number_of_parallel_subtasks()

    def map(self, value: Any) -> Any:
        return self.subtask, value


@pytest.mark.feature("DS-09")
def test_each_operator_has_its_own_parallelism(env: StreamExecutionEnvironment) -> None:
    mapped = env.from_sequence(1, 100).set_parallelism(1).rebalance().map(Subtask()).set_parallelism(2)
    results = collected(mapped.rebalance().map(Subtask()).set_parallelism(1))
    assert {outer for outer, _ in results} == {0}
    assert {inner for _, (inner, _) in results} == {0, 1}


@pytest.mark.feature("PA-01")
def test_a_key_is_seen_by_one_subtask(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_sequence(1, 2000).key_by(lambda n: n % 50)
    subtasks = defaultdict(set)
    for subtask, number in collected(keyed.map(Subtask())):
        subtasks[number % 50].add(subtask)
    assert len(subtasks) == 50
    assert all(len(seen) == 1 for seen in subtasks.values())


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        pytest.param("broadcast", {0: 5, 1: 5}, marks=pytest.mark.feature("PA-02")),
        pytest.param("global_", {0: 5}),
        pytest.param("rebalance", {0: 3, 1: 2}, marks=pytest.mark.feature("PA-03")),
    ],
)
def test_partition_calls_spread_records(env: StreamExecutionEnvironment, method: str, expected: dict[int, int]) -> None:
    stream = getattr(env.from_collection(range(5)), method)().map(Subtask()).set_parallelism(2)
    counts = Counter(subtask for subtask, _ in collected(stream))
    assert sorted(counts.values()) == sorted(expected.values())


@pytest.mark.feature("PA-04")
def test_a_partitioner_chooses_the_subtask(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection(range(10)).partition_custom(lambda key, _: key % 2, lambda n: n)
    assert all(subtask == number % 2 for subtask, number in collected(stream.map(Subtask()).set_parallelism(2)))


# ---- keyed streams -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ride:
    cell: str
    minutes: int


class NamedRide(NamedTuple):
    cell: str
    minutes: int


RIDES = [("a", 1), ("b", 7), ("a", 5), ("a", 3), ("b", 2)]


@pytest.mark.feature("KS-05", "KS-06", "KS-03")
@pytest.mark.parametrize("make", [Ride, NamedRide, Tuple.of, Row, lambda c, m: {"cell": c, "minutes": m}])
def test_rolling_aggregations_emit_one_result_per_record(env: StreamExecutionEnvironment, make: Any) -> None:
    names = make not in (Tuple.of, Row)
    cell, minutes = ("cell", "minutes") if names else (0, 1)
    for method, of_a in [
        ("sum", [1, 6, 9]),
        ("max", [1, 5, 5]),
        ("min", [1, 1, 1]),
        ("max_by", [1, 5, 5]),
        ("min_by", [1, 1, 1]),
    ]:
        keyed = env.from_collection([make(*ride) for ride in RIDES]).key_by(cell)
        results = collected(getattr(keyed, method)(minutes))
        assert len(results) == len(RIDES)
        assert [result for result in results if result in [make("a", n) for n in of_a]] == [make("a", n) for n in of_a]


@pytest.mark.feature("KS-06")
def test_bare_numbers_are_summed(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(1)
    assert collected(env.from_elements(1, 2, 3).key_by(lambda n: 0).sum()) == [1, 3, 6]


def test_functions_say_what_to_add_up(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection([Ride(*ride) for ride in RIDES]).key_by("cell")
    assert sorted(collected(keyed.sum(lambda ride: ride.minutes * 10))) == [10, 60, 70, 90, 90]


@pytest.mark.feature("KS-07")
def test_reduce_equals_max_by_and_batch_emits_once_per_key(env: StreamExecutionEnvironment) -> None:
    numbers = random.Random(1)
    records = [(numbers.choice("abc"), numbers.randrange(1000)) for _ in range(200)]

    def larger(first: Any, second: Any) -> Any:
        return second if second[1] > first[1] else first

    reduced = by_key(collected(env.from_collection(records).key_by(0).reduce(larger)))
    assert reduced == by_key(collected(env.from_collection(records).key_by(0).max_by(1)))
    assert sum(map(len, reduced.values())) == 200
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    final = by_key(collected(env.from_collection(records).key_by(0).reduce(larger)))
    assert final == {key: [reduce(larger, of_key)] for key, of_key in by_key(records).items()}


class CountPerKey(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


class Deduplicate(FilterFunction):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def filter(self, value: Any) -> bool:
        new = self.seen.value() is None
        self.seen.update(True)
        return new


class PlainCount(ProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


@pytest.mark.feature("ST-01")
def test_functions_on_keyed_streams_keep_state_per_key(env: StreamExecutionEnvironment) -> None:
    words = ["a", "b", "a", "c", "b", "a"]
    expected = {"a": [("a", 1), ("a", 2), ("a", 3)], "b": [("b", 1), ("b", 2)], "c": [("c", 1)]}
    keyed = env.from_collection(words).key_by(lambda word: word)
    assert by_key(collected(keyed.process(CountPerKey()))) == expected
    assert by_key(collected(keyed.process(PlainCount()))) == expected
    assert sorted(collected(keyed.filter(Deduplicate()))) == ["a", "b", "c"]


@pytest.mark.feature("ST-01")
def test_state_without_keys_is_an_error(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(JobFailedError, match=NoKeyError.__name__):
        collected(env.from_collection(["a"]).filter(Deduplicate()))


# ---- several streams ---------------------------------------------------------------------------------------


def test_union_diamonds_and_a_stream_used_twice(env: StreamExecutionEnvironment) -> None:
    source = env.from_collection(range(4))
    small, large = source.filter(lambda n: n < 2), source.filter(lambda n: n >= 2)
    assert sorted(collected(small.union(large, source).map(lambda n: n))) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert sorted(collected(source.union(source))) == [0, 0, 1, 1, 2, 2, 3, 3]


class Control(CoFlatMapFunction):
    def open(self, runtime_context: Any) -> None:
        self.blocked = runtime_context.get_state(ValueStateDescriptor("blocked", Types.BOOLEAN()))

    def flat_map1(self, value: Any) -> Any:
        self.blocked.update(True)

    def flat_map2(self, value: Any) -> Any:
        yield value, bool(self.blocked.value())


@pytest.mark.feature("CO-01")
def test_connected_streams_map_each_input(env: StreamExecutionEnvironment) -> None:
    connected = env.from_elements(1, 2).connect(env.from_elements("a"))
    assert sorted(collected(connected.map((lambda n: f"number {n}", lambda word: f"word {word}")))) == [
        "number 1",
        "number 2",
        "word a",
    ]


@pytest.mark.feature("CO-02")
def test_both_inputs_share_the_state_of_a_key(env: StreamExecutionEnvironment) -> None:
    control = env.from_elements("x").key_by(lambda word: word)
    words = env.from_elements("x", "y").key_by(lambda word: word)
    # No order between the inputs is promised; the control stream is the first edge, which is read first.
    assert sorted(collected(control.connect(words).flat_map(Control()))) == [("x", True), ("y", False)]


class Join(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.ride = runtime_context.get_state(ValueStateDescriptor("ride", Types.PICKLED_BYTE_ARRAY()))
        self.fare = runtime_context.get_state(ValueStateDescriptor("fare", Types.PICKLED_BYTE_ARRAY()))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        fare = self.fare.value()
        if fare is None:
            self.ride.update(value)
        else:
            self.fare.clear()
            yield value, fare

    def process_element2(self, value: Any, ctx: Any) -> Any:
        ride = self.ride.value()
        if ride is None:
            self.fare.update(value)
        else:
            self.ride.clear()
            yield ride, value


@pytest.mark.feature("CO-04")
@pytest.mark.parametrize("fares_first", [True, False])
def test_a_join_in_state_does_not_depend_on_the_order(env: StreamExecutionEnvironment, fares_first: bool) -> None:
    rides = env.from_collection([(i, "ride") for i in range(20)]).key_by(0)
    fares = env.from_collection([(i, "fare") for i in reversed(range(20))]).key_by(0)
    joined = fares.connect(rides) if fares_first else rides.connect(fares)
    pairs = collected(joined.process(Join()))
    assert sorted(tuple(sorted(pair)) for pair in pairs) == [((i, "fare"), (i, "ride")) for i in range(20)]


ODD = OutputTag("odd", Types.INT())
LARGE = OutputTag("large")


class Split(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        if value >= 90:
            ctx.output(LARGE, value)
        elif value % 2:
            yield ODD, value
        else:
            yield value


@pytest.mark.feature("SO-02", "SO-03", "SO-05")
def test_side_outputs_split_a_stream(env: StreamExecutionEnvironment) -> None:
    main = env.from_collection(range(100)).process(Split())
    parts = main.map(lambda n: ("even", n)).union(
        main.get_side_output(ODD).map(lambda n: ("odd", n)),
        main.get_side_output(OutputTag("odd", Types.INT())).map(lambda n: ("odd again", n)),
        main.get_side_output(LARGE).map(lambda n: ("large", n)),
        main.get_side_output(OutputTag("unused")).map(lambda n: ("unused", n)),
    )
    counts = Counter(kind for kind, _ in collected(parts))
    assert counts == {"even": 45, "odd": 45, "odd again": 45, "large": 10}


# ---- time --------------------------------------------------------------------------------------------------


class Timestamp(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timestamp()


@pytest.mark.feature("TM-05")
def test_assigned_timestamps_reach_functions(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n * 1000)
    stream = env.from_elements(1, 2)
    assert collected(stream.process(Timestamp())) in ([(1, None), (2, None)], [(2, None), (1, None)])
    assigned = stream.assign_timestamps_and_watermarks(strategy)
    assert sorted(collected(assigned.process(Timestamp()))) == [(1, 1000), (2, 2000)]


@pytest.mark.feature("TM-03", "TM-04")
def test_ingestion_time_is_stamped_by_the_source(env: StreamExecutionEnvironment) -> None:
    env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
    ((_, timestamp),) = collected(env.from_elements(1).process(Timestamp()))
    assert timestamp > 1_600_000_000_000


# ---- sources and sinks -------------------------------------------------------------------------------------


class Countdown(SourceFunction):
    def run(self, ctx: Any) -> None:
        for number in (3, 2, 1):
            ctx.collect(number)

    def cancel(self) -> None:
        pass


@pytest.mark.feature("SS-05")
def test_source_functions_and_callables(env: StreamExecutionEnvironment) -> None:
    assert sorted(collected(env.add_source(Countdown()))) == [1, 2, 3]
    assert sorted(collected(env.add_source(lambda: iter("ab")))) == ["a", "b"]
    assert collected(env.add_source(lambda ctx: ctx.collect("c"))) == ["c"]


@pytest.mark.feature("SS-04")
def test_lines_of_a_file(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("one\ntwo\nthree\n")
    assert sorted(collected(env.read_text_file(f"file://{tmp_path}/lines.txt"))) == ["one", "three", "two"]


def test_sequences_and_generators(env: StreamExecutionEnvironment) -> None:
    assert sorted(collected(env.from_sequence(1, 10))) == list(range(1, 11))
    assert sorted(collected(env.from_data_generator(lambda i: i * i, 4))) == [0, 1, 4, 9]


SEEN: list[Any] = []


class Remember(SinkFunction):
    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        SEEN.append((value, context.timestamp()))


@pytest.mark.feature("SS-07", "DS-03")
def test_several_sources_and_sinks_are_one_job(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    SEEN.clear()
    env.set_parallelism(1)
    numbers, words = env.from_elements(1, 2), env.from_elements("a")
    numbers.union(words).add_sink(Remember())
    words.print()
    numbers.map(str).print_to_err("n")
    env.execute("three sinks")
    assert sorted(SEEN, key=str) == [("a", None), (1, None), (2, None)]
    assert capsys.readouterr() == ("a\n", "n> 1\nn> 2\n")


@pytest.mark.feature("SS-08")
def test_print_names_the_subtask(env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]) -> None:
    env.from_collection(range(10)).print()
    env.execute()
    lines = capsys.readouterr().out.splitlines()
    parallelism = env.get_parallelism()
    expected = {f"{i}> " for i in range(1, parallelism + 1)} if parallelism > 1 else {""}
    assert {line.rstrip("0123456789") for line in lines} == expected
    assert len(lines) == 10


@pytest.mark.feature("TY-07")
def test_printing_checks_the_declared_type(env: StreamExecutionEnvironment) -> None:
    env.from_elements(1).map(lambda n: n, Types.STRING()).print()
    with pytest.raises(JobFailedError, match=TypeMismatchError.__name__):
        env.execute()


# ---- jobs --------------------------------------------------------------------------------------------------


@pytest.mark.feature("TY-08")
def test_what_cannot_be_sent_fails_at_execute_and_is_named(env: StreamExecutionEnvironment) -> None:
    lock = threading.Lock()
    env.from_elements(1).map(lambda n: lock.locked()).print()
    with pytest.raises(SerializationError, match="lock"):
        env.execute()


def test_a_failing_function_names_itself(env: StreamExecutionEnvironment) -> None:
    def fail(value: int) -> float:
        return 1 / value

    env.from_elements(0).map(fail).name("divide").print()
    with pytest.raises(JobFailedError) as caught:
        env.execute()
    message = str(caught.value)
    assert message.startswith("ZeroDivisionError")
    assert "divide" in message
    assert "test_in_process.py" in message
    with pytest.raises(JobFailedError, match="ZeroDivisionError"):
        collected(env.from_elements(0).map(fail))


def test_a_stream_can_be_collected_again(env: StreamExecutionEnvironment) -> None:
    stream = env.from_elements(1, 2).map(str)
    assert sorted(collected(stream)) == sorted(collected(stream)) == ["1", "2"]
    assert stream.execute_and_collect(limit=1) in (["1"], ["2"])


def test_an_endless_job_ends_with_its_iterator(env: StreamExecutionEnvironment) -> None:
    results = env.from_data_generator(lambda i: i).execute_and_collect("endless")
    assert not isinstance(results, list)
    with results:
        assert len([next(results) for _ in range(1000)]) == 1000
    assert results.get_job_client().get_job_status().result() is JobStatus.CANCELED


def test_a_job_client_cancels(env: StreamExecutionEnvironment) -> None:
    env.from_data_generator(lambda i: i).add_sink(lambda value: None)
    client = env.execute_async("endless")
    client.cancel().result(30)
    assert client.get_job_status().result() is JobStatus.CANCELED


CALLS: list[str] = []


def counted(value: Any) -> Any:
    CALLS.append(str(value))
    return value


def test_a_cache_is_computed_once_and_keeps_timestamps(env: StreamExecutionEnvironment) -> None:
    CALLS.clear()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n * 1000)
    numbers = env.from_elements(1, 2, 3).assign_timestamps_and_watermarks(strategy)
    cached = numbers.map(lambda n: counted(n)).cache()
    assert sorted(collected(cached)) == [1, 2, 3]
    assert sorted(collected(cached.process(Timestamp()))) == [(1, 1000), (2, 2000), (3, 3000)]
    assert max(collected(cached.key_by(lambda n: 0).sum())) == 6
    assert len(CALLS) == 3
    cached.invalidate()
    assert sorted(collected(cached)) == [1, 2, 3]
    assert len(CALLS) == 6
