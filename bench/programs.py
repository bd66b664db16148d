"""The measured programs, as a user would write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.connectors.datagen import DataGeneratorSource
from firesteel.connectors.discarding import DiscardingSink
from firesteel.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    KeyedStream,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows

Pair = tuple[int, int]

WINDOW_MS = 1000
_WORDS = [f"word{(position * position * 7919) % 5000}" for position in range(10_000)]
LINES = [" ".join(_WORDS[start : start + 10]) for start in range(0, len(_WORDS), 10)]
WORDS_PER_LINE = 10

SLIDING_MS = 60_000
SESSION_GAP_MS = 1000
SESSION_RECORDS = 5
PRELOAD_RECORDS = 10_000
"""So many records at the start stand for all keys, a share of them each."""
ENDLESS = 10**15
"""More records than any measurement reads."""


def event_time_of(number: int) -> int:
    """Twenty records per millisecond."""
    return number // 20


def session_key_of(number: int, keys: int) -> int:
    """A tenth of the keys at a time are active, for five records each; then it is the next tenth's turn.

    With 10,000 keys a turn takes 250 ms of event time, and a key is silent for 2.25 s between its sessions.
    """
    active = keys // 10
    return number // (active * SESSION_RECORDS) % 10 * active + number % active


class RunningSum(KeyedProcessFunction):
    """One state read, one state write and one result per record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Pair, ctx: KeyedProcessFunction.Context) -> Iterator[Pair]:
        total = (self.total.value() or 0) + value[1]
        self.total.update(total)
        yield value[0], total


class TumblingSum(KeyedProcessFunction):
    """Sums per window in map state; a timer per key and window."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sums = runtime_context.get_map_state(MapStateDescriptor("sums", Types.LONG(), Types.LONG()))

    def process_element(self, value: Pair, ctx: KeyedProcessFunction.Context) -> None:
        timestamp = ctx.timestamp()
        end = timestamp - timestamp % WINDOW_MS + WINDOW_MS
        self.sums.put(end, (self.sums.get(end) or 0) + value[1])
        ctx.timer_service().register_event_time_timer(end - 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[int, int, int]]:
        end = timestamp + 1
        yield end, ctx.get_current_key(), self.sums.get(end)
        self.sums.remove(end)


def running_sum(env: StreamExecutionEnvironment, records: int, keys: int) -> None:
    """Source, map, key_by, a keyed process function with value state, filter."""
    pairs = env.from_sequence(0, records - 1).map(lambda number: (number % keys, number))
    sums = pairs.key_by(lambda pair: pair[0]).process(RunningSum())
    sums.filter(lambda pair: pair[1] % 100 == 0).sink_to(DiscardingSink())


def scattered_sum(env: StreamExecutionEnvironment, keys: int) -> None:
    """The running sum without an end. The keys come scattered, each once before any comes again."""
    pairs = env.from_sequence(0, ENDLESS).map(lambda number: (number * 7919 % keys, number))
    sums = pairs.key_by(lambda pair: pair[0]).process(RunningSum())
    sums.filter(lambda pair: pair[1] % 100 == 0).sink_to(DiscardingSink())


def chained_levels(env: StreamExecutionEnvironment, levels: int) -> None:
    """A map per level and nothing else, with a ``key_by`` before all but the first."""
    stream = env.from_sequence(0, ENDLESS).map(lambda number: number + 1)
    for level in range(1, levels):
        stream = stream.key_by(lambda number, shift=level: (number >> shift) % 1000).map(lambda number: number + 1)
    stream.sink_to(DiscardingSink())


def word_count(env: StreamExecutionEnvironment, records: int) -> None:
    """Lines of ten words, split and counted."""
    lines = env.from_sequence(0, records - 1).map(lambda number: LINES[number % len(LINES)])
    pairs = lines.flat_map(lambda line: line.split()).map(lambda word: (word, 1))
    pairs.key_by(lambda pair: pair[0]).sum(1).filter(lambda pair: pair[1] <= 0).sink_to(DiscardingSink())


def stateless(env: StreamExecutionEnvironment, records: int) -> None:
    """Two maps and two filters, chained: one level, nothing is shuffled."""
    numbers = env.from_sequence(0, records - 1).map(lambda number: number * 3 + 1)
    pairs = numbers.filter(lambda value: value % 5 != 0).map(lambda value: (value, value & 1023))
    pairs.filter(lambda pair: pair[1] < 900).sink_to(DiscardingSink())


def tumbling_sum(env: StreamExecutionEnvironment, records: int, keys: int) -> None:
    """Timestamps and watermarks, key_by, sums per window of event time by timers."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda pair, _: event_time_of(pair[1])
    )
    pairs = env.from_sequence(0, records - 1).map(lambda number: (number % keys, number))
    stamped = pairs.assign_timestamps_and_watermarks(strategy)
    stamped.key_by(lambda pair: pair[0]).process(TumblingSum()).sink_to(DiscardingSink())


class Sum(AggregateFunction):
    """Adds up the second fields."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Pair, accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def _stamped(env: StreamExecutionEnvironment, source: DataGeneratorSource) -> KeyedStream:
    """Pairs of key and number, with timestamps and watermarks made by the source, by key."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda pair, _: event_time_of(pair[1])
    )
    return env.from_source(source, strategy, "pairs").key_by(lambda pair: pair[0])


def tumbling_windows(env: StreamExecutionEnvironment, records: int, keys: int) -> None:
    """Sums per second: with 10,000 keys one result for two records."""
    pairs = _stamped(env, DataGeneratorSource(lambda number: (number % keys, number), records))
    pairs.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))).aggregate(Sum()).sink_to(DiscardingSink())


def sliding_windows(env: StreamExecutionEnvironment, records: int, keys: int) -> None:
    """Sums of the last minute, each second: with 10,000 keys one result for two records, and 60 windows per record."""
    pairs = _stamped(env, DataGeneratorSource(lambda number: (number % keys, number), records))
    assigner = SlidingEventTimeWindows.of(Time.milliseconds(SLIDING_MS), Time.milliseconds(WINDOW_MS))
    pairs.window(assigner).aggregate(Sum()).sink_to(DiscardingSink())


def session_windows(env: StreamExecutionEnvironment, records: int, keys: int) -> None:
    """Sums per session of five records."""
    pairs = _stamped(env, DataGeneratorSource(lambda number: (session_key_of(number, keys), number), records))
    assigner = EventTimeSessionWindows.with_gap(Time.milliseconds(SESSION_GAP_MS))
    pairs.window(assigner).aggregate(Sum()).sink_to(DiscardingSink())


def few_updates(env: StreamExecutionEnvironment, records: int, keys: int) -> None:
    """Running sums: the first records fill all keys, each later one updates one of them."""
    share = keys // PRELOAD_RECORDS

    def updates(number: int) -> Iterable[Pair]:
        if number < PRELOAD_RECORDS:
            return [(key, 1) for key in range(number * share, (number + 1) * share)]
        return [(number * 7919 % keys, 1)]

    numbers = env.from_source(DataGeneratorSource(int, records), WatermarkStrategy.no_watermarks(), "numbers")
    numbers.flat_map(updates).key_by(lambda pair: pair[0]).process(RunningSum()).sink_to(DiscardingSink())
