"""A job with checkpoints and output on another file system, which kills itself where it is told to. A script."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Callable
from typing import Any

from firesteel.common import Configuration, Encoder, RestartStrategies, WatermarkStrategy
from firesteel.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.connectors.files.buckets import BucketAssigner
from firesteel.connectors.files.sink import FileSink
from firesteel.connectors.files.writer import FileCommitter
from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.state import ListStateDescriptor, ValueStateDescriptor
from firesteel.state.store import CheckpointStore

KEYS = 7
CRASH_POINTS = {"manifest": (CheckpointStore, "write_manifest"), "commit": (FileCommitter, "commit")}


def crash_around(owner: Any, name: str, when: str, nth: int) -> None:
    """Kill this process before or after the n-th call of a method."""
    original: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def method(*arguments: Any, **keywords: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == nth and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **keywords)
        if calls == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, method)


class Count(KeyedProcessFunction):
    """The how-manieth record of its key each one is, and the sum of all before it."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        self.seen.add(value)
        yield f"{value % KEYS} {self.count.value()} {sum(self.seen.get())}"


def expected(records: int) -> list[str]:
    lines = []
    for key in range(KEYS):
        values = range(key, records, KEYS)
        lines += [f"{key} {number} {sum(values[:number])}" for number in range(1, len(values) + 1)]
    return sorted(lines)


def build(env: StreamExecutionEnvironment, output: str, records: int, rate: int) -> None:
    source = DataGeneratorSource(lambda index: index, records, RateLimiterStrategy.per_second(rate))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers").set_parallelism(1)
    sink = (
        FileSink.for_row_format(output, Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    numbers.key_by(lambda value: value % KEYS).process(Count()).uid("counts").sink_to(sink).uid("files")


def environment(settings: dict[str, str], parallelism: int = 2) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(parallelism)
    env.set_restart_strategy(RestartStrategies.no_restart())
    return env


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("base")
    parser.add_argument("--records", type=int, default=700)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--conf", action="append", default=[])
    parser.add_argument("--crash", help="point:before|after:n")
    options = parser.parse_args()
    if options.crash:
        point, when, nth = options.crash.split(":")
        crash_around(*CRASH_POINTS[point], when, int(nth))
    settings = {
        "execution.target": "in-process",
        "firesteel.epoch.max-records": "100",
        "execution.checkpointing.interval": "1 ms",
        "execution.checkpointing.dir": f"{options.base}/checkpoints",
        "execution.checkpointing.num-retained": "2",
        **dict(each.split("=", 1) for each in options.conf),
    }
    env = environment(settings, options.parallelism)
    build(env, f"{options.base}/output", options.records, options.rate)
    env.execute("services")


if __name__ == "__main__":
    main()
