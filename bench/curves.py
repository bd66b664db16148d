"""Cost curves: how throughput, state and latency change with keys, levels, parallelism, epoch size and rate.

Each point is a job without end that is watched for a few seconds, once all its keys are in state and its epochs have
found their size.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from bench import latency, programs
from bench.cpu import slot_memory
from bench.measure import Bench, Build, Steady

Point = dict[str, Any]

KEYS = (1_000, 10_000, 100_000, 1_000_000, 5_000_000)
LEVELS = (1, 2, 3, 4, 5, 6)
PARALLELISMS = (1, 2, 4, 8)
EPOCH_RECORDS = (1_000, 5_000, 20_000, 100_000, 500_000, 1_000_000)
RATES = (
    *(1_000, 10_000, 50_000, 100_000, 200_000, 400_000, 600_000, 800_000, 1_000_000),
    *(1_250_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000, 4_000_000),
)


def measure(bench: Bench, scale: float, repetitions: int) -> dict[str, Any]:
    """All curves."""
    quick = scale < 1
    seconds = 1.0 if quick else 3.0
    bench.steady(partial(programs.scattered_sum, keys=1000), 3 * seconds)  # the JVM compiles itself meanwhile
    points = partial(_points, repetitions)
    print("\nby number of keys: the keyed running sum")
    of_keys = [
        *points(partial(_of_keys, bench, seconds, "hashmap"), KEYS[:3] if quick else KEYS),
        *points(partial(_of_keys, bench, seconds, "rocksdb"), KEYS[:3] if quick else KEYS),
    ]
    print("\nby number of levels: a map in each")
    of_levels = points(partial(_of_levels, bench, seconds), LEVELS[:3] if quick else LEVELS)
    print(f"\nby parallelism, on {bench.parallelism} cores: the keyed running sum, 10,000 keys")
    of_parallelism = points(partial(_of_parallelism, bench, seconds), PARALLELISMS)
    print("\nby epoch size: the keyed running sum, 10,000 keys")
    of_epochs = points(partial(_of_epoch_size, bench, seconds), EPOCH_RECORDS[:4] if quick else EPOCH_RECORDS)
    print("\nlatency by rate: two levels, to the driver")
    rates = RATES[1:4] if quick else RATES
    of_rates = up_to_the_limit(lambda rate: _at_rate(bench, rate, 5 * (0.5 if quick else 1)), rates)
    curves = {"keys": of_keys, "levels": of_levels, "parallelism": of_parallelism, "epochs": of_epochs}
    return {"curves": {**curves, "rates": of_rates}}


def _points(repetitions: int, measured: Callable[[int], Point], values: Iterable[int]) -> list[Point]:
    """Measure each value of x; medians over repetitions, which go through all values in turn."""
    runs = [[measured(value) for value in values] for _ in range(repetitions)]
    return [
        {
            name: statistics.median(point[name] for point in same) if isinstance(first, float) else first
            for name, first in same[0].items()
        }
        for same in zip(*runs)
    ]


def _of_keys(bench: Bench, seconds: float, backend: str, keys: int) -> Point:
    build = partial(programs.scattered_sum, keys=keys)
    options = {"state.backend.type": backend}
    job = bench.steady(build, seconds, keys=keys, options=options, look=_state_sizes)
    memory, saved = job.found
    title = f"{keys:>12,} keys, {backend}"
    _print(title, job, f"{saved / 1e6:>8.1f} MB in a savepoint, {memory / 1e6:>6.0f} MB in slots")
    return {"backend": backend, "keys": keys, **_speed(job), "state_bytes": saved, "slot_memory_bytes": memory}


def _state_sizes(client: Any) -> tuple[int, int]:
    """The memory of the slots, and how many bytes a full snapshot of the running job holds."""
    memory = slot_memory()
    with tempfile.TemporaryDirectory(prefix="firesteel-bench-") as directory:
        client.trigger_savepoint(directory).result()
        return memory, sum(path.stat().st_size for path in Path(directory).rglob("*") if path.is_file())


def _of_levels(bench: Bench, seconds: float, levels: int) -> Point:
    job = bench.steady(partial(programs.chained_levels, levels=levels), seconds)
    _print(f"{levels:>12} levels", job)
    return {"levels": levels, **_speed(job)}


def _running_sum(bench: Bench, seconds: float, options: dict[str, Any]) -> Steady:
    build: Build = partial(programs.scattered_sum, keys=10_000)
    return bench.steady(build, seconds, keys=10_000, options=options)


def _of_parallelism(bench: Bench, seconds: float, parallelism: int) -> Point:
    job = _running_sum(bench, seconds, {"parallelism.default": parallelism})
    _print(f"{parallelism:>12} subtasks", job)
    return {"parallelism": parallelism, **_speed(job)}


def _of_epoch_size(bench: Bench, seconds: float, records: int) -> Point:
    options = {
        "firesteel.epoch.max-records": records // bench.parallelism,
        "firesteel.epoch.target-duration": "1 min",  # the size decides, not the time
    }
    job = _running_sum(bench, seconds, options)
    _print(f"{records:>12,} records per epoch", job)
    return {"epoch_records": records, **_speed(job)}


def _at_rate(bench: Bench, rate: int, seconds: float) -> latency.Latency:
    measured = latency.measure(bench, rate, seconds, skip=2.5)
    print(f"{rate:>12,} records/s: p50 {measured.p50_ms:>6.0f} ms, p99 {measured.p99_ms:>6.0f} ms", end="")
    print("" if measured.holds else f"; grows by {measured.growth:.2f} s per second", flush=True)
    return measured


def up_to_the_limit(at_rate: Callable[[int], latency.Latency], rates: Sequence[int]) -> list[Point]:
    """Measure rates from below until one does not hold, and once more between that one and the one before.

    A rate does not hold if latency grows all the time, twice in a row: anything may disturb a machine once.
    """
    held: list[latency.Latency] = []
    for rate in rates:
        at = _best_of_two(at_rate, rate)
        if not at.holds:
            between = [_best_of_two(at_rate, (held[-1].rate + rate) // 2)] if held else []
            return [asdict(each) for each in [*held, *between, at]]
        held.append(at)
    return [asdict(each) for each in held]


def _best_of_two(at_rate: Callable[[int], latency.Latency], rate: int) -> latency.Latency:
    first = at_rate(rate)
    return first if first.holds else at_rate(rate)


def _speed(job: Steady) -> Point:
    return {"records_per_second": job.records_per_second, "epoch_seconds": job.epoch_seconds}


def _print(title: str, job: Steady, more: str = "") -> None:
    rate, epoch = job.records_per_second, job.epoch_seconds * 1000
    print(f"{title:32} {rate:>11,.0f} records/s, epochs of {epoch:>5.0f} ms   {more}".rstrip(), flush=True)
