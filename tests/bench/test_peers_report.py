"""The table of the comparison with peers."""

from __future__ import annotations

from typing import Any

from bench.peers.catalogue import PEERS
from bench.peers.report import best_of, markdown, medians, merged, summary

MACHINE = {
    "time": "2026-01-02T03:04:05+00:00", "cpu": "a processor", "cores": 2, "load": 0.1, "system": "Linux",
    "python": "3.11.7", "pyspark": "4.3.0", "firesteel": "0.1",
}  # fmt: skip


def run(peer: str, variant: str, work: str, repetition: int, rate: float) -> dict[str, Any]:
    times = {"rate": rate, "startup": 1.0 + repetition, "steady": 8.0, "whole": 10.0}
    return {"peer": peer, "variant": variant, "work": work, "repetition": repetition, "records": 1, "times": times}


RUNS = [
    *(run("loop", "", "running_sum", number, 3_000_000.0) for number in range(3)),
    *(run("firesteel", "", "running_sum", number, rate) for number, rate in enumerate([900_000.0, 1_234_567.0, 1.0])),
    *(run("bytewax", "worker", "running_sum", number, 500_000.0) for number in range(3)),
    *(run("bytewax", "processes", "running_sum", number, 300_000.0) for number in range(3)),
    *(run("bytewax", "processes", "q0", number, 600_000.0) for number in range(3)),
]
REPORT = {
    "machine": MACHINE,
    "versions": {"loop": "3.11.7", "firesteel": "0.1", "bytewax": "0.21.1"},
    "failures": [{"row": "Pathway", "work": "join", "why": "Pathway cannot be set up: no network"}],
    "runs": RUNS,
}


def test_a_figure_is_the_median_of_the_repetitions() -> None:
    assert medians(RUNS, "rate")["firesteel", "", "running_sum"] == 900_000.0
    assert medians(RUNS, "startup")["firesteel", "", "running_sum"] == 2.0


def test_what_was_measured_again_replaces_what_was_before() -> None:
    again = {
        "machine": {**MACHINE, "load": 3.0},
        "versions": {"bytewax": "0.22", "pathway": "0.33"},
        "failures": [{"row": "Firesteel", "work": "q5", "why": "failed"}],
        "runs": [run("bytewax", "worker", "running_sum", 0, 7.0), run("pathway", "", "join", 0, 8.0)],
    }
    both = merged([REPORT, again])
    rates = medians(both["runs"], "rate")
    assert rates["bytewax", "worker", "running_sum"] == 7.0
    assert rates["bytewax", "processes", "running_sum"] == 300_000.0
    assert rates["pathway", "", "join"] == 8.0
    assert both["versions"] == {"loop": "3.11.7", "firesteel": "0.1", "bytewax": "0.22", "pathway": "0.33"}
    assert both["failures"] == again["failures"]
    assert both["machine"] == MACHINE
    assert "the median of 1 to 3 runs" in markdown(both)
    assert len(REPORT["runs"]) == len(RUNS) == 15


def test_the_chart_shows_the_best_variant() -> None:
    assert best_of(medians(RUNS, "rate"))["bytewax", "running_sum"] == 500_000.0


def test_the_table_has_a_row_per_variant_and_marks_the_quickest_engine_of_a_work() -> None:
    lines = markdown(REPORT).splitlines()
    assert "|  | keyed running sum | Nexmark q0 |" in lines
    assert "| a plain loop, one core | 3,000,000 | - |" in lines
    assert "| Firesteel | **900,000** | - |" in lines
    assert "| Bytewax, one worker | 500,000 | - |" in lines
    assert "| Bytewax, two processes | 300,000 | **600,000** |" in lines


def test_the_short_table_has_a_row_per_work_and_the_best_variant_of_each_engine() -> None:
    assert summary(REPORT).splitlines() == [
        "| records per second | a plain loop, one core | Firesteel | Bytewax |",
        "| --- | --- | --- | --- |",
        "| keyed running sum | 3,000,000 | **900,000** | 500,000 |",
        "| Nexmark q0 | - | - | **600,000** |",
    ]


def test_the_table_says_versions_start_up_and_what_is_missing() -> None:
    text = markdown(REPORT)
    assert "| Bytewax | 0.21.1 | 2.0 s | 10 s |" in text
    assert "- Pathway, window join: Pathway cannot be set up: no network" in text
    assert "a processor" in text
    assert "the median of 3 runs" in text


def test_counts_of_records_are_even_and_whole_blocks_of_nexmark() -> None:
    for peer in PEERS.values():
        for work in peer.rates:
            for variant in peer.variants:
                counts = [peer.records(variant, work, seconds) for seconds in (0.01, 1, 8)]
                assert all(count > 0 and count % 100 == 0 for count in counts)


def test_slower_variants_get_fewer_records() -> None:
    pyflink = PEERS["pyflink"]
    counts = {variant: pyflink.records(variant, "running_sum", 8) for variant in pyflink.variants}
    assert counts["process-default"] < counts["thread-tuned"]
