"""Answers about the vertices of a job and their subtasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from firesteel.events import SubtaskNumbers, VertexDescription
from firesteel.events.metrics import back_pressure_ratio, busy_ratio, records_in, records_out, user_counters
from firesteel.events.view import TASK_STATES, JobView
from firesteel.rest.summaries import aggregated

__all__ = [
    "attempt_accumulators",
    "back_pressure",
    "by_process",
    "details",
    "io_metrics",
    "place_of",
    "subtask",
    "subtask_accumulators",
    "subtask_times",
    "task_name",
    "user_accumulators",
    "watermarks",
]

_LOW, _HIGH = 0.1, 0.5
"""From which share of its time on a task counts as back-pressured a little, and much: Flink's bounds."""
_FIGURES = (
    "read-bytes",
    "write-bytes",
    "read-records",
    "write-records",
    "accumulated-backpressured-time",
    "accumulated-idle-time",
    "accumulated-busy-time",
)


def task_name(vertex: VertexDescription, subtask: int) -> str:
    """A subtask's name, in Flink's way: ``map (1/2)``."""
    return f"{vertex.name} ({subtask + 1}/{vertex.parallelism})"


def place_of(host: str, pid: int) -> tuple[str, str]:
    """Host, and the id of the process there."""
    return (host, f"{host}-{pid}") if host else ("(unassigned)", "(unassigned)")


def io_metrics(vertex: VertexDescription, numbers: Sequence[SubtaskNumbers], complete: bool) -> dict[str, Any]:
    """Records, bytes and times of some subtasks, added up."""
    return {
        "read-bytes": sum(each.bytes_in for each in numbers),
        "read-bytes-complete": complete,
        "write-bytes": sum(each.bytes_out for each in numbers),
        "write-bytes-complete": complete,
        "read-records": sum(records_in(vertex, each) for each in numbers),
        "read-records-complete": complete,
        "write-records": sum(records_out(each) for each in numbers),
        "write-records-complete": complete,
        "accumulated-backpressured-time": sum(each.back_pressured_ms for each in numbers),
        "accumulated-idle-time": sum(each.idle_ms for each in numbers),
        "accumulated-busy-time": float(sum(each.busy_ms for each in numbers)),
    }


def subtask(view: JobView, vertex: VertexDescription, index: int) -> dict[str, Any]:
    """The present attempt of one subtask."""
    numbers = view.numbers(vertex, index)
    start, end, duration = view.task_times()
    endpoint, process = place_of(numbers.host, numbers.pid)
    return {
        "subtask": index,
        "status": view.task_state(vertex, index),
        "attempt": view.attempt,
        "endpoint": endpoint,
        "start-time": start,
        "end-time": end,
        "duration": duration,
        "metrics": io_metrics(vertex, [numbers], view.latest is not None),
        "taskmanager-id": process,
        "status-duration": view.status_durations(),
        "start_time": start,
    }


def _all(view: JobView, vertex: VertexDescription) -> list[dict[str, Any]]:
    return [subtask(view, vertex, index) for index in range(vertex.parallelism)]


def _aggregated(subtasks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    states = subtasks[0]["status-duration"] if subtasks else {}
    return {
        "metrics": {name: aggregated([each["metrics"][name] for each in subtasks]) for name in _FIGURES},
        "status-duration": {name: aggregated([each["status-duration"][name] for each in subtasks]) for name in states},
    }


def details(view: JobView, vertex: VertexDescription) -> dict[str, Any]:
    """A vertex with its subtasks, and how their figures are spread."""
    subtasks = _all(view, vertex)
    return {
        "id": vertex.id,
        "name": vertex.name,
        "parallelism": vertex.parallelism,
        "maxParallelism": vertex.max_parallelism,
        "now": view.now,
        "subtasks": subtasks,
        "aggregated": _aggregated(subtasks),
    }


def subtask_times(view: JobView, vertex: VertexDescription) -> dict[str, Any]:
    """When the subtasks came into their states."""
    start, end, duration = view.task_times()
    subtasks = []
    for index in range(vertex.parallelism):
        numbers = view.numbers(vertex, index)
        times = dict.fromkeys(TASK_STATES, 0)
        times["CREATED"] = view.start
        times["RUNNING"] = max(start, 0)
        if view.is_over:
            times[view.task_state(vertex, index)] = end
        endpoint, _ = place_of(numbers.host, numbers.pid)
        subtasks.append({"subtask": index, "endpoint": endpoint, "duration": duration, "timestamps": times})
    return {"id": vertex.id, "name": vertex.name, "now": view.now, "subtasks": subtasks}


def by_process(view: JobView, vertex: VertexDescription) -> dict[str, Any]:
    """The subtasks of a vertex by the processes that run them."""
    groups: dict[str, list[int]] = defaultdict(list)
    for index in range(vertex.parallelism):
        numbers = view.numbers(vertex, index)
        groups[place_of(numbers.host, numbers.pid)[1]].append(index)
    processes = [_process(view, vertex, indexes) for indexes in groups.values()]
    return {"id": vertex.id, "name": vertex.name, "now": view.now, "taskmanagers": processes}


def _process(view: JobView, vertex: VertexDescription, indexes: Sequence[int]) -> dict[str, Any]:
    numbers = [view.numbers(vertex, index) for index in indexes]
    subtasks = [subtask(view, vertex, index) for index in indexes]
    states = [each["status"] for each in subtasks]
    start, end, duration = view.task_times()
    return {
        "endpoint": subtasks[0]["endpoint"],
        "status": states[0],
        "start-time": start,
        "end-time": end,
        "duration": duration,
        "metrics": io_metrics(vertex, numbers, view.latest is not None),
        "status-counts": {state: states.count(state) for state in TASK_STATES},
        "taskmanager-id": subtasks[0]["taskmanager-id"],
        "aggregated": _aggregated(subtasks),
    }


def watermarks(view: JobView, vertex: VertexDescription) -> list[dict[str, str]]:
    """Where event time stands at the input of each subtask; sources have none."""
    if vertex.operators[0].source or view.latest is None:
        return []
    marks = []
    for index in range(vertex.parallelism):
        operators = view.numbers(vertex, index).operators
        if operators:
            marks.append({"id": f"{index}.currentInputWatermark", "value": str(operators[0].input_watermark)})
    return marks


def back_pressure(view: JobView, vertex: VertexDescription) -> dict[str, Any]:
    """Which share of its time each subtask waits for those behind it."""
    subtasks: list[dict[str, Any]] = []
    for index in range(vertex.parallelism):
        waiting, busy = back_pressure_ratio(view, vertex, index), busy_ratio(view, vertex, index)
        level = _level(waiting)
        subtasks.append(
            {
                "subtask": index,
                "backpressureLevel": level,
                "ratio": waiting,
                "idleRatio": max(1.0 - waiting - busy, 0.0),
                "busyRatio": busy,
                "backpressure-level": level,
            }
        )
    worst = _level(max((each["ratio"] for each in subtasks), default=0.0))
    return {
        "status": "ok",
        "backpressureLevel": worst,
        "end-timestamp": view.now if view.latest is None else view.latest.time,
        "subtasks": subtasks,
        "backpressure-level": worst,
    }


def _level(ratio: float) -> str:
    return "ok" if ratio <= _LOW else "low" if ratio <= _HIGH else "high"


def _listed(counters: dict[str, int]) -> list[dict[str, str]]:
    return [{"name": name, "type": "LongCounter", "value": str(value)} for name, value in sorted(counters.items())]


def user_accumulators(view: JobView, vertex: VertexDescription) -> dict[str, Any]:
    """The counters of the functions of a vertex, added up."""
    totals: dict[str, int] = {}
    for index in range(vertex.parallelism):
        for name, value in user_counters(view, vertex, index).items():
            totals[name] = totals.get(name, 0) + value
    return {"id": vertex.id, "user-accumulators": _listed(totals)}


def attempt_accumulators(view: JobView, vertex: VertexDescription, index: int) -> dict[str, Any]:
    """The counters of the functions of the present attempt of one subtask."""
    return {
        "subtask": index,
        "attempt": view.attempt,
        "id": f"{vertex.id}_{index}_{view.attempt}",
        "user-accumulators": _listed(user_counters(view, vertex, index)),
    }


def subtask_accumulators(view: JobView, vertex: VertexDescription) -> dict[str, Any]:
    """The counters of the functions of a vertex, by subtask."""
    subtasks = []
    for index in range(vertex.parallelism):
        numbers = view.numbers(vertex, index)
        subtasks.append(
            {
                "subtask": index,
                "attempt": view.attempt,
                "endpoint": place_of(numbers.host, numbers.pid)[0],
                "user-accumulators": _listed(user_counters(view, vertex, index)),
            }
        )
    return {"id": vertex.id, "parallelism": vertex.parallelism, "subtasks": subtasks}
