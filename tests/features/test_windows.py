"""Windows and window joins from end to end. What each part does exactly: tests/contract."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from firesteel.common import Duration, Time, WatermarkStrategy
from firesteel.common.warnings import FiresteelWarning
from firesteel.datastream import (
    AggregateFunction,
    DataStream,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from firesteel.datastream.functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessAllWindowFunction,
    ProcessJoinFunction,
)
from firesteel.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    NeverTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from firesteel.errors import ConfigurationError, ProgramError
from firesteel.testing import CRASH, EPOCH_CUT, ManualClock, element, processing_time, use_clock, watermark
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted

MINUTE = 60_000
by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event[1])


def events(env: StreamExecutionEnvironment, *records: tuple[Any, ...]) -> DataStream:
    """Records (key, timestamp, ...) in order of time."""
    return env.from_collection(list(records)).assign_timestamps_and_watermarks(by_time).set_parallelism(1)


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class KeyEndAndResult(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        (result,) = elements
        yield key, context.window().end, result


SIX_EVENTS = [("a", 1_000), ("a", 2_000), ("b", 30_000), ("a", 61_000), ("b", 100_000), ("a", 170_000)]


@pytest.mark.feature("WI-01", "WI-03", "WI-16")
@on_both
def test_six_events_in_three_minutes(make_env: MakeEnv) -> None:
    stream = events(make_env(2), *SIX_EVENTS).key_by(0)
    windows = stream.window(TumblingEventTimeWindows.of(Time.minutes(1)))
    counts = collect(windows.aggregate(Count(), KeyEndAndResult()))
    assert sorted(counts) == [
        ("a", MINUTE, 2),
        ("a", 2 * MINUTE, 1),
        ("a", 3 * MINUTE, 1),
        ("b", MINUTE, 1),
        ("b", 2 * MINUTE, 1),
    ]


@pytest.mark.feature("WI-01")
def test_reduce_aggregate_apply_and_process_agree(make_env: MakeEnv) -> None:
    class Counted(WindowFunction):
        def apply(self, key: Any, window: Any, inputs: Any) -> Iterator[Any]:
            yield key, sum(1 for _ in inputs)

    def windows() -> Any:
        records = [(key, time, 1) for key, time in SIX_EVENTS]
        stream = events(make_env(2), *records).key_by(0)
        return stream.window(TumblingEventTimeWindows.of(Time.minutes(1)))

    reduced = windows().reduce(lambda one, other: (one[0], one[1], one[2] + other[2]))
    by_reduce = sorted((record[0], record[2]) for record in collect(reduced))
    assert by_reduce == [("a", 1), ("a", 1), ("a", 2), ("b", 1), ("b", 1)]
    assert sorted(collect(windows().apply(Counted()))) == by_reduce
    assert sorted(collect(windows().apply(lambda key, window, records: [(key, len(records))]))) == by_reduce
    assert sorted(collect(windows().process(lambda key, context, records: [(key, len(records))]))) == by_reduce
    assert sorted(collect(windows().aggregate(Count()))) == [1, 1, 1, 1, 2]
    assert sorted((record[0], record[2]) for record in collect(windows().sum(2))) == by_reduce
    assert sorted(collect(windows().max_by(1)))[:2] == [("a", 2_000, 1), ("a", 61_000, 1)]


@pytest.mark.feature("WI-02")
@on_both
def test_windows_without_keys_run_in_one_subtask(make_env: MakeEnv) -> None:
    class WithSubtask(ProcessAllWindowFunction):
        def process(self, context: Any, elements: Any) -> Iterator[Any]:
            runtime = self.get_runtime_context()
            yield context.window().end, len(elements), runtime.get_number_of_parallel_subtasks()

    windows = events(make_env(4), *SIX_EVENTS).window_all(TumblingEventTimeWindows.of(Time.minutes(1)))
    assert collect(windows.process(WithSubtask())) == [(MINUTE, 3, 1), (2 * MINUTE, 2, 1), (3 * MINUTE, 1, 1)]


@pytest.mark.feature("WI-02")
def test_windows_without_keys_cannot_be_made_parallel(env: StreamExecutionEnvironment) -> None:
    counts = events(env, *SIX_EVENTS).window_all(GlobalWindows.create()).trigger(CountTrigger.of(2)).aggregate(Count())
    assert collect(counts) == [2, 4, 6]
    with pytest.raises(ConfigurationError, match="parallelism 1"):
        counts.set_parallelism(2)


@pytest.mark.feature("WI-07")
@pytest.mark.parametrize(
    "minute",
    [
        Time.minutes(1),
        Time.seconds(60),
        Time.milliseconds(60_000),
        Duration.of_minutes(1),
        timedelta(minutes=1),
        60_000,
    ],
    ids=repr,
)
def test_lengths_of_time_can_be_given_in_many_ways(env: StreamExecutionEnvironment, minute: Any) -> None:
    def count(assigner: Any) -> list[int]:
        return collect(events(env, *SIX_EVENTS).key_by(0).window(assigner).allowed_lateness(minute).aggregate(Count()))

    assert sorted(count(TumblingEventTimeWindows.of(minute))) == [1, 1, 1, 1, 2]
    assert sorted(count(SlidingEventTimeWindows.of(minute, minute))) == [1, 1, 1, 1, 2]
    assert sorted(count(EventTimeSessionWindows.with_gap(minute))) == [1, 1, 1, 3]


@pytest.mark.feature("WI-07", "WI-23")
def test_a_day_by_quarters_of_an_hour_has_96_windows_for_each_record() -> None:
    context: Any = None  # event-time windows need none
    for day in (Time.days(1), Time.hours(24)):
        assigned = SlidingEventTimeWindows.of(day, Time.minutes(15)).assign_windows("record", 12_345, context)
        assert len(assigned) == 96
        assert {window.end - window.start for window in assigned} == {24 * 60 * MINUTE}


@pytest.mark.feature("WI-08")
def test_count_windows(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([("a", number) for number in range(1, 8)])
    assert collect(numbers.key_by(0).count_window(3).sum(1)) == [("a", 6), ("a", 15)]
    assert collect(numbers.key_by(0).count_window(3, 2).sum(1)) == [("a", 3), ("a", 9), ("a", 15)]
    assert collect(numbers.count_window_all(3).sum(1)) == [("a", 6), ("a", 15)]


@pytest.mark.feature("WI-20", "WI-22")
@on_both
def test_late_records_come_out_at_the_side(make_env: MakeEnv) -> None:
    late = OutputTag("late")
    env = make_env()
    script = [
        element(("a", 1), 30_000),
        watermark(65_000),
        element(("a", 2), 59_000),
        watermark(75_000),
        element(("a", 4), 59_000),
    ]
    windows = scripted(env, script).key_by(lambda event: event[0]).window(TumblingEventTimeWindows.of(Time.minutes(1)))
    sums = windows.allowed_lateness(Time.seconds(10)).side_output_late_data(late).sum(1)
    both = sums.map(lambda value: ("sum", value)).union(sums.get_side_output(late).map(lambda value: ("late", value)))
    assert sorted(collect(both)) == [("late", ("a", 4)), ("sum", ("a", 1)), ("sum", ("a", 3))]


@pytest.mark.feature("WI-06")
def test_processing_time_windows_fire_by_the_clock(env: StreamExecutionEnvironment) -> None:
    clock = ManualClock(12 * 60 * MINUTE + 5 * MINUTE)
    script = [
        element(("a", 1)),
        EPOCH_CUT,
        processing_time(12 * 60 * MINUTE + 30 * MINUTE),
        element(("a", 2)),
        EPOCH_CUT,
        processing_time(13 * 60 * MINUTE),
        element(("a", 4)),
        EPOCH_CUT,
        processing_time(14 * 60 * MINUTE),
    ]
    with use_clock(clock):
        keyed = scripted(env, script, clock=clock).key_by(lambda event: event[0])
        results = collect(keyed.window(TumblingProcessingTimeWindows.of(Time.hours(1))).sum(1))
    assert results == [("a", 3), ("a", 4)]


@pytest.mark.feature("WI-25")
@on_both
def test_a_window_after_a_window_sees_the_results_of_its_own_time(make_env: MakeEnv) -> None:
    env = make_env(2)
    records = [(f"key {number % 7}", number * 700, number * 37 % 101) for number in range(400)]
    minutes = TumblingEventTimeWindows.of(Time.minutes(1))
    result = events(env, *records).key_by(0).window(minutes).max_by(2).window_all(minutes).max_by(2)
    expected: dict[int, int] = defaultdict(int)
    for _, time, value in records:
        expected[time // MINUTE] = max(expected[time // MINUTE], value)
    assert {record[1] // MINUTE: record[2] for record in collect(result)} == expected


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(Time.milliseconds(10)),
        SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)),
        EventTimeSessionWindows.with_gap(Time.milliseconds(10)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("way", ["aggregate", "process"])
def test_windows_survive_a_crash(make_env: MakeEnv, assigner: Any, way: str) -> None:
    def run(*marks: Any) -> list[Any]:
        env = recovering(make_env(2))
        script = [
            element(("a", 1), 1),
            element(("b", 2), 4),
            *marks,
            watermark(5),
            element(("a", 4), 8),
            element(("b", 8), 13),
            *marks,
            watermark(14),
            element(("a", 16), 16),
        ]
        with use_clock(checkpoint_each_epoch()):
            windows = scripted(env, script).key_by(lambda event: event[0]).window(assigner)
            if way == "aggregate":
                return sorted(collect(windows.aggregate((lambda: 0, _add, int, _merge), KeyEndAndResult())))
            return sorted(collect(windows.process(_contents)))

    assert run(EPOCH_CUT, CRASH) == run()


def _add(value: Any, accumulator: int) -> int:
    return accumulator + int(value[1])


def _merge(one: int, other: int) -> int:
    return one + other


def _contents(key: Any, context: Any, elements: Any) -> Iterator[Any]:
    yield key, context.window().end, sorted(element[1] for element in elements)


# ---- joins ---------------------------------------------------------------------------------------------------------

HOUR = 60 * MINUTE
ORDERS = [
    ("o1", 5 * MINUTE, "book"),
    ("o2", 20 * MINUTE, "pen"),
    ("o3", 70 * MINUTE, "cup"),
    ("o4", 90 * MINUTE, "hat"),
]
SHIPMENTS = [
    ("o1", 9 * MINUTE, "DHL"),
    ("o2", 61 * MINUTE, "UPS"),
    ("o3", 74 * MINUTE, "DHL"),
    ("o4", 95 * MINUTE, "UPS"),
]


class Names(JoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return first[2], second[2]


class NamesIfDHL(FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Iterator[Any]:
        if second[2] == "DHL":
            yield first[2], second[2]


class Sizes(CoGroupFunction):
    def co_group(self, first: Any, second: Any) -> Iterator[Any]:
        yield (first or second)[0][0], len(first), len(second)


@pytest.mark.feature("DS-13")
@on_both
def test_orders_and_shipments_joined_in_hourly_windows(make_env: MakeEnv) -> None:
    env = make_env(2)
    joined = events(env, *ORDERS).join(events(env, *SHIPMENTS)).where(0).equal_to(0)
    pairs = joined.window(TumblingEventTimeWindows.of(Time.hours(1))).apply(Names())
    assert sorted(collect(pairs)) == [("book", "DHL"), ("cup", "DHL"), ("hat", "UPS")]


@pytest.mark.feature("DS-13")
def test_window_joins_with_all_kinds_of_functions(env: StreamExecutionEnvironment) -> None:
    def joined() -> Any:
        met = events(env, *ORDERS).join(events(env, *SHIPMENTS)).where(lambda order: order[0]).equal_to(0)
        return met.window(TumblingEventTimeWindows.of(Time.hours(1)))

    def both(order: Any, shipment: Any) -> Iterator[Any]:
        yield order[2]
        yield shipment[2]

    assert sorted(collect(joined().apply(NamesIfDHL()))) == [("book", "DHL"), ("cup", "DHL")]
    assert sorted(collect(joined().apply(lambda order, shipment: order[2]))) == ["book", "cup", "hat"]
    assert sorted(collect(joined().apply(both))) == ["DHL", "DHL", "UPS", "book", "cup", "hat"]


@pytest.mark.feature("DS-13")
def test_a_co_group_sees_keys_that_are_on_one_side_only(env: StreamExecutionEnvironment) -> None:
    def grouped() -> Any:
        met = events(env, *ORDERS).co_group(events(env, *SHIPMENTS)).where(0).equal_to(0)
        return met.window(TumblingEventTimeWindows.of(Time.hours(1)))

    expected = [("o1", 1, 1), ("o2", 0, 1), ("o2", 1, 0), ("o3", 1, 1), ("o4", 1, 1)]
    assert sorted(collect(grouped().apply(Sizes()))) == expected
    sizes = grouped().apply(lambda orders, shipments: [len(orders) + len(shipments)])
    assert sorted(collect(sizes)) == [1, 1, 2, 2, 2]


class Near(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left[2], right[2], ctx.get_timestamp()


@pytest.mark.feature("DS-13")
@on_both
def test_orders_and_shipments_joined_within_five_minutes(make_env: MakeEnv) -> None:
    env = make_env(2)
    orders, shipments = events(env, *ORDERS).key_by(0), events(env, *SHIPMENTS).key_by(0)
    near = orders.interval_join(shipments).between(Time.minutes(-5), Time.minutes(5)).process(Near())
    expected = [("book", "DHL", 9 * MINUTE), ("cup", "DHL", 74 * MINUTE), ("hat", "UPS", 95 * MINUTE)]
    assert sorted(collect(near)) == expected


@pytest.mark.feature("DS-13")
def test_bounds_of_an_interval_join_may_be_exclusive(env: StreamExecutionEnvironment) -> None:
    def joined() -> Any:
        left, right = events(env, ("a", 10, "left")).key_by(0), events(env, *(("a", time, time) for time in range(20)))
        return left.interval_join(right.key_by(0)).between(-2, 2)

    def times(join: Any) -> list[int]:
        return sorted(collect(join.process(lambda left, right, ctx: [right[2]])))

    assert times(joined()) == [8, 9, 10, 11, 12]
    assert times(joined().lower_bound_exclusive()) == [9, 10, 11, 12]
    assert times(joined().upper_bound_exclusive()) == [8, 9, 10, 11]
    assert times(joined().lower_bound_exclusive().upper_bound_exclusive()) == [9, 10, 11]


def test_an_interval_join_sends_late_records_to_side_outputs(env: StreamExecutionEnvironment) -> None:
    late = OutputTag("late left")
    left = scripted(env, [element(("a", 1), 100), watermark(100), EPOCH_CUT, element(("a", 2), 50)]).key_by(_key)
    right = scripted(env, [element(("a", 3), 101), watermark(100)]).key_by(_key)
    joined = left.interval_join(right).between(-5, 5).side_output_left_late_data(late)
    pairs = joined.process(lambda one, other, ctx: [(one[1], other[1])])
    assert sorted(map(str, collect(pairs.union(pairs.get_side_output(late))))) == ["('a', 2)", "(1, 3)"]


def _key(record: Any) -> Any:
    return record[0]


# ---- mistakes ------------------------------------------------------------------------------------------------------


def test_mistakes_are_clear_errors_when_the_program_is_written(env: StreamExecutionEnvironment) -> None:
    stream = events(env, *SIX_EVENTS)
    windows = stream.key_by(0).window(EventTimeSessionWindows.with_gap(10))
    with pytest.raises(ConfigurationError, match="must be a WindowAssigner"):
        stream.key_by(0).window(Time.minutes(1))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="must be a Trigger"):
        windows.trigger(CountTrigger)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="must not be negative"):
        windows.allowed_lateness(-1)
    with pytest.raises(ConfigurationError, match=r"process_window_function must be a ProcessWindowFunction"):
        windows.process(Count())  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"Give an instance: KeyEndAndResult"):
        windows.process(KeyEndAndResult)
    with pytest.raises(ConfigurationError, match=r"a function of \(key, window, records\)"):
        windows.apply(lambda records: records)  # type: ignore[arg-type, misc]
    with pytest.raises(ConfigurationError, match="window_function must be"):
        windows.aggregate(Count(), lambda key: key)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match=r"windows of .* merge, but NeverTrigger\(\) cannot be merged"):
        windows.trigger(NeverTrigger()).aggregate(Count())
    with pytest.raises(ConfigurationError, match="no pair can be within these bounds"):
        stream.key_by(0).interval_join(stream.key_by(0)).between(5, -5).process(Near())
    with pytest.raises(ConfigurationError, match="a KeyedStream"):
        stream.key_by(0).interval_join(stream)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="need event time"):
        stream.key_by(0).interval_join(stream.key_by(0)).in_processing_time()


def test_lateness_without_event_time_warns(env: StreamExecutionEnvironment) -> None:
    windows = events(env, *SIX_EVENTS).key_by(0).window(TumblingProcessingTimeWindows.of(10))
    with pytest.warns(FiresteelWarning, match="no record is ever late"):
        windows.allowed_lateness(5)
