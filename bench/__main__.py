"""Runs the benchmarks, prints tables and writes bench/results/<time>.json."""

from __future__ import annotations

import argparse
import sys

from bench.machine import machine
from bench.measure import Bench
from bench.parts import PARTS, Report
from bench.reports import HISTORY, save


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="what to measure; everything if not given")
    parser.add_argument("--quick", action="store_true", help="fewer records, one repetition: to see that it runs")
    parser.add_argument("--repetitions", type=int, help="each number is the median of so many")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an option for the jobs")
    parser.add_argument("--page", action="store_true", help="write the parts' sections of docs/performance.md")
    chosen = parser.parse_args(arguments)

    report: Report = {"machine": machine()}
    print(" ".join(f"{key}: {value};" for key, value in report["machine"].items()))
    bench = Bench({"firesteel.master": "local[2]", **dict(pair.split("=", 1) for pair in chosen.set)})
    parts = {name: PARTS[name] for name in chosen.parts or PARTS}
    for part in parts.values():
        repetitions = 1 if chosen.quick else chosen.repetitions or part.repetitions
        report.update(part.measure(bench, 0.1 if chosen.quick else 1.0, repetitions))
    bench.stop()
    save(report)
    if chosen.page:
        save(report, folder=HISTORY)
        for part in parts.values():
            if part.write_page is not None:
                part.write_page(report)


if __name__ == "__main__":
    main(sys.argv[1:])
