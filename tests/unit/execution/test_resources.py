"""How many tasks a cluster runs at a time, and how many slot processes an executor gets."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from firesteel.execution.spark import resources
from firesteel.execution.spark.resources import default_parallelism, executor_count, executor_slots


class Conf(dict[str, str]):
    def contains(self, key: str) -> bool:
        return key in self


class Cluster:
    """A SparkContext as far as it is asked: its executors come one by one, each time one looks."""

    def __init__(self, master: str, executors: list[int], conf: dict[str, str] | None = None) -> None:
        self.master = master
        self.defaultParallelism = 2
        self._conf = Conf(conf or {})
        self._executors = executors
        self.looks = 0
        self._jvm = self.org = self.apache = self.spark = self.network = self.util = self.JavaUtils = self
        self._jsc = self

    def getConf(self) -> Conf:
        return self._conf

    def timeStringAsSec(self, text: str) -> int:
        return int(text.removesuffix("s"))

    def sc(self) -> Cluster:
        return self

    statusStore = sc

    def executorList(self, active: bool) -> Executors:
        assert active
        self.looks += 1
        return Executors([("driver", 0 if not self.master.startswith("local[") else 4), *self._there()])

    def _there(self) -> list[tuple[str, int]]:
        return [(str(number), tasks) for number, tasks in enumerate(self._executors[: self.looks])]


class Executors:
    def __init__(self, each: list[tuple[str, int]]) -> None:
        self._each = each

    def size(self) -> int:
        return len(self._each)

    def apply(self, index: int) -> Any:
        name, tasks = self._each[index]
        return type("Summary", (), {"id": staticmethod(lambda: name), "maxTasks": staticmethod(lambda: tasks)})


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting takes no time: the clock moves by what is slept."""

    class Clock:
        now = 0.0

        @classmethod
        def monotonic(cls) -> float:
            return cls.now

        @classmethod
        def sleep(cls, seconds: float) -> None:
            cls.now += seconds

    monkeypatch.setattr(resources, "time", Clock)


YARN = {"spark.executor.instances": "3", "spark.executor.cores": "4"}


@pytest.mark.parametrize(
    ("cluster", "parallelism", "slots"),
    [
        (Cluster("yarn", [4, 4, 4], YARN), 12, 4),
        (Cluster("yarn", [2, 2, 2], {**YARN, "spark.task.cpus": "2"}), 6, 2),
        (Cluster("yarn", [1, 1]), 2, 1),  # YARN's own defaults: two executors with a core each
        (Cluster("k8s://https://host", [4, 4, 4], YARN), 12, 4),
        (Cluster("spark://host:7077", [8, 8, 8]), 24, 8),  # a standalone cluster gives all it has
        (Cluster("spark://host:7077", [2, 2, 2], {"spark.cores.max": "6", "spark.executor.cores": "2"}), 6, 2),
        (Cluster("local-cluster[2,3,1024]", [3, 3]), 6, 3),
        (Cluster("yarn", [4, 4], {"spark.default.parallelism": "2"}), 2, 4),
        (Cluster("yarn", [4, 4, 4], {"spark.dynamicAllocation.enabled": "true", "spark.executor.cores": "4"}), 4, 4),
        (
            Cluster(
                "yarn",
                [4, 4, 4],
                {
                    "spark.dynamicAllocation.enabled": "true",
                    "spark.dynamicAllocation.minExecutors": "3",
                    "spark.executor.cores": "4",
                },
            ),
            12,
            4,
        ),
    ],
    ids=lambda value: value.master if isinstance(value, Cluster) else str(value),
)
def test_the_cluster_says_how_much_runs_at_a_time(cluster: Cluster, parallelism: int, slots: int) -> None:
    assert default_parallelism(cluster) == parallelism
    assert executor_slots(cluster) == slots


def test_in_local_mode_slots_are_cores_whatever_the_default_parallelism() -> None:
    local = Cluster("local[4]", [], {"spark.default.parallelism": "200"})
    local.defaultParallelism = 200
    assert executor_slots(local) == 4
    assert default_parallelism(local) == 200


def test_fewer_executors_than_were_asked_for_are_taken_after_a_while() -> None:
    assert default_parallelism(Cluster("yarn", [4, 4], YARN)) == 8


def test_a_cluster_that_gives_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert default_parallelism(Cluster("spark://host:7077", [])) == 1
    assert "No executor of spark://host:7077 has come within 30 s" in caplog.text


def test_executors_that_are_there_are_counted() -> None:
    cluster = Cluster("yarn", [4, 4])
    assert [executor_count(cluster) for _ in range(3)] == [1, 2, 2]
