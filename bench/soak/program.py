"""The job under load: windows, state with a time-to-live, timers, checkpoints; in a process of its own.

Record ``i`` is due ``i / rate`` seconds after the start, and that is its event time too, so every window has a known
number of records. Visits follow each other without end, each with some records and then none: state that is never
given back would grow as long as the job runs.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.machine import machine
from firesteel.common import Configuration, Duration, Encoder, Types, WatermarkStrategy
from firesteel.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.connectors.files.sink import FileSink
from firesteel.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.functions import ProcessAllWindowFunction
from firesteel.datastream.state import MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows

WINDOW_SECONDS = 10
VISITS_PER_SECOND = 100
"""So many visits begin in a second; each lasts a few seconds."""
VISIT_SECONDS = 5
QUIET_SECONDS = 20
"""A visit is over after so long without a record; its state expires a little later."""
SECONDS_BETWEEN_SAMPLES = 2.0


def event(index: int, rate: int) -> tuple[int, int]:
    """(visit, time in ms): the records of a second belong to the visits of the last few seconds."""
    second = index // rate
    visit = max(second - index % VISIT_SECONDS, 0) * VISITS_PER_SECOND + index // VISIT_SECONDS % VISITS_PER_SECOND
    return visit, index * 1000 // rate


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, one: int, other: int) -> int:
        return one + other


class Total(ProcessAllWindowFunction):
    def process(self, context: ProcessAllWindowFunction.Context, elements: Any) -> Iterator[str]:
        counts = list(elements)
        yield f"{context.window().end},{len(counts)},{sum(counts)}"


class Ended(ProcessAllWindowFunction):
    def process(self, context: ProcessAllWindowFunction.Context, elements: Any) -> Iterator[str]:
        visits = list(elements)
        yield f"{context.window().end},{len(set(visits))},{len(visits)}"


class Visits(KeyedProcessFunction):
    """Counts the records of a visit; a timer ends it. What it leaves behind is left to the time-to-live."""

    def open(self, runtime_context: Any) -> None:
        ttl = StateTtlConfig.new_builder(Duration.of_seconds(2 * QUIET_SECONDS)).build()
        seen = ValueStateDescriptor("seen", Types.LONG())
        pages = MapStateDescriptor("pages", Types.INT(), Types.LONG())
        pages.enable_time_to_live(ttl)
        self.seen = runtime_context.get_state(seen)
        self.pages = runtime_context.get_map_state(pages)

    def process_element(self, value: tuple[int, int], ctx: Any) -> Iterator[Any]:
        last = self.seen.value()
        if last is not None:
            ctx.timer_service().delete_event_time_timer(last + QUIET_SECONDS * 1000)
        self.seen.update(ctx.timestamp())
        self.pages.put(value[1] % 7, value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + QUIET_SECONDS * 1000)
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        self.seen.clear()
        yield f"{ctx.get_current_key()}"


def build(env: StreamExecutionEnvironment, rate: int, output: Path) -> None:
    source = DataGeneratorSource(lambda index: event(index, rate), None, RateLimiterStrategy.per_second(rate))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])
    events = env.from_source(source, strategy, "events")
    keyed = events.key_by(lambda value: value[0])
    counts = keyed.window(TumblingEventTimeWindows.of(Duration.of_seconds(WINDOW_SECONDS))).aggregate(Count())
    totals = counts.window_all(TumblingEventTimeWindows.of(Duration.of_seconds(WINDOW_SECONDS))).process(Total())
    _write(totals, output / "windows")
    ended = keyed.process(Visits()).name("visits")
    _write(
        ended.window_all(TumblingEventTimeWindows.of(Duration.of_seconds(WINDOW_SECONDS))).process(Ended()),
        output / "visits",
    )


def _write(stream: DataStream, path: Path) -> None:
    stream.sink_to(FileSink.for_row_format(str(path), Encoder.simple_string_encoder()).build())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--backend", default="hashmap")
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    configuration = Configuration.from_dict(
        {
            "firesteel.master": "local[2]",
            "state.backend.type": options.backend,
            "execution.checkpointing.interval": "2 s",
            "execution.checkpointing.dir": str(options.directory / "checkpoints"),
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    build(env, options.rate, options.directory / "output")
    client = env.execute_async("soak")
    deadline = time.monotonic() + options.seconds
    with (options.directory / "progress").open("w") as progress:
        while (left := deadline - time.monotonic()) > 0 and not client.get_job_status().result().is_terminal_state():
            time.sleep(min(SECONDS_BETWEEN_SAMPLES, left))
            metrics = client.get_metrics()
            entries = sum(each.keyed_state_entries for each in metrics.operators().values())
            late = sum(each.late_records_dropped for each in metrics.operators().values())
            print(json.dumps({"records": metrics.records, "entries": entries, "late": late}), file=progress, flush=True)
    client.stop_with_savepoint(True, str(options.directory / "savepoint")).result()
    (options.directory / "machine").write_text(json.dumps(machine()))


if __name__ == "__main__":
    main()
