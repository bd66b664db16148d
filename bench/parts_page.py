"""The sections of the performance page with the figures of single programs, written from a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.page import PERFORMANCE, replace_section, table

TITLES = {
    "running_sum": "keyed running sum, {keys:,} keys",
    "word_count": "word count (lines of ten words)",
    "stateless": "stateless: two maps, two filters",
    "tumbling_sum": "event-time tumbling sum with timers, {keys:,} keys",
    "tumbling_windows": "tumbling windows of 1 s, {keys:,} keys",
    "sliding_windows": "sliding windows of 60 s by 1 s, {keys:,} keys",
    "session_windows": "sessions of five records, {keys:,} keys",
}
PROCESSES = {
    "slots": "everything that has to do with records",
    "JVM": "schedules two stages per epoch, shuffles chunks",
    "relays": "Spark's Python workers: pass chunks between JVM and slots",
    "driver": "one Spark job per epoch",
    "loop": "for comparison: the loop, in one process without any engine",
}
Report = Mapping[str, Any]


def _rates(programs: Sequence[Report]) -> str:
    rows = [
        (
            TITLES[each["name"]].format(**each),
            f"{each['records_per_second']:,.0f}",
            f"{each['loop_records_per_second']:,.0f}",
            f"{each['ratio']:.2f}",
            f"{each['epoch_seconds'] * 1000:,.0f} ms",
            f"{each['startup_seconds']:.1f} s",
        )
        for each in programs
    ]
    return table(["program", "records/s", "loop, records/s", "ratio", "epoch", "start-up"], rows)


def _where(report: Report) -> str:
    names = ("cpu", "cores", "load", "python", "pyspark", "time")
    return ", ".join(f"{name} {report['machine'][name]}" for name in names) + "."


def write_throughput(report: Report) -> None:
    """Sections "throughput" and "processes"."""
    programs = report["programs"]
    replace_section(PERFORMANCE, "throughput", f"{_rates(programs)}\n\nMeasured on: {_where(report)}")
    cpu = next(each["cpu_nanoseconds"] for each in programs if each["name"] == "running_sum")
    rows = [(kind, f"{cpu[kind]:,.0f}", what) for kind, what in PROCESSES.items()]
    replace_section(PERFORMANCE, "processes", table(["process", "ns per record", "what it does"], rows))


def write_windows(report: Report) -> None:
    """Section "windows"."""
    replace_section(PERFORMANCE, "windows", f"{_rates(report['windows'])}\n\nMeasured on: {_where(report)}")


def write_overhead(report: Report) -> None:
    """Section "overhead"."""
    empty, bare = report["empty_epoch_ms"], report["bare_job_ms"]
    rows = [
        ("empty epoch of two levels", f"{empty:.0f} ms"),
        ("bare Spark job of two stages", f"{bare:.0f} ms"),
        ("the one to the other", f"{empty / bare:.2f}"),
        ("latency at 10,000 records/s through two levels, median", f"{report['latency_p50_ms']:.0f} ms"),
        ("the same, 99th percentile", f"{report['latency_p99_ms']:.0f} ms"),
    ]
    replace_section(PERFORMANCE, "overhead", f"{table(['what', 'measured'], rows)}\n\nMeasured on: {_where(report)}")


def write_checkpoints(report: Report) -> None:
    """Section "checkpoints"."""
    slowdown, jobs = report["checkpointing"], report["backend_jobs"]
    rows = [
        ("a checkpoint after each epoch, to the same job without", f"{slowdown['ratio']:.2f}"),
        *(
            (
                f"1,000 updates among {each['keys']:,} keys, with a checkpoint",
                f"{each['changes_ms']:.0f} ms",
            )
            for each in report["checkpoint_epochs"]
        ),
        (f"RocksDB to hashmap, {jobs['keys']:,} keys, whole jobs", f"{jobs['ratio']:.2f}"),
    ]
    content = f"{table(['what', 'measured'], rows)}\n\nMeasured on: {_where(report)}"
    replace_section(PERFORMANCE, "checkpoints", content)
