"""Cutting a job anywhere changes nothing: stop with a savepoint, start from it, and so on, give the output of one run.

Each kind of operator has a program here. It is run once as a whole, and once in pieces: with any cuts in its inputs,
each piece with a parallelism and a state backend of its own. A piece ends with a savepoint, or with a failure after
checkpoints of which most hold changes only. What all pieces emit together is what the whole emitted; with one
input and one subtask, in the same order too.

Two inputs meet in another order when they are cut, so that programs with two inputs are such that the order does not
matter.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.common import Configuration, Time, Types, WatermarkStrategy
from firesteel.datastream import (
    AsyncDataStream,
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    ProcessJoinFunction,
)
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from firesteel.errors import JobFailedError
from firesteel.execution.control import ledger
from firesteel.model.source import Boundedness, DriverReader, DriverSource, SourceEvents
from firesteel.testing import use_clock
from tests.features.saving import checkpointing, save
from tests.features.scripts import checkpoint_each_epoch

Step = tuple[Any, ...]
"""("records", [value], [timestamp]) or ("watermark", timestamp)."""
Program = Callable[..., DataStream]


class CutError(Exception):
    """Ends a piece: all that it was to read is in a checkpoint."""


class Cut:
    """Knows which sources have everything in a checkpoint."""

    def __init__(self, sources: int) -> None:
        self.missing = set(range(sources))

    def take_note(self, source: int) -> None:
        self.missing.discard(source)

    def check(self) -> None:
        if not self.missing:
            raise CutError


class Steps(DriverSource):
    """Does the steps from where it stood; unless ``ended``, more may come."""

    replayable = True
    guarantee = "exactly-once"

    def __init__(self, steps: list[Step], ended: bool, number: int, cut: Cut | None) -> None:
        self.steps, self.ended, self.number, self.cut = steps, ended, number, cut

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_driver_reader(self, subtask_index: int, parallelism: int) -> DriverReader:
        return _Reader(self)


class _Reader(DriverReader):
    def __init__(self, source: Steps) -> None:
        self._source = source
        self._place = 0

    def open(self, context: RuntimeContext, restored: list[Any] | None, wake: Callable[[], None]) -> None:
        self._place = (restored[0] if restored else None) or 0

    def has_data(self) -> bool:
        if self._source.cut is not None:
            self._source.cut.check()
        return self._place < len(self._source.steps)

    def checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._source.cut is not None and self._place == len(self._source.steps):
            self._source.cut.take_note(self._source.number)

    def take(self, max_records: int) -> tuple[SourceEvents, Any]:
        taken = self._source.steps[self._place : self._place + max_records]
        self._place += len(taken)
        return SourceEvents(list(taken)), self._place

    def is_finished(self) -> bool:
        return self._source.ended and not self.has_data()

    def close(self) -> None:
        return None


@dataclass(frozen=True)
class Piece:
    """How a piece of the run is done: its share of each input, in per cent of what is left."""

    share: tuple[int, int]
    parallelism: int
    backend: str
    epoch_records: int
    savepoint: bool = True
    """Whether it ends with a savepoint, rather than with a failure after some checkpoints."""


def environment(piece: Piece, path: str | None, checkpoints: str | None) -> StreamExecutionEnvironment:
    options: dict[str, Any] = {
        "execution.target": "in-process",
        "state.backend.type": piece.backend,
        "firesteel.epoch.max-records": piece.epoch_records,
    }
    if path is not None:
        options["execution.state-recovery.path"] = path
    if checkpoints is not None:
        options |= checkpointing(Path(checkpoints))
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.set_parallelism(piece.parallelism)
    return env


def crash(stream: DataStream) -> list[Any]:
    """Run a piece until all that it reads is in a checkpoint; the output up to there."""
    output: list[Any] = []
    clock = use_clock(checkpoint_each_epoch())
    full_after = patch.object(ledger, "_MAX_CHANGES", 3)  # so that some are folded
    with clock, full_after, stream.execute_and_collect() as results, pytest.raises(JobFailedError, match="CutError"):
        output.extend(results)
    return output


def run(program: Program, inputs: list[list[Step]], pieces: list[Piece]) -> list[str]:
    """The output of all pieces; the last one takes what is left."""
    places = [0] * len(inputs)
    path: str | None = None
    no_watermarks = WatermarkStrategy.no_watermarks()
    output: list[Any] = []
    with tempfile.TemporaryDirectory() as directory:
        for number, piece in enumerate(pieces):
            last = number == len(pieces) - 1
            for index, steps in enumerate(inputs):
                left = len(steps) - places[index]
                places[index] += left if last else left * piece.share[index] // 100
            cut = None if last or piece.savepoint else Cut(len(inputs))
            checkpoints = None if cut is None else f"{directory}/checkpoints {number}"
            env = environment(piece, path, checkpoints)
            streams = [
                env.from_source(Steps(steps[:place], last, index, cut), no_watermarks, f"source {index}")
                .uid(f"source {index}")
                .set_parallelism(1)
                for index, (steps, place) in enumerate(zip(inputs, places))
            ]
            stream = program(*streams)
            if last:
                with stream.execute_and_collect() as results:
                    output += list(results)
            elif checkpoints is not None:
                output += crash(stream)
                path = checkpoints
            else:
                path, part = save(stream, directory)  # type: ignore[arg-type]
                output += part
    return list(map(str, output))


def check(program: Program, inputs: list[list[Step]], pieces: list[Piece]) -> None:
    """The pieces give what the whole gives."""
    parts, whole = run(program, inputs, pieces), run(program, inputs, WHOLE)
    assert Counter(parts) == Counter(whole)
    if program in IN_ORDER and all(piece.parallelism == 1 for piece in pieces):
        assert parts == whole


# --- programs -----------------------------------------------------------------------------------------------


def key_of(record: Any) -> str:
    return record[0]  # type: ignore[no-any-return]


class Reminders(KeyedProcessFunction):
    """Numbers the records of a key, and tells the number again when event time is 15 further."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.due = runtime_context.get_map_state(MapStateDescriptor("due"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        at = ctx.timestamp() + 15
        self.due.put(at, [*(self.due.get(at) or []), self.count.value()])
        ctx.timer_service().register_event_time_timer(at)
        yield value[0], self.count.value()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "timer", ctx.get_current_key(), timestamp, self.due.get(timestamp)
        self.due.remove(timestamp)


class Ordered(KeyedProcessFunction):
    """Shows the order of map state and of timers of one time, while entries and timers are removed and come again."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.map = runtime_context.get_map_state(MapStateDescriptor("map"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        key, number = value
        for name in (number + 3, 7 - number, number):
            if self.map.contains(name):
                self.map.remove(name)
            if name % 3 != number % 3 or name == number:
                self.map.put(name, ctx.timestamp())
        at = (ctx.timestamp() // 50 + 1) * 50
        if number % 2:
            ctx.timer_service().delete_event_time_timer(at)
        if number != 3:
            ctx.timer_service().register_event_time_timer(at)
        yield key, list(self.map.items())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "timer", ctx.get_current_key(), timestamp, list(self.map.keys())


class Buffers(CoProcessFunction, CheckpointedFunction):
    """Keeps records in list state until it is told to let them go."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("kept"))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        return None

    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> None:
        self.state.add(value)

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield from self.state.get()
        self.state.clear()


class Pairs(KeyedCoProcessFunction):
    """All pairs of records with one key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sides = [runtime_context.get_list_state(ListStateDescriptor(f"side {n}")) for n in (0, 1)]

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self.sides[0].add(value[1])
        yield from ((value[0], value[1], other) for other in self.sides[1].get())

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self.sides[1].add(value[1])
        yield from ((value[0], other, value[1]) for other in self.sides[0].get())


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LIST(Types.LONG()))


class Applied(KeyedBroadcastProcessFunction):
    """Each record with each rule of its key, whichever comes first."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen_descriptor = ListStateDescriptor("seen")
        self.seen = runtime_context.get_list_state(self.seen_descriptor)

    def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        self.seen.add(value[1])
        yield from ((value, rule) for rule in ctx.get_broadcast_state(RULES).get(value[0]) or [])

    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> Iterable[Any]:
        rules = ctx.get_broadcast_state(RULES)
        rules.put(value[0], [*(rules.get(value[0]) or []), value[1]])
        results: list[Any] = []

        def apply(key: str, seen: Any) -> None:
            if key == value[0]:
                results.extend(((key, each), value[1]) for each in seen.get())

        ctx.apply_to_keyed_state(self.seen_descriptor, apply)
        return results


class Contents(ProcessWindowFunction):
    """What a window holds, and how often it has fired."""

    def process(self, key: str, context: ProcessWindowFunction.Context, elements: Iterable[Any]) -> Iterator[Any]:
        fired = context.window_state().get_state(ValueStateDescriptor("fired"))
        fired.update((fired.value() or 0) + 1)
        yield key, context.window().start, context.window().end, sorted(each[1] for each in elements), fired.value()


class Joined(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left, right, ctx.get_timestamp()


async def look_up(value: Any) -> list[Any]:
    return [(value, "looked up")]


def running_sum(records: DataStream) -> DataStream:
    return records.key_by(key_of).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("sum")


def reminders(records: DataStream) -> DataStream:
    return records.key_by(key_of).process(Reminders()).uid("reminders")


def ordered(records: DataStream) -> DataStream:
    return records.key_by(key_of).process(Ordered()).uid("ordered")


def buffered(records: DataStream, flushes: DataStream) -> DataStream:
    return records.rebalance().connect(flushes.broadcast()).process(Buffers()).uid("buffer")


def paired(left: DataStream, right: DataStream) -> DataStream:
    return left.connect(right).key_by(key_of, key_of).process(Pairs()).uid("pairs")


def with_rules(records: DataStream, rules: DataStream) -> DataStream:
    return records.key_by(key_of).connect(rules.broadcast(RULES)).process(Applied()).uid("applied")


def looked_up(records: DataStream) -> DataStream:
    return AsyncDataStream.unordered_wait(records.rebalance(), look_up, Time.seconds(30)).uid("look up")


def tumbling(records: DataStream) -> DataStream:
    windows = records.key_by(key_of).window(TumblingEventTimeWindows.of(Time.milliseconds(20)))
    return windows.allowed_lateness(10).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("windows")


def panes(records: DataStream) -> DataStream:
    assigner = SlidingEventTimeWindows.of(Time.milliseconds(30), Time.milliseconds(10))
    return records.key_by(key_of).window(assigner).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("windows")


def whole_windows(records: DataStream) -> DataStream:
    windows = records.key_by(key_of).window(TumblingEventTimeWindows.of(Time.milliseconds(20)))
    return windows.process(Contents()).uid("windows")


def sliding(records: DataStream) -> DataStream:
    assigner = SlidingEventTimeWindows.of(Time.milliseconds(30), Time.milliseconds(10))
    return records.key_by(key_of).window(assigner).process(Contents()).uid("windows")


def sessions(records: DataStream) -> DataStream:
    windows = records.key_by(key_of).window(EventTimeSessionWindows.with_gap(Time.milliseconds(8)))
    return windows.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("windows")


def by_count(records: DataStream) -> DataStream:
    return records.key_by(key_of).count_window(3).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("windows")


def interval_joined(left: DataStream, right: DataStream) -> DataStream:
    joined = left.key_by(key_of).interval_join(right.key_by(key_of))
    return joined.between(Time.milliseconds(-12), Time.milliseconds(7)).process(Joined()).uid("join")


def counted_down(records: DataStream) -> DataStream:
    loop = records.rebalance().map(lambda each: (each, each[1])).uid("in").iterate()
    smaller = loop.map(lambda pair: (pair[0], pair[1] - 1)).uid("smaller")
    loop.close_with(smaller.filter(lambda pair: pair[1] > 0).uid("again"))
    return smaller.filter(lambda pair: pair[1] <= 0).uid("out")


IN_ORDER = [running_sum, reminders, ordered, tumbling, panes, sliding, sessions, by_count]
ONE_INPUT = [*IN_ORDER, whole_windows, looked_up, counted_down]
TWO_INPUTS = [paired, with_rules, interval_joined]

# --- the property -------------------------------------------------------------------------------------------


@st.composite
def histories(draw: st.DrawFn, late: bool = True, least: int = 0) -> list[Step]:
    """Records with keys and timestamps, and watermarks between them; some records may be late."""
    steps: list[Step] = []
    mark = 0
    moves = st.integers(-20 if late else 1, 25)
    records = st.tuples(st.sampled_from("abc"), st.integers(1, 5), moves)
    for key, number, move in draw(st.lists(records, min_size=least, max_size=20)):
        steps.append(("records", [(key, number)], [max(0, mark + move)]))
        if move > 10:
            mark += move - 8
            steps.append(("watermark", mark))
    return steps


pieces_of_a_run = st.lists(
    st.builds(
        Piece,
        st.tuples(st.integers(0, 100), st.integers(0, 100)),
        st.sampled_from([1, 1, 2, 3]),
        st.sampled_from(["hashmap", "hashmap", "rocksdb"]),
        st.sampled_from([1, 2, 3, 100]),
        st.booleans(),
    ),
    min_size=2,
    max_size=4,
)
pieces_with_changes = st.lists(
    st.builds(
        Piece,
        st.tuples(st.integers(40, 80), st.integers(40, 80)),
        st.just(1),
        st.sampled_from(["hashmap", "rocksdb"]),
        st.sampled_from([2, 3]),
        st.just(False),
    ),
    min_size=2,
    max_size=3,
)
WHOLE = [Piece((100, 100), 1, "hashmap", 100)]


@pytest.mark.feature("SV-04", "SV-07")
@pytest.mark.parametrize("program", ONE_INPUT, ids=lambda program: program.__name__)
@settings(max_examples=15)
@given(history=histories(), pieces=pieces_of_a_run)
def test_any_cuts_in_one_input(program: Program, history: list[Step], pieces: list[Piece]) -> None:
    check(program, [history], pieces)


@pytest.mark.feature("SV-04", "CK-17")
@pytest.mark.parametrize("program", IN_ORDER, ids=lambda program: program.__name__)
@settings(max_examples=10)
@given(history=histories(least=12), pieces=pieces_with_changes)
def test_any_cuts_after_changes_keep_the_order(program: Program, history: list[Step], pieces: list[Piece]) -> None:
    check(program, [history], pieces)


@pytest.mark.feature("SV-04", "SV-07")
@pytest.mark.parametrize("program", TWO_INPUTS, ids=lambda program: program.__name__)
@settings(max_examples=15)
@given(left=histories(late=False), right=histories(late=False), pieces=pieces_of_a_run)
def test_any_cuts_in_two_inputs(program: Program, left: list[Step], right: list[Step], pieces: list[Piece]) -> None:
    check(program, [left, right], pieces)


@pytest.mark.feature("SV-04", "OS-03")
@settings(max_examples=15)
@given(history=histories(), pieces=pieces_of_a_run)
def test_any_cuts_with_operator_state(history: list[Step], pieces: list[Piece]) -> None:
    """The word to let go of everything comes last: it is the only record of its input."""
    flush = [("records", ["go"], None)]
    whole = [Piece((each.share[0], 0), each.parallelism, each.backend, 100, each.savepoint) for each in pieces]
    records = Counter(str(step[1][0]) for step in history if step[0] == "records")
    assert Counter(run(buffered, [history, flush], whole)) == records
