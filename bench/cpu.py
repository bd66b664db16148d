"""Processor time and memory by kind of process: tells where they go, also on a machine that is busy otherwise."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_SLOT = re.compile(r"firesteel\.execution\.spark\.slot .*\.sock\0(\d+)\0")
"""The command line of a slot: its socket, and the process for which it works."""
KINDS = ("slots", "relays", "JVM", "driver")


def cpu_seconds() -> Counter[str]:
    """Processor time that this process and its descendants have used so far, by kind: one of :data:`KINDS`.

    Empty where there is no ``/proc``. The time of processes that have ended meanwhile is lost, which is why relays
    (Spark's Python workers) are counted only while Spark keeps them.
    """
    used: Counter[str] = Counter()
    for pid, seconds in _processes().items():
        used[_kind(pid)] += seconds
    return used


def slot_memory() -> int:
    """Bytes of memory that the slots have for themselves, all together; 0 where there is no ``/proc``."""
    return sum(_anonymous_memory(pid) for pid in _processes() if _kind(pid) == "slots")


def _processes() -> dict[int, float]:
    """This process and its descendants, with the processor time they have used."""
    parents: dict[int, int] = {}
    times: dict[int, float] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # ended while we looked
            continue
        parents[int(entry.name)] = int(fields[1])
        times[int(entry.name)] = (int(fields[11]) + int(fields[12])) / _TICKS
    return {pid: seconds for pid, seconds in times.items() if _descends(_owner(pid) or pid, parents)}


def _owner(pid: int) -> int | None:
    """The process for which a slot works, from its command line: whoever has started it may be gone."""
    found = _SLOT.search(_command(pid))
    return int(found[1]) if found else None


def _anonymous_memory(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:  # ended while we looked
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Anonymous:"))


def _descends(pid: int, parents: dict[int, int]) -> bool:
    while pid > 1:
        if pid == os.getpid():
            return True
        pid = parents.get(pid, 0)
    return False


def _command(pid: int) -> str:
    """The command line, with a zero after each argument; empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _kind(pid: int) -> str:
    if pid == os.getpid():
        return "driver"
    command = _command(pid)
    if _SLOT.search(command):
        return "slots"
    return "relays" if not command or ("pyspark" in command and "python" in command.partition("\0")[0]) else "JVM"
