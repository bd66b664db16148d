"""The parts of the benchmark: each measures, prints as it goes, and returns what goes into the JSON."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from bench import (
    backends,
    baselines,
    batch,
    checkpoints,
    columns,
    curves,
    curves_page,
    exchanges,
    graphs,
    latency,
    parts_page,
    programs,
    stages,
)
from bench.cep import part as cep
from bench.measure import Bench, Throughput
from bench.page import PERFORMANCE, replace_section, table

Report = dict[str, Any]


def throughput_of(bench: Bench, name: str, title: str, records: int, repetitions: int, **sizes: int) -> Report:
    """Measure one program against its loop."""
    build = partial(getattr(programs, name), records=records, **sizes)
    loop = partial(getattr(baselines, name), records, **sizes)
    measured = bench.throughput(build, loop, records, repetitions)
    print(f"{title:42} {_rates(measured)}", flush=True)
    return {"name": name, **sizes, "records": records, **asdict(measured)}


def _rates(measured: Throughput) -> str:
    return (
        f"{measured.records_per_second:>11,.0f} {measured.loop_records_per_second:>11,.0f} {measured.ratio:>7.2f} "
        f"{measured.epoch_seconds * 1000:>8.0f} ms {measured.startup_seconds:>7.1f} s   "
        + ", ".join(f"{kind} {nanoseconds:.0f}" for kind, nanoseconds in measured.cpu_nanoseconds.items())
    )


def _heading(title: str) -> None:
    columns = f"{'records/s':>11} {'loop':>11} {'ratio':>7} {'epoch':>11} {'start-up':>9}   CPU time per record, ns"
    print(f"\n{title:42} {columns}")


def throughputs(bench: Bench, scale: float, repetitions: int) -> Report:
    """Records per second of all programs, and their ratio to a loop on one core."""
    _heading("program")
    run = partial(throughput_of, bench, repetitions=repetitions)
    return {
        "programs": [
            run("running_sum", "keyed running sum, 10,000 keys", int(16e6 * scale), keys=10_000),
            run("word_count", "word count (lines of ten words)", int(6e5 * scale)),
            run("stateless", "stateless map and filter", int(12e6 * scale)),
            run("tumbling_sum", "event-time tumbling sum, 1,000 keys", int(4e6 * scale), keys=1000),
        ]
    }


def key_counts(bench: Bench, scale: float, repetitions: int) -> Report:
    """The cost of a record by the number of keys."""
    _heading("keyed running sum by number of keys")
    run = partial(throughput_of, bench, "running_sum", repetitions=repetitions)
    counts = (1_000, 10_000, 100_000, 1_000_000)
    reports = [run(f"{keys:>12,} keys", int(6e6 * scale), keys=keys) for keys in counts]
    rates = [report["records_per_second"] for report in reports]
    print(f"cost per record, dearest to cheapest: {max(rates) / min(rates):.2f}")
    return {"keys": reports}


def overheads(bench: Bench, scale: float, repetitions: int) -> Report:
    """What an empty epoch costs, against a bare Spark job; and latency, against empty epochs."""
    bare, empty = [], []
    bench.bare_jobs(10)
    for _ in range(repetitions):
        bare += bench.bare_jobs(20)
        empty += bench.empty_epochs(4 * scale)
    bare_ms, empty_ms = statistics.median(bare) * 1000, statistics.median(empty) * 1000
    print(f"\nempty epoch of two levels {empty_ms:.0f} ms, bare RDD job of two stages {bare_ms:.0f} ms: ", end="")
    print(f"{empty_ms / bare_ms:.2f} times", flush=True)
    at_rate = latency.measure(bench, 10_000, 10 * scale, skip=5)
    p50, p99 = at_rate.p50_ms, at_rate.p99_ms
    print(f"latency at 10,000 records/s, two levels: p50 {p50:.0f} ms, p99 {p99:.0f} ms", end="")
    print(f"; p50 is {p50 / empty_ms:.1f} empty epochs", flush=True)
    return {
        "empty_epoch_ms": empty_ms,
        "bare_job_ms": bare_ms,
        "epoch_overhead": empty_ms / bare_ms,
        "latency_p50_ms": p50,
        "latency_p99_ms": p99,
    }


def steps(bench: Bench, scale: float, repetitions: int) -> Report:
    """What each step of the keyed running sum costs, without Spark."""
    runs = [stages.nanoseconds_per_record(int(1e6 * scale)) for _ in range(repetitions)]
    best = {step: min(run[step] for run in runs) for step in runs[0]}
    loop = baselines.quickest(baselines.running_sum, keys=10_000)
    together = sum(best.values())
    print(f"\nsteps of the keyed running sum, in one process: {together:.0f} ns per record; its loop: {loop:.0f} ns")
    for step, nanoseconds in best.items():
        print(f"{nanoseconds:>9.0f} ns  {step}")
    return {"steps": best, "steps_loop": loop}


def windows(bench: Bench, scale: float, repetitions: int) -> Report:
    """Windows of event time with an aggregate, against loops."""
    _heading("windows of 10,000 keys")
    run = partial(throughput_of, bench, repetitions=repetitions, keys=10_000)
    reports = [
        run("tumbling_windows", "tumbling, 1 s", int(4e6 * scale)),
        run("sliding_windows", "sliding, 60 s by 1 s", int(4e6 * scale)),
        run("session_windows", "sessions of five records, gap 1 s", int(4e6 * scale)),
    ]
    tumbling, sliding, _ = (report["records_per_second"] for report in reports)
    print(f"cost per record, sliding to tumbling: {tumbling / sliding:.2f}")
    return {"windows": reports}


def checkpoint_costs(bench: Bench, scale: float, repetitions: int) -> Report:
    """What checkpoints cost by throughput and by epoch, and RocksDB against the hashmap."""
    later = 80 if scale >= 1 else 30
    checkpoints.small_changes(bench, [10_000], later, 1)  # while the JVM compiles itself, nothing can be compared
    slowdown = checkpoints.slowdown(bench, int(6e6 * scale), 10_000, repetitions)
    print("\nkeyed running sum of 10,000 keys, a checkpoint after each epoch: ", end="")
    print("{records_per_second:,.0f} records/s, without {records_per_second_without:,.0f}".format(**slowdown), end="")
    print(": {ratio:.2f} ({checkpoints} checkpoints in {epochs} epochs)".format(**slowdown), flush=True)
    counts = (10_000, 1_000_000, 5_000_000) if scale >= 1 else (10_000, 200_000, 1_000_000)
    epochs = checkpoints.small_changes(bench, counts, later, repetitions)
    print(f"\n{'epochs of 1,000 updates, with':>32} {'changes':>13} {'full snapshot':>15} {'no checkpoint':>15}")
    for each in epochs:
        cells = [f"{each[f'{kind}_ms']:.0f} ms ({each[f'{kind}_epochs']})" for kind in checkpoints.KINDS]
        print(f"{each['keys']:>27,} keys {cells[0]:>13} {cells[1]:>15} {cells[2]:>15}", flush=True)
    medians = [each["changes_ms"] for each in epochs]
    print(f"dearest to cheapest: {max(medians) / min(medians):.2f}\n")
    compared = backends.compare(int(4e6 * scale), 1_000_000, list(backends.BACKENDS)[:2])
    whole = checkpoints.backends_as_jobs(bench, 1_000_000 if scale >= 1 else 100_000, max(3 * scale, 1), repetitions)
    print("\nkeyed running sum of {keys:,} keys as a whole job: ".format(**whole), end="")
    print("rocksdb {rocksdb:,.0f} records/s, hashmap {hashmap:,.0f}: {ratio:.2f}".format(**whole), flush=True)
    return {"checkpointing": slowdown, "checkpoint_epochs": epochs, "backends": compared, "backend_jobs": whole}


def _write_steps(report: Report) -> None:
    """The section "steps" of the performance page."""
    measured: Mapping[str, float] = report["steps"]
    rows = [(step, f"{nanoseconds:.0f}") for step, nanoseconds in measured.items()]
    rows += [("together", f"{sum(measured.values()):.0f}"), ("the loop", f"{report['steps_loop']:.0f}")]
    replace_section(PERFORMANCE, "steps", table(["step", "ns per record"], rows))


@dataclass(frozen=True)
class Part:
    """A part of the benchmark.

    :param measure: Gets the bench, a scale for the number of records, and how often to repeat.
    :param repetitions: How often if nobody says.
    :param write_page: Writes the part's section of the performance page from the report.
    """

    measure: Callable[[Bench, float, int], Report]
    repetitions: int = 3
    write_page: Callable[[Report], None] | None = None


PARTS = {
    "throughput": Part(throughputs, write_page=parts_page.write_throughput),
    "keys": Part(key_counts),
    "overhead": Part(overheads, write_page=parts_page.write_overhead),
    "steps": Part(steps, write_page=_write_steps),
    "windows": Part(windows, write_page=parts_page.write_windows),
    "checkpoints": Part(checkpoint_costs, write_page=parts_page.write_checkpoints),
    "batch": Part(batch.measure, write_page=batch.write_page),
    "graphs": Part(graphs.measure, write_page=graphs.write_page),
    "columns": Part(columns.measure, write_page=columns.write_page),
    "exchanges": Part(exchanges.measure, write_page=exchanges.write_page),
    "cep": Part(cep.measure, write_page=cep.write_page),
    "curves": Part(curves.measure, repetitions=1, write_page=curves_page.write_page),
}
