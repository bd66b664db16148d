"""Bounded and unbounded streams, streaming and batch: one API, the same results."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from firesteel.common import Duration, JobStatus, Time, Types, WatermarkStrategy
from firesteel.common.time import MIN_WATERMARK
from firesteel.datastream import KeyedProcessFunction, ProcessFunction, RuntimeExecutionMode
from firesteel.datastream.state import MapStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from firesteel.errors import CheckpointError, JobCancelledError, JobFailedError, ProgramError
from tests.features.executors import MakeEnv, collect, on_both

MODES = list(RuntimeExecutionMode)


@on_both
@pytest.mark.feature("BB-01")
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_bounded_sources_end_the_job_in_every_mode(make_env: MakeEnv, mode: RuntimeExecutionMode) -> None:
    env = make_env(2)
    env.set_runtime_mode(mode)
    sums = env.from_sequence(1, 10).key_by(lambda n: n % 2).reduce(lambda a, b: a + b)
    with sums.execute_and_collect() as results:
        records = list(results)
        status = results.get_job_client().get_job_status().result()

    assert status is JobStatus.FINISHED
    if mode is RuntimeExecutionMode.STREAMING:
        assert len(records) == 10
        assert sorted(records)[-2:] == [25, 30]
    else:
        assert sorted(records) == [25, 30]


@on_both
@pytest.mark.feature("BB-01")
def test_unbounded_sources_run_until_the_job_is_cancelled(make_env: MakeEnv) -> None:
    env = make_env(1)
    env.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    with env.from_data_generator(lambda n: n).map(lambda n: n * 2).execute_and_collect() as results:
        assert [next(results) for _ in range(5)] == [0, 2, 4, 6, 8]
        client = results.get_job_client()
        assert client.get_job_status().result() is JobStatus.RUNNING
        client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCancelledError):
        client.get_job_execution_result().result()


@pytest.mark.feature("BB-01")
def test_batch_mode_refuses_unbounded_sources(make_env: MakeEnv) -> None:
    env = make_env(1)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.from_data_generator(lambda n: n, source_name="endless").print()
    with pytest.raises(ProgramError, match="needs sources that end, but 'Source: endless'"):
        env.execute()


@pytest.mark.feature("BB-02")
def test_batch_mode_gives_one_final_row_per_key_in_order(make_env: MakeEnv) -> None:
    rows, keys = 1_000_000, 1000
    env = make_env(1)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    pairs = env.from_sequence(0, rows - 1).map(lambda n: (n * 7919 % keys, n))
    totals = collect(pairs.key_by(0).reduce(lambda a, b: (a[0], a[1] + b[1])))

    expected = dict.fromkeys(range(keys), 0)
    for n in range(rows):
        expected[n * 7919 % keys] += n
    assert totals == sorted(expected.items())


@pytest.mark.feature("BB-02")
@pytest.mark.parametrize("executor", ["spark"], indirect=True)
def test_batch_mode_gives_one_final_row_per_key_on_spark(make_env: MakeEnv) -> None:
    env = make_env(2)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    totals = collect(env.from_sequence(0, 99_999).key_by(lambda n: n % 1000).sum(0))
    assert sorted(totals) == [sum(range(key, 100_000, 1000)) for key in range(1000)]
    for part in (totals[: totals.index(max(totals)) + 1], totals[totals.index(max(totals)) + 1 :]):
        assert part == sorted(part)


class TumblingSum(KeyedProcessFunction):
    """Sums per key and window of one second, by event time."""

    def open(self, runtime_context):
        descriptor = MapStateDescriptor("sums", Types.LONG(), Types.LONG())
        self.sums = runtime_context.get_map_state(descriptor)

    def process_element(self, value, ctx):
        end = value[1] // 1000 * 1000 + 1000
        self.sums.put(end, (self.sums.get(end) or 0) + value[2])
        ctx.timer_service().register_event_time_timer(end - 1)

    def on_timer(self, timestamp, ctx):
        end = timestamp + 1
        yield ctx.get_current_key(), end, self.sums.get(end)
        self.sums.remove(end)


def parse(line):
    key, timestamp, amount = line.split(",")
    return key, int(timestamp), int(amount)


@on_both
@pytest.mark.feature("BB-03")
def test_an_event_time_job_gives_the_same_in_both_modes(make_env: MakeEnv, tmp_path: Path) -> None:
    dice = random.Random(7)
    events = [(dice.choice("abc"), at * 10 + dice.randrange(400), dice.randrange(100)) for at in range(1000)]
    path = tmp_path / "events.csv"
    path.write_text("".join(f"{key},{at},{amount}\n" for key, at, amount in events))

    def run(mode):
        env = make_env(2, {"firesteel.epoch.max-records": 200})
        env.set_runtime_mode(mode)
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(400))
        strategy = strategy.with_timestamp_assigner(lambda event, _: event[1])
        stamped = env.read_text_file(str(path)).map(parse).assign_timestamps_and_watermarks(strategy)
        return collect(stamped.key_by(0).process(TumblingSum()))

    streaming, batch = run(RuntimeExecutionMode.STREAMING), run(RuntimeExecutionMode.BATCH)

    expected: dict[tuple[str, int], int] = {}
    for key, at, amount in events:
        window = key, at // 1000 * 1000 + 1000
        expected[window] = expected.get(window, 0) + amount
    assert sorted(streaming) == sorted(batch) == sorted((*window, total) for window, total in expected.items())


class Watermarks(ProcessFunction):
    def process_element(self, value, ctx):
        yield value, ctx.timer_service().current_watermark()


@on_both
@pytest.mark.feature("BB-02")
def test_batch_mode_knows_no_watermark_but_the_last_and_nothing_is_late(make_env: MakeEnv) -> None:
    env = make_env(2, {"firesteel.epoch.max-records": 30})
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[0])
    backwards = env.from_sequence(0, 199).map(lambda n: (199 - n, 1)).assign_timestamps_and_watermarks(strategy)
    seen = backwards.process(Watermarks())
    by_tens = seen.map(lambda pair: pair[0]).key_by(lambda pair: 0).window(TumblingEventTimeWindows.of(10))
    counts = by_tens.reduce(lambda a, b: (min(a[0], b[0]), a[1] + b[1]))
    marks = seen.map(lambda pair: pair[1]).key_by(lambda mark: mark).reduce(lambda a, b: a)
    assert sorted(collect(counts.union(marks.map(lambda mark: (mark, 0))))) == [
        (MIN_WATERMARK, 0),
        *((start, 10) for start in range(0, 200, 10)),
    ]


class InOrder(KeyedProcessFunction):
    """Each record with its number among those of its key."""

    def open(self, runtime_context):
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.INT(), Types.INT()))

    def process_element(self, value, ctx):
        count = (self.seen.get(0) or 0) + 1
        self.seen.put(0, count)
        yield value, count


@on_both
@pytest.mark.feature("BB-02")
def test_batch_mode_sorts_more_than_fits_into_memory(make_env: MakeEnv, tmp_path: Path) -> None:
    """So much is read and written that several epochs are needed to read it, and several to work it off."""
    options = {
        "execution.sorted-inputs.memory": "100 kb",
        "firesteel.epoch.max-records": 2000,
        "firesteel.epoch.max-bytes": "4 kb",
        "firesteel.work-dir": str(tmp_path / "work"),
    }
    env = make_env(1, options)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: -n)
    numbers = env.from_sequence(0, 9_999).assign_timestamps_and_watermarks(strategy)
    results = collect(numbers.key_by(lambda n: n % 7).process(InOrder()))
    assert results == [
        (n, count) for key in range(7) for count, n in enumerate(sorted(range(key, 10_000, 7), reverse=True), 1)
    ]
    assert list((tmp_path / "work").iterdir()) == []


@on_both
@pytest.mark.feature("BB-02")
def test_processing_time_windows_fire_at_the_end_of_bounded_input(make_env: MakeEnv) -> None:
    env = make_env(2)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    windows = env.from_sequence(1, 100).key_by(lambda n: n % 2).window(TumblingProcessingTimeWindows.of(Time.days(900)))
    assert sorted(collect(windows.reduce(lambda a, b: a + b))) == [2500, 2550]


@pytest.mark.feature("BB-04")
def test_a_batch_job_takes_no_savepoints_and_starts_from_none(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(1, {"firesteel.epoch.max-records": 1})
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.from_sequence(0, 2000).map(lambda n: n).print()
    client = env.execute_async()
    with pytest.raises(CheckpointError, match="runs in BATCH mode, in which there are no savepoints"):
        client.trigger_savepoint(str(tmp_path)).result()
    client.cancel().result()
    env = make_env(1, {"execution.state-recovery.path": str(tmp_path)})
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    with pytest.raises(JobFailedError, match="BATCH mode reads its input from the beginning"):
        collect(env.from_sequence(0, 9))
