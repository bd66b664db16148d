"""Measuring: throughput of a program against its loop, the cost of an epoch, latency."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bench.cpu import KINDS, cpu_seconds
from firesteel.common import Configuration
from firesteel.connectors.datagen import RateLimiterStrategy
from firesteel.connectors.discarding import DiscardingSink
from firesteel.datastream import SourceFunction, StreamExecutionEnvironment
from firesteel.execution.job_metrics import EpochStats

Build = Callable[[StreamExecutionEnvironment], None]


@dataclass(frozen=True)
class Throughput:
    """The median over some repetitions."""

    records_per_second: float
    loop_records_per_second: float
    ratio: float
    startup_seconds: float
    epoch_seconds: float
    cpu_nanoseconds: dict[str, float]
    """Processor time per record by kind of process, of the whole job; of the loop under "loop"."""


@dataclass(frozen=True)
class JobRun:
    """One job: its steady state, and what came before and after."""

    records_per_second: float
    startup_seconds: float
    epoch_seconds: float
    cpu_nanoseconds: dict[str, float]
    epochs: list[EpochStats]
    full_snapshots: frozenset[int]
    """The checkpoints (of the last 100) that wrote everything, not only changes."""


class Bench:
    """Runs programs in one Spark session.

    :param options: Configuration of the jobs, besides the defaults.
    """

    def __init__(self, spark: Any, options: dict[str, Any]) -> None:
        self._spark = spark
        self._options = options

    def environment(self, options: dict[str, Any] | None = None) -> StreamExecutionEnvironment:
        """A new environment on the session of the benchmark, with further options."""
        configuration = Configuration.from_dict({**self._options, **(options or {})})
        return StreamExecutionEnvironment.get_execution_environment(configuration, self._spark)

    @property
    def parallelism(self) -> int:
        """How many subtasks the jobs have by default."""
        return int(self._spark.sparkContext.defaultParallelism)

    def throughput(
        self, build: Build, loop: Callable[[], Any], records: int, repetitions: int, warmup: float = 0.3
    ) -> Throughput:
        """Run loop and job in turns, so that whatever disturbs the machine disturbs both."""
        loops, jobs, loop_cpu = [], [], []
        for _ in range(repetitions):
            started, cpu = time.perf_counter(), time.process_time()
            loop()
            loops.append(records / (time.perf_counter() - started))
            loop_cpu.append((time.process_time() - cpu) / records * 1e9)
            jobs.append(self.run(build, records, warmup))
        by_kind = {kind: statistics.median(job.cpu_nanoseconds.get(kind, 0.0) for job in jobs) for kind in KINDS}
        return Throughput(
            records_per_second=statistics.median(job.records_per_second for job in jobs),
            loop_records_per_second=statistics.median(loops),
            ratio=statistics.median(job.records_per_second / rate for job, rate in zip(jobs, loops)),
            startup_seconds=statistics.median(job.startup_seconds for job in jobs),
            epoch_seconds=statistics.median(job.epoch_seconds for job in jobs),
            cpu_nanoseconds={"loop": statistics.median(loop_cpu), **by_kind},
        )

    def run(self, build: Build, records: int, warmup: float, options: dict[str, Any] | None = None) -> JobRun:
        """One job. Its steady state is what comes after ``warmup``, a share of the records; the rest is start-up:
        opening functions, the first epochs, which are small, and closing.
        """
        env = self.environment(options)
        build(env)
        started, cpu_before = time.perf_counter(), cpu_seconds()
        client = env.execute_async("bench")
        client.get_job_execution_result().result()
        whole = time.perf_counter() - started
        cpu = cpu_seconds() - cpu_before
        epochs = client.get_metrics().epochs
        done, steady = 0, []
        for epoch in epochs:
            if done >= warmup * records:
                steady.append(epoch)
            done += epoch.records
        # The last epoch is cut short by the end of the input.
        steady = steady[:-1] or steady or epochs[-1:]
        seconds = sum(epoch.seconds for epoch in steady)
        rate = sum(epoch.records for epoch in steady) / seconds
        per_record = {kind: used / records * 1e9 for kind, used in cpu.items()}
        full = frozenset(each.checkpoint_id for each in client.get_checkpoints() if each.full)
        startup = max(whole - records / rate, 0.0)
        return JobRun(rate, startup, seconds / len(steady), per_record, list(epochs), full)

    def empty_epochs(self, seconds: float) -> list[float]:
        """Durations of epochs of two levels that hold next to no records."""
        env = self.environment()
        trickle = env.from_data_generator(lambda number: number, None, RateLimiterStrategy.per_second(100))
        trickle.key_by(lambda number: number % 10).map(lambda number: number).sink_to(DiscardingSink())
        client = env.execute_async("empty epochs")
        time.sleep(seconds)
        client.cancel().result()
        return [epoch.seconds for epoch in client.get_metrics().epochs[3:]]

    def bare_jobs(self, count: int) -> list[float]:
        """Durations of Spark jobs of two stages with as many tasks, and nothing else."""
        context = self._spark.sparkContext
        width = context.defaultParallelism

        def stage(index: int, rows: Iterator[Any]) -> Iterator[Any]:
            yield from [(index, row) for row in rows]

        durations = []
        for _ in range(count):
            started = time.perf_counter()
            rows = context.parallelize([(index, b"") for index in range(width)], width)
            rows.mapPartitionsWithIndex(stage).partitionBy(width, int).mapPartitionsWithIndex(stage).collect()
            durations.append(time.perf_counter() - started)
        return durations

    def latencies(self, rate: int, seconds: float, skip: float) -> list[float]:
        """How long records of a live source are under way to the driver through two levels.

        :param skip: How many seconds at the start are left out.
        """
        env = self.environment()
        ticks = env.add_source(Ticks(rate, skip + seconds))
        results = ticks.key_by(lambda tick: tick[0] % 1000).map(lambda tick: tick)
        latencies = []
        first = None
        with results.execute_and_collect("latency") as arrived:
            for _, created in arrived:
                now = time.time()
                first = first or now
                if now - first > skip:
                    latencies.append(now - created)
        return latencies


class Ticks(SourceFunction):
    """Numbers with the time of their creation, at a fixed rate."""

    def __init__(self, rate: int, seconds: float) -> None:
        self._rate = rate
        self._seconds = seconds
        self._running = True

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        started = time.time()
        made = 0
        while self._running and made < self._rate * self._seconds:
            due = int((time.time() - started) * self._rate)
            for number in range(made, due):
                ctx.collect((number, time.time()))
            made = max(made, due)
            time.sleep(0.001)

    def cancel(self) -> None:
        self._running = False
