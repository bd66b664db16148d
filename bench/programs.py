"""The measured programs, as a user would write them."""

from __future__ import annotations

from collections.abc import Iterator

from firesteel.common import Types, WatermarkStrategy
from firesteel.connectors.discarding import DiscardingSink
from firesteel.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor

Pair = tuple[int, int]

WINDOW_MS = 1000
_WORDS = [f"word{(position * position * 7919) % 5000}" for position in range(10_000)]
LINES = [" ".join(_WORDS[start : start + 10]) for start in range(0, len(_WORDS), 10)]
WORDS_PER_LINE = 10


def event_time_of(number: int) -> int:
    """Twenty records per millisecond."""
    return number // 20


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
