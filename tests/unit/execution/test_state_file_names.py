"""State files are named after the run that wrote them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firesteel.common import JobID
from firesteel.execution.host import LevelTask, state_file_name
from firesteel.runtime.epoch import EpochRequest
from firesteel.runtime.snapshot_order import SnapshotOrder


def task(job_id: str) -> LevelTask:
    request = EpochRequest(epoch=3, generation=0, now=0, checkpoint_id=2, snapshot=SnapshotOrder.CHANGES)
    return LevelTask(job_id, level=1, index=0, attempt="7", request=request)


@pytest.mark.feature("RR-04")
def test_a_program_that_is_started_again_never_writes_a_name_of_the_run_before() -> None:
    """Not even for the same checkpoint, subtask, generation and attempt: Spark counts those anew in every session."""
    assert state_file_name(task(str(JobID()))) != state_file_name(task(str(JobID())))


@pytest.mark.feature("RR-04")
def test_within_a_run_every_attempt_has_a_name_of_its_own() -> None:
    first = task(str(JobID()))
    others = [
        replace(first, attempt="8"),
        replace(first, index=1),
        replace(first, level=0),
        replace(first, request=replace(first.request, generation=1)),
        replace(first, request=replace(first.request, checkpoint_id=3)),
    ]

    assert len({state_file_name(each) for each in (first, *others)}) == 6
