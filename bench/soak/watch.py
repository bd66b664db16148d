"""Watching a job from outside: its processes by a mark in their environment, its files by their folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

MARK = "FIRESTEEL_SOAK"
"""Processes inherit their environment: whoever starts a slot, it can be told whose it is."""
MEGABYTE = 1024 * 1024


def sample(mark: str, directory: Path) -> dict[str, float]:
    """What a job has now: memory by kind of process in megabytes, descriptors, threads, processes, files."""
    found: Counter[str] = Counter()
    for process in marked(mark):
        try:
            found[f"{_kind(process)}_mb"] += _own_memory(process) / MEGABYTE
            found["descriptors"] += len(os.listdir(process / "fd"))
            found["threads"] += len(os.listdir(process / "task"))
        except OSError:  # ended while we looked
            continue
        found["processes"] += 1
    for folder in ("checkpoints", "tmp"):
        found[f"{folder}_files"] = 0
        for size in _sizes(directory / folder):
            found[f"{folder}_files"] += 1
            found[f"{folder}_mb"] += size / MEGABYTE
    return dict(found)


def marked(mark: str) -> list[Path]:
    """The processes that carry a mark, as folders of ``/proc``."""
    wanted = f"{MARK}={mark}".encode()
    return [entry for entry in Path("/proc").glob("[0-9]*") if wanted in _environment(entry).split(b"\0")]


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


def _kind(process: Path) -> str:
    command = (process / "cmdline").read_bytes().split(b"\0")
    if command[0].endswith(b"java"):
        return "jvm"
    return "driver" if any(word.endswith(b"soak.program") for word in command) else "workers"


def _own_memory(process: Path) -> int:
    lines = (process / "smaps_rollup").read_text(encoding="utf-8").splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Anonymous:"))


def _sizes(folder: Path) -> Iterator[int]:
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.lstat(os.path.join(where, name)).st_size
            except OSError:
                continue
