"""The life of functions: opened once, closed once, with a context of their own."""

from __future__ import annotations

import pickle
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from firesteel.common import Types
from firesteel.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
    functions,
)
from firesteel.datastream.functions import (
    RichCoFlatMapFunction,
    RichCoMapFunction,
    RichFilterFunction,
    RichFlatMapFunction,
    RichMapFunction,
    RichParallelSourceFunction,
    RichReduceFunction,
    RichSinkFunction,
    RichSourceFunction,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.errors import JobFailedError
from tests.features.connectors import append_lines, read_lines
from tests.features.executors import MakeEnv, collect, on_both


class Diary:
    """Mixed into functions: writes down when they are opened, used and closed, in a file per subtask."""

    def __init__(self, path):
        self.path = path

    def open(self, runtime_context):
        self.pages = self.path / f"{type(self).__name__}-{runtime_context.get_index_of_this_subtask()}"
        self.note("open")

    def note(self, event):
        append_lines(self.pages, [event])
        return event

    def close(self):
        self.note("close")


def diaries(path: Path) -> dict[str, list]:
    """What each function of each subtask has written."""
    return {file.name: read_lines(file) for file in sorted(path.iterdir())}


def recording(*bases):
    """Classes of functions of all kinds that keep a diary."""
    map_, flat_map, filter_, reduce_, co_map, co_flat_map, sink = bases

    class Mapped(Diary, map_):
        def map(self, value):
            return self.note(value)

    class FlatMapped(Diary, flat_map):
        def flat_map(self, value):
            yield self.note(value)

    class Filtered(Diary, filter_):
        def filter(self, value):
            return self.note(value) > 0

    class Reduced(Diary, reduce_):
        def reduce(self, value1, value2):
            return self.note(value1 + value2)

    class CoMapped(Diary, co_map):
        def map1(self, value):
            return self.note(value)

        def map2(self, value):
            return self.note(-value)

    class CoFlatMapped(Diary, co_flat_map):
        def flat_map1(self, value):
            yield self.note(value)

        def flat_map2(self, value):
            yield self.note(-value)

    class Sunk(Diary, sink):
        def invoke(self, value, context):
            self.note(value)

    return Mapped, FlatMapped, Filtered, Reduced, CoMapped, CoFlatMapped, Sunk


RICH = (
    RichMapFunction,
    RichFlatMapFunction,
    RichFilterFunction,
    RichReduceFunction,
    RichCoMapFunction,
    RichCoFlatMapFunction,
    RichSinkFunction,
)
PLAIN = (
    MapFunction,
    FlatMapFunction,
    FilterFunction,
    ReduceFunction,
    CoMapFunction,
    CoFlatMapFunction,
    SinkFunction,
)


@on_both
@pytest.mark.feature("RF-01")
@pytest.mark.parametrize("bases", [RICH, PLAIN], ids=["rich", "plain"])
def test_functions_of_all_kinds_are_opened_and_closed(
    env: StreamExecutionEnvironment, tmp_path: Path, bases: tuple[type, ...]
) -> None:
    mapped, flat_mapped, filtered, reduced, co_mapped, co_flat_mapped, sunk = recording(*bases)
    numbers = env.from_collection([1, 2]).map(mapped(tmp_path)).flat_map(flat_mapped(tmp_path))
    sums = numbers.filter(filtered(tmp_path)).key_by(lambda n: 0).reduce(reduced(tmp_path))
    both = sums.connect(env.from_collection([10])).map(co_mapped(tmp_path))
    both.connect(env.from_collection([20])).flat_map(co_flat_mapped(tmp_path)).add_sink(sunk(tmp_path))

    env.execute()

    written = diaries(tmp_path)
    assert len(written) == 7
    for events in written.values():
        assert (events[0], events[-1]) == ("open", "close")
        assert Counter(events)["open"] == Counter(events)["close"] == 1
    assert written["Reduced-0"] == ["open", 3, "close"]
    assert sorted(written["Sunk-0"][1:-1]) == [-20, -10, 1, 3]


class Ticks(RichSourceFunction):
    def open(self, runtime_context):
        self.word = runtime_context.get_job_parameter("word", "?")

    def run(self, ctx):
        for n in range(3):
            ctx.collect((self.word, n))

    def cancel(self):
        pass


class ParallelTicks(RichParallelSourceFunction):
    def open(self, runtime_context):
        self.index = runtime_context.get_index_of_this_subtask()

    def run(self, ctx):
        ctx.collect(("subtask", self.index))

    def cancel(self):
        pass


class CountedTicks(RichParallelSourceFunction):
    """Counts what it has made, in a metric."""

    def open(self, runtime_context):
        group = runtime_context.get_metrics_group()
        self.made = group.add_group("ticks").counter("made")
        group.gauge("subtask", runtime_context.get_index_of_this_subtask)

    def run(self, ctx):
        for n in range(3):
            self.made.inc()
            ctx.collect(n)

    def cancel(self):
        pass


@on_both
@pytest.mark.feature("RF-01")
def test_metrics_of_functions_that_run_in_the_driver_are_kept(make_env: MakeEnv) -> None:
    ticks = make_env(2).add_source(CountedTicks(), "ticks").set_parallelism(2)
    with ticks.execute_and_collect() as results:
        assert sorted(results) == [0, 0, 1, 1, 2, 2]
        metrics = results.get_job_client().get_metrics()
    user = metrics.operator("Source: ticks").user
    assert user.counters["ticks.made"] == 6
    assert user.gauges["subtask"] == {0: 0, 1: 1}
    assert metrics.counters()["ticks.made"] == 6


@on_both
@pytest.mark.feature("RF-01")
def test_source_functions_are_opened_too(make_env: MakeEnv) -> None:
    env = make_env(2)
    env.get_config().set_global_job_parameters({"word": "tick"})
    ticks = env.add_source(Ticks()).union(env.add_source(ParallelTicks()))
    assert sorted(collect(ticks)) == [("subtask", 0), ("subtask", 1), ("tick", 0), ("tick", 1), ("tick", 2)]


@pytest.mark.feature("RF-01")
@pytest.mark.parametrize("name", [name for name in functions.__all__ if name.startswith("Rich")])
def test_every_rich_name_has_open_and_close_like_the_plain_one(name: str) -> None:
    rich = getattr(functions, name)
    plain = functions.Function if name == "RichFunction" else getattr(functions, name.removeprefix("Rich"))
    assert issubclass(rich, plain)
    methods = {method: lambda self, *_: None for method in rich.__abstractmethods__}
    function = type(f"My{name}", (rich,), methods)()
    function.open(None)
    function.close()


@on_both
@pytest.mark.feature("RF-02")
def test_open_is_called_once_per_subtask_before_any_data(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(2, {"firesteel.epoch.max-records": 5})
    mapped = recording(*RICH)[0]
    env.from_sequence(1, 40).map(mapped(tmp_path)).add_sink(lambda _: None)
    env.execute()

    written = diaries(tmp_path)
    assert list(written) == ["Mapped-0", "Mapped-1"]
    for events in written.values():
        assert events[0] == "open"
        assert events.count("open") == 1
        assert len(events) == 22


class ReadsStateInOpen(KeyedProcessFunction):
    def open(self, runtime_context):
        state = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))
        state.value()

    def process_element(self, value, ctx):
        yield value


@on_both
@pytest.mark.feature("RF-02")
def test_there_is_no_key_in_open(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection([1]).key_by(lambda n: n)
    with pytest.raises(JobFailedError, match="no key in context") as failure:
        collect(keyed.process(ReadsStateInOpen()).name("reads too early"))
    assert "in open" in str(failure.value)
    assert "operator: reads too early" in str(failure.value)


class FailsAt(Diary, RichMapFunction):
    def __init__(self, path, bad):
        super().__init__(path)
        self.bad = bad

    def map(self, value):
        if value == self.bad:
            raise ValueError(f"{value} is bad")
        return self.note(value)


@on_both
@pytest.mark.feature("RF-03")
def test_close_comes_once_after_the_last_element(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(1, {"firesteel.epoch.max-records": 4})
    env.from_sequence(1, 10).map(FailsAt(tmp_path, bad=None)).add_sink(lambda _: None)
    env.execute()
    assert diaries(tmp_path) == {"FailsAt-0": ["open", *range(1, 11), "close"]}


@on_both
@pytest.mark.feature("RF-03")
def test_close_comes_once_after_a_failure_everywhere(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(2)
    other = recording(*RICH)[0]
    numbers = env.from_sequence(1, 10).map(other(tmp_path)).start_new_chain()
    numbers.map(FailsAt(tmp_path, bad=3)).start_new_chain().add_sink(lambda _: None)
    with pytest.raises(JobFailedError, match="ValueError: 3 is bad"):
        env.execute()

    written = diaries(tmp_path)
    assert written["FailsAt-0"] == ["open", 1, 2, "close"]
    assert {"Mapped-0", "Mapped-1", "FailsAt-0"} <= set(written)
    for events in written.values():
        assert (events[0], events[-1]) == ("open", "close")
        assert (events.count("open"), events.count("close")) == (1, 1)


@on_both
@pytest.mark.feature("RF-03")
def test_close_comes_once_when_the_job_is_cancelled(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(1, {"firesteel.epoch.max-records": 100})
    endless = env.from_data_generator(lambda n: n).map(FailsAt(tmp_path, bad=None))
    with endless.execute_and_collect() as results:
        assert next(results) == 0
    events = diaries(tmp_path)["FailsAt-0"]
    assert (events[0], events[-1]) == ("open", "close")
    assert events.count("close") == 1


class FailsToClose(MapFunction):
    def map(self, value):
        return value

    def close(self):
        raise OSError("the connection is gone")


@on_both
@pytest.mark.feature("RF-03")
def test_an_error_in_close_fails_the_job(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).map(FailsToClose()).name("leaky").add_sink(lambda _: None)
    with pytest.raises(JobFailedError, match="OSError: the connection is gone") as failure:
        env.execute()
    assert "operator: leaky" in str(failure.value)


class Introduction(KeyedProcessFunction):
    """Emits everything that a runtime context knows. The first attempt fails."""

    def open(self, runtime_context):
        assert self.get_runtime_context() is runtime_context
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))
        self.seen = runtime_context.get_metrics_group().add_group("mine").counter("seen")

    def process_element(self, value, ctx):
        context = self.get_runtime_context()
        if context.get_attempt_number() == 0:
            raise RuntimeError("the first attempt fails")
        self.count.update((self.count.value() or 0) + 1)
        self.seen.inc()
        yield {
            "key": ctx.get_current_key(),
            "count": self.count.value(),
            "name": context.get_task_name(),
            "full name": context.get_task_name_with_subtasks(),
            "subtask": context.get_index_of_this_subtask(),
            "parallelism": context.get_number_of_parallel_subtasks(),
            "max parallelism": context.get_max_number_of_parallel_subtasks(),
            "attempt": context.get_attempt_number(),
            "parameter": context.get_job_parameter("city", "none"),
            "missing parameter": context.get_job_parameter("country", "none"),
        }


@on_both
@pytest.mark.feature("RF-04")
def test_the_runtime_context_knows_where_a_function_runs(make_env: MakeEnv) -> None:
    options = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 1,
        "restart-strategy.fixed-delay.delay": "0 ms",
    }
    env = make_env(2, options)
    env.set_max_parallelism(16)
    env.get_config().set_global_job_parameters({"city": "Berlin"})
    keyed = env.from_collection(range(8)).key_by(lambda n: n % 4)
    with keyed.process(Introduction()).name("introduce").execute_and_collect() as results:
        records = list(results)
        metrics = results.get_job_client().get_metrics()

    assert sorted((record["key"], record["count"]) for record in records) == [(k, c) for k in range(4) for c in (1, 2)]
    assert {record["subtask"] for record in records} == {0, 1}
    for record in records:
        assert record["full name"] == f"introduce ({record['subtask'] + 1}/2)"
        assert {name: record[name] for name in [*list(record)[5:], "name"]} == {
            "parallelism": 2,
            "max parallelism": 16,
            "attempt": 1,
            "parameter": "Berlin",
            "missing parameter": "none",
            "name": "introduce",
        }
    assert metrics.operator("introduce").user.counters == {"mine.seen": 8}


class LookUp(ProcessFunction):
    """Looks each record up in a database whose connection cannot be pickled."""

    def __init__(self, path):
        self.path = path

    def open(self, runtime_context):
        self.connection = sqlite3.connect(self.path)

    def process_element(self, value, ctx):
        yield from self.connection.execute("select name from city where id = ?", [value])

    def close(self):
        self.connection.close()


@on_both
@pytest.mark.feature("RF-05")
def test_a_connection_made_in_open_serves_every_element(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    path = str(tmp_path / "cities.db")
    connection = sqlite3.connect(path)
    connection.execute("create table city (id integer, name text)")
    connection.executemany("insert into city values (?, ?)", [(1, "Berlin"), (2, "Paris")])
    connection.commit()
    connection.close()
    look_up = LookUp(path)
    assert isinstance(pickle.loads(pickle.dumps(look_up)), LookUp)

    assert collect(env.from_collection([2, 1, 3, 2]).process(look_up)) == [("Paris",), ("Berlin",), ("Paris",)]


class ReadsCachedFile(MapFunction):
    """Puts the first line of a registered file before each record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        with open(runtime_context.get_distributed_cache().get_file("greeting")) as file:
            self.greeting = file.readline().strip()

    def map(self, value: int) -> str:
        return f"{self.greeting} {value}"


@on_both
def test_registered_files_are_found_by_their_names(make_env: MakeEnv, tmp_path: Path) -> None:
    path = tmp_path / "greeting.txt"
    path.write_text("hello\n")
    env = make_env(2)
    env.register_cached_file(str(path), "greeting")

    assert sorted(collect(env.from_collection([1, 2]).map(ReadsCachedFile()))) == ["hello 1", "hello 2"]
