"""The job that is killed: windows, timers, broadcast state and a file sink over a known input. Run as a script.

It has two parts. First its sources are read to their end and stay open: with all records in, and windows and timers
still waiting, it is stopped with a savepoint, which holds its final state. Then it goes on from there and ends, and
everything fires. Neither the state nor what is written depends on where epochs end, so both are the same in every run.

Started again after a crash, the script goes on with the part it was in.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import TimeoutError as NotYetError
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firesteel.common import Configuration, Encoder, JobClient, RestartStrategies, Types, WatermarkStrategy
from firesteel.common.time import Duration
from firesteel.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.connectors.files.buckets import BucketAssigner
from firesteel.connectors.files.sink import FileSink
from firesteel.datastream import (
    AggregateFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.functions import CheckpointedFunction
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.errors import CheckpointError, FiresteelError
from firesteel.model.source import Boundedness, ReadResult, SourceReader, SourceSplit, SplitEnumerator
from tests.chaos.faults import install_once

KEYS = 7
RULES = 20


def event(index: int) -> tuple[int, int, int]:
    """(key, amount, timestamp): timestamps are out of order by up to 50 ms."""
    return index % KEYS, index % 13, index * 10 + (index * 7919) % 50


class StaysOpen(DataGeneratorSource):
    """A generator that does not end when it has been read to its end, and says when a checkpoint holds all of it."""

    def __init__(self, function: Any, count: int, rate: RateLimiterStrategy | None, all_in: threading.Event) -> None:
        super().__init__(function, count, rate)
        self.all_in = all_in

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        assert self.count is not None
        return _OpenEnumerator(super().create_enumerator(parallelism), self.count, self.all_in)

    def create_reader(self) -> SourceReader:
        return _OpenReader(super().create_reader())

    def __reduce__(self) -> Any:
        return StaysOpen, (self._function, self.count, self.rate_limiter_strategy, None)  # the event is the driver's


class _OpenEnumerator(SplitEnumerator):
    def __init__(self, splits: SplitEnumerator, count: int, all_in: threading.Event) -> None:
        self._splits, self._count, self._all_in = splits, count, all_in

    def start(self, restored: Any | None) -> None:
        self._all_in.clear()
        self._splits.start(restored)

    def discover_splits(self, now: int) -> Iterable[SourceSplit]:
        return self._splits.discover_splits(now)

    def has_data(self, split: SourceSplit, position: int, now: int) -> bool:
        return position < self._count and self._splits.has_data(split, position, now)

    def next_data_time(self, now: int) -> int | None:
        return self._splits.next_data_time(now)

    def snapshot(self) -> Any:
        return self._splits.snapshot()

    def committed(self, positions: dict[str, Any]) -> None:
        if positions and all(position >= self._count for position in positions.values()):
            self._all_in.set()


class _OpenReader(SourceReader):
    def __init__(self, reader: SourceReader) -> None:
        self._reader = reader

    def read(self, split: SourceSplit, position: Any, max_records: int, now: int) -> ReadResult:
        result = self._reader.read(split, position, max_records, now)
        return ReadResult(result.values, result.position, timestamps=result.timestamps)


class Tally(MapFunction, CheckpointedFunction):
    """Counts the records of its subtask in list state. It runs where the subtasks are and brings the faults there."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.directory, self.faults = options.directory, options.fault
        self.slow, self.stuck = options.slow, options.stuck
        self.count = 0

    def open(self, runtime_context: Any) -> None:
        install_once(self.directory, self.faults)

    def map(self, value: Any) -> Any:
        self.count += 1
        self.misbehave()
        return value

    def misbehave(self) -> None:
        """Take long, or wait for ever, once: what a killed driver leaves behind is still at it."""
        if self.slow:
            time.sleep(0.001)
        if self.stuck and self.count == 300 and not (self.directory / "stuck").exists():
            (self.directory / "stuck").touch()
            while True:
                time.sleep(1)

    def initialize_state(self, context: Any) -> None:
        self.stored = context.get_operator_state_store().get_list_state(ListStateDescriptor("tally", Types.LONG()))
        self.count = sum(self.stored.get())

    def snapshot_state(self, context: Any) -> None:
        self.stored.update([self.count])


class Sum(AggregateFunction):
    """Adds amounts up."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: tuple[int, int, int], accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class WithWindow(ProcessWindowFunction):
    """Names the window's key and end."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[str]:
        for element in elements:
            yield f"window {key} {context.window().end} {element}"


class Reminders(KeyedProcessFunction):
    """Sets a timer for each full second of a key and says how many records came before it fired."""

    def open(self, runtime_context: Any) -> None:
        self.stamps = runtime_context.get_list_state(ListStateDescriptor("stamps"))

    def process_element(self, value: tuple[int, int, int], ctx: Any) -> None:
        self.stamps.add(value[2])
        ctx.timer_service().register_event_time_timer(value[2] // 1000 * 1000 + 999)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        stamps = list(self.stamps.get())
        due = [stamp for stamp in stamps if stamp <= timestamp]
        self.stamps.update([stamp for stamp in stamps if stamp > timestamp])
        yield f"timer {ctx.get_current_key()} {timestamp} {len(due)}"


class RulesAndCounts(KeyedBroadcastProcessFunction):
    """Counts records per key; when all input has ended, tells the count and the rules that are known."""

    rules = MapStateDescriptor("rules", Types.INT(), Types.STRING())

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.amounts = runtime_context.get_map_state(MapStateDescriptor("amounts"))

    def process_element(self, value: tuple[int, int, int], ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        self.amounts.put(value[1], (self.amounts.get(value[1]) or 0) + 1)
        ctx.timer_service().register_event_time_timer(2**62)

    def process_broadcast_element(self, value: int, ctx: Any) -> None:
        ctx.get_broadcast_state(self.rules).put(value, f"rule {value}")

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        known = sum(1 for _ in ctx.get_broadcast_state(self.rules).items())
        yield f"final {ctx.get_current_key()} {self.count.value()} {known}"


@dataclass
class Part:
    """One part of the job.

    :param all_in: Set, for each source, when a checkpoint holds all of its records. None: sources end.
    """

    options: argparse.Namespace
    all_in: list[threading.Event] | None

    def source(self, function: Any, count: int, rate: RateLimiterStrategy | None = None) -> DataGeneratorSource:
        if self.all_in is None:
            return DataGeneratorSource(function, count, rate)
        self.all_in.append(threading.Event())
        return StaysOpen(function, count, rate, self.all_in[-1])


def build(env: StreamExecutionEnvironment, part: Part) -> None:
    options = part.options
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(60)).with_timestamp_assigner(
        lambda value, _: value[2]
    )
    rate = RateLimiterStrategy.per_second(options.rate)
    events = env.from_source(part.source(event, options.records, rate), strategy, "events").uid("events")
    rules = env.from_source(
        part.source(lambda index: index, RULES), WatermarkStrategy.for_monotonous_timestamps(), "rules"
    )
    keyed = events.map(Tally(options)).uid("tally").key_by(lambda value: value[0])
    windows = (
        keyed.window(TumblingEventTimeWindows.of(Duration.of_millis(500))).aggregate(Sum(), WithWindow()).uid("windows")
    )
    timers = keyed.process(Reminders()).uid("timers")
    final = keyed.connect(rules.uid("rules").broadcast(RulesAndCounts.rules)).process(RulesAndCounts()).uid("final")
    sink = (
        FileSink.for_row_format(str(options.directory / "output"), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    windows.union(timers, final).sink_to(sink).uid("files")
    record_slot(timers, options.directory)


def record_slot(stream: Any, directory: Path) -> None:
    """Leave the numbers of the processes that hold subtasks, for those who want to kill them."""

    def note(value: Any) -> Any:
        (directory / f"slot-{os.getpid()}").touch()
        return value

    stream.map(note).filter(lambda _: False).print()


def environment(
    options: argparse.Namespace, checkpoints: Path, start: Path | None = None
) -> StreamExecutionEnvironment:
    settings = {
        "execution.target": options.target,
        "firesteel.master": options.master,
        "firesteel.exchange": options.exchange,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "state.backend.type": options.backend,
        "firesteel.epoch.max-records": str(options.epoch_records),
        "firesteel.epoch.target-duration": "1 min",  # a busy machine must not make epochs ever smaller
        "execution.checkpointing.interval": "1 ms",
        "execution.checkpointing.dir": str(checkpoints),
        "execution.checkpointing.num-retained": "2",
    }
    if start is not None:
        settings["execution.state-recovery.path"] = str(start)
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(2)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1000, 0))
    return env


def has_checkpoints(directory: Path) -> bool:
    return any(directory.glob("chk-*/_metadata"))


def savepoints(directory: Path) -> list[Path]:
    """The complete savepoints of a run. There is more than one if it was killed before it had stopped."""
    return sorted(path.parent for path in directory.glob("savepoints/*/_metadata"))


def read_everything(options: argparse.Namespace) -> None:
    """The first part, up to the savepoint."""
    all_in: list[threading.Event] = []
    env = environment(options, options.directory / "checkpoints", None)
    build(env, Part(options, all_in))
    client = env.execute_async("chaos")
    while not stopped(client, all_in, options.directory / "savepoints"):
        continue
    client.get_job_execution_result().result()


def stopped(client: JobClient, all_in: list[threading.Event], directory: Path) -> bool:
    """Wait until all records are in and stop the job. Not if it has failed meanwhile: it is restarted then."""
    while not all(event.wait(0.05) for event in all_in):
        raise_failure(client)
    stopping = client.stop_with_savepoint(False, str(directory))
    while True:
        try:
            stopping.result(1)
            return True
        except NotYetError:
            raise_failure(client)
        except (FiresteelError, CheckpointError):
            return False


def raise_failure(client: JobClient) -> None:
    """Raise what has ended the job, if something has."""
    result = client.get_job_execution_result()
    if result.done():
        result.result()


def let_clock_jump() -> None:
    """Have the host's clock jump by up to a day, forward and back, at every hundredth look; monotonic clocks do not."""
    choice, looks, offset = random.Random(), itertools.count(), [0]
    true_time = time.time_ns

    def jumping() -> int:
        if next(looks) % 100 == 99:
            offset[0] = choice.randint(-86_400, 86_400) * 10**9
        return true_time() + offset[0]

    time.time_ns, time.time = jumping, lambda: jumping() / 1e9


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--target", default="in-process")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--exchange", default=os.environ.get("FIRESTEEL_TEST_EXCHANGE", "shuffle"))
    parser.add_argument("--backend", default="hashmap")
    parser.add_argument("--records", type=int, default=4000)
    parser.add_argument("--rate", type=int, default=4000)
    parser.add_argument("--epoch-records", type=int, default=100)
    parser.add_argument("--fault", action="append", default=[], help="step:before|within|after:n:kill|raise")
    parser.add_argument("--slow", action="store_true", help="functions take a millisecond per record")
    parser.add_argument("--stuck", action="store_true", help="a function waits for ever, once")
    parser.add_argument("--clock-jumps", action="store_true", help="the clock of the host jumps to and fro")
    options = parser.parse_args(arguments)
    if options.clock_jumps:
        let_clock_jump()
    install_once(options.directory, options.fault)
    if has_checkpoints(options.directory / "checkpoints") or not savepoints(options.directory):
        read_everything(options)
    last = options.directory / "last-checkpoints"
    env = environment(options, last, None if has_checkpoints(last) else savepoints(options.directory)[-1])
    build(env, Part(options, None))
    env.execute("chaos")
    (options.directory / "finished").touch()


if __name__ == "__main__":
    main()
