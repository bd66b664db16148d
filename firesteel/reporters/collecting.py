"""All metrics of a job as reporters get them: with Flink's names, scopes and variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from firesteel.events import JobView, OperatorDescription, VertexDescription, metrics
from firesteel.metrics import DistributionValue
from firesteel.reporters.base import COUNTER, GAUGE, HISTOGRAM, METER, ReportedMetric

__all__ = ["Scopes", "reported_metrics"]

_COUNTERS = {"numRecordsIn", "numRecordsOut", "numBytesIn", "numBytesOut"}
_RATE = "PerSecond"
_VARIABLE = re.compile(r"<(\w+)>")


@dataclass(frozen=True)
class Scopes:
    """How identifiers are put together: Flink's ``metrics.scope.*``."""

    job: str = "<host>.jobmanager.<job_name>"
    coordinator: str = "<host>.jobmanager.<job_name>.<operator_name>"
    task: str = "<host>.taskmanager.<tm_id>.<job_name>.<task_name>.<subtask_index>"
    operator: str = "<host>.taskmanager.<tm_id>.<job_name>.<operator_name>.<subtask_index>"
    delimiter: str = "."

    def identifier(self, scope: str, variables: Mapping[str, str], name: str) -> str:
        """The scope with its variables filled in, and the name."""
        parts = [_VARIABLE.sub(lambda each: variables.get(each[1], each[0]), part) for part in scope.split(".")]
        return self.delimiter.join([*parts, *name.split(".")])


def reported_metrics(view: JobView, scopes: Scopes) -> list[ReportedMetric]:
    """All metrics of a job at one moment."""
    return [*_of_job(view, scopes), *_of_coordinators(view, scopes), *_of_subtasks(view, scopes)]


def _job_variables(view: JobView) -> dict[str, str]:
    return {"host": view.job.host, "job_id": view.job.job_id, "job_name": view.job.name}


def _of_job(view: JobView, scopes: Scopes) -> Iterator[ReportedMetric]:
    variables = _job_variables(view)
    for name, value in metrics.job_metrics(view).items():
        identifier = scopes.identifier(scopes.job, variables, name)
        yield ReportedMetric("jobmanager.job", name, identifier, variables, GAUGE, value)


def _operator_variables(operator: OperatorDescription) -> dict[str, str]:
    return {"operator_id": operator.id, "operator_name": operator.name}


def _of_coordinators(view: JobView, scopes: Scopes) -> Iterator[ReportedMetric]:
    for vertex in view.job.vertices:
        task = {"task_id": vertex.id, "task_name": vertex.name}
        for operator in vertex.operators:
            variables = {**_job_variables(view), **task, **_operator_variables(operator)}
            for each in metrics.coordinator_numbers(view, operator):
                name = f"coordinator.{each.name}"
                identifier = scopes.identifier(scopes.coordinator, variables, name)
                kind, value, count = _kind(each)
                yield ReportedMetric("jobmanager.job.operator", name, identifier, variables, kind, value, count)


def _of_subtasks(view: JobView, scopes: Scopes) -> Iterator[ReportedMetric]:
    for vertex in view.job.vertices:
        operators = {each.uid: each for each in vertex.operators}
        for subtask in range(vertex.parallelism):
            task = _task_variables(view, vertex, subtask)
            for name, value in metrics.task_metrics(view, vertex, subtask).items():
                identifier = scopes.identifier(scopes.task, task, name)
                yield ReportedMetric("taskmanager.job.task", name, identifier, task, _system_kind(name), value)
            for uid, numbers in metrics.operator_numbers(view, vertex, subtask).items():
                if uid in operators:
                    variables = {**task, **_operator_variables(operators[uid])}
                    yield from _of_operator(numbers, variables, scopes)


def _task_variables(view: JobView, vertex: VertexDescription, subtask: int) -> dict[str, str]:
    numbers = view.numbers(vertex, subtask)
    return {
        **_job_variables(view),
        "host": numbers.host or "(unassigned)",
        "tm_id": f"{numbers.host}-{numbers.pid}" if numbers.host else "(unassigned)",
        "task_id": vertex.id,
        "task_name": vertex.name,
        "task_attempt_id": f"{vertex.id}_{subtask}_{view.attempt}",
        "task_attempt_num": str(view.attempt),
        "subtask_index": str(subtask),
    }


def _of_operator(
    numbers: list[metrics.NamedNumber], variables: dict[str, str], scopes: Scopes
) -> Iterator[ReportedMetric]:
    for each in numbers:
        identifier = scopes.identifier(scopes.operator, variables, each.name)
        kind, value, count = _kind(each)
        yield ReportedMetric("taskmanager.job.task.operator", each.name, identifier, variables, kind, value, count)


def _kind(number: metrics.NamedNumber) -> tuple[str, Any, int | None]:
    if isinstance(number.value, DistributionValue):
        return HISTOGRAM, number.value, None
    return number.kind or _system_kind(number.name), number.value, number.count


def _system_kind(name: str) -> str:
    if name in _COUNTERS:
        return COUNTER
    return METER if name.removesuffix(_RATE) in _COUNTERS else GAUGE
