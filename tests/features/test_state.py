"""Keyed state: the five kinds, their descriptors, and where they may be used."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from firesteel.errors import JobFailedError
from firesteel.testing import CRASH, EPOCH_CUT, use_clock
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.scripts import checkpoint_each_epoch, checkpointed_state, recovering, scripted


class Mean(AggregateFunction):
    """Ints in, a float out; the accumulator is (sum, count)."""

    def create_accumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] + b[0], a[1] + b[1])


class Steps(KeyedProcessFunction):
    """Base of functions whose records are (key, step): what a step does is said by the subclass."""

    def process_element(self, value: tuple[str, Any], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield from self.do(value[1])

    def do(self, step: Any) -> Iterable[Any]:
        raise AssertionError("say what a step does")


def run_steps(env: StreamExecutionEnvironment, function: Steps, *records: tuple[str, Any]) -> list[Any]:
    return collect(env.from_collection(list(records)).key_by(lambda record: record[0]).process(function))


class LastValue(Steps):
    """Emits what was there before."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("last"))

    def do(self, step: Any) -> Iterable[Any]:
        before = self.state.value()
        self.state.update(step)
        return [(step, before)]


class CountsOnAPlainStream(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count"))

    def map(self, value: Any) -> Any:
        return value


@pytest.mark.feature("ST-01")
@on_both
def test_keys_never_see_each_others_value(make_env: MakeEnv) -> None:
    env = make_env(2)
    records = [("a", 1), ("b", 10), ("a", 2), ("b", 20), ("a", 3)]
    assert sorted(run_steps(env, LastValue(), *records)) == [(1, None), (2, 1), (3, 2), (10, None), (20, 10)]


@pytest.mark.feature("ST-01")
@on_both
def test_state_on_a_stream_without_keys_is_an_error_that_says_what_to_do(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1]).map(CountsOnAPlainStream())
    with pytest.raises(JobFailedError, match=r"state 'count' cannot be used in operator 'Map'.*key_by"):
        collect(stream)


class ValueSteps(Steps):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("value", Types.LONG()))

    def do(self, step: Any) -> Iterable[Any]:
        if step == "clear":
            self.state.clear()
        elif step != "read":
            self.state.update(step)
        return [self.state.value()]


@pytest.mark.feature("ST-02")
@on_both
def test_value_state_is_none_until_updated_and_none_again_after_clear(env: StreamExecutionEnvironment) -> None:
    results = run_steps(env, ValueSteps(), ("k", "read"), ("k", 5), ("k", "read"), ("k", "clear"))
    assert results == [None, 5, 5, None]


class ListSteps(Steps):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_list_state(ListStateDescriptor("list", Types.LONG()))

    def do(self, step: Any) -> Iterable[Any]:
        method, *arguments = step
        getattr(self.state, method)(*arguments)
        return [list(self.state.get())]


@pytest.mark.feature("ST-03")
@on_both
def test_list_state_appends_replaces_and_clears(env: StreamExecutionEnvironment) -> None:
    steps = [("get",), ("add", 1), ("add_all", [2, 3]), ("update", [9]), ("clear",)]
    assert run_steps(env, ListSteps(), *[("k", step) for step in steps]) == [[], [1], [1, 2, 3], [9], []]


class MapSteps(Steps):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_map_state(MapStateDescriptor("map", Types.STRING(), Types.LONG()))

    def do(self, step: Any) -> Iterable[Any]:
        method, *arguments = step
        got = getattr(self.state, method)(*arguments)
        state = self.state
        return [(got, sorted(state.items()), sorted(state.keys()), sorted(state.values()), state.is_empty())]


@pytest.mark.feature("ST-04")
@on_both
def test_map_state_has_the_methods_of_a_map(env: StreamExecutionEnvironment) -> None:
    steps = [("put_all", {"x": 1, "y": 2, "z": 3}), ("remove", "y"), ("get", "z"), ("get", "y"), ("put", "x", 7)]
    results = run_steps(env, MapSteps(), *[("k", step) for step in [*steps, ("contains", "x"), ("clear",)]])
    two = ([("x", 1), ("z", 3)], ["x", "z"], [1, 3], False)
    assert results[0] == (None, [("x", 1), ("y", 2), ("z", 3)], ["x", "y", "z"], [1, 2, 3], False)
    assert results[1:4] == [(None, *two), (3, *two), (None, *two)]
    changed = ([("x", 7), ("z", 3)], ["x", "z"], [3, 7], False)
    assert results[4:6] == [(None, *changed), (True, *changed)]
    assert results[6] == (None, [], [], [], True)


class Sums(Steps):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_reducing_state(
            ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG())
        )

    def do(self, step: Any) -> Iterable[Any]:
        if step == "clear":
            self.state.clear()
        else:
            self.state.add(step)
        return [self.state.get()]


class Means(Steps):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean()))

    def do(self, step: Any) -> Iterable[Any]:
        before = self.state.get()
        self.state.add(step)
        return [(before, self.state.get())]


def stored_values(
    env: StreamExecutionEnvironment, directory: Path, function: Steps, name: str, *records: tuple[str, Any]
) -> dict[Any, Any]:
    """The value table ``name`` as a checkpoint after these records holds it."""
    recovering(env)
    # The first epoch of a job takes no checkpoint, and what has ended has no state: hence two more epochs.
    script = [*records, EPOCH_CUT, EPOCH_CUT, EPOCH_CUT]
    scripted(env, script).key_by(lambda record: record[0]).process(function).add_sink(lambda _: None)
    with use_clock(checkpoint_each_epoch()):
        env.execute()
    [changes] = checkpointed_state(str(directory), name)[:1]
    return {key: value for change in changes for key, value in change["puts"]}


def keeping_checkpoints(directory: Path) -> dict[str, Any]:
    return {"execution.checkpointing.dir": str(directory), "execution.checkpointing.num-retained": 10}


@pytest.mark.feature("ST-05")
@on_both
def test_reducing_state_keeps_the_aggregate(env: StreamExecutionEnvironment) -> None:
    assert run_steps(env, Sums(), ("k", 1), ("k", 2), ("k", 3), ("k", "clear")) == [1, 3, 6, None]


@pytest.mark.feature("ST-06")
@on_both
def test_aggregating_state_takes_ints_and_gives_their_mean(env: StreamExecutionEnvironment) -> None:
    results = run_steps(env, Means(), ("k", 1), ("k", 2), ("k", 6))
    assert results == [(None, 1.0), (1.0, 1.5), (1.5, 3.0)]
    assert isinstance(results[-1][1], float)


@pytest.mark.feature("ST-05")
@pytest.mark.usefixtures("keep_checkpoints")
def test_of_reducing_state_nothing_but_the_aggregate_is_stored(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(1, keeping_checkpoints(tmp_path))
    assert stored_values(env, tmp_path, Sums(), "sum", ("k", 1), ("k", 2), ("k", 3), ("j", 4)) == {"k": 6, "j": 4}


@pytest.mark.feature("ST-06")
@pytest.mark.usefixtures("keep_checkpoints")
def test_of_aggregating_state_the_accumulator_is_stored(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(1, keeping_checkpoints(tmp_path))
    assert stored_values(env, tmp_path, Means(), "mean", ("k", 1), ("k", 2), ("k", 6)) == {"k": (9, 3)}


@pytest.mark.feature("ST-07")
@on_both
def test_clear_touches_only_the_current_key(make_env: MakeEnv) -> None:
    def entries_after(*records: tuple[str, Any]) -> tuple[list[Any], int]:
        env = make_env(2)
        seen = env.from_collection(list(records)).key_by(lambda record: record[0]).process(ValueSteps()).uid("steps")
        results = seen.execute_and_collect()
        with results:
            values = list(results)
        return values, results.get_job_client().get_metrics().operator("steps").keyed_state_entries

    values, entries = entries_after(("a", 1), ("b", 2))
    assert (sorted(values), entries) == ([1, 2], 2)
    values, entries = entries_after(("a", 1), ("b", 2), ("a", "clear"), ("b", "read"), ("a", "read"))
    assert sorted(values, key=str) == [1, 2, 2, None, None]
    assert entries == 1


class TwoStates(Steps):
    """A count and a list, under two names."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.STRING()))

    def do(self, step: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        self.seen.add(step)
        return [(self.count.value(), list(self.seen.get()))]


class OneNameTwice(Steps):
    def __init__(self, second: Any) -> None:
        self.second = second

    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        if isinstance(self.second, ListStateDescriptor):
            runtime_context.get_list_state(self.second)
        else:
            runtime_context.get_state(self.second)


@pytest.mark.feature("ST-08")
@on_both
def test_two_states_of_one_operator_are_apart(env: StreamExecutionEnvironment) -> None:
    assert run_steps(env, TwoStates(), ("k", "x"), ("k", "y")) == [(1, ["x"]), (2, ["x", "y"])]


@pytest.mark.feature("ST-08")
@pytest.mark.parametrize(
    ("second", "named"),
    [
        (ValueStateDescriptor("total", Types.STRING()), "String"),
        (ListStateDescriptor("total", Types.LONG()), "ListStateDescriptor"),
    ],
)
def test_one_name_with_two_types_is_an_error_that_names_both(
    env: StreamExecutionEnvironment, second: Any, named: str
) -> None:
    with pytest.raises(
        JobFailedError, match=rf"state 'total' is declared twice.*ValueStateDescriptor of Long.*{named}"
    ):
        run_steps(env, OneNameTwice(second), ("k", 1))


class CountsWithDefault(Steps):
    def open(self, runtime_context: RuntimeContext) -> None:
        with pytest.warns(DeprecationWarning, match="default_value is deprecated"):
            descriptor = ValueStateDescriptor("pair", default_value=[0, 0])
        self.pair = runtime_context.get_state(descriptor)

    def do(self, step: Any) -> Iterable[Any]:
        pair = self.pair.value()
        before = tuple(pair)
        pair[0] += 1
        pair[1] += step
        if step > 0:
            self.pair.update(pair)
        return [(before, tuple(pair))]


@pytest.mark.feature("ST-09")
@on_both
def test_a_default_value_is_a_fresh_copy_for_each_key(env: StreamExecutionEnvironment) -> None:
    results = run_steps(env, CountsWithDefault(), ("a", 5), ("b", -1), ("b", 7), ("a", 6), ("c", 1))
    assert results == [
        ((0, 0), (1, 5)),
        ((0, 0), (1, -1)),  # changed, but not updated
        ((0, 0), (1, 7)),
        ((1, 5), (2, 11)),
        ((0, 0), (1, 1)),
    ]


class AllFive(Steps):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value"))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map"))
        self.sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b))
        self.mean = runtime_context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean()))

    def do(self, step: Any) -> Iterable[Any]:
        self.value.update(step)
        self.list.add(step)
        self.map.put(step, step * 10)
        self.sum.add(step)
        self.mean.add(step)
        return [(self.value.value(), list(self.list.get()), dict(self.map.items()), self.sum.get(), self.mean.get())]


@pytest.mark.feature("ST-10")
@on_both
def test_all_five_getters_return_working_handles(env: StreamExecutionEnvironment) -> None:
    results = run_steps(env, AllFive(), ("k", 1), ("k", 2))
    assert results == [(1, [1], {1: 10}, 1, 1.0), (2, [1, 2], {1: 10, 2: 20}, 3, 1.5)]


@pytest.mark.feature("ST-10")
@pytest.mark.parametrize("parallelism", [1, 2])
def test_all_five_kinds_of_state_survive_a_failure(make_env: MakeEnv, parallelism: int) -> None:
    env = recovering(make_env(parallelism))
    script = [("k", 1), ("j", 5), EPOCH_CUT, ("k", 2), CRASH, ("k", 3), EPOCH_CUT, ("k", 4)]
    with use_clock(checkpoint_each_epoch()):
        results = collect(scripted(env, script).key_by(lambda record: record[0]).process(AllFive()))
    of_k = [result for result in results if 5 not in result[1]]
    assert of_k[-1] == (4, [1, 2, 3, 4], {1: 10, 2: 20, 3: 30, 4: 40}, 10, 2.5)
    assert [result[0] for result in of_k] == [1, 2, 3, 4]


class CountsCalls(Steps):
    """Counts what its own thread sends and receives through sockets (py4j is one) while it works on a record."""

    WATCHED = ("send", "sendall", "sendto", "sendmsg", "recv", "recv_into", "recvfrom", "connect")

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen"))
        self.at_work_in: int | None = None
        self.calls = 0
        for name in self.WATCHED:
            setattr(socket.socket, name, self.counted(getattr(socket.socket, name)))

    def counted(self, method: Any) -> Any:
        def call(*arguments: Any, **keywords: Any) -> Any:
            self.calls += self.at_work_in == threading.get_ident()
            return method(*arguments, **keywords)

        return call

    def do(self, step: Any) -> Iterable[Any]:
        self.at_work_in = threading.get_ident()
        self.count.update((self.count.value() or 0) + 1)
        self.seen.put(step, self.seen.get(step - 1))
        self.at_work_in = None
        return [(self.count.value(), self.calls)]

    def close(self) -> None:
        for name in self.WATCHED:
            delattr(socket.socket, name)


@pytest.mark.feature("ST-11")
@on_both
def test_state_is_accessed_without_any_call_to_another_process(env: StreamExecutionEnvironment) -> None:
    results = run_steps(env, CountsCalls(), *[("k", number) for number in range(10_000)])
    assert results[-1] == (10_000, 0)


class Appends(Steps):
    """A list and a map that get one more entry with each record; the first record brings many."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map"))

    def do(self, step: Any) -> Iterable[Any]:
        self.list.add_all(step)
        self.map.put_all({number: number for number in step})
        return [len(list(self.list.get()))]


@pytest.mark.usefixtures("keep_checkpoints")
def test_a_checkpoint_writes_only_the_entries_of_lists_and_maps_that_have_changed(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    env = recovering(make_env(1, keeping_checkpoints(tmp_path)))
    script = [("k", range(10_000)), EPOCH_CUT, EPOCH_CUT, ("k", [10_000]), EPOCH_CUT, EPOCH_CUT]
    with use_clock(checkpoint_each_epoch()):
        assert collect(scripted(env, script).key_by(lambda record: record[0]).process(Appends())) == [10_000, 10_001]
    lists, maps = (checkpointed_state(str(tmp_path), name)[-1] for name in ("list", "map"))
    assert [len(items) for _, items in lists[0]["puts"]] == [10_000]
    assert lists[1] == {"puts": [], "appended": [("k", [10_000])], "removed": []}
    assert len(maps[0]["puts"]) == 10_000
    assert maps[1] == {"puts": [("k", 10_000, 10_000)], "removed_keys": [], "removed": []}
