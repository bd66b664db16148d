"""PyFlink's DataStream API, on the cluster of ``flink_cluster``.

Variants: ``process`` or ``thread`` (how Python functions are run), each ``default`` or ``tuned``.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction,
    DataStream,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    WindowFunction,
)
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import AllWindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from pyflink.version import __version__

from bench.peers.programs import inputs
from bench.peers.programs.harness import Task, Works, arguments, report, written_results
from bench.peers.programs.inputs import Auction, Bid, NexmarkGenerator, Person

PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])
TRIPLE = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])

TUNED = {
    # Room for the state of all keys of a subtask in Python (1,000 entries are the default), so that it is not
    # fetched from the JVM again and again.
    "python.state.cache-size": "20000",
    # State, timers and network buffers are flushed once per bundle (1,000 records are the default).
    "python.fn-execution.bundle.size": "1000000",
    "python.fn-execution.bundle.time": "10000",
    # Records are not copied between chained operators.
    "pipeline.object-reuse": "true",
}


class Progress:
    """Notes the progress of one subtask where its state is: what waits before that has not been processed yet."""

    def __init__(self, task: Task) -> None:
        self._marks, self._left = task.marks, 1

    def count(self) -> None:
        """One more record."""
        self._left -= 1
        if not self._left:
            self._left = self._marks.hit()


class RunningSum(KeyedProcessFunction):
    """One state read, one state write and one result per record."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.progress.count()
        total = (self.total.value() or 0) + value[1]
        self.total.update(total)
        yield value[0], total


class Sum(AggregateFunction):
    """Adds up the second fields."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        self.progress.count()
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Pairs(WindowFunction):
    """All pairs of the two sides. Python has no ``join()``; this is what the one of Java does: one stream of both."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def apply(self, key: int, window: Any, values: Iterable[Any]) -> Iterable[Any]:
        left, right = [], []
        for _, number, side in values:
            self.progress.count()
            (right if side else left).append(number)
        for one in left:
            for other in right:
                yield key, one, other


class ByNumber(TimestampAssigner):
    """Event time from the number of a record."""

    def __init__(self, time_of: Any) -> None:
        self._time_of = time_of

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return self._time_of(value[1])


def numbers(env: StreamExecutionEnvironment, task: Task, make: Any, kind: Any, time_of: Any = None) -> DataStream:
    """The quickest source there is in Python, and a map that makes the records."""
    source = NumberSequenceSource(0, task.records - 1)
    made = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    # Each subtask is given a range. Every second number instead lets event time advance alike in both.
    half = task.records // 2
    made = made.map(lambda number: make(2 * number if number < half else 2 * (number - half) + 1), kind)
    if time_of is None:
        return made
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ByNumber(time_of))
    return made.assign_timestamps_and_watermarks(strategy)


def running_sum(env: StreamExecutionEnvironment, task: Task) -> DataStream:
    check = task.check
    pairs = numbers(env, task, inputs.pair_of, PAIR)
    sums = pairs.key_by(lambda pair: pair[0], Types.LONG()).process(RunningSum(Progress(task)), PAIR)
    return sums.filter(lambda pair: check or pair[1] % 100 == 0)


def tumbling(env: StreamExecutionEnvironment, task: Task) -> DataStream:
    pairs = numbers(env, task, inputs.pair_of, PAIR, inputs.event_time_of)
    windows = TumblingEventTimeWindows.of(Time.milliseconds(inputs.WINDOW_MS))
    keyed = pairs.key_by(lambda pair: pair[0], Types.LONG()).window(windows)
    return keyed.aggregate(Sum(Progress(task)), accumulator_type=Types.LONG(), output_type=Types.LONG())


def sessions(env: StreamExecutionEnvironment, task: Task) -> DataStream:
    pairs = numbers(env, task, inputs.session_pair_of, PAIR, inputs.event_time_of)
    windows = EventTimeSessionWindows.with_gap(Time.milliseconds(inputs.SESSION_GAP_MS))
    keyed = pairs.key_by(lambda pair: pair[0], Types.LONG()).window(windows)
    return keyed.aggregate(Sum(Progress(task)), accumulator_type=Types.LONG(), output_type=Types.LONG())


def join(env: StreamExecutionEnvironment, task: Task) -> DataStream:
    half = replace(task, records=task.records // 2)
    left = numbers(env, half, lambda n: (*inputs.left_of(n), 0), TRIPLE, inputs.side_event_time_of)
    right = numbers(env, half, lambda n: (*inputs.right_of(n), 1), TRIPLE, inputs.side_event_time_of)
    windows = TumblingEventTimeWindows.of(Time.milliseconds(inputs.WINDOW_MS))
    both = left.union(right).key_by(lambda record: record[0], Types.LONG()).window(windows)
    return both.apply(Pairs(Progress(task)), TRIPLE)


class Events(FlatMapFunction):
    """A block of Nexmark's events for each number, of which a query wants some. The other way to count progress."""

    def __init__(self, progress: Progress, want: Any) -> None:
        self.progress, self.want = progress, want

    def open(self, runtime_context: RuntimeContext) -> None:
        self.generator = NexmarkGenerator()

    def flat_map(self, value: int) -> Iterable[Any]:
        want = self.want
        for event in self.generator.block(value):
            self.progress.count()
            if event[0] in want:
                yield event


class ByField(TimestampAssigner):
    """All events have their time in the second field."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1]


def events(env: StreamExecutionEnvironment, task: Task, want: Any, make: Any, kind: Any) -> DataStream:
    """Events of some kinds, cut down at once: what goes to the JVM and back costs by its size."""
    blocks = task.records // inputs.BLOCK
    source = NumberSequenceSource(0, blocks - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "blocks", Types.LONG())
    half = blocks // 2
    numbers = numbers.map(lambda number: 2 * number if number < half else 2 * (number - half) + 1)
    return numbers.flat_map(Events(Progress(task), want)).map(make, kind)


def stamped(stream: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ByField())
    return stream.assign_timestamps_and_watermarks(strategy)


SHORT = [Types.LONG(), Types.LONG(), Types.LONG(), Types.LONG(), Types.STRING()]


def q0(env: StreamExecutionEnvironment, task: Task) -> DataStream:
    return events(env, task, {Bid.KIND}, inputs.short_bid, Types.TUPLE(SHORT))


def q1(env: StreamExecutionEnvironment, task: Task) -> DataStream:
    return events(env, task, {Bid.KIND}, inputs.euro_bid, Types.TUPLE([*SHORT[:2], Types.DOUBLE(), *SHORT[3:]]))


def q2(env: StreamExecutionEnvironment, task: Task) -> DataStream:
    bids = events(env, task, {Bid.KIND}, lambda bid: bid, None)
    return bids.filter(inputs.is_chosen).map(inputs.chosen_bid, PAIR)


class Count(AggregateFunction):
    """How many there are."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class WithWindow(WindowFunction):
    """A count, with what was counted and when."""

    def apply(self, key: int, window: Any, inputs: Iterable[int]) -> Iterable[Any]:
        for count in inputs:
            yield key, count, window.start, window.end


class Hottest(AllWindowFunction):
    """Those with the highest count."""

    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        counts = list(inputs)
        most = max(each[1] for each in counts)
        return [each for each in counts if each[1] == most]


FOUR = Types.TUPLE([Types.LONG()] * 4)


def q5(env: StreamExecutionEnvironment, task: Task) -> DataStream:
    bids = stamped(events(env, task, {Bid.KIND}, lambda bid: (bid[Bid.AUCTION], bid[Bid.DATE_TIME]), PAIR))
    size, slide = (Time.milliseconds(ms) for ms in (inputs.HOT_SIZE_MS, inputs.HOT_SLIDE_MS))
    windows = bids.key_by(lambda bid: bid[0], Types.LONG()).window(SlidingEventTimeWindows.of(size, slide))
    counts = windows.aggregate(Count(), WithWindow(), accumulator_type=Types.LONG(), output_type=FOUR)
    return counts.window_all(TumblingEventTimeWindows.of(slide)).apply(Hottest(), FOUR)


class NewSellers(WindowFunction):
    """The persons of a window who are also sellers in it. Both kinds are one stream, as for the join."""

    def apply(self, key: int, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        rows = list(inputs)
        if any(not name for _, _, name in rows):
            yield from ((person, name, window.start) for person, _, name in rows if name)


def arrival(event: Any) -> Any:
    """Person, time, and the name of the person; none for an auction."""
    if event[0] == Person.KIND:
        return event[Person.ID], event[1], event[Person.NAME]
    return event[Auction.SELLER], event[1], ""


def q8(env: StreamExecutionEnvironment, task: Task) -> DataStream:
    row = Types.TUPLE([Types.LONG(), Types.LONG(), Types.STRING()])
    arrivals = stamped(events(env, task, {Person.KIND, Auction.KIND}, arrival, row))
    windows = TumblingEventTimeWindows.of(Time.milliseconds(inputs.NEW_USERS_MS))
    result = Types.TUPLE([Types.LONG(), Types.STRING(), Types.LONG()])
    return arrivals.key_by(lambda each: each[0], Types.LONG()).window(windows).apply(NewSellers(), result)


WORKS: Works = {each.__name__: each for each in (running_sum, tumbling, sessions, join, q0, q1, q2, q5, q8)}


class Write(MapFunction):
    """Writes results down for the check, a file per subtask. To collect them would take minutes."""

    def __init__(self, out: str) -> None:
        self.out = out

    def open(self, runtime_context: RuntimeContext) -> None:
        # The number of the subtask would be a better name, but in threads the context does not know it.
        self.file = open(f"{self.out}.results-{uuid4()}", "wb", buffering=0)  # noqa: SIM115

    def map(self, value: Any) -> Any:
        pickle.dump(value if isinstance(value, tuple) else (value,), self.file)
        return value


def discard(stream: DataStream) -> None:
    """Into Flink's own sink that does nothing, in Java."""
    from pyflink.datastream.connectors.base import Sink
    from pyflink.java_gateway import get_gateway

    stream.sink_to(Sink(get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()))


def environment(port: int, options: dict[str, str]) -> StreamExecutionEnvironment:
    """The cluster at this port. Python has no name for what Java calls ``createRemoteEnvironment``."""
    from pyflink.java_gateway import get_gateway

    gateway = get_gateway()
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(key, value)
    remote = gateway.jvm.org.apache.flink.streaming.api.environment.StreamExecutionEnvironment.createRemoteEnvironment
    no_jars = gateway.new_array(gateway.jvm.String, 0)
    return StreamExecutionEnvironment(remote("127.0.0.1", port, configuration._j_configuration, no_jars))


def main() -> None:
    task = arguments()
    mode, tuning = task.variant.split("-")
    options = {"python.execution-mode": mode, **(TUNED if tuning == "tuned" else {})}
    assert task.service is not None
    env = environment(int(task.service.read_text(encoding="utf-8")), options)
    env.set_parallelism(task.parallelism)
    stream = WORKS[task.work](env, task)
    discard(stream.map(Write(str(task.out))) if task.check else stream)
    env.execute(task.work)
    report(task, __version__, written_results(task) if task.check else None)


if __name__ == "__main__":
    main()
