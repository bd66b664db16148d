"""Subtasks in a host: what they answer, and what they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from firesteel.datastream import StreamExecutionEnvironment
from firesteel.execution.coordinators import Coordinators, JobServices
from firesteel.execution.host import LevelTask, SubtaskHost, is_poison, result_of
from firesteel.execution.results import StateLost, SubtaskDone, SubtaskFailed
from firesteel.execution.worker_plan import worker_plan
from firesteel.model.coordinator import EpochPlan
from firesteel.runtime.emitters import ChunkRow
from firesteel.runtime.epoch import EpochRequest
from firesteel.runtime.snapshot_order import SnapshotOrder
from firesteel.state.store import CheckpointStore
from tests.unit.execution.plans import plan_of


def keyed(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_sequence(1, 1000).uid("numbers")
    numbers.key_by(lambda n: n % 2).reduce(lambda a, b: a + b).uid("sums").print()


def failing(env: StreamExecutionEnvironment) -> None:
    env.from_sequence(1, 10).map(lambda n: 1 // 0).name("divide").print()


class Room:
    """A host with one job in it, and the tasks to give it."""

    def __init__(self, program: Callable[[StreamExecutionEnvironment], object]) -> None:
        plan = plan_of(program)
        self.host = SubtaskHost()
        self.host.add_plan(worker_plan(plan, "job"))
        self._coordinators = Coordinators(plan, JobServices({}, lambda: None, lambda: None, replays=False))
        self._coordinators.restore(None)
        self._coordinators.poll(0)

    def task(self, level: int, epoch: int = 1, fresh: bool = True, **request: Any) -> LevelTask:
        orders = self._coordinators.orders(EpochPlan(0, 1, 100, drain=False)).get(level, {})
        return LevelTask("job", level, 0, "1", EpochRequest(epoch, 0, 0, **request), orders, fresh=fresh)

    def run(self, task: LevelTask, rows: Iterable[ChunkRow] = ()) -> list[ChunkRow]:
        return self.host.run(task, rows)


def answer(rows: list[ChunkRow]) -> object:
    return result_of(rows[-1])


def test_a_subtask_that_is_done_says_where_it_ran_and_how_many_bytes_went_through_it() -> None:
    room = Room(keyed)
    sent = room.run(room.task(0))
    done = answer(sent)
    assert isinstance(done, SubtaskDone)
    assert done.bytes_in == {}
    ((edge, written),) = done.bytes_out.items()
    assert written == sum(len(row[6]) for row in sent[:-1])

    next_done = answer(room.run(room.task(1), sent))
    assert isinstance(next_done, SubtaskDone)
    assert next_done.bytes_in == {edge: written}
    assert next_done.place == done.place
    assert next_done.place.pid > 0
    assert next_done.busy_seconds > 0


def test_a_failure_carries_operator_subtask_and_host() -> None:
    room = Room(failing)
    rows = room.run(room.task(0))
    assert is_poison(rows[0])
    failed = answer(rows)
    assert isinstance(failed, SubtaskFailed)
    assert (failed.level, failed.index, failed.failure.info.name) == (0, 0, "divide")
    assert failed.place.host


def test_state_that_is_nowhere_is_lost_not_failed() -> None:
    room = Room(keyed)
    rows = room.run(room.task(1, epoch=4, fresh=False))
    lost = answer(rows)
    assert is_poison(rows[0])
    assert isinstance(lost, StateLost)
    assert "as it was after epoch 3" in lost.message


def test_a_snapshot_says_how_many_bytes_each_operator_takes(tmp_path: Path) -> None:
    room = Room(keyed)
    sent = room.run(room.task(0))
    order = room.task(1, snapshot=SnapshotOrder.SAVEPOINT, checkpoint_id=1)
    order.store_directory = str(tmp_path)
    done = answer(room.run(order, [row for row in sent if row[0] == 1]))
    assert isinstance(done, SubtaskDone)
    assert done.state_file is not None
    assert set(done.state_bytes) == set(done.snapshot_uids) >= {"sums"}
    assert 0 < sum(done.state_bytes.values()) < CheckpointStore(str(tmp_path)).state_size(done.state_file)
    assert done.snapshot_seconds > 0


@pytest.mark.parametrize("order", SnapshotOrder)
def test_an_order_is_one_value(order: SnapshotOrder) -> None:
    """What follows from it cannot contradict itself."""
    if order.beside or order.at_once or order.full:
        assert order.takes_snapshot
    if order.drains:
        assert order.beside
    assert not (order.forgets and order.full)
    if order.takes_snapshot and not order.beside and not order.forgets:
        assert SnapshotOrder.of_checkpoint(order.full, order.at_once) is order
