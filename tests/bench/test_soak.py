"""What the soak says of its samples and of what its job has written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.soak.__main__ import bad
from bench.soak.program import VISIT_SECONDS, VISITS_PER_SECOND, event
from bench.soak.verdict import growth, windows, wrong_windows
from bench.soak.watch import MARK, marked, sample

GOOD: dict[str, Any] = {"exit_code": 0, "wrong": [], "late": 0, "left_processes": 0, "left_files": 0}


def test_visits_end_and_others_begin() -> None:
    rate = 1000
    seconds = {
        second: {event(index, rate)[0] for index in range(second * rate, (second + 1) * rate)} for second in (10, 20)
    }
    assert len(seconds[10]) == VISITS_PER_SECOND * VISIT_SECONDS
    assert not seconds[10] & seconds[20]


def test_windows_are_read_from_finished_files_only(tmp_path: Path) -> None:
    (tmp_path / "2024").mkdir()
    (tmp_path / "2024" / "part-1").write_text("20000,3,50\n")
    (tmp_path / "2024" / "part-0").write_text("10000,2,40\n")
    (tmp_path / "2024" / ".part-2.inprogress").write_text("30000,1,1\n")
    assert windows(tmp_path) == [(10_000, 2, 40), (20_000, 3, 50)]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([(10_000, 1, 50), (20_000, 1, 50), (30_000, 1, 7)], 0),
        ([(10_000, 1, 50), (20_000, 1, 49), (30_000, 1, 50)], 1),
        ([(10_000, 1, 50), (30_000, 1, 50)], 1),
        ([(10_000, 1, 50), (10_000, 1, 50), (20_000, 1, 50)], 1),
    ],
    ids=["right, the last one cut off", "a record is missing", "a window is missing", "a window came twice"],
)
def test_a_window_that_is_not_right_is_found(found: list[tuple[int, int, int]], expected: int) -> None:
    assert len(wrong_windows(found, rate=5)) == expected


def test_growth_leaves_the_start_out() -> None:
    samples = [{"x": value} for value in (0, 5, 10, 10, 11, 12, 20, 20)]
    assert growth(samples, "x") == (10, 20)


@pytest.mark.parametrize("name", [None, *GOOD])
def test_a_soak_fails_for_each_thing_that_is_not_right(name: str | None) -> None:
    job = dict(GOOD)
    if name is not None:
        job[name] = ["window"] if name == "wrong" else 1
    assert bad(job) == (name is not None)


def test_a_sample_counts_the_processes_that_carry_the_mark(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "file").write_bytes(b"x" * 10)
    mark = f"test-{os.getpid()}"
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={**os.environ, MARK: mark})
    try:
        assert [process.name for process in marked(mark)] == [str(child.pid)]
        seen = sample(mark, tmp_path)
        assert (seen["processes"], seen["tmp_files"], seen["checkpoints_files"]) == (1, 1, 0)
        assert seen["descriptors"] >= 3
    finally:
        child.communicate(b"\n")
    assert marked(mark) == []
