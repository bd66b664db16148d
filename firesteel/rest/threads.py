"""What threads are doing: dumps and flame graphs, of this process by looking at its frames, of others by py-spy."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any

from firesteel.rest.processes import Process
from firesteel.rest.requests import RestError

__all__ = ["SAMPLES", "Stack", "dump", "flame", "sample", "stacks_of"]

Stack = tuple[str, ...]
"""Frames from the outermost in; the first is the thread's name."""
SAMPLES = 50
_PAUSE_SECONDS = 0.01
_SPY_SECONDS = 1
KINDS = ("full", "on_cpu", "off_cpu")
"""Which threads a flame graph shows: all, those that work, those that wait."""


# ---- this process ----------------------------------------------------------------------------------------------------


def _frames(frame: FrameType | None) -> list[str]:
    names = []
    while frame is not None:
        code = frame.f_code
        names.append(f"{getattr(code, 'co_qualname', code.co_name)} ({code.co_filename}:{frame.f_lineno})")
        frame = frame.f_back
    return names[::-1]


def _own_stacks() -> list[tuple[threading.Thread, list[str]]]:
    """All threads but the one that asks."""
    threads = {each.ident: each for each in threading.enumerate()}
    found = sys._current_frames()
    asking = threading.get_ident()
    return [(threads[ident], _frames(frame)) for ident, frame in found.items() if ident in threads and ident != asking]


def _works(thread: threading.Thread) -> bool:
    """Whether the machine runs a thread just now, as Linux tells it; one it tells nothing of counts as working."""
    try:
        with open(f"/proc/self/task/{thread.native_id}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "R"
    except OSError:
        return True


def sample(
    kind: str, samples: int = SAMPLES, pause: Callable[[], None] = lambda: time.sleep(_PAUSE_SECONDS)
) -> Counter[Stack]:
    """How often each stack of this process was seen, in some looks one after the other."""
    seen: Counter[Stack] = Counter()
    for number in range(samples):
        if number:
            pause()
        for thread, frames in _own_stacks():
            if kind == "full" or _works(thread) == (kind == "on_cpu"):
                stack: Stack = (thread.name, *frames)
                seen[stack] += 1
    return seen


def _own_dump() -> list[dict[str, str]]:
    return [_shown(thread.name, thread.native_id, frames) for thread, frames in _own_stacks()]


def _shown(name: str, number: int | None, frames: Sequence[str]) -> dict[str, str]:
    lines = "".join(f"\tat {each}\n" for each in reversed(frames))
    return {"threadName": name, "stringifiedThreadInfo": f'"{name}" Id={number}\n{lines}\n'}


# ---- other processes -------------------------------------------------------------------------------------------------


def _spy(process: Process, *arguments: str) -> str:
    """What py-spy sees of a process on this machine."""
    where = f"process {process.pid} on {process.host}"
    if not process.is_here:
        raise RestError(404, f"The threads of {where} cannot be seen from here: it runs on another machine.")
    program = shutil.which("py-spy")
    if program is None:
        raise RestError(404, f"To see the threads of {where}, install py-spy beside this server: pip install py-spy")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise RestError(404, f"py-spy cannot look into {where}: {done.stderr.strip() or 'it says nothing'}")
    return done.stdout


def _spied_dump(text: str) -> list[dict[str, str]]:
    shown = []
    for thread in json.loads(text):
        frames = [f"{each['name']} ({each['filename']}:{each['line']})" for each in reversed(thread["frames"])]
        name = thread.get("thread_name") or f"Thread {thread['thread_id']}"
        shown.append(_shown(name, thread.get("os_thread_id"), frames))
    return shown


def _spied_stacks(text: str) -> Counter[Stack]:
    """py-spy's raw format: frames with semicolons between them, and how often they were seen."""
    seen: Counter[Stack] = Counter()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        if stack and count.isdecimal():
            seen[tuple(stack.split(";"))] += int(count)
    return seen


# ---- both ------------------------------------------------------------------------------------------------------------


def dump(process: Process) -> dict[str, Any]:
    """What each thread of a process is doing."""
    if process.is_driver:
        return {"threadInfos": _own_dump()}
    return {"threadInfos": _spied_dump(_spy(process, "dump", "--json", "--pid", str(process.pid)))}


def stacks_of(processes: Iterable[Process], kind: str) -> Counter[Stack]:
    """The stacks of some processes, one process after the other."""
    seen: Counter[Stack] = Counter()
    for process in processes:
        if process.is_driver:
            seen.update(sample(kind))
            continue
        wanted = ["record", "--pid", str(process.pid), "--format", "raw", "--duration", str(_SPY_SECONDS)]
        everything = [] if kind == "on_cpu" else ["--idle"]
        stacks = _spied_stacks(_spy(process, *wanted, *everything, "--output", "/dev/stdout"))
        if kind == "off_cpu":
            stacks -= _spied_stacks(_spy(process, *wanted, "--output", "/dev/stdout"))
        seen.update(stacks)
    return seen


def flame(stacks: Mapping[Stack, int], at: int) -> dict[str, Any]:
    """Stacks as a tree of frames, as Flink's dashboard draws it."""
    root: dict[str, Any] = {"name": "root", "value": 0, "children": []}
    for stack, count in sorted(stacks.items()):
        node = root
        node["value"] += count
        for name in stack:
            child = next((each for each in node["children"] if each["name"] == name), None)
            if child is None:
                child = {"name": name, "value": 0, "children": []}
                node["children"].append(child)
            child["value"] += count
            node = child
    return {"endTimestamp": at, "data": root}
