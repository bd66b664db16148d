"""How often the driver asks the store for files of a checkpoint: each question is a request where they are remote."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.execution.checkpoints import CheckpointKeeper
from firesteel.execution.results import Place, SubtaskDone
from firesteel.runtime.epoch import SubtaskReport
from firesteel.state.store import CheckpointStore
from tests.unit.execution.plans import plan_of


def test_a_file_that_was_seen_is_not_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"execution.checkpointing.interval": "1 s", "execution.checkpointing.dir": str(tmp_path)}
    plan = plan_of(lambda env: env.from_sequence(1, 9).print(), 5, settings)
    keeper = CheckpointKeeper(plan, subtasks_move=False)
    results = [SubtaskDone(0, index, "1", SubtaskReport(0, index), Place("here", 1)) for index in range(5)]
    for result in results:
        result.state_file = f"{result.index}.state"
    keeper.keep(1, True, results, {}, 0)
    there: set[str] = set()
    asked: list[str] = []

    def has_state(_: CheckpointStore, name: str) -> bool:
        asked.append(name)
        return name in there

    monkeypatch.setattr(CheckpointStore, "has_state", has_state)
    monkeypatch.setattr(keeper, "_lock", None)
    for _ in range(4):
        assert not keeper.has_files(1)
    assert len(asked) == 4, "the first that is missing is enough"
    there |= {f"{index}.state" for index in range(1, 5)}
    assert not keeper.has_files(1) and not keeper.has_files(1)
    there.add("0.state")
    assert keeper.has_files(1)
    assert len(asked) == 4 + 5 + 1 + 1
    keeper.close(finished=False, cancelled=False)
