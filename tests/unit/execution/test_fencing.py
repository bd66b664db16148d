"""What a fenced epoch looks like: every subtask once, every chunk of the attempt that counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from firesteel.execution.fencing import fencing_violation
from firesteel.execution.results import Place, SubtaskDone
from firesteel.runtime.epoch import SubtaskReport
from tests.unit.plan.programs import word_count

PLAN = word_count(parallelism=2)
(EDGE,) = PLAN.edges


def done(level: int, index: int, attempt: str, report: SubtaskReport) -> SubtaskDone:
    return SubtaskDone(level, index, attempt, report, Place("here", 1))


def epoch() -> list[SubtaskDone]:
    """Results that fit together: each of two subtasks sends one chunk to each of the next level."""
    senders = [
        done(0, index, f"try-{index}", SubtaskReport(0, index, sent={(EDGE.id, 0): 1, (EDGE.id, 1): 1}))
        for index in range(2)
    ]
    received = {(EDGE.id, 0): ("try-0", 1), (EDGE.id, 1): ("try-1", 1)}
    readers = [done(1, index, f"read-{index}", SubtaskReport(1, index, received=dict(received))) for index in range(2)]
    return senders + readers


def report_of(results: list[SubtaskDone], place: int) -> SubtaskReport:
    return results[place].report


def test_an_epoch_that_fits_together() -> None:
    assert fencing_violation(PLAN, epoch()) is None


def test_an_epoch_in_which_nothing_was_sent() -> None:
    quiet = [done(level, index, "1", SubtaskReport(level, index)) for level in (0, 1) for index in (0, 1)]
    assert fencing_violation(PLAN, quiet) is None


def lose_a_subtask(results: list[SubtaskDone]) -> None:
    del results[3]


def report_twice(results: list[SubtaskDone]) -> None:
    results.append(results[0])


def replace_a_subtask(results: list[SubtaskDone]) -> None:
    results[3] = results[2]


def read_another_attempt(results: list[SubtaskDone]) -> None:
    report_of(results, 3).received[EDGE.id, 1] = ("try-0-again", 1)


def mix_attempts(results: list[SubtaskDone]) -> None:
    report_of(results, 2).received[EDGE.id, 0] = ("several attempts", 1)


def lose_a_chunk(results: list[SubtaskDone]) -> None:
    report_of(results, 0).sent[EDGE.id, 1] = 2


def get_a_chunk_twice(results: list[SubtaskDone]) -> None:
    report_of(results, 2).received[EDGE.id, 0] = ("try-0", 2)


def never_arrive(results: list[SubtaskDone]) -> None:
    del report_of(results, 3).received[EDGE.id, 0]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lose_a_subtask, "3 subtasks reported where 4 run"),
        (report_twice, "5 subtasks reported where 4 run"),
        (replace_a_subtask, "4 subtasks reported where 4 run"),
        (read_another_attempt, "subtask 1 of level 1 read attempt try-0-again, not try-1"),
        (mix_attempts, "subtask 0 of level 1 read attempt several attempts, not try-0"),
        (lose_a_chunk, "subtask 1 of level 1 got 1 of 2 chunks on edge 0"),
        (get_a_chunk_twice, "subtask 0 of level 1 got 2 of 1 chunks on edge 0"),
        (never_arrive, "chunks were sent that nobody received"),
    ],
)
def test_what_does_not_fit_is_named(spoil: Callable[[list[SubtaskDone]], None], message: str) -> None:
    results = epoch()
    spoil(results)
    assert fencing_violation(PLAN, results) == message
