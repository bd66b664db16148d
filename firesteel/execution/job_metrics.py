"""A job's numbers, gathered by the driver once per epoch."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.events import EpochEnded, JobEvent, OperatorNumbers
from firesteel.execution.results import SubtaskDone
from firesteel.metrics import MergedMetrics, MetricSnapshot, merge_snapshots
from firesteel.plan.job_plan import JobPlan


@dataclass(frozen=True)
class EpochStats:
    """One epoch: how many records its sources read and how long it took; the job's watermark after it, and the time of
    about the newest record that was read.
    """

    epoch: int
    records: int
    seconds: float
    watermark: int
    newest: int
    checkpoint_id: int | None = None


@dataclass(frozen=True)
class OperatorMetrics:
    """The numbers of one operator, over all subtasks."""

    name: str
    records_in: int
    records_out: int
    watermark: int
    late_records_dropped: int
    keyed_state_entries: int
    busy_ratio: float
    """Share of the last epoch in which the operator's busiest subtask was at work, with all others of its level."""
    user: MergedMetrics


class JobMetrics:
    """Everything measured of a job. Safe to read while the job runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._operators: dict[str, dict[int, OperatorNumbers]] = {}
        self._names: dict[str, str] = {}
        self._busy: dict[str, float] = {}
        self._in_driver: dict[str, dict[int, MetricSnapshot]] = {}
        self._upstream_saturated = False
        self.epochs: list[EpochStats] = []
        self.records = 0

    def start(self, plan: JobPlan) -> None:
        """Learn the operators' names."""
        self._names = {operator.info.uid: operator.info.name for chain in plan.chains for operator in chain.operators}

    def __call__(self, event: JobEvent) -> None:
        """Take in what has happened: of all events, the ends of epochs."""
        if not isinstance(event, EpochEnded):
            return
        stats = EpochStats(
            event.epoch, event.records, event.seconds, event.watermark, event.newest, event.checkpoint_id
        )
        with self._lock:
            busiest: dict[str, float] = {}
            for subtask in event.subtasks:
                for numbers in subtask.operators:
                    self._operators.setdefault(numbers.uid, {})[subtask.subtask] = numbers
                    busiest[numbers.uid] = max(busiest.get(numbers.uid, 0.0), subtask.busy_ratio)
            self._busy.update(busiest)
            self._in_driver = event.in_driver
            self._upstream_saturated = event.saturated
            self.records += stats.records
            self.epochs.append(stats)
            del self.epochs[:-1000]

    def operator(self, name_or_uid: str) -> OperatorMetrics:
        """The numbers of an operator, by its uid or its name."""
        with self._lock:
            uid = self._find(name_or_uid)
            subtasks = self._operators.get(uid, {})
            user = {index: _live(numbers.user) for index, numbers in subtasks.items()}
            for index, snapshot in self._in_driver.get(uid, {}).items():
                user[index] = snapshot.joined(user[index]) if index in user else snapshot
            merged = merge_snapshots(user)
            return OperatorMetrics(
                name=self._names.get(uid, uid),
                records_in=sum(numbers.records_in for numbers in subtasks.values()),
                records_out=sum(numbers.records_out for numbers in subtasks.values()),
                watermark=min((each.input_watermark for each in subtasks.values()), default=MIN_WATERMARK),
                late_records_dropped=merged.counters.get("numLateRecordsDropped", 0),
                keyed_state_entries=sum(numbers.keyed_state_entries for numbers in subtasks.values()),
                busy_ratio=self._busy.get(uid, 0.0),
                user=merged,
            )

    def _find(self, name_or_uid: str) -> str:
        if name_or_uid in self._names:
            return name_or_uid
        for uid, name in self._names.items():
            if name == name_or_uid:
                return uid
        known = ", ".join(sorted(self._names.values()))
        raise KeyError(f"no operator {name_or_uid!r} in this job; there are: {known}")

    def operators(self) -> dict[str, OperatorMetrics]:
        """The numbers of all operators, by uid."""
        return {uid: self.operator(uid) for uid in list(self._names)}

    def back_pressure(self, name_or_uid: str) -> str:
        """``HIGH``, ``LOW`` or ``OK``: whether the operator's level is what keeps the sources from reading faster."""
        ratio = self.operator(name_or_uid).busy_ratio
        if not self._upstream_saturated:
            return "OK"
        return "HIGH" if ratio > 0.5 else "LOW" if ratio > 0.1 else "OK"

    def counters(self) -> dict[str, int]:
        """The user's counters, added up over operators and subtasks."""
        totals: dict[str, int] = {}
        for metrics in self.operators().values():
            for name, count in metrics.user.counters.items():
                totals[name] = totals.get(name, 0) + count
        return totals


def _live(user: MetricSnapshot | dict[str, Any]) -> MetricSnapshot:
    assert isinstance(user, MetricSnapshot)
    return user


def job_watermark(results: list[SubtaskDone]) -> int:
    """The event time of the job: the lowest watermark that any source has sent out (the end of time does not count)."""
    marks = [
        numbers["currentOutputWatermark"]
        for result in results
        if result.level == 0
        for numbers in result.report.metrics.values()
    ]
    open_marks = [mark for mark in marks if mark != MAX_WATERMARK]
    return min(open_marks, default=MAX_WATERMARK if marks else MIN_WATERMARK)
