"""Subtasks that Spark runs elsewhere: the job goes back to its last checkpoint; nothing is stored just in case."""

from __future__ import annotations

import pytest

from firesteel.common import RestartStrategies
from firesteel.errors import JobFailedError
from firesteel.execution import in_process
from firesteel.execution.cluster import EpochOrder
from firesteel.execution.in_process import InProcessCluster
from firesteel.execution.results import LevelResult, Place
from tests.features.executors import MakeEnv, collect

NUMBERS = list(range(100))


class Movable(InProcessCluster):
    """Before some epochs all subtasks find themselves in another place, without their state."""

    pinned = False
    moves: dict[int, str]
    orders: list[EpochOrder]

    def run_epoch(self, order: EpochOrder) -> list[LevelResult]:
        self.orders.append(order)
        host = self.moves.get(order.request.epoch)
        if host is not None:
            for key in list(self._host._instances):
                self._host._discard(*key)
            self._host._place = Place(host, 1)
        return super().run_epoch(order)


@pytest.fixture
def moves(monkeypatch: pytest.MonkeyPatch) -> dict[int, str]:
    """Epoch -> where subtasks are from then on."""
    moves: dict[int, str] = {}
    monkeypatch.setattr(Movable, "moves", moves, raising=False)
    monkeypatch.setattr(Movable, "orders", [], raising=False)
    monkeypatch.setattr(in_process, "InProcessCluster", Movable)
    return moves


def count(make_env: MakeEnv, **more: str) -> list[tuple[int, int]]:
    """How many numbers have come for each key: in small epochs."""
    options = {"firesteel.epoch.max-records": "10", **{key.replace("__", "."): value for key, value in more.items()}}
    env = make_env(2, options)
    env.set_restart_strategy(RestartStrategies.no_restart())
    ones = env.from_collection(NUMBERS).map(lambda number: (number % 3, 1)).key_by(lambda pair: pair[0])
    return collect(ones.reduce(lambda left, right: (left[0], left[1] + right[1])))


EXPECTED = sorted((key, seen) for key in range(3) for seen in range(1, len(NUMBERS[key::3]) + 1))


@pytest.mark.shuffle("with direct exchange a subtask stays where it is")
@pytest.mark.feature("DE-08")
def test_a_job_with_checkpoints_goes_back_to_the_last_one_and_stores_nothing_in_between(
    make_env: MakeEnv, moves: dict[int, str]
) -> None:
    moves[4] = "another host"
    assert sorted(count(make_env, execution__checkpointing__interval="1 h")) == EXPECTED
    assert [order.request.generation for order in Movable.orders[:5]] == [0, 0, 0, 0, 1]
    assert not any(order.request.snapshot.takes_snapshot for order in Movable.orders[:4])


@pytest.mark.shuffle("with direct exchange a subtask stays where it is")
def test_a_process_that_has_died_is_a_failure_for_the_restart_strategy(
    make_env: MakeEnv, moves: dict[int, str]
) -> None:
    moves[1] = moves[4] = "the same host"
    with pytest.raises(JobFailedError, match="is not in memory on this host"):
        count(make_env, execution__checkpointing__interval="1 h")


@pytest.mark.shuffle("with direct exchange a subtask stays where it is")
@pytest.mark.feature("DE-08")
def test_a_job_without_checkpoints_goes_on_where_its_subtasks_are(make_env: MakeEnv, moves: dict[int, str]) -> None:
    moves[4] = "another host"
    assert sorted(count(make_env)) == EXPECTED
    assert {order.request.generation for order in Movable.orders} == {0}
    assert all(order.request.snapshot.takes_snapshot for order in Movable.orders)
