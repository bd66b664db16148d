"""What a job may go on from: checkpoints that are there, whole, and fit the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.errors import CheckpointError, StateMigrationError
from firesteel.execution.recovery import (
    readable_checkpoints,
    refuse_incomplete,
    refuse_lost,
    refuse_misfit,
    unsafe_end,
)
from firesteel.execution.results import Place, SubtaskDone
from firesteel.runtime.epoch import SubtaskReport
from firesteel.state.store import CheckpointStore, Manifest, OperatorFiles
from tests.unit.plan.programs import word_count

PLAN = word_count(parallelism=2)
UIDS = [operator.info.uid for chain in PLAN.chains for operator in chain.operators]


def done(level: int, index: int, attempt: str, report: SubtaskReport) -> SubtaskDone:
    return SubtaskDone(level, index, attempt, report, Place("here", 1))


def files(*names: str, stateful: bool = True) -> OperatorFiles:
    return OperatorFiles("operator", 2, 128, {0: list(names)}, stateful)


def manifest(checkpoint_id: int = 1, **fields: object) -> Manifest:
    return Manifest("checkpoint", checkpoint_id, "job", 0, **fields)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(str(tmp_path))


def test_a_checkpoint_that_cannot_be_read_does_not_hide_the_others(store: CheckpointStore, tmp_path: Path) -> None:
    for checkpoint_id in (1, 2, 3):
        store.write_manifest(manifest(checkpoint_id))
    (tmp_path / "chk-2" / "_metadata").write_bytes(b"half of a manif")
    found, problems = readable_checkpoints(store, [1, 2, 3])
    assert [each.checkpoint_id for each in found] == [1, 3]
    assert len(problems) == 1 and "chk-2" in str(problems[0])


def test_a_completed_checkpoint_that_has_gone_is_not_passed_over(store: CheckpointStore, tmp_path: Path) -> None:
    for checkpoint_id in (1, 2):
        store.write_manifest(manifest(checkpoint_id))
    refuse_lost(store, [1, 2])
    with pytest.raises(CheckpointError, match=r"checkpoint 2 was completed.*chk-2/_metadata is missing"):
        refuse_lost(store, [1])


def test_a_manifest_whose_state_files_are_gone_is_not_whole(store: CheckpointStore, tmp_path: Path) -> None:
    store.write_state("here.state", b"x")
    whole = manifest(operators={UIDS[0]: files("here.state")}, directory=str(tmp_path))
    refuse_incomplete(whole)
    torn = manifest(operators={UIDS[0]: files("here.state", "gone.state")}, directory=str(tmp_path))
    with pytest.raises(CheckpointError, match=r"1 of its 2 state files are missing, among them gone\.state"):
        refuse_incomplete(torn)


def test_state_that_every_operator_claims_fits() -> None:
    refuse_misfit(PLAN, manifest(operators={uid: files("a") for uid in UIDS}, driver={"sources": {UIDS[0]: 1}}))


def test_state_that_would_not_be_missed_may_be_left() -> None:
    refuse_misfit(PLAN, manifest(operators={"gone": files("a", stateful=False)}))
    refuse_misfit(PLAN, manifest(driver={"sinks": {"gone sink": ["committable"]}}))


@pytest.mark.parametrize(
    "fields",
    [{"operators": {"gone": files("a")}}, {"driver": {"sources": {"gone": 3}}}, {"driver": {"feedback": {"gone": 3}}}],
)
def test_state_without_an_operator_is_refused_with_both_lists(fields: dict[str, object]) -> None:
    with pytest.raises(StateMigrationError, match=r"(?s)state without an operator: gone\n.*2-split.*uid\('") as refused:
        refuse_misfit(PLAN, manifest(**fields))
    assert "ignore-unclaimed-state" in str(refused.value)


@pytest.mark.parametrize(("ended", "safe"), [((), True), ((0,), False), ((0, 1), True)])
def test_union_state_waits_until_all_subtasks_have_ended(ended: tuple[int, ...], safe: bool) -> None:
    chain = PLAN.chains[1]
    uid = chain.operators[0].info.uid
    results = [
        done(
            1,
            index,
            "1",
            SubtaskReport(1, index, union_state=[uid], ended_chains=[chain.id] if index in ended else []),
        )
        for index in range(2)
    ]
    reason = unsafe_end(PLAN, results)
    assert reason is None if safe else reason is not None and "'count' has union list state, and 1 of its 2" in reason


def test_without_union_state_subtasks_may_end_as_they_like() -> None:
    chain = PLAN.chains[1]
    results = [done(1, index, "1", SubtaskReport(1, index)) for index in range(2)]
    results[0].report = SubtaskReport(1, 0, ended_chains=[chain.id])
    assert unsafe_end(PLAN, results) is None
