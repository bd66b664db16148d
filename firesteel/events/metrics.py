"""Metrics of a job under Flink's names, from its history: of the job, of its subtasks and of the operators in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from firesteel.events.types import (
    CheckpointCompleted,
    OperatorDescription,
    OperatorNumbers,
    SubtaskNumbers,
    VertexDescription,
)
from firesteel.events.view import JobView
from firesteel.metrics import DistributionValue, MetricSnapshot

__all__ = [
    "NamedNumber",
    "back_pressure_ratio",
    "busy_ratio",
    "coordinator_metrics",
    "coordinator_numbers",
    "job_metrics",
    "operator_numbers",
    "records_in",
    "records_out",
    "subtask_metrics",
    "task_metrics",
    "user_counters",
    "vertex_metrics",
]

Metrics = dict[str, Any]
_INVALID = str.maketrans(dict.fromkeys(" .:,", "_"))
_STATE_TIMES = {
    "INITIALIZING": "initializingTime",
    "CREATED": "createdTime",
    "RUNNING": "runningTime",
    "RESTARTING": "restartingTime",
    "FAILING": "failingTime",
    "CANCELLING": "cancellingTime",
}


def records_in(vertex: VertexDescription, numbers: SubtaskNumbers) -> int:
    """Records that a subtask got from others; a source gets none."""
    is_source = bool(vertex.operators) and vertex.operators[0].source
    return 0 if is_source or not numbers.operators else numbers.operators[0].records_in


def records_out(numbers: SubtaskNumbers) -> int:
    """Records that the last operator of a chain sent on."""
    return numbers.operators[-1].records_out if numbers.operators else 0


# ---- jobs ------------------------------------------------------------------------------------------------------------


def job_metrics(view: JobView) -> Metrics:
    """How long it has been in its present status, restarts, checkpoints."""
    now_in = dict.fromkeys(_STATE_TIMES.values(), 0)
    if view.state in _STATE_TIMES:
        now_in[_STATE_TIMES[view.state]] = max(view.now - view.timestamps[view.state], 0)
    down = now_in["restartingTime"] + now_in["failingTime"]
    return {
        **now_in,
        "uptime": -1 if view.is_over else now_in["runningTime"],
        "downtime": -1 if view.is_over else down,
        "numRestarts": view.attempt,
        **_checkpoint_metrics(view),
    }


def _checkpoint_metrics(view: JobView) -> Metrics:
    counts = view.history.checkpoint_counts
    completed = [each for each in view.history.checkpoints if isinstance(each, CheckpointCompleted)]
    last = completed[-1] if completed else None
    restored = view.history.restored
    return {
        "lastCheckpointCompletedTimestamp": -1 if last is None else last.time,
        "lastCheckpointDuration": -1 if last is None else last.duration_ms,
        "lastCheckpointExternalPath": "n/a" if last is None else last.path,
        "lastCheckpointSize": -1 if last is None else last.state_bytes,
        "lastCheckpointRestoreTimestamp": restored[-1].time if restored else -1,
        "lastCompletedCheckpointId": -1 if last is None else last.checkpoint_id,
        "numberOfCompletedCheckpoints": counts["completed"],
        "numberOfFailedCheckpoints": counts["failed"],
        "numberOfInProgressCheckpoints": counts["in_progress"],
        "totalNumberOfCheckpoints": counts["completed"] + counts["failed"] + counts["in_progress"],
    }


# ---- subtasks --------------------------------------------------------------------------------------------------------


def _seconds(view: JobView) -> float:
    """The time between the two samples that rates are made of; 0 if there is one only."""
    if view.latest is None or view.earlier is None:
        return 0.0
    return (view.latest.time - view.earlier.time) / 1000


def _rate(view: JobView, now: int, before: int) -> float:
    seconds = _seconds(view)
    return max(now - before, 0) / seconds if seconds else 0.0


def busy_ratio(view: JobView, vertex: VertexDescription, subtask: int) -> float:
    """The share of its time in which a subtask worked: in the last minute, or in the last epoch."""
    now, before = view.numbers(vertex, subtask), view.earlier_numbers(vertex, subtask)
    if before is None:
        return min(max(now.busy_ratio, 0.0), 1.0)
    return min(_rate(view, now.busy_ms, before.busy_ms) / 1000, 1.0)


def back_pressure_ratio(view: JobView, vertex: VertexDescription, subtask: int) -> float:
    """The share of its time in which a subtask waited for those behind it, in the last minute or since its start."""
    now, before = view.numbers(vertex, subtask), view.earlier_numbers(vertex, subtask)
    if before is None:
        whole = now.busy_ms + now.idle_ms + now.back_pressured_ms
        return now.back_pressured_ms / whole if whole else 0.0
    return min(_rate(view, now.back_pressured_ms, before.back_pressured_ms) / 1000, 1.0)


def task_metrics(view: JobView, vertex: VertexDescription, subtask: int) -> Metrics:
    """The metrics of a subtask as a whole."""
    now, before = view.numbers(vertex, subtask), view.earlier_numbers(vertex, subtask)
    earlier = before or SubtaskNumbers(vertex.id, subtask)
    waiting, busy = back_pressure_ratio(view, vertex, subtask), busy_ratio(view, vertex, subtask)
    metrics: Metrics = {
        "numRecordsIn": records_in(vertex, now),
        "numRecordsInPerSecond": _rate(view, records_in(vertex, now), records_in(vertex, earlier)),
        "numRecordsOut": records_out(now),
        "numRecordsOutPerSecond": _rate(view, records_out(now), records_out(earlier)),
        "numBytesIn": now.bytes_in,
        "numBytesInPerSecond": _rate(view, now.bytes_in, earlier.bytes_in),
        "numBytesOut": now.bytes_out,
        "numBytesOutPerSecond": _rate(view, now.bytes_out, earlier.bytes_out),
        "busyTimeMsPerSecond": busy * 1000,
        "backPressuredTimeMsPerSecond": waiting * 1000,
        "idleTimeMsPerSecond": max(1.0 - busy - waiting, 0.0) * 1000,
        "accumulateBusyTimeMs": now.busy_ms,
        "accumulateBackPressuredTimeMs": now.back_pressured_ms,
        "accumulateIdleTimeMs": now.idle_ms,
        "isBackPressured": waiting > 0.1,
    }
    if now.operators and not vertex.operators[0].source:
        metrics["currentInputWatermark"] = now.operators[0].input_watermark
    return metrics


def subtask_metrics(view: JobView, vertex: VertexDescription, subtask: int) -> Metrics:
    """All metrics of a subtask: its own, and its operators' with their names before them."""
    metrics = task_metrics(view, vertex, subtask)
    names = {each.uid: each.name for each in vertex.operators}
    for uid, numbers in operator_numbers(view, vertex, subtask).items():
        prefix = names.get(uid, uid).translate(_INVALID)
        metrics.update({f"{prefix}.{name}": value for name, value in _flat(numbers).items()})
    return metrics


@dataclass(frozen=True)
class NamedNumber:
    """One metric of an operator.

    :param kind: counter, gauge, meter or histogram where the user has made it; empty for those of the engine.
    :param count: How many events a meter has counted.
    """

    name: str
    value: Any
    kind: str = ""
    count: int | None = None


def operator_numbers(view: JobView, vertex: VertexDescription, subtask: int) -> dict[str, list[NamedNumber]]:
    """The metrics of a subtask's operators, by their uids: the engine's, and those that functions keep."""
    before = view.earlier_numbers(vertex, subtask) or SubtaskNumbers(vertex.id, subtask)
    earlier = {each.uid: each for each in before.operators}
    return {
        each.uid: list(_operator_numbers(view, each, earlier.get(each.uid) or OperatorNumbers(each.uid), subtask))
        for each in view.numbers(vertex, subtask).operators
    }


def _operator_numbers(
    view: JobView, now: OperatorNumbers, before: OperatorNumbers, subtask: int
) -> Iterator[NamedNumber]:
    yield NamedNumber("numRecordsIn", now.records_in)
    yield NamedNumber("numRecordsInPerSecond", _rate(view, now.records_in, before.records_in))
    yield NamedNumber("numRecordsOut", now.records_out)
    yield NamedNumber("numRecordsOutPerSecond", _rate(view, now.records_out, before.records_out))
    yield NamedNumber("currentInputWatermark", now.input_watermark)
    yield NamedNumber("currentOutputWatermark", now.output_watermark)
    yield NamedNumber("numKeyedStateEntries", now.keyed_state_entries)
    yield from _user_numbers(view, _in_driver(view, now.uid, subtask), {})
    yield from _user_numbers(view, now.user, before.user)


def _in_driver(view: JobView, uid: str, subtask: int) -> Any:
    """What was measured in the driver; a log has the numbers of subtasks as text."""
    measured = {} if view.latest is None else view.latest.in_driver.get(uid, {})
    return {int(index): each for index, each in measured.items()}.get(subtask, {})


def _part(user: MetricSnapshot | Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """The user's metrics of one kind, from a live job or from a log."""
    found = getattr(user, kind, None) if isinstance(user, MetricSnapshot) else user.get(kind)
    return found or {}


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name)


def _user_numbers(view: JobView, now: Any, before: Any) -> Iterator[NamedNumber]:
    """A meter is its rate, as in Flink."""
    for name, value in _part(now, "counters").items():
        yield NamedNumber(name, value, "counter")
    for name, value in _part(now, "gauges").items():
        yield NamedNumber(name, value, "gauge")
    for name, meter in _part(now, "meters").items():
        earlier = _part(before, "meters").get(name)
        count = _field(meter, "count")
        rate = _rate(view, count, 0 if earlier is None else _field(earlier, "count"))
        yield NamedNumber(name, rate, "meter", count)
    for name, each in _part(now, "distributions").items():
        values = DistributionValue(*(_field(each, part) for part in ("count", "sum", "min", "max")))
        yield NamedNumber(name, values, "histogram")


def _flat(numbers: list[NamedNumber]) -> Metrics:
    """By name; a distribution is four metrics."""
    metrics: Metrics = {}
    for each in numbers:
        if not isinstance(each.value, DistributionValue):
            metrics[each.name] = each.value
            continue
        metrics[f"{each.name}_count"] = each.value.count
        if each.value.count:
            metrics[f"{each.name}_min"], metrics[f"{each.name}_max"] = each.value.min, each.value.max
            metrics[f"{each.name}_mean"] = each.value.mean
    return metrics


def user_counters(view: JobView, vertex: VertexDescription, subtask: int) -> dict[str, int]:
    """The counters of the functions of one subtask."""
    totals: dict[str, int] = {}
    for each in view.numbers(vertex, subtask).operators:
        for name, value in _part(each.user, "counters").items():
            totals[name] = totals.get(name, 0) + value
    return totals


def vertex_metrics(view: JobView, vertex: VertexDescription) -> Metrics:
    """The metrics of all subtasks of a vertex, with the number of the subtask before their names."""
    return {
        f"{subtask}.{name}": value
        for subtask in range(vertex.parallelism)
        for name, value in subtask_metrics(view, vertex, subtask).items()
    }


def coordinator_numbers(view: JobView, operator: OperatorDescription) -> list[NamedNumber]:
    """What the half of an operator that is in the driver has measured."""
    return list(_user_numbers(view, _in_driver(view, operator.uid, -1), {}))


def coordinator_metrics(view: JobView, vertex: VertexDescription) -> Metrics:
    """What the halves of operators that are in the driver have measured."""
    return {
        f"{each.name.translate(_INVALID)}.coordinator.{name}": value
        for each in vertex.operators
        for name, value in _flat(coordinator_numbers(view, each)).items()
    }
