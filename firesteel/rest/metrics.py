"""Metrics under Flink's names: of jobs, of subtasks and of the operators in them, and what several add up to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firesteel.events import CheckpointCompleted, OperatorNumbers, SubtaskNumbers, VertexDescription
from firesteel.metrics import MetricSnapshot
from firesteel.rest.summaries import skew
from firesteel.rest.view import JobView

__all__ = [
    "AGGREGATIONS",
    "aggregate",
    "back_pressure_ratio",
    "busy_ratio",
    "coordinator_metrics",
    "job_metrics",
    "listed",
    "records_in",
    "records_out",
    "subtask_metrics",
    "user_counters",
    "vertex_metrics",
]

Metrics = dict[str, Any]
AGGREGATIONS = ("min", "max", "avg", "sum", "skew")
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


def subtask_metrics(view: JobView, vertex: VertexDescription, subtask: int) -> Metrics:
    """All metrics of a subtask: its own, and its operators' with their names before them."""
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
    before_by_uid = {each.uid: each for each in earlier.operators}
    names = {each.uid: each.name for each in vertex.operators}
    for each in now.operators:
        prefix = names.get(each.uid, each.uid).translate(_INVALID)
        own = _operator_metrics(view, each, before_by_uid.get(each.uid) or OperatorNumbers(each.uid), subtask)
        metrics.update({f"{prefix}.{name}": value for name, value in own.items()})
    return metrics


def _operator_metrics(view: JobView, now: OperatorNumbers, before: OperatorNumbers, subtask: int) -> Metrics:
    return {
        "numRecordsIn": now.records_in,
        "numRecordsInPerSecond": _rate(view, now.records_in, before.records_in),
        "numRecordsOut": now.records_out,
        "numRecordsOutPerSecond": _rate(view, now.records_out, before.records_out),
        "currentInputWatermark": now.input_watermark,
        "currentOutputWatermark": now.output_watermark,
        "numKeyedStateEntries": now.keyed_state_entries,
        **_user_metrics(view, _in_driver(view, now.uid, subtask), {}),
        **_user_metrics(view, now.user, before.user),
    }


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


def _user_metrics(view: JobView, now: Any, before: Any) -> Metrics:
    """A meter is its rate, as in Flink; a distribution is four metrics."""
    metrics: Metrics = {**_part(now, "counters"), **_part(now, "gauges")}
    for name, meter in _part(now, "meters").items():
        earlier = _part(before, "meters").get(name)
        metrics[name] = _rate(view, _field(meter, "count"), 0 if earlier is None else _field(earlier, "count"))
    for name, each in _part(now, "distributions").items():
        count = _field(each, "count")
        metrics[f"{name}_count"] = count
        if count:
            metrics[f"{name}_min"], metrics[f"{name}_max"] = _field(each, "min"), _field(each, "max")
            metrics[f"{name}_mean"] = _field(each, "sum") / count
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


def coordinator_metrics(view: JobView, vertex: VertexDescription) -> Metrics:
    """What the halves of operators that are in the driver have measured."""
    return {
        f"{each.name.translate(_INVALID)}.coordinator.{name}": value
        for each in vertex.operators
        for name, value in _user_metrics(view, _in_driver(view, each.uid, -1), {}).items()
    }


# ---- answers ---------------------------------------------------------------------------------------------------------


def listed(metrics: Metrics, wanted: Sequence[str] | None) -> list[dict[str, str]]:
    """The names of all metrics; or those that are asked for by name, with their values as text."""
    if wanted is None:
        return [{"id": name} for name in sorted(metrics)]
    return [{"id": name, "value": _text(metrics[name])} for name in wanted if name in metrics]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def aggregate(several: Iterable[Metrics], wanted: Sequence[str] | None, how: Sequence[str]) -> list[dict[str, Any]]:
    """Metrics of several subtasks or jobs taken together; what is no number is left out."""
    everything = list(several)
    if wanted is None:
        return [{"id": name} for name in sorted({name for each in everything for name in each})]
    answer = []
    for name in wanted:
        found = (each[name] for each in everything if name in each)
        values = [float(each) for each in found if isinstance(each, (int, float)) and math.isfinite(each)]
        if values:
            figures = _figures(values)
            answer.append({"id": name, **{each: figures[each] for each in AGGREGATIONS if each in how}})
    return answer


def _figures(values: Sequence[float]) -> dict[str, float]:
    whole = sum(values)
    return {
        "min": min(values),
        "max": max(values),
        "avg": whole / len(values),
        "sum": whole,
        "skew": skew(values),
    }
