"""What checkpoints cost: throughput with one per epoch, and the epoch of a few updates by the size of the state."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from bench import programs
from bench.measure import Bench, Build

Measured = TypeVar("Measured")

UPDATES = 1000
"""Updates per epoch of the jobs with state of different sizes."""
KINDS = ("changes", "full", "none")
"""What epochs write: what has changed, everything, or nothing because the checkpoint before is still being written."""


def every_epoch(run: Callable[[dict[str, Any]], Measured]) -> Measured:
    """Run a job with a checkpoint after each epoch, in a directory that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="firesteel-bench-") as directory:
        return run({"execution.checkpointing.interval": "1 ms", "execution.checkpointing.dir": directory})


def slowdown(bench: Bench, records: int, keys: int, repetitions: int) -> dict[str, Any]:
    """The keyed running sum with checkpoints and without, in turns."""
    build: Build = partial(programs.running_sum, records=records, keys=keys)
    without, with_checkpoints = [], []
    for _ in range(repetitions):
        without.append(bench.run(build, records, 0.3))
        with_checkpoints.append(every_epoch(lambda options: bench.run(build, records, 0.3, options)))
    epochs = [epoch for job in with_checkpoints for epoch in job.epochs]
    return {
        "records_per_second": statistics.median(job.records_per_second for job in with_checkpoints),
        "records_per_second_without": statistics.median(job.records_per_second for job in without),
        "ratio": statistics.median(
            job.records_per_second / other.records_per_second for job, other in zip(with_checkpoints, without)
        ),
        "epochs": len(epochs),
        "checkpoints": sum(epoch.checkpoint_id is not None for epoch in epochs),
    }


def small_changes(bench: Bench, counts: Iterable[int], later: int, repetitions: int) -> list[dict[str, Any]]:
    """Median times of epochs of 1,000 updates for each number of keys, by what the epoch wrote; in turns.

    :param later: How many such epochs a job has, after the state was filled. At most 80, since no more than 100
        checkpoints are remembered.
    """
    times: dict[int, dict[str, list[float]]] = {keys: {kind: [] for kind in KINDS} for keys in counts}
    for _ in range(repetitions):
        for keys, of_keys in times.items():
            for kind, milliseconds in _epochs(bench, keys, later):
                of_keys[kind].append(milliseconds)
    return [
        {
            "keys": keys,
            **{f"{kind}_ms": statistics.median(each) if each else 0.0 for kind, each in of_keys.items()},
            **{f"{kind}_epochs": len(each) for kind, each in of_keys.items()},
        }
        for keys, of_keys in times.items()
    ]


def _epochs(bench: Bench, keys: int, later: int) -> Iterator[tuple[str, float]]:
    """The kinds and the milliseconds of one job's epochs, once the state is filled; without the last."""
    records = programs.PRELOAD_RECORDS + later * UPDATES
    build: Build = partial(programs.few_updates, records=records, keys=keys)
    per_subtask = UPDATES // bench.parallelism
    job = every_epoch(
        lambda options: bench.run(build, records, 0.0, {**options, "firesteel.epoch.max-records": per_subtask})
    )
    done = 0
    for epoch in job.epochs[:-1]:
        if done >= programs.PRELOAD_RECORDS and epoch.records == UPDATES:
            full = epoch.checkpoint_id in job.full_snapshots
            yield "none" if epoch.checkpoint_id is None else "full" if full else "changes", epoch.seconds * 1000
        done += epoch.records


def backends_as_jobs(bench: Bench, keys: int, seconds: float, repetitions: int) -> dict[str, Any]:
    """The keyed running sum with all its keys in state, as a whole job on either backend, in turns."""
    rates: dict[str, list[float]] = {"hashmap": [], "rocksdb": []}
    build: Build = partial(programs.scattered_sum, keys=keys)
    for _ in range(repetitions):
        for backend, of_backend in rates.items():
            job = bench.steady(build, seconds, keys=keys, options={"state.backend.type": backend})
            of_backend.append(job.records_per_second)
    return {
        "keys": keys,
        **{backend: statistics.median(of_backend) for backend, of_backend in rates.items()},
        "ratio": statistics.median(one / other for one, other in zip(rates["rocksdb"], rates["hashmap"])),
    }
