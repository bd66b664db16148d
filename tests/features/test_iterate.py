"""Loops: records that are fed back, until none is left."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Time, Types
from firesteel.datastream import (
    DataStream,
    IterativeStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.errors import ConfigurationError, JobFailedError, ProgramError, UnsupportedError
from firesteel.execution.clock import use_clock
from firesteel.model.functions.adapt import as_map_function
from firesteel.runtime.basic import MapOperator
from firesteel.runtime.batch import RowBatch
from firesteel.testing import CRASH, EPOCH_CUT, element, watermark
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted


def count_down(numbers: DataStream) -> DataStream:
    """Each number is decremented in a loop until it is 0; then it leaves, with what it was."""
    loop = numbers.map(lambda n: (n, n)).iterate()
    smaller = loop.map(lambda pair: (pair[0], pair[1] - 1))
    loop.close_with(smaller.filter(lambda pair: pair[1] > 0))
    return smaller.filter(lambda pair: pair[1] <= 0)


@pytest.mark.feature("DA-09")
@on_both
def test_numbers_go_round_until_they_are_zero(make_env: MakeEnv) -> None:
    numbers = [1, 5, 2, 4, 5, 3]
    results = collect(count_down(make_env(2).from_collection(numbers).rebalance()))
    assert sorted(results) == [(n, 0) for n in sorted(numbers)]


@pytest.mark.feature("DA-09")
@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("crash_after", [1, 3, 6])
def test_no_record_in_the_loop_is_lost_or_doubled_when_the_job_crashes(
    make_env: MakeEnv, parallelism: int, crash_after: int
) -> None:
    env = recovering(make_env(parallelism))
    cuts = [EPOCH_CUT] * crash_after
    numbers = scripted(env, [8, 3, 9, 5, *cuts, CRASH, 4, EPOCH_CUT, 1]).rebalance()
    with use_clock(checkpoint_each_epoch()):
        results = collect(count_down(numbers))
    assert sorted(results) == [(n, 0) for n in (1, 3, 4, 5, 8, 9)]


class CrashOnce(MapFunction):
    """Fails in the loop, in the first run of the job."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.first_run = runtime_context.get_attempt_number() == 0

    def map(self, value: tuple[int, int]) -> tuple[int, int]:
        if self.first_run and value == (6, 1):
            raise RuntimeError("injected")
        return value[0], value[1] - 1


@pytest.mark.feature("DA-09")
@on_both
def test_the_loop_goes_on_from_the_checkpoint_after_the_input_has_ended(make_env: MakeEnv) -> None:
    env = recovering(make_env(2))
    loop = env.from_collection([(6, 6), (4, 4), (1, 1)]).iterate()
    smaller = loop.map(CrashOnce())
    loop.close_with(smaller.filter(lambda pair: pair[1] > 0))
    with use_clock(checkpoint_each_epoch()):
        results = collect(smaller.filter(lambda pair: pair[1] == 0))
    assert sorted(results) == [(1, 0), (4, 0), (6, 0)]


def going_round(env: StreamExecutionEnvironment, step: int) -> DataStream:
    loop = env.from_collection([(n, n) for n in range(1, 7)]).rebalance().iterate()
    smaller = loop.map(lambda pair: (pair[0], pair[1] - step))
    loop.close_with(smaller.filter(lambda pair: pair[1] > 0))
    return smaller.filter(lambda pair: pair[1] == 0)


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2), (2, 3)])
def test_a_savepoint_holds_what_goes_round_for_any_parallelism(
    make_env: MakeEnv, tmp_path: Path, before: int, after: int
) -> None:
    with going_round(make_env(before), step=0).execute_and_collect() as results:  # for ever
        path = results.get_job_client().stop_with_savepoint(False, str(tmp_path)).result()
        assert list(results) == []
    env = make_env(after, {"execution.state-recovery.path": path})
    assert sorted(collect(going_round(env, step=1))) == [(n, 0) for n in range(1, 7)]


def test_the_partitioning_of_what_is_fed_back_holds(make_env: MakeEnv) -> None:
    class Visits(KeyedProcessFunction):
        """Counts how often each key came by."""

        def open(self, runtime_context: RuntimeContext) -> None:
            self.visits = runtime_context.get_state(ValueStateDescriptor("visits", Types.INT()))

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
            self.visits.update((self.visits.value() or 0) + 1)
            yield value, self.visits.value()

    loop = make_env(2).from_collection([("a", 3), ("b", 2), ("a", 1)]).iterate()
    visited = loop.key_by(lambda pair: pair[0]).process(Visits())
    again = visited.map(lambda visit: (visit[0][0], visit[0][1] - 1)).filter(lambda pair: pair[1] > 0)
    loop.close_with(again.key_by(lambda pair: pair[0]))
    visits = sorted((key, count) for (key, _), count in collect(visited))
    assert visits == [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 1), ("b", 2)]


class WithWatermark(KeyedProcessFunction):
    """The record with the watermark that holds then; a timer at the end of all time tells that it has come."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(10**15)
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "the end"


def test_what_goes_round_keeps_its_timestamp_and_does_not_hold_watermarks_back(env: StreamExecutionEnvironment) -> None:
    numbers = scripted(env, [element(4, 1000), watermark(5000), EPOCH_CUT, watermark(6000), EPOCH_CUT])
    loop = numbers.iterate()
    smaller = loop.map(lambda n: n - 1)
    loop.close_with(smaller.filter(lambda n: n > 0))
    results = collect(smaller.key_by(lambda _: 0).process(WithWatermark()))
    assert [result[:2] for result in results[:-1]] == [(3, 1000), (2, 1000), (1, 1000), (0, 1000)]
    assert [result[2] for result in results[1:-1]] == [5000, 6000, 6000]  # and not the end of all time
    assert results[-1] == "the end"


def test_a_timer_at_the_end_of_all_time_may_feed_records_back(env: StreamExecutionEnvironment) -> None:
    class AtTheEnd(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

        def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
            self.seen.update(value)
            ctx.timer_service().register_event_time_timer(10**15)
            if value < 10:
                yield value

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[int]:
            yield 100 + self.seen.value()

    loop = env.from_collection([1]).iterate()
    made = loop.key_by(lambda _: 0).process(AtTheEnd())
    loop.close_with(made.filter(lambda n: n > 100))
    assert collect(made.union(loop.map(lambda n: f"in: {n}"))) in (
        [1, "in: 1", 101, "in: 101"],
        ["in: 1", 1, 101, "in: 101"],
    )


def test_loops_may_be_nested_and_follow_each_other(make_env: MakeEnv) -> None:
    env = make_env(2)
    outer = env.from_collection([(2, 0), (3, 0)]).rebalance().iterate()
    inner = outer.map(lambda pair: (pair[0], pair[0])).iterate()
    smaller = inner.map(lambda pair: (pair[0], pair[1] - 1))
    inner.close_with(smaller.filter(lambda pair: pair[1] > 0))
    gone_round = smaller.filter(lambda pair: pair[1] == 0).map(lambda pair: (pair[0] - 1, 0))
    outer.close_with(gone_round.filter(lambda pair: pair[0] > 0))
    left = gone_round.filter(lambda pair: pair[0] == 0).map(lambda pair: 3)
    assert collect(count_down(left)) == [(3, 0), (3, 0)]


def test_several_streams_are_fed_back(env: StreamExecutionEnvironment) -> None:
    loop = env.from_collection([7, 12]).iterate()
    loop.close_with(loop.filter(lambda n: n > 1 and n % 2 == 0).map(lambda n: n // 2))
    loop.close_with(loop.filter(lambda n: n > 1 and n % 2 == 1).map(lambda n: 3 * n + 1))
    assert collect(loop.filter(lambda n: n == 1)) == [1, 1]  # as Collatz conjectured


def test_a_loop_runs_again_with_the_next_job_that_reads_it(env: StreamExecutionEnvironment) -> None:
    counted = count_down(env.from_collection([3]))
    assert collect(counted) == [(3, 0)]
    assert collect(counted.map(lambda pair: pair[0])) == [3]


def test_a_loop_must_be_closed_by_a_stream_made_from_it(env: StreamExecutionEnvironment) -> None:
    loop = env.from_collection([1]).iterate()
    assert isinstance(loop, IterativeStream)
    with pytest.raises(ProgramError, match=r"was not made from this iteration .*test_iterate\.py:\d+"):
        loop.close_with(env.from_collection([2]))
    with pytest.raises(ConfigurationError, match="feedback_stream must be a DataStream"):
        loop.close_with([2])  # type: ignore[arg-type]
    loop.print()
    with pytest.raises(ProgramError, match=r"iterate\(\) \(at .*test_iterate\.py:\d+\) is not closed"):
        env.execute()


def test_batch_mode_refuses_loops_and_automatic_mode_streams(env: StreamExecutionEnvironment) -> None:
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    with pytest.raises(UnsupportedError, match="cannot run in BATCH mode"):
        collect(count_down(env.from_collection([1])))
    env.close()
    env.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    assert collect(count_down(env.from_collection([2]))) == [(2, 0)]


def test_max_wait_warns_that_it_has_no_effect(env: StreamExecutionEnvironment) -> None:
    with pytest.warns(UserWarning, match="max_wait has no effect"):
        env.from_collection([1]).iterate(max_wait=Time.seconds(5))


class EmitsWhenItEnds(MapOperator):
    def process(self, batch: RowBatch) -> None:
        return None

    def finish(self) -> None:
        self.output.emit(RowBatch([1]))


def test_an_operator_that_feeds_back_after_the_end_is_an_error(env: StreamExecutionEnvironment) -> None:
    """Instead of records that get lost without a word."""
    loop = env.from_collection([1]).iterate()
    made = loop._transform("Last", partial(EmitsWhenItEnds, as_map_function(str)), None, "map")
    loop.close_with(made)
    with pytest.raises(JobFailedError, match=r"records came back to 'Iterate' .* after the loop had ended"):
        collect(made)
