"""The job that is killed: windows, timers, broadcast state and a file sink over a known input. Run as a script.

What it writes does not depend on where epochs end, so that every run that ends has written the same.
"""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from firesteel.common import Configuration, Encoder, RestartStrategies, Types, WatermarkStrategy
from firesteel.common.time import Duration
from firesteel.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.connectors.files.buckets import BucketAssigner
from firesteel.connectors.files.sink import FileSink
from firesteel.connectors.files.writer import FileCommitter
from firesteel.datastream import (
    AggregateFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.state.store import CheckpointStore

KEYS = 7
RULES = 20


def event(index: int) -> tuple[int, int, int]:
    """(key, amount, timestamp): timestamps are out of order by up to 50 ms."""
    return index % KEYS, index % 13, index * 10 + (index * 7919) % 50


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

    def process_element(self, value: tuple[int, int, int], ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(2**62)

    def process_broadcast_element(self, value: int, ctx: Any) -> None:
        ctx.get_broadcast_state(self.rules).put(value, f"rule {value}")

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        known = sum(1 for _ in ctx.get_broadcast_state(self.rules).items())
        yield f"final {ctx.get_current_key()} {self.count.value()} {known}"


def build(env: StreamExecutionEnvironment, directory: Path, records: int, rate: int) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(60)).with_timestamp_assigner(
        lambda value, _: value[2]
    )
    events = env.from_source(
        DataGeneratorSource(event, records, RateLimiterStrategy.per_second(rate)), strategy, "events"
    )
    rules = env.from_source(
        DataGeneratorSource(lambda index: index, RULES), WatermarkStrategy.for_monotonous_timestamps(), "rules"
    )
    keyed = events.uid("events").key_by(lambda value: value[0])
    windows = (
        keyed.window(TumblingEventTimeWindows.of(Duration.of_millis(500))).aggregate(Sum(), WithWindow()).uid("windows")
    )
    timers = keyed.process(Reminders()).uid("timers")
    final = keyed.connect(rules.uid("rules").broadcast(RulesAndCounts.rules)).process(RulesAndCounts()).uid("final")
    sink = (
        FileSink.for_row_format(str(directory / "output"), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    windows.union(timers, final).sink_to(sink).uid("files")
    record_slot(timers, directory)


def record_slot(stream: Any, directory: Path) -> None:
    """Leave the numbers of the processes that hold subtasks, for those who want to kill them."""

    def note(value: Any) -> Any:
        (directory / f"slot-{os.getpid()}").touch()
        return value

    stream.map(note).filter(lambda _: False).print()


def kill_self() -> None:
    """End at once, as if the machine had lost its power."""
    os.kill(os.getpid(), signal.SIGKILL)


def crash_around(owner: Any, name: str, when: str, nth: int) -> None:
    """Kill the process before or after the n-th call of a method."""
    original: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def method(*arguments: Any, **keywords: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == nth and when == "before":
            kill_self()
        result = original(*arguments, **keywords)
        if calls == nth and when == "after":
            kill_self()
        return result

    setattr(owner, name, method)


CRASH_POINTS = {
    "state": (CheckpointStore, "write_state"),
    "manifest": (CheckpointStore, "write_manifest"),
    "commit": (FileCommitter, "commit"),
    "delete": (CheckpointStore, "delete_checkpoint"),
}
"""Where a process can be told to kill itself: around the steps of a checkpoint's commit."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--target", default="in-process")
    parser.add_argument("--records", type=int, default=4000)
    parser.add_argument("--rate", type=int, default=4000)
    parser.add_argument("--epoch-records", type=int, default=100)
    parser.add_argument("--crash", help="point:before|after:n")
    options = parser.parse_args()
    if options.crash:
        point, when, nth = options.crash.split(":")
        crash_around(*CRASH_POINTS[point], when, int(nth))
    configuration = Configuration()
    settings = {
        "execution.target": options.target,
        "firesteel.master": "local[2]",
        "firesteel.epoch.max-records": str(options.epoch_records),
        "execution.checkpointing.interval": "1 ms",
        "execution.checkpointing.dir": str(options.directory / "checkpoints"),
        "execution.checkpointing.num-retained": "2",
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1000, 0))
    build(env, options.directory, options.records, options.rate)
    env.execute("chaos")
    (options.directory / "finished").touch()


if __name__ == "__main__":
    main()
