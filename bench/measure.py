"""Measuring: throughput of a program against its loop, or of a job without end; the cost of an epoch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench import programs
from bench.cpu import KINDS, cpu_seconds
from firesteel.common import Configuration
from firesteel.connectors.datagen import RateLimiterStrategy
from firesteel.connectors.discarding import DiscardingSink
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.execution.job_metrics import EpochStats, JobMetrics
from firesteel.execution.spark.session import spark_session

Build = Callable[[StreamExecutionEnvironment], None]

_SETTLING = 2.0
"""Seconds in which the epochs of a new job find their size."""
_FEWEST_EPOCHS = 2


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


@dataclass(frozen=True)
class Steady:
    """A job that was watched for a while, and ended."""

    records_per_second: float
    epoch_seconds: float
    """The median."""
    epochs: int
    found: Any
    """What ``look`` returned."""


class Bench:
    """Runs programs in one Spark session, which is started when it is needed first.

    :param options: Configuration of the jobs, besides the defaults.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._session: Any = None

    @property
    def session(self) -> Any:
        """The Spark session, started if it was not."""
        return self._spark

    @property
    def _spark(self) -> Any:
        if self._session is None:
            self._session = spark_session(Configuration.from_dict(self._options))
            self.run(partial(programs.running_sum, records=200_000, keys=1000), 200_000, 0.3)  # starts processes
        return self._session

    def stop(self) -> None:
        """End the session, if one was started."""
        if self._session is not None:
            self._session.stop()

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

    def steady(
        self,
        build: Build,
        seconds: float,
        keys: int = 0,
        options: dict[str, Any] | None = None,
        look: Callable[[Any], Any] | None = None,
    ) -> Steady:
        """Watch a job without end, once its epochs have found their size, and cancel it.

        :param keys: So many have to be in state before. Counting records would not do: subtasks are not equally fast.
        :param look: Called with the running job's client at the end of the time, before it is cancelled.
        """
        env = self.environment(options)
        build(env)
        client = env.execute_async("bench")
        metrics = client.get_metrics()
        started = time.perf_counter()
        _wait(client, lambda: time.perf_counter() - started > _SETTLING and state_entries(metrics) >= keys)
        first, began = metrics.epochs[-1].epoch if metrics.epochs else 0, time.perf_counter()
        _wait(
            client,
            lambda: time.perf_counter() - began > seconds and metrics.epochs[-1].epoch >= first + _FEWEST_EPOCHS,
        )
        epochs = [epoch for epoch in metrics.epochs if epoch.epoch > first]
        found = look(client) if look is not None else None
        client.cancel().result()
        spent = [epoch.seconds for epoch in epochs]
        return Steady(sum(epoch.records for epoch in epochs) / sum(spent), statistics.median(spent), len(epochs), found)

    def empty_epochs(self, seconds: float) -> list[float]:
        """Durations of epochs of two levels that hold next to no records."""
        env = self.environment()
        trickle = env.from_data_generator(lambda number: number, None, RateLimiterStrategy.per_second(100))
        trickle.key_by(lambda number: number % 10).map(lambda number: number).sink_to(DiscardingSink())
        client = env.execute_async("empty epochs")
        metrics, started = client.get_metrics(), time.perf_counter()
        _wait(client, lambda: time.perf_counter() - started > seconds and len(metrics.epochs) > 6)
        client.cancel().result()
        return [epoch.seconds for epoch in metrics.epochs[3:]]

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


def state_entries(metrics: JobMetrics) -> int:
    """How many entries the keyed state of a job has after its last epoch."""
    return sum(operator.keyed_state_entries for operator in metrics.operators().values())


def _wait(client: Any, ready: Callable[[], bool]) -> None:
    """Wait for something in a running job, or raise why the job has ended before."""
    result = client.get_job_execution_result()
    while not ready():
        if result.done():
            raise RuntimeError(f"the job ended while it was measured: {result.result()}")
        time.sleep(0.02)
