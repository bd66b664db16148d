"""Firesteel as it comes, on a Spark of its own with two cores."""

from __future__ import annotations

import threading
from typing import Any

from bench.nexmark.source import nexmark_events
from bench.peers.programs import inputs
from bench.peers.programs.harness import Marks, Task, Works, arguments, report
from bench.programs import RunningSum, Sum
from firesteel import __version__
from firesteel.common import Configuration, JobClient, Time, WatermarkStrategy
from firesteel.connectors.datagen import DataGeneratorSource
from firesteel.connectors.discarding import DiscardingSink
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows


def stamped(env: StreamExecutionEnvironment, make: Any, records: int, time_of: Any) -> DataStream:
    """Records with timestamps and watermarks made by the source."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: time_of(pair[1]))
    return env.from_source(DataGeneratorSource(make, records), strategy, "pairs")


def running_sum(env: StreamExecutionEnvironment, task: Task) -> DataStream:
    check = task.check
    pairs = env.from_sequence(0, task.records - 1).map(inputs.pair_of)
    sums = pairs.key_by(lambda pair: pair[0]).process(RunningSum())
    return sums.filter(lambda pair: check or pair[1] % 100 == 0)


def tumbling(env: StreamExecutionEnvironment, task: Task) -> DataStream:
    pairs = stamped(env, inputs.pair_of, task.records, inputs.event_time_of)
    windows = TumblingEventTimeWindows.of(Time.milliseconds(inputs.WINDOW_MS))
    return pairs.key_by(lambda pair: pair[0]).window(windows).aggregate(Sum())


def sessions(env: StreamExecutionEnvironment, task: Task) -> DataStream:
    pairs = stamped(env, inputs.session_pair_of, task.records, inputs.event_time_of)
    windows = EventTimeSessionWindows.with_gap(Time.milliseconds(inputs.SESSION_GAP_MS))
    return pairs.key_by(lambda pair: pair[0]).window(windows).aggregate(Sum())


def join(env: StreamExecutionEnvironment, task: Task) -> DataStream:
    left = stamped(env, inputs.left_of, task.records // 2, inputs.side_event_time_of)
    right = stamped(env, inputs.right_of, task.records // 2, inputs.side_event_time_of)
    by_key = left.join(right).where(lambda pair: pair[0]).equal_to(lambda pair: pair[0])
    windows = by_key.window(TumblingEventTimeWindows.of(Time.milliseconds(inputs.WINDOW_MS)))
    return windows.apply(lambda one, other: (one[0], one[1], other[1]))


def nexmark(env: StreamExecutionEnvironment, task: Task) -> DataStream:
    from bench.nexmark.queries import QUERIES

    return QUERIES[task.work].build(nexmark_events(env, task.records))


WORKS: Works = {each.__name__: each for each in (running_sum, tumbling, sessions, join)}


def note_epochs(client: JobClient, marks: Marks, ended: threading.Event) -> None:
    """A mark per epoch, as soon as it has ended."""
    noted = 0
    last = False
    while not last:
        last = ended.wait(0.02)
        epochs = client.get_metrics().epochs
        for epoch in epochs[noted:]:
            marks.note(epoch.records)
        noted = len(epochs)


def main() -> None:
    task = arguments()
    options = {"firesteel.master": f"local[{task.parallelism}]", "parallelism.default": task.parallelism}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    stream = WORKS.get(task.work, nexmark)(env, task)
    if task.check:
        with stream.execute_and_collect(task.work) as results:
            report(task, __version__, results)
        return
    stream.sink_to(DiscardingSink())
    client = env.execute_async(task.work)
    ended = threading.Event()
    watcher = threading.Thread(target=note_epochs, args=(client, task.marks, ended))
    watcher.start()
    client.get_job_execution_result().result()
    ended.set()
    watcher.join()
    report(task, __version__)


if __name__ == "__main__":
    main()
