"""Runs the queries of Nexmark on Spark, prints a table and writes bench/results/nexmark-<time>.json.

Each query is checked against Spark's batch SQL over a few thousand events before it is timed. The queries take turns
with q0, which does nothing, and with the generator alone in a plain loop on one core: whatever disturbs the machine
disturbs all of them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.machine import machine, sentence
from bench.measure import Bench, JobRun
from bench.nexmark.check import check, checked_events
from bench.nexmark.generator import NexmarkGenerator
from bench.nexmark.oracle import Oracle
from bench.nexmark.queries import QUERIES
from bench.nexmark.source import nexmark_events
from bench.page import PERFORMANCE, replace_section, table
from bench.reports import HISTORY, save
from firesteel.common import Configuration
from firesteel.connectors.discarding import DiscardingSink
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.execution.spark.session import spark_session

BATCH = 4096
WARM_UP = 0.3
Report = dict[str, Any]


def program(env: StreamExecutionEnvironment, name: str, events: int) -> None:
    """A query from the generator to nowhere."""
    QUERIES[name].build(nexmark_events(env, events)).sink_to(DiscardingSink())


def generator_rate(events: int) -> float:
    """Events per second of the generator in a plain loop, in this process."""
    generator = NexmarkGenerator()
    started = time.perf_counter()
    for start in range(0, events, BATCH):
        generator.events(start, min(events, start + BATCH))
    return events / (time.perf_counter() - started)


def measure(bench: Bench, names: list[str], events: Callable[[str], int], repetitions: int) -> list[Report]:
    """All queries in turns, repeated; medians."""
    runs: dict[str, list[JobRun]] = {name: [] for name in names}
    loops: list[float] = []
    print(f"\n{'':38} {'events/s':>11} {'to q0':>7} {'to loop':>8} {'epochs':>7} {'epoch':>9} {'start-up':>9}")
    for turn in range(repetitions):
        loops.append(generator_rate(500_000 if events("q0") > 500_000 else 100_000))
        for name in names:
            runs[name].append(bench.run(partial(program, name=name, events=events(name)), events(name), WARM_UP))
            if turn == repetitions - 1:
                print(_line(report_of(name, runs, loops, events(name))), flush=True)
    print(f"{'the generator alone, on one core':38} {statistics.median(loops):>11,.0f}")
    return [report_of(name, runs, loops, events(name)) for name in names]


def report_of(name: str, runs: dict[str, list[JobRun]], loops: list[float], events: int) -> Report:
    """What was measured of a query; ratios are those of runs in the same turn."""
    own, idle = runs[name], runs["q0"]
    return {
        "name": name,
        "title": QUERIES[name].title,
        "events": events,
        "events_per_second": statistics.median(run.records_per_second for run in own),
        "ratio_to_q0": statistics.median(
            run.records_per_second / other.records_per_second for run, other in zip(own, idle)
        ),
        "ratio_to_generator": statistics.median(run.records_per_second / loop for run, loop in zip(own, loops)),
        "generator_events_per_second": statistics.median(loops),
        "epochs": statistics.median_low(len(run.epochs) for run in own),
        "epoch_seconds": statistics.median(run.epoch_seconds for run in own),
        "startup_seconds": statistics.median(run.startup_seconds for run in own),
    }


def _line(report: Report) -> str:
    return (
        f"{report['name']:4} {report['title']:33} {report['events_per_second']:>11,.0f} {report['ratio_to_q0']:>7.2f} "
        f"{report['ratio_to_generator']:>8.2f} {report['epochs']:>7} {report['epoch_seconds'] * 1000:>6.0f} ms "
        f"{report['startup_seconds']:>7.1f} s"
    )


def check_all(bench: Bench, spark: Any, names: list[str]) -> None:
    """Stop if a query gives a wrong answer."""
    oracle = Oracle(spark, checked_events())
    for name in names:
        wrong = check(name, bench.environment({"execution.target": "in-process"}), oracle)
        if wrong is not None:
            raise SystemExit(wrong)
    print(f"{len(names)} queries give the answers of Spark's batch SQL")


def markdown(report: Report) -> str:
    """The section of the performance page."""
    queries = report["queries"]
    rows = [
        (
            each["name"],
            each["title"],
            f"{each['events_per_second']:,.0f}",
            f"{each['ratio_to_q0']:.2f}",
            f"{each['ratio_to_generator']:.2f}",
            f"{each['startup_seconds']:.1f} s",
        )
        for each in queries
    ]
    loop = queries[0]["generator_events_per_second"]
    return (
        f"{sentence(report['machine'])} Median of {report['repetitions']}. Steady state; start-up is apart. The "
        f"generator alone, in a plain loop on one core, makes {loop:,.0f} events/s.\n\n"
        + table(["query", "", "events/s", "to q0", "to the generator", "start-up"], rows)
    )


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.nexmark", description=__doc__)
    parser.add_argument("queries", nargs="*", choices=[*QUERIES, []], help="which ones; all if not given")
    parser.add_argument("--events", type=int, help="how many, for each query; if not given, some seconds' worth")
    parser.add_argument("--repetitions", type=int, default=3, help="each number is the median of so many")
    parser.add_argument("--quick", action="store_true", help="fewer events, one repetition: to see that it runs")
    parser.add_argument("--no-check", action="store_true", help="do not compare the answers with Spark's batch SQL")
    parser.add_argument("--page", action="store_true", help="write the table into docs/performance.md")
    chosen = parser.parse_args(arguments)
    names = [name for name in QUERIES if name == "q0" or name in (chosen.queries or QUERIES)]
    repetitions = 1 if chosen.quick else chosen.repetitions

    def events(name: str) -> int:
        return chosen.events or QUERIES[name].events // (10 if chosen.quick else 1)

    report: Report = {"machine": machine(), "repetitions": repetitions}
    print(" ".join(f"{key}: {value};" for key, value in report["machine"].items()))
    options = {"firesteel.master": "local[2]"}
    bench = Bench(options)
    if not chosen.no_check:
        check_all(bench, spark_session(Configuration.from_dict(options)), names)
    report["queries"] = measure(bench, names, events, repetitions)
    bench.stop()

    save(report, "nexmark")
    if chosen.page:
        save(report, "nexmark", HISTORY)
        replace_section(PERFORMANCE, "nexmark", markdown(report))


if __name__ == "__main__":
    main(sys.argv[1:])
