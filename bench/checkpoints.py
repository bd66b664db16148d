"""What checkpoints cost: throughput with one per epoch, and the epoch of a few updates by the size of the state."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

from bench import programs
from bench.measure import Bench, Build, JobRun

UPDATES = 1000
"""Updates per epoch of the jobs with state of different sizes."""


def every_epoch(run: Callable[[dict[str, Any]], JobRun]) -> JobRun:
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


def small_changes(bench: Bench, keys: int, later: int) -> dict[str, Any]:
    """Fill the state, then make ``later`` epochs of 1,000 updates: their median times by what the epoch wrote.

    :param later: At most 80, since no more than 100 checkpoints are remembered.
    """
    records = programs.PRELOAD_RECORDS + later * UPDATES
    build: Build = partial(programs.few_updates, records=records, keys=keys)
    width = bench.parallelism
    job = every_epoch(
        lambda options: bench.run(build, records, 0.0, {**options, "firesteel.epoch.max-records": UPDATES // width})
    )
    times: dict[str, list[float]] = {"changes": [], "full": [], "none": []}
    done = 0
    for epoch in job.epochs[:-1]:
        if done >= programs.PRELOAD_RECORDS and epoch.records == UPDATES:
            full = epoch.checkpoint_id in job.full_snapshots
            kind = "none" if epoch.checkpoint_id is None else "full" if full else "changes"
            times[kind].append(epoch.seconds * 1000)
        done += epoch.records
    medians = {f"{kind}_ms": statistics.median(each) if each else None for kind, each in times.items()}
    return {"keys": keys, **medians, **{f"{kind}_epochs": len(each) for kind, each in times.items()}}
