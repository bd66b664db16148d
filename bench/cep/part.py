"""Measures patterns: ``python -m bench cep``."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bench.cep import programs
from bench.measure import Bench
from bench.page import PERFORMANCE, replace_section, table
from firesteel.cep.operator import CepOperator, CepSettings
from firesteel.cep.selecting import Selecting
from firesteel.testing import KeyedOneInputOperatorHarness

KEYS = 10_000
JARS = "FLINK_JARS"
"""The environment variable with the folder of Flink's jars (flink-dist, flink-cep); without it Flink is left out."""


def measure(bench: Bench, scale: float, repetitions: int) -> dict[str, Any]:
    """A two-step pattern with a window, at 10,000 keys: CEP, by hand, and Flink's library in Java."""
    records = int(2e6 * scale)
    rates: dict[str, list[float]] = {"pattern": [], "by_hand": []}
    for _ in range(repetitions):
        for name, build in (("pattern", programs.by_pattern), ("by_hand", programs.by_hand)):
            job = bench.run(partial(build, records=records, keys=KEYS), records, warmup=0.3)
            rates[name].append(job.records_per_second)
    ratio = statistics.median(one / other for one, other in zip(rates["pattern"], rates["by_hand"]))
    report: dict[str, Any] = {name: statistics.median(each) for name, each in rates.items()}
    report |= {"records": records, "keys": KEYS, "ratio": ratio, "flink": flink_rate(records)}
    events = int(1e6 * scale)
    report |= {"events": events, "entries": most_entries(events)}
    for title, rate in _rows(report):
        print(f"{title:58} {rate}", flush=True)
    return {"cep": report}


def most_entries(events: int) -> int:
    """The largest number of state entries while so many events of 1,000 keys go through a pattern with a window."""
    factory = partial(CepOperator, {"pattern": programs.small_then_large()}, Selecting(len), CepSettings())
    operator = KeyedOneInputOperatorHarness(factory, lambda payment: payment[0])
    most = 0
    for start in range(0, events, 5000):
        batch = [programs.payment(number, 1000) for number in range(start, start + 5000)]
        operator.process_elements([(payment, payment[2]) for payment in batch])
        operator.process_watermark(batch[-1][2])
        operator.clear_output()
        most = max(most, operator.state_entries())
    operator.close()
    return most


def flink_rate(records: int) -> float | None:
    """Records per second of Flink's library: the difference of a long and a short run, without their start-up."""
    jars = os.environ.get(JARS)
    if jars is None:
        return None
    class_path = ":".join(map(str, Path(jars).glob("*.jar")))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(__file__).with_name("CardFraud.java")
        subprocess.run(["javac", "-nowarn", "-cp", class_path, "-d", folder, str(source)], check=True)
        command = [
            "java",
            "-cp",
            f"{folder}:{class_path}",
            "CardFraud",
            str(records // 4),
            str(records // 4),
            str(records),
        ]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    seconds = [float(text) for text in printed[1::2]]
    return (records - records // 4) / (seconds[2] - seconds[1])


def _rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [
        (f"pattern of two stages within a minute, {report['keys']:,} keys", f"{report['pattern']:,.0f} records/s"),
        ("the same by hand, with state and timers", f"{report['by_hand']:,.0f} records/s"),
        ("the one to the other", f"{report['ratio']:.2f}"),
    ]
    entries = f"{report['entries']:,}"
    rows.append((f"entries of state at the most, 1,000 keys, {report['events']:,} events", entries))
    if report["flink"] is not None:
        rows.append(("Flink's CEP library, in Java, on the same two cores", f"{report['flink']:,.0f} records/s"))
        rows.append(("Firesteel's pattern to Flink's", f"{report['pattern'] / report['flink']:.2f}"))
    return rows


def write_page(report: Mapping[str, Any]) -> None:
    """Section "cep"."""
    machine = ", ".join(f"{name} {report['machine'][name]}" for name in ("cpu", "cores", "load", "python", "time"))
    replace_section(
        PERFORMANCE, "cep", f"{table(['what', 'measured'], _rows(report['cep']))}\n\nMeasured on: {machine}."
    )
