"""Asynchronous lookups: many at a time, in order or not, with timeouts and retries."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any

import pytest

from firesteel.common import Time
from firesteel.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.async_retry_predicates import empty_result_predicate, exception_type_predicate
from firesteel.errors import ConfigurationError, JobFailedError
from firesteel.execution.clock import use_clock
from firesteel.testing import CRASH, EPOCH_CUT, element, watermark
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted

SECONDS = Time.seconds(10)


class Lookup(AsyncFunction[int, tuple[int, int]]):
    """Takes a while for each number; knows how many calls were under way at once, and how often it was called."""

    def __init__(self, seconds: float = 0.0, later_first: bool = False) -> None:
        self.seconds = seconds
        self.later_first = later_first

    def open(self, runtime_context: RuntimeContext) -> None:
        self.under_way = self.most = self.calls = 0

    async def async_invoke(self, value: int) -> list[Any]:
        self.calls += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(self.seconds if not self.later_first else self.seconds / (1 + value))
        self.under_way -= 1
        return [(value, value * value, self.most)]


class TimedLookup(Lookup):
    """Tells also how long after the first call a result has come."""

    async def async_invoke(self, value: int) -> list[Any]:
        if self.calls == 0:
            self.started = time.monotonic()
        (result,) = await super().async_invoke(value)
        return [(*result, time.monotonic() - self.started)]


@pytest.mark.feature("DS-14")
@pytest.mark.parametrize("wait", [AsyncDataStream.ordered_wait, AsyncDataStream.unordered_wait])
@on_both
def test_twenty_slow_lookups_take_hardly_longer_than_two(make_env: MakeEnv, wait: Any) -> None:
    env = make_env(1)
    results = collect(wait(env.from_collection(list(range(20))), TimedLookup(0.2), SECONDS, capacity=10))
    assert sorted(result[:2] for result in results) == [(n, n * n) for n in range(20)]
    assert max(most for _, _, most, _ in results) == 10
    assert 0.35 < max(seconds for _, _, _, seconds in results) < 3.5  # one after the other they would take 4


@pytest.mark.feature("DS-14")
def test_ordered_results_come_in_the_order_of_the_records(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1, 2, 3, 4])
    results = collect(AsyncDataStream.ordered_wait(numbers, Lookup(0.05, later_first=True), SECONDS))
    assert [value for value, _, _ in results] == [1, 2, 3, 4]


@pytest.mark.feature("DS-14")
def test_unordered_results_come_as_they_are_ready(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1, 3, 7, 15])
    results = collect(AsyncDataStream.unordered_wait(numbers, Lookup(0.4, later_first=True), SECONDS))
    assert [value for value, _, _ in results] == [15, 7, 3, 1]


def test_a_watermark_is_never_overtaken(env: StreamExecutionEnvironment) -> None:
    class Report(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            ctx.timer_service().register_event_time_timer(5)
            yield value[0], ctx.timestamp()

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
            yield "timer", timestamp

    numbers = scripted(env, [element(1, 1), element(3, 2), watermark(5), element(7, 6)])
    looked_up = AsyncDataStream.unordered_wait(numbers, Lookup(0.05, later_first=True), SECONDS)
    results = collect(looked_up.key_by(lambda _: 0).process(Report()))
    assert results[:4] == [(3, 2), (1, 1), ("timer", 5), (7, 6)]


def test_any_number_of_results_and_plain_functions(env: StreamExecutionEnvironment) -> None:
    async def repeated(value: int) -> list[str]:
        return ["x" * value] * value

    results = collect(AsyncDataStream.ordered_wait(env.from_collection([0, 1, 2]), repeated, SECONDS))
    assert results == ["x", "xx", "xx"]


@pytest.mark.feature("DS-14")
def test_the_timeout_handler_makes_the_result(env: StreamExecutionEnvironment) -> None:
    class Slow(AsyncFunction[int, Any]):
        async def async_invoke(self, value: int) -> list[Any]:
            await asyncio.sleep(30 if value == 2 else 0)
            return [value]

        def timeout(self, value: int) -> list[Any]:
            return [f"{value} took too long"]

    results = collect(AsyncDataStream.ordered_wait(env.from_collection([1, 2, 3]), Slow(), Time.milliseconds(50)))
    assert results == [1, "2 took too long", 3]


def test_without_a_handler_a_timeout_fails_the_job_and_names_the_record(env: StreamExecutionEnvironment) -> None:
    async def slow(value: str) -> list[str]:
        await asyncio.sleep(30)
        return []

    stream = AsyncDataStream.unordered_wait(env.from_collection(["abc"]), slow, Time.milliseconds(20))
    with pytest.raises(JobFailedError) as failure:
        collect(stream)
    assert "TimeoutError: The asynchronous call for the record 'abc' has timed out" in str(failure.value)
    assert "operator: Async Wait" in str(failure.value)
    assert "record:   'abc'" in str(failure.value)


def test_an_error_of_the_function_names_the_record(env: StreamExecutionEnvironment) -> None:
    async def divide(value: int) -> list[float]:
        return [1 / value]

    stream = AsyncDataStream.ordered_wait(env.from_collection([2, 0, 1]), divide, SECONDS, capacity=1)
    with pytest.raises(JobFailedError, match=r"(?s)^ZeroDivisionError.*in divide.*record:   0"):
        collect(stream)


@pytest.mark.parametrize("returned", [None, "text", 5])
def test_results_must_be_a_list(env: StreamExecutionEnvironment, returned: Any) -> None:
    async def wrong(value: int) -> Any:
        return returned

    with pytest.raises(JobFailedError, match=r"must return a list of results, got .*For one result return \[result\]"):
        collect(AsyncDataStream.ordered_wait(env.from_collection([1]), wrong, SECONDS))


class Flaky(AsyncFunction[int, Any]):
    """Fails, or finds nothing, until the third try; tells how often it was tried."""

    def __init__(self, error: type[Exception] | None) -> None:
        self.error = error

    def open(self, runtime_context: RuntimeContext) -> None:
        self.tries: dict[int, int] = {}

    async def async_invoke(self, value: int) -> list[Any]:
        self.tries[value] = self.tries.get(value, 0) + 1
        if self.tries[value] < 3:
            if self.error is not None:
                raise self.error("not yet")
            return []
        return [(value, self.tries[value])]


ON_CONNECTION_ERRORS = partial(exception_type_predicate, expected_error_type=ConnectionError)


@pytest.mark.feature("DS-14")
@pytest.mark.parametrize("wait", [AsyncDataStream.ordered_wait_with_retry, AsyncDataStream.unordered_wait_with_retry])
def test_calls_are_tried_again(env: StreamExecutionEnvironment, wait: Any) -> None:
    on_errors = AsyncRetryStrategy.fixed_delay(5, 1, exception_predicate=ON_CONNECTION_ERRORS)
    assert collect(wait(env.from_collection([1]), Flaky(ConnectionError), SECONDS, on_errors)) == [(1, 3)]
    on_nothing = AsyncRetryStrategy.exponential_backoff(5, 1, 4, 2.0, result_predicate=empty_result_predicate)
    assert collect(wait(env.from_collection([1]), Flaky(None), SECONDS, on_nothing)) == [(1, 3)]


def test_tries_are_limited_and_only_for_the_cases_that_are_named(env: StreamExecutionEnvironment) -> None:
    wait = AsyncDataStream.ordered_wait_with_retry
    once = AsyncRetryStrategy.fixed_delay(1, 1, empty_result_predicate, ON_CONNECTION_ERRORS)
    with pytest.raises(JobFailedError, match="ConnectionError: not yet"):
        collect(wait(env.from_collection([1]), Flaky(ConnectionError), SECONDS, once))
    assert collect(wait(env.from_collection([1]), Flaky(None), SECONDS, once)) == []
    often = AsyncRetryStrategy.fixed_delay(9, 1, exception_predicate=ON_CONNECTION_ERRORS)
    with pytest.raises(JobFailedError, match="ValueError: not yet"):
        collect(wait(env.from_collection([1]), Flaky(ValueError), SECONDS, often))


def test_the_timeout_covers_all_tries(env: StreamExecutionEnvironment) -> None:
    class Never(AsyncFunction[int, Any]):
        async def async_invoke(self, value: int) -> list[Any]:
            return []

        def timeout(self, value: int) -> list[Any]:
            return ["gave up"]

    patient = AsyncRetryStrategy.fixed_delay(10_000, 10, result_predicate=empty_result_predicate)
    stream = AsyncDataStream.ordered_wait_with_retry(env.from_collection([1]), Never(), Time.milliseconds(60), patient)
    assert collect(stream) == ["gave up"]


@pytest.mark.feature("DS-14")
def test_every_record_is_enriched_once_though_the_job_crashes(make_env: MakeEnv) -> None:
    env = recovering(make_env(2))
    numbers = scripted(env, [1, 2, EPOCH_CUT, 3, EPOCH_CUT, CRASH, 4, EPOCH_CUT, 5]).rebalance()
    with use_clock(checkpoint_each_epoch()):
        results = collect(AsyncDataStream.unordered_wait(numbers, Lookup(0.001), SECONDS))
    assert sorted(value for value, _, _ in results) == [1, 2, 3, 4, 5]


def test_the_function_is_opened_and_closed_inside_the_event_loop(env: StreamExecutionEnvironment) -> None:
    class Client(AsyncFunction[int, Any]):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.loop = asyncio.get_running_loop()

        async def async_invoke(self, value: int) -> list[Any]:
            return [self.loop is asyncio.get_running_loop()]

        def close(self) -> None:
            assert self.loop is asyncio.get_running_loop()

    assert collect(AsyncDataStream.ordered_wait(env.from_collection([1]), Client(), SECONDS)) == [True]


def test_a_job_may_run_where_an_event_loop_runs_already(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a notebook."""
    looked_up = AsyncDataStream.ordered_wait(env.from_collection([1, 2]), Lookup(), SECONDS)
    looked_up.map(lambda result: result[1]).print()

    async def cell() -> None:
        around = asyncio.get_running_loop()
        env.execute()
        assert asyncio.get_running_loop() is around

    asyncio.run(cell())
    assert capsys.readouterr().out == "1\n4\n"


def test_wrong_arguments_are_refused(env: StreamExecutionEnvironment) -> None:
    numbers, wait = env.from_collection([1]), AsyncDataStream.ordered_wait
    with pytest.raises(ConfigurationError, match="ordered_wait: timeout must be longer than 0"):
        wait(numbers, Lookup(), Time.milliseconds(0))
    with pytest.raises(ConfigurationError, match="capacity must be a whole number of at least 1"):
        wait(numbers, Lookup(), SECONDS, capacity=0)
    with pytest.raises(ConfigurationError, match="'async def'"):
        wait(numbers, lambda value: [value], SECONDS)
    with pytest.raises(ConfigurationError, match="data_stream must be a DataStream"):
        wait([1], Lookup(), SECONDS)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="must be an AsyncRetryStrategy"):
        AsyncDataStream.ordered_wait_with_retry(numbers, Lookup(), SECONDS, 3)  # type: ignore[arg-type]
