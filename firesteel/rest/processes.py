"""Answers about the processes that run subtasks, which Flink calls task managers, and about the driver."""

from __future__ import annotations

import os
import platform
import socket
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from firesteel.events import JobView

__all__ = [
    "Process",
    "details",
    "driver_metrics",
    "environment",
    "environment_of_log",
    "listed",
    "process_metrics",
    "processes_of",
]

_NO_MEMORY = -1
"""What Flink says of sizes that are not limited."""


@dataclass
class Process:
    """A process that runs subtasks of jobs."""

    host: str
    pid: int
    seen: int = 0
    """When its numbers came in last."""
    tasks: dict[str, int] = field(default_factory=dict)
    """Job -> how many subtasks run there."""
    slots: dict[str, set[int]] = field(default_factory=dict)
    """Job -> which subtasks: those with the same number share a slot."""

    @property
    def id(self) -> str:
        """The name by which the process is asked for."""
        return f"{self.host}-{self.pid}"

    @property
    def is_here(self) -> bool:
        """Whether it runs on the machine of this server."""
        return self.host == socket.gethostname()

    @property
    def is_driver(self) -> bool:
        """Whether it is the process of this server."""
        return self.is_here and self.pid == os.getpid()


def processes_of(views: Iterable[JobView]) -> list[Process]:
    """The processes of all jobs that run, as of their last epochs."""
    found: dict[tuple[str, int], Process] = {}
    for view in views:
        if view.is_over or view.latest is None:
            continue
        job = view.job.job_id
        for each in view.latest.subtasks:
            process = found.setdefault((each.host, each.pid), Process(each.host, each.pid))
            process.seen = max(process.seen, view.latest.time)
            process.tasks[job] = process.tasks.get(job, 0) + 1
            process.slots.setdefault(job, set()).add(each.subtask)
    return [found[key] for key in sorted(found)]


def _resource(slots: int) -> dict[str, Any]:
    """A slot is one process's thread of work; memory is not set aside for it in Flink's kinds."""
    return {
        "cpuCores": float(slots),
        "taskHeapMemory": 0,
        "taskOffHeapMemory": 0,
        "managedMemory": 0,
        "networkMemory": 0,
        "extendedResources": {},
    }


def _entry(process: Process) -> dict[str, Any]:
    slots = sum(len(each) for each in process.slots.values())
    whole, free = _machine_memory() if process.is_here else (0, 0)
    memory = dict.fromkeys(
        (
            "frameworkHeap",
            "taskHeap",
            "frameworkOffHeap",
            "taskOffHeap",
            "networkMemory",
            "managedMemory",
            "jvmMetaspace",
            "jvmOverhead",
            "totalFlinkMemory",
        ),
        _NO_MEMORY,
    )
    return {
        "id": process.id,
        "path": f"{process.host}:{process.pid}",
        "dataPort": -1,
        "jmxPort": -1,
        "timeSinceLastHeartbeat": process.seen,
        "slotsNumber": slots,
        "freeSlots": 0,
        "assignedTasks": sum(process.tasks.values()),
        "totalResource": _resource(slots),
        "freeResource": _resource(0),
        "hardware": {
            "cpuCores": (os.cpu_count() or 0) if process.is_here else 0,
            "physicalMemory": whole,
            "freeMemory": free,
            "managedMemory": 0,
        },
        "memoryConfiguration": {**memory, "totalProcessMemory": _resident(process)},
    }


def listed(processes: Sequence[Process]) -> dict[str, Any]:
    """All processes that run subtasks."""
    return {"taskmanagers": [_entry(each) for each in processes]}


def details(process: Process) -> dict[str, Any]:
    """One process. Its memory is that of the process as a whole; Java's kinds of it do not exist."""
    resident = _resident(process)
    allocated = [
        {"jobId": job, "resource": _resource(len(process.slots[job])), "assignedTasks": number}
        for job, number in process.tasks.items()
    ]
    absent = dict.fromkeys(
        (
            "nonHeapUsed",
            "nonHeapCommitted",
            "nonHeapMax",
            "directCount",
            "directUsed",
            "directMax",
            "mappedCount",
            "mappedUsed",
            "mappedMax",
            "nettyShuffleMemorySegmentsAvailable",
            "nettyShuffleMemorySegmentsUsed",
            "nettyShuffleMemorySegmentsTotal",
            "nettyShuffleMemoryAvailable",
            "nettyShuffleMemoryUsed",
            "nettyShuffleMemoryTotal",
        ),
        0,
    )
    used = {"heapUsed": resident, "heapCommitted": resident, "heapMax": _machine_memory()[0], **absent}
    return {**_entry(process), "allocatedSlots": allocated, "metrics": {**used, "garbageCollectors": []}}


def process_metrics(process: Process) -> dict[str, Any]:
    """What is known of a process as a whole; of one on another machine, what its subtasks say."""
    metrics: dict[str, Any] = {"Status.Process.Tasks": sum(process.tasks.values())}
    if process.is_here:
        metrics |= _process_numbers(process.pid)
    return metrics


def driver_metrics(views: Sequence[JobView]) -> dict[str, Any]:
    """What Flink's job manager tells of itself."""
    running = [view for view in views if not view.is_over]
    slots = sum(max((each.parallelism for each in view.job.vertices), default=0) for view in running)
    return {
        "numRunningJobs": len(running),
        "numRegisteredTaskManagers": len(processes_of(views)),
        "taskSlotsTotal": slots,
        "taskSlotsAvailable": 0,
        **_process_numbers(os.getpid()),
    }


def _process_numbers(pid: int) -> dict[str, Any]:
    fields = _status_of(pid)
    numbers: dict[str, Any] = {}
    if "VmRSS" in fields:
        numbers["Status.Process.Memory.Resident"] = int(fields["VmRSS"].split()[0]) * 1024
    if "Threads" in fields:
        numbers["Status.Process.Threads.Count"] = int(fields["Threads"])
    return numbers


def _resident(process: Process) -> int:
    return int(_process_numbers(process.pid).get("Status.Process.Memory.Resident", 0)) if process.is_here else 0


def _status_of(pid: int) -> dict[str, str]:
    """What Linux tells of a process; nothing if it is gone, or elsewhere."""
    return _fields(f"/proc/{pid}/status")


def _machine_memory() -> tuple[int, int]:
    fields = _fields("/proc/meminfo")
    whole, free = (int(fields.get(name, "0").split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    return whole, free


def _fields(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}
    except OSError:
        return {}


def environment() -> dict[str, Any]:
    """What the driver runs on. There is no Java machine of its own: Python takes its place in the answer."""
    version = f"Python {platform.python_version()} ({platform.python_implementation()})"
    options = [name for name, value in (("-O", sys.flags.optimize), ("-X dev", sys.flags.dev_mode)) if value]
    return {
        "jvm": {"version": version, "arch": platform.machine(), "options": options},
        "classpath": [each for each in sys.path if each],
    }


def environment_of_log(view: JobView) -> dict[str, Any]:
    """The same of a job that is known by its log only."""
    return {"jvm": {"version": f"Firesteel {view.job.version}", "arch": "", "options": []}, "classpath": []}
