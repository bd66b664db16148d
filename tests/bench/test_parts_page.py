"""The figures of single programs come to the places that the performance page has for them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import page, parts_page

PROGRAM = {
    "name": "running_sum",
    "keys": 10_000,
    "records_per_second": 1_234_567.8,
    "loop_records_per_second": 4_000_000.0,
    "ratio": 0.31,
    "epoch_seconds": 1.5,
    "startup_seconds": 0.4,
    "cpu_nanoseconds": {"slots": 1001.0, "JVM": 102.0, "relays": 53.0, "driver": 4.0, "loop": 235.0},
}
REPORT: dict[str, Any] = {
    "machine": {"cpu": "a CPU", "cores": 2, "load": 0.1, "python": "3.11", "pyspark": "4.3", "time": "today"},
    "programs": [PROGRAM],
    "windows": [{**PROGRAM, "name": "sliding_windows"}],
    "empty_epoch_ms": 84.0,
    "bare_job_ms": 70.0,
    "latency_p50_ms": 99.0,
    "latency_p99_ms": 201.0,
    "checkpointing": {"ratio": 0.93},
    "checkpoint_epochs": [{"keys": 10_000, "changes_ms": 171.0}, {"keys": 5_000_000, "changes_ms": 209.0}],
    "backend_jobs": {"keys": 1_000_000, "ratio": 0.77},
}


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (parts_page.write_throughput, ["keyed running sum, 10,000 keys", "1,234,568", "0.31", "1,500 ms", "1,001"]),
        (parts_page.write_windows, ["sliding windows of 60 s by 1 s, 10,000 keys", "a CPU"]),
        (parts_page.write_overhead, ["84 ms", "1.20", "201 ms"]),
        (parts_page.write_checkpoints, ["0.93", "5,000,000 keys", "209 ms", "0.77"]),
    ],
)
def test_a_part_writes_its_section_of_the_page_as_it_is(
    write: Callable[[Any], None], expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copy(page.PERFORMANCE, tmp_path))
    monkeypatch.setattr(parts_page, "PERFORMANCE", copy)
    write(REPORT)
    text = copy.read_text(encoding="utf-8")
    assert [each for each in expected if each not in text] == []
