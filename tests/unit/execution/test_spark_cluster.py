"""A job's epochs as Spark jobs, with a SparkContext that runs everything here: stages, orders, results, failures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from firesteel.execution.cluster import EpochOrder
from firesteel.execution.host import driver_row
from firesteel.execution.job_errors import ClusterLostError
from firesteel.execution.results import Place, SubtaskDone
from firesteel.execution.spark import cluster as cluster_module
from firesteel.execution.spark.cluster import SparkCluster
from firesteel.execution.spark.dependencies import Dependencies
from firesteel.runtime.epoch import EpochRequest, SubtaskReport
from firesteel.state import codec
from tests.unit.plan.programs import word_count

PLAN = word_count(parallelism=2)
ORDER = EpochOrder(
    EpochRequest(epoch=4, generation=0, now=0), {0: {1: {"1-Source: numbers": "read"}}}, None, True, None
)
Task = Callable[[int, Iterable[tuple[int, Any]]], Iterable[tuple[int, Any]]]


class Rows:
    """An RDD whose partitions are lists."""

    def __init__(self, parts: list[list[Any]]) -> None:
        self.parts = parts

    def partitionBy(self, width: int, function: Any) -> Rows:
        parts: list[list[Any]] = [[] for _ in range(width)]
        for part in self.parts:
            for key, row in part:
                parts[key % width].append((key, row))
        return Rows(parts)

    def mapPartitionsWithIndex(self, function: Task) -> Rows:
        return Rows([list(function(index, iter(part))) for index, part in enumerate(self.parts)])

    def collect(self) -> list[Any]:
        return [row for part in self.parts for row in part]


class Context:
    """A SparkContext of this process."""

    applicationId = "application"

    def __init__(self) -> None:
        self.groups: list[Any] = []
        self.cancelled: list[str] = []

    def parallelize(self, values: Iterable[Any], parts: int) -> Rows:
        split: list[list[Any]] = [[] for _ in range(parts)]
        for number, value in enumerate(values):
            split[number].append(value)
        return Rows(split)

    def broadcast(self, value: Any) -> Any:
        return SimpleNamespace(value=value, destroy=lambda: None)

    def setJobGroup(self, *group: Any) -> None:
        self.groups.append(group)

    def cancelJobGroup(self, group: str) -> None:
        self.cancelled.append(group)

    def getConf(self) -> Any:
        return {}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, dict[str, Any]]]:
    """The levels and subtasks that were run, with their orders, by a relay that answers for the slots."""
    calls: list[tuple[int, int, dict[str, Any]]] = []

    def relay(task_bytes: bytes, plan: Any, settings: Any, inputs: Any = None) -> Task:
        task = codec.loads(task_bytes)

        def run(index: int, rows: Iterable[tuple[int, Any]]) -> Iterable[tuple[int, Any]]:
            received = [row for _, row in rows]
            orders = codec.loads(received[0])[index] if task.level == 0 else {}
            calls.append((task.level, index, orders))
            passing = [] if task.level == 0 else received
            task.index, task.attempt = index, "1"
            done = SubtaskDone(task.level, index, "1", SubtaskReport(task.level, index), Place("here", 1))
            return [(index, row) for row in [*passing, driver_row(task, done)]]

        return run

    monkeypatch.setattr(cluster_module, "relay", relay)
    monkeypatch.setattr(cluster_module, "close_job", lambda settings: lambda index, rows: ["it did not close"])
    monkeypatch.setattr(cluster_module, "is_local", lambda context: True)
    monkeypatch.setattr(cluster_module, "executor_slots", lambda context: 2)
    monkeypatch.setattr(cluster_module, "is_alive", lambda context: True)
    return calls


def cluster(context: Any) -> SparkCluster:
    return SparkCluster(PLAN, "job", context, Dependencies([], False))


def test_an_epoch_is_one_job_with_a_stage_per_level(ran: list[Any]) -> None:
    context = Context()
    results = cluster(context).run_epoch(ORDER)
    assert sorted(ran, key=lambda call: call[:2]) == [
        (0, 0, {}),
        (0, 1, {"1-Source: numbers": "read"}),
        (1, 0, {}),
        (1, 1, {}),
    ]
    assert sorted((result.level, result.index) for result in results) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert context.groups == [("job", "job, epoch 4")]


def test_with_one_executor_a_subtask_goes_nowhere_else(ran: list[Any]) -> None:
    assert cluster(Context()).pinned


def test_an_epoch_that_does_not_run_cannot_be_interrupted(ran: list[Any]) -> None:
    context = Context()
    running = cluster(context)
    running.interrupt()
    running.run_epoch(ORDER)
    running.interrupt()
    assert context.cancelled == []


@pytest.mark.parametrize("alive", [True, False])
def test_a_job_that_fails_is_told_apart_from_a_spark_that_is_gone(
    ran: list[Any], monkeypatch: pytest.MonkeyPatch, alive: bool
) -> None:
    context = Context()

    def refuse(*_: Any) -> None:
        raise RuntimeError("no such stage")

    monkeypatch.setattr(context, "setJobGroup", refuse)
    monkeypatch.setattr(cluster_module, "is_alive", lambda context: alive)
    with pytest.raises(Exception) as failed:
        cluster(context).run_epoch(ORDER)
    assert isinstance(failed.value, ClusterLostError) is not alive


def test_what_goes_wrong_while_closing_is_told(ran: list[Any]) -> None:
    assert cluster(Context()).close() == ["it did not close"]
