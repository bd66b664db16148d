"""What half an hour of samples says: whether the results were right, and what grew."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.soak.program import WINDOW_SECONDS

Sample = Mapping[str, float]

WATCHED = ("driver_mb", "jvm_mb", "workers_mb", "descriptors", "threads", "checkpoints_files", "tmp_files", "entries")


def windows(folder: Path) -> list[tuple[int, int, int]]:
    """(end, keys, records) of each window that was written, in order of time."""
    visible = [path for path in folder.rglob("part-*") if not path.name.startswith(".")]
    lines = [line for path in visible for line in path.read_text(encoding="utf-8").splitlines()]
    return sorted(tuple(map(int, line.split(","))) for line in lines)  # type: ignore[misc]


def wrong_windows(found: Sequence[tuple[int, int, int]], rate: int) -> list[str]:
    """Windows that are missing, doubled, or have not all their records; the last one is cut off by the job's end."""
    size = WINDOW_SECONDS * 1000
    wrong = [
        f"window to {end}: {records} records, expected {rate * WINDOW_SECONDS}"
        for end, _, records in found[:-1]
        if records != rate * WINDOW_SECONDS
    ]
    expected = list(range(size, size * (len(found) + 1), size))
    if [end for end, _, _ in found] != expected:
        wrong.append(f"{len(found)} windows from {found[0][0]} to {found[-1][0]}: not one after the other")
    return wrong


def growth(samples: Sequence[Sample], name: str) -> tuple[float, float]:
    """The medians of the second quarter and of the last: what is flat has equal ones. The first is the start."""
    values = [each.get(name, 0.0) for each in samples]
    quarter = max(len(values) // 4, 1)
    return statistics.median(values[quarter : 2 * quarter]), statistics.median(values[-quarter:])


def summary(samples: Sequence[Sample]) -> dict[str, Any]:
    """Growth of everything that is watched."""
    return {name: growth(samples, name) for name in WATCHED}
