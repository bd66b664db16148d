"""Event time, processing time and ingestion time; watermarks and what comes too late for them."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Duration, JobStatus, Time, Types, Watermark, WatermarkStrategy
from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.common.watermark_strategy import WatermarkGenerator, WatermarkOutput
from firesteel.connectors.collection import CollectionSource
from firesteel.connectors.datagen import RateLimiterStrategy
from firesteel.datastream import (
    CoProcessFunction,
    DataStream,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)
from firesteel.datastream.window import (
    ContinuousEventTimeTrigger,
    GlobalWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from firesteel.errors import JobFailedError
from firesteel.testing import (
    CRASH,
    EPOCH_CUT,
    IDLE,
    ManualClock,
    ScriptedSource,
    element,
    processing_time,
    use_clock,
    watermark,
)
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted

SECOND, HOUR = 1000, 3_600_000
LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())


@dataclass(frozen=True)
class Event:
    key: str
    timestamp: int


class CountPerWindow(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Any) -> Iterator[Any]:
        yield (key, context.window().start, len(list(elements)))


def hourly_counts(events: DataStream) -> DataStream:
    return events.key_by(key_of).window(TumblingEventTimeWindows.of(Time.hours(1))).process(CountPerWindow())


def key_of(event: Event) -> str:
    return event.key


def timestamp_of(event: Event, _: int) -> int:
    return event.timestamp


def within(bound_ms: int) -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound_ms))
    return strategy.with_timestamp_assigner(timestamp_of)


def counted(events: list[Event]) -> list[Any]:
    """The hourly counts, computed directly."""
    counts = Counter((event.key, event.timestamp - event.timestamp % HOUR) for event in events)
    return sorted((*window, count) for window, count in counts.items())


def random_events(count: int, hours: int = 12) -> list[Event]:
    chosen = random.Random(5)
    return [Event(chosen.choice("abc"), chosen.randrange(hours * HOUR)) for _ in range(count)]


class Clock(ProcessFunction):
    """Each record with its timestamp and the watermark before it."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield (value, ctx.timestamp(), ctx.timer_service().current_watermark())


@pytest.mark.feature("TM-01")
@on_both
def test_shuffled_events_give_the_same_hourly_counts_as_sorted_ones(make_env: MakeEnv) -> None:
    shuffled = random_events(1000)
    in_order = sorted(shuffled, key=lambda event: event.timestamp)
    for events in (shuffled, in_order):
        env = make_env(2, {"firesteel.epoch.max-records": 400})
        stream = env.from_collection(events).assign_timestamps_and_watermarks(within(12 * HOUR))
        assert sorted(collect(hourly_counts(stream))) == counted(shuffled)


@pytest.mark.feature("TM-02")
@on_both
def test_a_processing_time_window_fires_at_the_hour(make_env: MakeEnv) -> None:
    clock = ManualClock(HOUR // 2)
    first_hour = ["a", "a", processing_time(HOUR - SECOND), "a"]
    second_hour = [processing_time(HOUR), "a", processing_time(2 * HOUR - SECOND), EPOCH_CUT]
    with use_clock(clock):
        keyed = scripted(make_env(2), [*first_hour, *second_hour], clock=clock).key_by(lambda name: name)
        windows = keyed.window(TumblingProcessingTimeWindows.of(Time.hours(1)))
        results = collect(windows.process(CountPerWindow()))
    # The window of the second hour had not come to its end when the input did.
    assert results == [("a", 0, 3)]


@pytest.mark.feature("TM-03")
@on_both
def test_ingestion_time_is_stamped_at_the_source_and_survives_a_restore(env: StreamExecutionEnvironment) -> None:
    recovering(env)
    env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
    clock = ManualClock(HOUR - 50)
    # Read in the first hour, in the checkpoint of the second epoch, counted in the first hour after the restart.
    steps = ["a", processing_time(HOUR - 20), "a", EPOCH_CUT, processing_time(HOUR + 50), CRASH, "a"]
    with use_clock(clock):
        stream = scripted(env, steps, clock=clock)
        windows = stream.key_by(lambda name: name).time_window(Time.hours(1))
        assert collect(windows.process(CountPerWindow())) == [("a", 0, 2), ("a", HOUR, 1)]


@pytest.mark.feature("TM-03")
def test_functions_see_the_time_of_ingestion(env: StreamExecutionEnvironment) -> None:
    env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
    clock = ManualClock(100)
    with use_clock(clock):
        stream = scripted(env, ["a", "b", processing_time(150), "c"], clock=clock).rebalance()
        assert collect(stream.process(Clock())) == [
            ("a", 100, MIN_WATERMARK),
            ("b", 100, MIN_WATERMARK),
            ("c", 150, 99),
        ]


@pytest.mark.feature("TM-04")
@pytest.mark.parametrize(
    ("characteristic", "expected"),
    [
        (None, [("a", 0, 1), ("a", HOUR, 1)]),
        (TimeCharacteristic.EventTime, [("a", 0, 1), ("a", HOUR, 1)]),
        (TimeCharacteristic.ProcessingTime, [("a", 5 * HOUR, 2)]),
        (TimeCharacteristic.IngestionTime, [("a", 5 * HOUR, 2)]),
    ],
)
def test_the_time_characteristic_is_the_default_clock_of_windows(
    env: StreamExecutionEnvironment, characteristic: TimeCharacteristic | None, expected: list[Any]
) -> None:
    if characteristic is not None:
        env.set_stream_time_characteristic(characteristic)
    clock = ManualClock(5 * HOUR)
    steps = [element("a", 10), element("a", HOUR + 10), processing_time(6 * HOUR), EPOCH_CUT]
    with use_clock(clock):
        windows = scripted(env, steps, clock=clock).key_by(lambda name: name).time_window(Time.hours(1))
        assert collect(windows.process(CountPerWindow())) == expected


@pytest.mark.feature("TM-05")
@on_both
def test_the_timestamp_assigner_is_used_for_windows_and_seen_by_functions(env: StreamExecutionEnvironment) -> None:
    events = [Event("a", 5), Event("a", HOUR + 7)]
    stream = env.from_collection(events).assign_timestamps_and_watermarks(within(0))
    assert [stamp for _, stamp, _ in collect(stream.process(Clock()))] == [5, HOUR + 7]
    stream = env.from_collection(events).assign_timestamps_and_watermarks(within(0))
    assert collect(hourly_counts(stream)) == [("a", 0, 1), ("a", HOUR, 1)]


def observed(env: StreamExecutionEnvironment, strategy: WatermarkStrategy, *timestamps: int) -> list[int]:
    """The watermarks that follow each of the events, one event per epoch."""
    script = [step for timestamp in timestamps for step in (Event("a", timestamp), EPOCH_CUT)]
    stream = scripted(env, [*script, Event("a", timestamps[-1])]).assign_timestamps_and_watermarks(strategy)
    return [mark for _, _, mark in collect(stream.process(Clock()))][1:]


@pytest.mark.feature("TM-06")
@on_both
def test_bounded_out_of_orderness_trails_the_highest_timestamp(env: StreamExecutionEnvironment) -> None:
    bound = within(20 * SECOND)
    assert observed(env, bound, 90 * SECOND, 100 * SECOND, 80 * SECOND) == [69_999, 79_999, 79_999]


@pytest.mark.feature("TM-07")
@on_both
def test_monotonous_timestamps_make_nothing_late(make_env: MakeEnv) -> None:
    monotonous = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(timestamp_of)
    assert observed(make_env(1), monotonous, 10, 10, 25) == [9, 9, 24]
    events = sorted(random_events(200), key=lambda event: event.timestamp)
    env = make_env(1, {"firesteel.epoch.max-records": 20})
    stream = env.from_collection(events).assign_timestamps_and_watermarks(monotonous)
    assert all(stamp > mark for _, stamp, mark in collect(stream.process(Clock())))


class OnMarker(WatermarkGenerator):
    """Says that everything up to a marker has come when the marker comes."""

    def on_event(self, event: Event, timestamp: int, output: WatermarkOutput) -> None:
        if event.key == "marker":
            output.emit_watermark(Watermark(timestamp))


class EveryBatch(WatermarkGenerator):
    """Says from time to time what the highest timestamp was."""

    def __init__(self) -> None:
        self.highest = MIN_WATERMARK

    def on_event(self, event: Event, timestamp: int, output: WatermarkOutput) -> None:
        self.highest = max(self.highest, timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(self.highest))


@pytest.mark.feature("TM-08")
@on_both
def test_a_generator_that_speaks_on_a_marker_drives_windows(env: StreamExecutionEnvironment) -> None:
    events = [Event("a", 5), Event("a", HOUR + 5), Event("a", 6), Event("marker", HOUR - 1), Event("a", 7)]
    strategy = WatermarkStrategy.for_generator(OnMarker).with_timestamp_assigner(timestamp_of)
    stream = env.from_collection(events).assign_timestamps_and_watermarks(strategy)
    windows = stream.key_by(key_of).window(TumblingEventTimeWindows.of(Time.hours(1)))
    counts = windows.side_output_late_data(LATE).process(CountPerWindow())
    late = counts.get_side_output(LATE).map(lambda event: ("late", event.key, event.timestamp))
    # What came after the marker is late, though all came in one epoch: the watermark was in between.
    assert sorted(collect(counts.union(late))) == [("a", 0, 2), ("a", HOUR, 1), ("late", "a", 7), ("marker", 0, 1)]


@pytest.mark.feature("TM-08")
def test_a_periodic_generator_of_ones_own_is_asked_at_the_end_of_each_epoch(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_generator(EveryBatch).with_timestamp_assigner(timestamp_of)
    assert observed(env, strategy, 10, 30, 20) == [10, 30, 30]


@pytest.mark.feature("TM-09")
@on_both
def test_at_watermark_19_an_element_at_19_is_late_and_one_at_20_is_not(env: StreamExecutionEnvironment) -> None:
    events = [element(Event("a", stamp), stamp) for stamp in (19, 20)]
    windows = scripted(env, [watermark(19), *events]).key_by(key_of).window(TumblingEventTimeWindows.of(1))
    counts = windows.side_output_late_data(LATE).process(CountPerWindow())
    late = counts.get_side_output(LATE).map(lambda event: ("late", event.timestamp))
    assert sorted(collect(counts.union(late))) == [("a", 20, 1), ("late", 19)]


class CoClock(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield (value, ctx.timer_service().current_watermark())

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield (value, ctx.timer_service().current_watermark())


FAST = [watermark(100), EPOCH_CUT, element("x", 101), EPOCH_CUT]
SLOW = [watermark(50), EPOCH_CUT, EPOCH_CUT]


def after_key_by(env: StreamExecutionEnvironment) -> DataStream:
    return scripted(env, FAST, SLOW).key_by(lambda name: name).process(Clock()).map(lambda seen: (seen[0], seen[2]))


def after_union(env: StreamExecutionEnvironment) -> DataStream:
    union = scripted(env, FAST).union(scripted(env, SLOW))
    return union.process(Clock()).map(lambda seen: (seen[0], seen[2]))


def after_connect(env: StreamExecutionEnvironment) -> DataStream:
    return scripted(env, FAST).connect(scripted(env, SLOW)).process(CoClock())


@pytest.mark.feature("TM-10")
@pytest.mark.parametrize("program", [after_key_by, after_union, after_connect])
@on_both
def test_event_time_is_the_lowest_watermark_of_all_inputs(
    make_env: MakeEnv, program: Callable[[StreamExecutionEnvironment], DataStream]
) -> None:
    assert collect(program(make_env(2))) == [("x", 50)]


@pytest.mark.feature("TM-11")
@on_both
def test_watermarks_made_at_the_source_and_after_it_give_equal_windows(make_env: MakeEnv) -> None:
    events = sorted(random_events(300), key=lambda event: event.timestamp // 60_000)
    options = {"firesteel.epoch.max-records": 100}
    at_source = make_env(2, options).from_source(CollectionSource(events), within(60_000), "events")
    afterwards = make_env(2, options).from_collection(events).assign_timestamps_and_watermarks(within(60_000))
    results = [sorted(collect(hourly_counts(stream))) for stream in (at_source, afterwards)]
    assert results[0] == results[1] == counted(events)


@pytest.mark.feature("TM-12")
def test_history_gives_the_same_results_at_full_speed_and_at_100_events_per_second(make_env: MakeEnv) -> None:
    events = random_events(100, hours=3)

    def run(rate: RateLimiterStrategy) -> tuple[list[Any], int]:
        stream = make_env(1).from_data_generator(lambda index: events[index], len(events), rate)
        counts = hourly_counts(stream.assign_timestamps_and_watermarks(within(3 * HOUR)))
        # Each look at the clock takes 10 ms: 100 events per second are one per epoch.
        with use_clock(itertools.count(0, 10).__next__), counts.execute_and_collect() as results:
            return sorted(results), results.get_job_client().get_metrics().epochs[-1].epoch

    at_once, few_epochs = run(RateLimiterStrategy.no_op())
    slowly, many_epochs = run(RateLimiterStrategy.per_second(100))
    assert many_epochs > 10 * few_epochs
    assert at_once == slowly == counted(events)


@pytest.mark.feature("TM-13")
@on_both
def test_a_week_of_history_fires_168_hourly_windows_in_under_a_minute(make_env: MakeEnv) -> None:
    env = make_env(2)
    stream = env.from_data_generator(lambda index: Event("a", index * 60_000), 7 * 24 * 60)
    ordered = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(timestamp_of)
    with hourly_counts(stream.assign_timestamps_and_watermarks(ordered)).execute_and_collect() as results:
        assert sorted(results) == [("a", hour * HOUR, 60) for hour in range(7 * 24)]
        runtime = results.get_job_client().get_job_execution_result().result().get_net_runtime()
    assert runtime < 60_000


DELAYED = [0, 5, 61, 3, 58, 62, 121]
"""Seconds of event time, in the order of arrival: 3 and 58 come after 61."""


def minute_counts(env: StreamExecutionEnvironment, bound: int, lateness: int = 0) -> tuple[list[Any], int]:
    """The results per minute in the order in which they were emitted, and how many events were dropped as late."""
    script = [step for second in DELAYED for step in (Event("a", second * SECOND), EPOCH_CUT)]
    stream = scripted(env, script).assign_timestamps_and_watermarks(within(bound * SECOND))
    windows = stream.key_by(key_of).window(TumblingEventTimeWindows.of(Time.minutes(1)))
    counts = windows.allowed_lateness(lateness * SECOND).process(CountPerWindow()).uid("counts")
    with counts.execute_and_collect() as results:
        emitted = [(start // SECOND, count) for _, start, count in results]
        return emitted, results.get_job_client().get_metrics().operator("counts").late_records_dropped


@pytest.mark.feature("TM-14")
@on_both
def test_a_short_bound_is_quick_and_a_long_one_complete(make_env: MakeEnv) -> None:
    assert minute_counts(make_env(1), bound=1) == ([(0, 2), (60, 2), (120, 1)], 2)
    assert minute_counts(make_env(1), bound=60) == ([(0, 4), (60, 2), (120, 1)], 0)


@pytest.mark.feature("TM-14")
@on_both
def test_with_lateness_the_first_result_is_followed_by_corrected_ones(make_env: MakeEnv) -> None:
    emitted, dropped = minute_counts(make_env(1), bound=1, lateness=30)
    assert emitted == [(0, 2), (0, 3), (0, 4), (60, 2), (120, 1)]
    assert dropped == 0


def test_the_end_of_the_input_is_the_end_of_event_time(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([Event("a", MAX_WATERMARK // 2)]).assign_timestamps_and_watermarks(within(HOUR))
    assert len(collect(hourly_counts(stream))) == 1


# --- what stays the same after a restart, and after an edit of the program ------------------------------------------


def clocks_of_union(env: StreamExecutionEnvironment, crash: Any, edited: bool) -> DataStream:
    """Two streams united, of which one is at 100 and the other at 50 when the job crashes."""
    fast = [watermark(100), EPOCH_CUT, crash, EPOCH_CUT, element("x", 130), EPOCH_CUT]
    slow = [watermark(50), EPOCH_CUT, EPOCH_CUT, watermark(120), EPOCH_CUT, EPOCH_CUT]
    if edited:
        env.from_collection([1, 2]).key_by(lambda n: n).map(lambda n: n).print()
    streams = [scripted(env, fast).uid("fast"), scripted(env, slow).uid("slow")]
    first, second = reversed(streams) if edited else streams
    return first.union(second).key_by(lambda name: name).process(Clock()).uid("clock")


@pytest.mark.feature("TM-10")
def test_watermarks_of_inputs_survive_an_edit_of_the_program(make_env: MakeEnv, tmp_path: Path) -> None:
    options = {
        "execution.checkpointing.dir": str(tmp_path),
        "execution.checkpointing.interval": "10 ms",
        "restart-strategy.type": "none",
    }
    with use_clock(checkpoint_each_epoch()), pytest.raises(JobFailedError, match="CRASH"):
        collect(clocks_of_union(make_env(1, options), CRASH, edited=False))
    with use_clock(checkpoint_each_epoch()):
        results = collect(clocks_of_union(make_env(1, options), EPOCH_CUT, edited=True))
    assert results == [("x", 130, 100)]


@pytest.mark.feature("TM-10")
def test_a_function_chained_behind_the_strategy_sees_event_time_after_a_restart(
    env: StreamExecutionEnvironment,
) -> None:
    recovering(env)
    steps = [Event("a", 100), EPOCH_CUT, CRASH, Event("b", 50), EPOCH_CUT]
    with use_clock(checkpoint_each_epoch()):
        stream = scripted(env, steps).assign_timestamps_and_watermarks(within(0)).process(Clock())
        assert [mark for _, _, mark in collect(stream)] == [MIN_WATERMARK, 99]


@pytest.mark.feature("TM-10")
@pytest.mark.parametrize("sign", [CRASH, EPOCH_CUT], ids=repr)
def test_an_idle_input_counts_again_as_soon_as_it_has_records_crash_or_not(make_env: MakeEnv, sign: Any) -> None:
    env = recovering(make_env(2))
    busy = [watermark(10), EPOCH_CUT, sign, EPOCH_CUT, watermark(100), EPOCH_CUT, element("x", 101), EPOCH_CUT]
    idle = [watermark(10), IDLE, EPOCH_CUT, element("y", 20), watermark(20), EPOCH_CUT, EPOCH_CUT, EPOCH_CUT]
    with use_clock(checkpoint_each_epoch()):
        stream = scripted(env, busy, idle).key_by(lambda name: name).process(Clock())
        assert sorted(collect(stream)) == [("x", 101, 20), ("y", 20, 10)]


@pytest.mark.feature("TM-10")
def test_a_source_without_records_becomes_idle_though_it_never_spoke(make_env: MakeEnv) -> None:
    clock = ManualClock(0)
    env = make_env(1)
    idle_after = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_seconds(1))
    steps = [processing_time(600), processing_time(1200), EPOCH_CUT, EPOCH_CUT, EPOCH_CUT]
    with use_clock(clock):
        mute = env.from_source(ScriptedSource(steps, clock=clock), idle_after, "mute")
        busy = scripted(env, [watermark(50), EPOCH_CUT, EPOCH_CUT, EPOCH_CUT, element("x", 60), EPOCH_CUT])
        assert collect(mute.union(busy).key_by(lambda name: name).process(Clock())) == [("x", 60, 50)]


@pytest.mark.feature("TM-08")
@on_both
def test_an_interval_for_watermarks_is_kept(make_env: MakeEnv) -> None:
    """Each look at the clock takes 10 ms. Without periodic watermarks nothing is late, however wrong the strategy."""

    def late(interval: str | None) -> int:
        options = {"firesteel.epoch.max-records": 10}
        if interval is not None:
            options["pipeline.auto-watermark-interval"] = interval
        env = make_env(1, options)
        backwards = env.from_sequence(1, 60).map(lambda n: Event("a", 1000 - n))
        stream = backwards.assign_timestamps_and_watermarks(within(0)).process(Clock())
        with use_clock(itertools.count(0, 10).__next__):
            return sum(mark >= stamp for _, stamp, mark in collect(stream))

    assert late("0") == 0 == late("1 h")
    assert late("1 ms") == 40  # the first interval begins with the first epoch
    assert late(None) == 50


@pytest.mark.feature("TM-08")
@on_both
def test_a_trigger_without_end_can_be_cancelled(make_env: MakeEnv) -> None:
    env = make_env(1, {"firesteel.epoch.max-bytes": "16 kb"})
    stream = env.from_collection([Event("a", 5)]).assign_timestamps_and_watermarks(within(0))
    windows = stream.key_by(key_of).window(GlobalWindows.create()).trigger(ContinuousEventTimeTrigger.of(SECOND))
    with windows.process(Sizes()).execute_and_collect() as results:
        assert [next(results) for _ in range(1000)] == [1] * 1000
        client = results.get_job_client()
        client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED


class Sizes(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Any) -> Iterator[Any]:
        yield len(list(elements))
