"""Latency at a given rate: how long records are under way to the driver, from the moment at which they are due.

The source is read in the slots, so that it is no limit of its own. A record's clock starts when the record is *due*
by the rate, not when the source gets round to making it: a job that falls behind shows it. All records go through two
levels; about a thousand per second are brought to the driver, which would be the narrow place otherwise.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench.measure import Bench
from firesteel.common import WatermarkStrategy
from firesteel.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.model.source import ReaderContext, ReadResult, SourceReader, SourceSplit

Sample = tuple[float, float]
"""When a record was due, and how long it took from then to the driver; in seconds."""

SAMPLES_PER_SECOND = 1000
GROWTH = 0.1
"""A rate is too high if latency grows by more than this, in seconds per second."""


@dataclass(frozen=True)
class Latency:
    """Latency at one rate."""

    rate: int
    p50_ms: float
    p99_ms: float
    growth: float
    """By how many seconds latency grew per second."""
    holds: bool
    """Whether the job kept up with the rate."""


def measure(bench: Bench, rate: int, seconds: float, skip: float) -> Latency:
    """Run a job at a rate.

    :param skip: How many seconds at the start are left out: a new job begins with a backlog.
    """
    stride = max(rate // SAMPLES_PER_SECOND, 1) | 1  # odd, so that all subtasks of the source have their share
    env = bench.environment()
    source = DueSource(rate, int(rate * (skip + seconds)))
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "due records")
    moved = records.key_by(lambda record: record[0] % 1000).map(lambda record: record)
    samples: list[Sample] = []
    with moved.filter(lambda record: record[0] % stride == 0).execute_and_collect("latency") as arrived:
        samples.extend((due, time.time() - due) for _, due in arrived)
    return judge(rate, samples, skip)


def judge(rate: int, samples: Sequence[Sample], skip: float) -> Latency:
    """Percentiles of latency, and whether it grows: whether the last third waited longer than the first.

    :param skip: Records that were due in so many seconds at the start do not count.
    """
    begin = min(due for due, _ in samples) + skip
    end = max(due for due, _ in samples)
    third = (end - begin) / 3
    taken = sorted(latency for due, latency in samples if due >= begin)
    early = statistics.median(latency for due, latency in samples if begin <= due < begin + third)
    late = statistics.median(latency for due, latency in samples if due >= end - third)
    growth = (late - early) / (2 * third)
    p50, p99 = (taken[int(len(taken) * share)] * 1000 for share in (0.5, 0.99))
    return Latency(rate, p50, p99, growth, growth <= GROWTH)


class DueSource(DataGeneratorSource):
    """Numbers at a fixed rate, each with the time at which it was due."""

    def __init__(self, rate: int, count: int) -> None:
        super().__init__(int, count, RateLimiterStrategy.per_second(rate))
        self._rate = rate

    def create_reader(self) -> SourceReader:
        return _DueReader(super().create_reader(), self._rate)


class _DueReader(SourceReader):
    def __init__(self, numbers: SourceReader, rate: int) -> None:
        self._numbers = numbers
        self._rate = rate

    def open(self, context: ReaderContext) -> None:
        self._numbers.open(context)

    def read(self, split: SourceSplit, position: int, max_records: int, now: int) -> ReadResult:
        result = self._numbers.read(split, position, max_records, now)
        start = split.payload["start_time"] / 1000
        result.values = [(number, start + number / self._rate) for number in result.values]
        return result

    def close(self) -> None:
        self._numbers.close()
