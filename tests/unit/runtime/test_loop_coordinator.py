"""The driver's half of a loop, at its own door: what goes back, when the loop ends, what is stored of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from firesteel.errors import JobFailedError
from firesteel.model.coordinator import EpochPlan, OperatorReport
from firesteel.runtime.coordination.loops import LoopCoordinator

EPOCH = EpochPlan(now=0, checkpoint_id=1)
DRAINING = EpochPlan(now=0, checkpoint_id=1, drain=True)


def loop(uid: str = "head", parallelism: int = 2, shared: dict[str, Any] | None = None) -> LoopCoordinator:
    coordinator = LoopCoordinator()
    context: Any = SimpleNamespace(
        uid=uid,
        name="Iterate",
        call_site="program.py:7",
        parallelism=parallelism,
        shared={} if shared is None else shared,
    )
    coordinator.open(context)
    coordinator.restore(None, None)
    return coordinator


def apply(coordinator: LoopCoordinator, *chunks: tuple[int, bytes], ended: bool = False, uid: str = "head") -> None:
    """An epoch: what tails sent back, and whether the input of the head has ended."""
    heads = [OperatorReport(uid, subtask, ended) for subtask in range(coordinator.context.parallelism)]
    coordinator.apply([*heads, *(OperatorReport("tail", subtask, chunk) for subtask, chunk in chunks)])


def told(coordinator: LoopCoordinator, epoch: EpochPlan = EPOCH) -> list[tuple[list[bytes], bool, bool]]:
    orders = coordinator.orders(epoch)
    return [(orders[index].chunks, orders[index].release, orders[index].close) for index in sorted(orders)]


def test_a_loop_without_records_has_no_work() -> None:
    assert not loop().has_work(0)
    assert told(loop()) == [([], False, False)] * 2


def test_what_came_back_goes_to_the_head_s_subtask_of_the_same_number_once() -> None:
    coordinator = loop()
    apply(coordinator, (1, b"a"), (1, b"b"))
    assert coordinator.has_work(0)
    assert told(coordinator) == [([], False, False), ([b"a", b"b"], False, False)]
    apply(coordinator)
    assert not coordinator.has_work(0)


def test_a_loop_ends_in_two_steps_each_after_an_epoch_in_which_nothing_came_back() -> None:
    coordinator = loop(parallelism=1)
    apply(coordinator, (0, b"a"), ended=True)
    assert told(coordinator) == [([b"a"], False, False)]
    apply(coordinator, ended=True)
    assert coordinator.has_work(0), "the heads have to hear of it"
    assert told(coordinator) == [([], True, False)]
    apply(coordinator, (0, b"fired by the last watermark"), ended=True)
    assert told(coordinator) == [([b"fired by the last watermark"], True, False)]
    apply(coordinator, ended=True)
    assert told(coordinator) == [([], True, True)]


def test_input_that_goes_on_keeps_the_loop_open() -> None:
    coordinator = loop()
    apply(coordinator, ended=False)
    assert not coordinator.has_work(0)
    assert told(coordinator)[0][1:] == (False, False)


def test_one_subtask_whose_input_goes_on_is_enough() -> None:
    coordinator = loop()
    coordinator.apply([OperatorReport("head", 0, True), OperatorReport("head", 1, False)])
    assert told(coordinator)[0][1:] == (False, False)


def test_records_in_another_loop_keep_this_one_open() -> None:
    shared: dict[str, Any] = {}
    inner, outer = loop("inner", 1, shared), loop("outer", 1, shared)
    apply(inner, (0, b"a"), ended=True, uid="inner")
    apply(outer, ended=True, uid="outer")
    assert told(outer) == [([], False, False)]
    apply(inner, ended=True, uid="inner")
    apply(outer, ended=True, uid="outer")
    assert told(inner) == [([], True, False)] == told(outer)


def test_a_drain_releases_the_last_watermark_at_once() -> None:
    assert told(loop(), DRAINING) == [([], True, False)] * 2


def test_records_after_the_end_are_an_error_that_names_the_loop() -> None:
    coordinator = loop(parallelism=1)
    for _ in range(2):
        apply(coordinator, ended=True)
        coordinator.orders(EPOCH)
    with pytest.raises(JobFailedError, match=r"'Iterate' \(made at program.py:7\) after the loop had ended"):
        apply(coordinator, (0, b"late"), ended=True)


def test_nothing_is_stored_of_a_loop_that_is_open_and_empty() -> None:
    assert loop().snapshot(1) is None


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_records_on_their_way_survive_a_restore_with_another_parallelism(parallelism: int) -> None:
    coordinator = loop()
    apply(coordinator, (0, b"a"), (1, b"b"))
    stored = coordinator.snapshot(1)
    after = loop(parallelism=parallelism)
    after.restore(1, stored)
    assert sorted(chunk for chunks, _, _ in told(after) for chunk in chunks) == [b"a", b"b"]
    assert after.has_work(0)


def test_the_phase_survives_a_restore() -> None:
    coordinator = loop(parallelism=1)
    apply(coordinator, ended=True)
    stored = coordinator.snapshot(1)
    after = loop(parallelism=1)
    after.restore(1, stored)
    assert told(after) == [([], True, False)]
