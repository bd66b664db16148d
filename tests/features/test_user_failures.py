"""Whatever goes wrong in a function, the error names its operator, and is short enough to be read."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import RestartStrategies, Row, Time, Types, WatermarkStrategy
from firesteel.datastream import (
    AsyncDataStream,
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.errors import JobFailedError
from tests.features.executors import MakeEnv, on_both


def failure_of(stream: Any) -> str:
    with pytest.raises(JobFailedError) as caught, stream.execute_and_collect() as results:
        list(results)
    return str(caught.value)


def leave(value: Any) -> Any:
    sys.exit(3)


def interrupt(value: Any) -> Any:
    raise KeyboardInterrupt


def end_generator(value: Any) -> Any:
    raise GeneratorExit("stop")


def cancel(value: Any) -> Any:
    raise asyncio.CancelledError


class OwnBase(BaseException):
    pass


def raise_base(value: Any) -> Any:
    raise OwnBase("mine")


@on_both
@pytest.mark.parametrize(
    ("function", "name"),
    [(leave, "SystemExit: 3"), (interrupt, "KeyboardInterrupt"), (end_generator, "GeneratorExit: stop")],
)
def test_what_is_no_exception_names_the_operator(make_env: MakeEnv, function: Callable[..., Any], name: str) -> None:
    text = failure_of(make_env().from_collection([7]).map(function).name("the culprit"))
    assert text.startswith(name)
    assert "operator: the culprit" in text and "record:   7" in text


@pytest.mark.parametrize("function", [cancel, raise_base])
def test_other_kinds_of_exit_name_the_operator(env: StreamExecutionEnvironment, function: Callable[..., Any]) -> None:
    assert "operator: the culprit" in failure_of(env.from_collection([7]).map(function).name("the culprit"))


class InOpen(MapFunction):
    def open(self, runtime_context: Any) -> None:
        sys.exit("no licence")

    def map(self, value: Any) -> Any:
        return value


class InTimer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp
        raise GeneratorExit


def test_leaving_in_open_timer_generator_and_async_call(env: StreamExecutionEnvironment) -> None:
    async def ask(value: Any) -> list[Any]:
        await asyncio.sleep(0)
        sys.exit(1)

    def generate(value: Any) -> Iterator[Any]:
        yield value
        sys.exit(1)

    numbers = env.from_collection([7])
    assert "operator: the culprit" in failure_of(numbers.map(InOpen()).name("the culprit"))
    assert "operator: the culprit" in failure_of(numbers.key_by(lambda n: n).process(InTimer()).name("the culprit"))
    assert "operator: the culprit" in failure_of(numbers.flat_map(generate).name("the culprit"))
    asked = AsyncDataStream.ordered_wait(numbers, ask, Time.seconds(5)).name("the culprit")
    text = failure_of(asked)
    assert "operator: the culprit" in text and "record:   7" in text


def test_an_iteration_that_stops_in_a_map_loses_no_record_silently(env: StreamExecutionEnvironment) -> None:
    def first_of(value: list[int]) -> int:
        return next(iter(value))

    text = failure_of(env.from_collection([[1], [], [2]]).map(lambda value: first_of(value)).name("the culprit"))
    assert text.startswith("StopIteration") and "operator: the culprit" in text and "record:   []" in text


@on_both
@pytest.mark.parametrize("keyed", [False, True])
def test_results_that_cannot_be_pickled_name_the_operator(make_env: MakeEnv, keyed: bool) -> None:
    made = make_env().from_collection([7]).map(lambda n: (letter for letter in "ab")).name("the culprit")
    text = failure_of(made.key_by(lambda value: 0).map(lambda value: value) if keyed else made)
    assert "cannot be pickled" in text and "a record of type generator" in text
    assert "operator: the culprit" in text


@on_both
def test_error_texts_are_bounded(make_env: MakeEnv) -> None:
    def explode(value: Any) -> Any:
        try:
            raise ValueError("inner " + "x" * 5_000_000)
        except ValueError as error:
            raise RuntimeError("begin " + "y" * 5_000_000 + " end") from error

    text = failure_of(make_env().from_collection(["z" * 1_000_000]).map(explode).name("the culprit"))
    assert len(text) < 30_000
    assert text.startswith("RuntimeError: begin") and "characters left out" in text and " end" in text
    assert "operator: the culprit" in text


@on_both
def test_chains_of_any_length(make_env: MakeEnv) -> None:
    stream = make_env().from_collection([1, 2])
    for _ in range(1000):
        stream = stream.map(lambda value: value + 1)
    with stream.execute_and_collect() as results:
        assert list(results) == [1001, 1002]


# ---- results that are no results ------------------------------------------------------------------------------------

SINGLE_RECORDS = ["text", ("a", 1), b"bytes", {"a": 1}, Row("a", 1), 5, 1.5, True, {"a"}, range(3)]


class Returns(ProcessFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.result


class ReturnsInTimer(InTimer):
    def __init__(self, result: Any) -> None:
        self.result = result

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return self.result


class ReturnsInWindow(ProcessWindowFunction[Any, Any, Any, Any]):
    def __init__(self, result: Any) -> None:
        self.result = result

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return self.result


class ReturnsTwice(CoProcessFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def process_element1(self, value: Any, ctx: Any) -> Any:
        return self.result

    process_element2 = process_element1


class ReturnsToBroadcast(BroadcastProcessFunction):
    rules = MapStateDescriptor("rules", Types.STRING(), Types.STRING())

    def __init__(self, result: Any) -> None:
        self.result = result

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.result

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        return None


def stamped(env: StreamExecutionEnvironment) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    return env.from_collection([7]).assign_timestamps_and_watermarks(strategy)


def keyed(env: StreamExecutionEnvironment) -> Any:
    return stamped(env).key_by(lambda value: value)


def broadcast(env: StreamExecutionEnvironment, result: Any) -> Any:
    rules = env.from_collection(["rule"]).broadcast(ReturnsToBroadcast.rules)
    return env.from_collection([7]).connect(rules).process(ReturnsToBroadcast(result))


def asked(env: StreamExecutionEnvironment, result: Any) -> Any:
    async def ask(value: Any) -> Any:
        return result

    return AsyncDataStream.ordered_wait(env.from_collection([7]), ask, Time.seconds(5))


TUMBLING = TumblingEventTimeWindows.of(Time.seconds(1))
PROGRAMS: dict[str, Callable[[StreamExecutionEnvironment, Any], Any]] = {
    "process": lambda env, result: env.from_collection([7]).process(Returns(result)),
    "process with timestamps": lambda env, result: stamped(env).process(Returns(result)),
    "keyed process": lambda env, result: keyed(env).process(Returns(result)),
    "timer": lambda env, result: keyed(env).process(ReturnsInTimer(result)),
    "window": lambda env, result: keyed(env).window(TUMBLING).process(ReturnsInWindow(result)),
    "co-process": lambda env, result: (
        env.from_collection([7]).connect(env.from_collection([8])).process(ReturnsTwice(result))
    ),
    "broadcast": broadcast,
    "async": asked,
}
KINDS = list(PROGRAMS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("result", SINGLE_RECORDS, ids=repr)
def test_a_single_record_that_is_returned_is_refused(env: StreamExecutionEnvironment, kind: str, result: Any) -> None:
    text = failure_of(PROGRAMS[kind](env, result).name("the culprit"))
    assert "operator: the culprit" in text
    assert "[result]" in text and type(result).__name__ in text


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_of_results_is_fine(env: StreamExecutionEnvironment, kind: str) -> None:
    with PROGRAMS[kind](env, ["text", ("a", 1)]).execute_and_collect() as results:
        assert list(results)[:2] == ["text", ("a", 1)]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "async"])
def test_nothing_is_fine(env: StreamExecutionEnvironment, kind: str) -> None:
    with PROGRAMS[kind](env, None).execute_and_collect() as results:
        assert list(results) == []


@pytest.mark.parametrize("result", ["text", b"bytes", bytearray(b"b"), {"a": 1}, Row("a", 1), 5, None], ids=repr)
def test_flat_map_refuses_what_is_a_record_by_itself(env: StreamExecutionEnvironment, result: Any) -> None:
    flat = env.from_collection([7]).flat_map(lambda value: result).name("the culprit")
    if result is None:
        with flat.execute_and_collect() as results:
            assert list(results) == []
    else:
        text = failure_of(flat)
        assert "operator: the culprit" in text and "yield result" in text and type(result).__name__ in text


@pytest.mark.parametrize("result", [[1, 2], (1, 2), range(1, 3), {1: 0, 2: 0}.keys()], ids=repr)
def test_flat_map_takes_collections(env: StreamExecutionEnvironment, result: Any) -> None:
    with env.from_collection([7]).flat_map(lambda value: iter(result)).execute_and_collect() as results:
        assert list(results) == [1, 2]


# ---- sources and state -----------------------------------------------------------------------------------------------


def test_a_source_that_leaves_is_named(env: StreamExecutionEnvironment) -> None:
    def numbers() -> Iterator[int]:
        yield 1
        sys.exit(4)

    text = failure_of(env.add_source(numbers, "the culprit"))
    assert text.startswith("SystemExit: 4") and "operator: Source: the culprit" in text


class KeepsALock(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("state", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.state.update(threading.Lock())
        yield value


def test_state_that_cannot_be_pickled_names_the_operator(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(1, {"execution.checkpointing.dir": str(tmp_path), "firesteel.epoch.max-records": 1})
    env.enable_checkpointing(10)
    env.set_restart_strategy(RestartStrategies.no_restart())
    stream = env.from_sequence(1, 10**9).key_by(lambda value: value).process(KeepsALock()).name("the culprit")
    text = failure_of(stream)
    assert "the state of the operator cannot be pickled" in text and "operator: the culprit" in text


class Unspeakable(Exception):
    def __str__(self) -> str:
        sys.exit(3)


def test_an_exception_that_cannot_even_be_shown(env: StreamExecutionEnvironment) -> None:
    def fail(value: Any) -> Any:
        raise Unspeakable

    assert "operator: the culprit" in failure_of(env.from_collection([7]).map(fail).name("the culprit"))
