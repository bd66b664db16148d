"""What is written about the measured queries of Nexmark."""

from __future__ import annotations

from bench.measure import JobRun
from bench.nexmark.__main__ import generator_rate, markdown, report_of


def run(rate: float) -> JobRun:
    return JobRun(rate, 0.5, 1.0, {}, [], frozenset())


RUNS = {"q0": [run(100.0), run(200.0), run(400.0)], "q5": [run(50.0), run(20.0), run(100.0)]}
LOOPS = [1000.0, 1000.0, 200.0]


def test_ratios_are_those_of_the_same_turn() -> None:
    """Of 0.5, 0.1 and 0.25 to q0, and 0.05, 0.02 and 0.5 to the loop; not ratios of medians."""
    report = report_of("q5", RUNS, LOOPS, 10)
    assert (report["ratio_to_q0"], report["ratio_to_generator"]) == (0.25, 0.05)
    assert (report["events_per_second"], report["title"]) == (50.0, "Hot items")


def test_the_section_of_the_page() -> None:
    machine = {
        "time": "2026-01-02T03",
        "firesteel": "1",
        "pyspark": "4",
        "python": "3",
        "cores": 2,
        "cpu": "C",
        "load": 0,
    }
    queries = [report_of(name, RUNS, LOOPS, 10) for name in RUNS]
    lines = markdown({"machine": machine, "repetitions": 3, "queries": queries}).splitlines()
    assert "makes 1,000 events/s" in lines[0]
    assert lines[-2:] == [
        "| q0 | Pass-through | 200 | 1.00 | 0.20 | 0.5 s |",
        "| q5 | Hot items | 50 | 0.25 | 0.05 | 0.5 s |",
    ]


def test_the_loop_is_timed() -> None:
    assert generator_rate(100) > 0
