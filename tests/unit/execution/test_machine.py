"""A job's machine at its own door: every transition, every failure in every phase, the order of effects."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common import JobStatus
from firesteel.common.restart_strategy import RestartPolicy
from firesteel.execution.control import language as say
from firesteel.execution.control.language import FailureKind, Outcome, Saving
from firesteel.execution.control.ledger import CheckpointRules
from firesteel.execution.control.machine import STATUS_AFTER, TRANSITIONS, JobMachine, MachineError, Phase
from firesteel.runtime.snapshot_order import SnapshotOrder

NO_CHECKPOINTS = CheckpointRules()
EVERY_SECOND = CheckpointRules(interval=1000, stored=True, timeout=5000, max_concurrent=2, tolerable_failures=1)


class Restarts(RestartPolicy):
    """Restarts after 70 ms, so many times."""

    def __init__(self, times: int) -> None:
        self.left = times

    def on_failure(self, now_ms: int) -> int | None:
        self.left -= 1
        return 70 if self.left >= 0 else None


def names(instructions: list[say.Instruction]) -> list[str]:
    return [type(each).__name__ for each in instructions]


def machine_in(
    phase: Phase, rules: CheckpointRules = EVERY_SECOND, restarts: int = 1
) -> tuple[JobMachine, say.Instruction]:
    """A machine that waits for an answer in a phase, and the question it asked."""
    machine = JobMachine(rules, Restarts(restarts))
    events: dict[Phase, list[say.Event]] = {
        Phase.OPENING: [say.Submitted(0)],
        Phase.STARTING: [say.Opened(1, restored=False, next_id=1)],
        Phase.IDLE: [say.Started(2)],
        Phase.IN_EPOCH: [say.Looked(3, work=True)],
        Phase.SETTLING: [say.EpochDone(4, ended=True)],
    }
    question: say.Instruction = say.Look()
    if phase is Phase.BACKING_OFF:
        machine, question = machine_in(Phase.IN_EPOCH, rules, restarts)
        return machine, machine.handle(failure(question))[-1]
    if phase is Phase.CLOSING:
        machine, _ = machine_in(Phase.IDLE, rules, restarts)
        return machine, machine.handle(say.Looked(9, cancelled=True))[-1]
    for reached, path in events.items():
        if machine.phase is phase:
            break
        for event in path:
            question = machine.handle(event)[-1]
        assert machine.phase is reached
    assert machine.phase is phase
    return machine, question


def failure(during: say.Instruction, kind: FailureKind = FailureKind.EPOCH, cancelled: bool = False) -> say.Failed:
    return say.Failed(10, kind, "it broke", during, cancelled)


def finish(machine: JobMachine) -> list[say.Instruction]:
    return machine.handle(say.Closed(99))


# ---- the way through a job ------------------------------------------------------------------------------------------


def test_a_job_without_checkpoints_from_beginning_to_end() -> None:
    machine = JobMachine(NO_CHECKPOINTS)
    assert machine.handle(say.Submitted(0)) == [say.SetStatus(JobStatus.RUNNING), say.OpenCheckpoints()]
    assert machine.handle(say.Opened(0, restored=False, next_id=1)) == [say.Start(0)]
    assert machine.handle(say.Started(0)) == [say.Look()]
    first = say.RunEpoch(1, 0, first=True, snapshot=SnapshotOrder.FORGET, checkpoint_id=1)
    assert machine.handle(say.Looked(0)) == [first], "the first epoch is run though there is nothing to do"
    assert machine.handle(say.EpochDone(5)) == [say.TakeIn(), say.Measure(None), say.Look()]
    assert names(machine.handle(say.Looked(6, idle_ms=40, polls=False))) == ["Wait", "Look"]
    assert machine.handle(say.Looked(46, work=True))[-1] == say.RunEpoch(2, 0, False, SnapshotOrder.FORGET, 1)
    told = machine.handle(say.EpochDone(50, ended=True))
    assert told == [say.TakeIn(), say.Commit(1, stored=False), say.Measure(None), say.AskUnfinished()]
    assert machine.handle(say.UnfinishedSeen(51, unfinished=True)) == [say.Wait(0.1), say.AskUnfinished()]
    assert machine.handle(say.UnfinishedSeen(52, unfinished=False)) == [
        say.CloseCoordinators(),
        say.CloseCluster(failed=False),
        say.CloseCheckpoints(finished=True, cancelled=False),
        say.RefuseSavepoints(),
    ]
    assert finish(machine) == [say.SetStatus(JobStatus.FINISHED), say.Finish(Outcome.FINISHED)]
    assert machine.phase is Phase.ENDED


def test_the_order_of_effects_when_a_checkpoint_completes() -> None:
    """Nothing becomes visible before the manifest is there, and nothing is deleted before all is visible."""
    machine, _ = machine_in(Phase.IDLE)
    machine.handle(say.Looked(0, work=True))
    machine.handle(say.EpochDone(10))
    run = machine.handle(say.Looked(1000, work=True))[-1]
    assert run == say.RunEpoch(2, 0, False, SnapshotOrder.FULL, 1)
    assert machine.handle(say.EpochDone(1010)) == [say.TakeIn(), say.KeepSnapshot(1, full=True)]
    assert machine.handle(say.SnapshotKept(1011, 1)) == [say.LookForFiles(1)]
    assert machine.handle(say.FilesSeen(1012, 1, ready=True)) == [say.WriteManifest(1)]
    assert machine.handle(say.ManifestWritten(1013, 1)) == [say.Commit(1), say.FinishCheckpoint(1, 1000, full=True)]
    assert machine.handle(say.CheckpointFinished(1014)) == [say.Measure(1), say.Look()]
    assert machine.ledger.pending == []


def test_files_that_are_not_there_yet_hold_up_nobody() -> None:
    machine = with_pending(EVERY_SECOND)
    assert machine.handle(say.FilesSeen(1012, 1, ready=False)) == [say.Measure(1), say.Look()]
    assert machine.handle(say.Looked(1100)) == [say.LookForFiles(1)]
    assert names(machine.handle(say.FilesSeen(1101, 1, ready=False))) == ["Wait", "Look"]
    machine.handle(say.Looked(1200))
    machine.handle(say.FilesSeen(1201, 1, ready=True))
    machine.handle(say.ManifestWritten(1202, 1))
    assert names(machine.handle(say.CheckpointFinished(1203))) == ["Wait", "Look"]


def with_pending(rules: CheckpointRules, **done: bool) -> JobMachine:
    """A machine that has just asked for the files of its first checkpoint."""
    machine, _ = machine_in(Phase.IDLE, rules)
    machine.handle(say.Looked(0, work=True))
    machine.handle(say.EpochDone(10))
    machine.handle(say.Looked(1000, work=True))
    machine.handle(say.EpochDone(1010, **done))
    machine.handle(say.SnapshotKept(1011, 1))
    return machine


def test_a_job_that_ends_waits_for_its_checkpoints_and_takes_a_last_one() -> None:
    machine = with_pending(EVERY_SECOND)
    machine.handle(say.FilesSeen(1012, 1, ready=False))
    machine.handle(say.Looked(1100, work=True))
    machine.handle(say.FilesSeen(1101, 1, ready=False))
    assert machine.phase is Phase.IN_EPOCH
    assert machine.handle(say.EpochDone(1110, ended=True)) == [say.TakeIn(), say.LookForFiles(1)]
    assert machine.handle(say.FilesSeen(1111, 1, ready=False)) == [say.Wait(0.1), say.LookForFiles(1)]
    machine.handle(say.FilesSeen(1211, 1, ready=True))
    machine.handle(say.ManifestWritten(1212, 1))
    assert machine.handle(say.CheckpointFinished(1213)) == [say.KeepSnapshot(2, full=False)]


def test_a_checkpoint_that_takes_too_long_is_given_up_and_the_next_stands_by_itself() -> None:
    machine = with_pending(EVERY_SECOND)
    machine.handle(say.FilesSeen(1012, 1, ready=False))
    machine.handle(say.Looked(6000))
    told = machine.handle(say.FilesSeen(6000, 1, ready=False))
    reason = "checkpoint 1 was not complete within its time"
    assert told[0] == say.GiveUpCheckpoints((1,), reason)
    assert told[-1] == say.RunEpoch(3, 0, False, SnapshotOrder.FULL, 2)


def test_one_failure_too_many_is_a_failure_of_the_job() -> None:
    machine = with_pending(CheckpointRules(interval=1000, stored=True))
    machine.handle(say.FilesSeen(1012, 1, ready=True))
    given_up = machine.handle(say.ManifestRefused(1013, 1, "the disk is full"))[0]
    assert isinstance(given_up, say.GiveUpCheckpoints)
    assert given_up.fatal
    assert given_up.reason == (
        "checkpoint 1 could not be completed: the disk is full, and no more than 0 failures are tolerated"
    )
    assert names(machine.handle(failure(given_up)))[-1] == "BackOff"


def test_a_file_that_could_not_be_written_gives_up_all_that_build_on_it() -> None:
    machine, _ = machine_in(Phase.IDLE)
    machine.handle(say.Looked(0, work=True))
    machine.handle(say.EpochDone(10))
    machine.handle(say.Looked(1000, work=True))
    machine.handle(say.EpochDone(1010, problem="no space"))
    machine.handle(say.SnapshotKept(1011, 1))
    told = machine.handle(say.FilesSeen(1012, 1, ready=False))
    assert told == [say.GiveUpCheckpoints((1,), "no space"), say.Measure(1), say.Look()]


def test_no_checkpoint_is_taken_where_none_is_safe() -> None:
    machine, _ = machine_in(Phase.IDLE)
    machine.handle(say.Looked(0, work=True))
    machine.handle(say.EpochDone(10))
    machine.handle(say.Looked(1000, work=True))
    told = machine.handle(say.EpochDone(1010, unsafe="a part has ended"))
    assert told == [
        say.TakeIn(),
        say.PauseCheckpoints("a part has ended"),
        say.ForgetSnapshot("a part has ended"),
        say.Measure(None),
        say.Look(),
    ]
    assert machine.handle(say.Looked(5000, work=True))[-1] == say.RunEpoch(3, 0, False, SnapshotOrder.KEEP, 1)
    assert say.PauseCheckpoints(None) in machine.handle(say.EpochDone(5010))


def test_sinks_commit_every_epoch_where_nothing_is_stored() -> None:
    machine, _ = machine_in(Phase.IDLE, CheckpointRules(commits=True))
    assert machine.handle(say.Looked(0))[-1] == say.RunEpoch(1, 0, True, SnapshotOrder.COMMIT_ONLY, 1)
    assert machine.handle(say.EpochDone(1))[-1] == say.KeepSnapshot(1, full=True)
    assert names(machine.handle(say.SnapshotKept(2, 0)) + machine.handle(say.FilesSeen(3, 1, ready=True))) == [
        "LookForFiles",
        "WriteManifest",
    ]


def test_after_many_changes_a_snapshot_stands_by_itself() -> None:
    machine, _ = machine_in(Phase.IDLE, CheckpointRules(stored=True, every_epoch=True))
    orders = []
    for number in range(1, 35):
        run = machine.handle(say.Looked(number, work=True))[-1]
        assert isinstance(run, say.RunEpoch)
        orders.append(run.snapshot)
        machine.handle(say.EpochDone(number))
        machine.handle(say.SnapshotKept(number, number))
        machine.handle(say.FilesSeen(number, number, ready=True))
        machine.handle(say.ManifestWritten(number, number))
        machine.handle(say.CheckpointFinished(number))
    assert [place for place, order in enumerate(orders) if order is SnapshotOrder.FULL_AT_ONCE] == [0, 32, 33]
    assert orders[1] is SnapshotOrder.CHANGES_AT_ONCE


# ---- savepoints -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("drain", "order"), [(False, SnapshotOrder.SAVEPOINT), (True, SnapshotOrder.DRAIN)])
def test_a_job_that_stops_with_a_savepoint(drain: bool, order: SnapshotOrder) -> None:
    machine, _ = machine_in(Phase.IDLE)
    run = machine.handle(say.Looked(0, savepoint=Saving(stop=True, drain=drain)))[-1]
    assert run == say.RunEpoch(1, 0, True, order, 1)
    assert machine.handle(say.EpochDone(5))[-1] == say.WriteSavepoint(1, Saving(True, drain))
    told = machine.handle(say.SavepointWritten(6))
    assert told == [say.StopWithSavepoint(1), say.AnswerSavepoint(), say.Measure(None), say.AskUnfinished()]
    assert machine.ledger.next_id == 2


def test_a_savepoint_that_fails_does_not_stop_the_job() -> None:
    machine, _ = machine_in(Phase.IDLE)
    machine.handle(say.Looked(0, savepoint=Saving(stop=True)))
    machine.handle(say.EpochDone(5))
    assert machine.handle(say.SavepointRefused(6)) == [say.Measure(None), say.Look()]


def test_a_savepoint_of_a_job_that_goes_on() -> None:
    machine, _ = machine_in(Phase.IDLE)
    machine.handle(say.Looked(0, savepoint=Saving()))
    machine.handle(say.EpochDone(5))
    assert machine.handle(say.SavepointWritten(6)) == [say.AnswerSavepoint(), say.Measure(None), say.Look()]
    assert machine.ledger.next_id == 1


def test_batch_jobs_have_no_savepoints() -> None:
    machine, _ = machine_in(Phase.IDLE, CheckpointRules(batch_mode=True))
    told = machine.handle(say.Looked(0, savepoint=Saving()))
    assert names(told) == ["RefuseSavepoint", "RunEpoch"]
    assert told[-1] == say.RunEpoch(1, 0, True, SnapshotOrder.FORGET, 1)


@pytest.mark.parametrize("waits", [Phase.IN_EPOCH, Phase.SETTLING])
def test_whoever_waits_for_a_savepoint_learns_of_a_failure(waits: Phase) -> None:
    machine, _ = machine_in(Phase.IDLE)
    question = machine.handle(say.Looked(0, savepoint=Saving()))[-1]
    if waits is Phase.SETTLING:
        question = machine.handle(say.EpochDone(5))[-1]
    assert machine.handle(failure(question))[0] == say.RefuseSavepoint("it broke")


def test_a_savepoint_is_not_forgotten_when_a_checkpoint_fails_before_it_is_begun() -> None:
    machine = with_pending(EVERY_SECOND)
    machine.handle(say.FilesSeen(1012, 1, ready=False))
    question = machine.handle(say.Looked(1100, savepoint=Saving()))[-1]
    assert question == say.LookForFiles(1)
    assert machine.handle(failure(question))[0] == say.RefuseSavepoint("it broke")


# ---- checkpoints on demand ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("full", [False, True])
def test_a_checkpoint_that_is_asked_for_is_taken_before_its_time(full: bool) -> None:
    machine, _ = machine_in(Phase.IDLE)
    machine.ledger.full_due = False
    run = machine.handle(say.Looked(3, checkpoint=say.CheckpointWish(full)))[-1]
    order = SnapshotOrder.of_checkpoint(full, at_once=False)
    assert run == say.RunEpoch(1, 0, True, order, 1)
    assert machine.handle(say.EpochDone(5))[-1] == say.KeepSnapshot(1, full)


def test_a_checkpoint_that_is_asked_for_waits_for_room() -> None:
    rules = CheckpointRules(interval=1000, stored=True, timeout=5000)
    machine = with_pending(rules)
    machine.handle(say.FilesSeen(1012, 1, ready=False))
    machine.handle(say.Looked(1020, checkpoint=say.CheckpointWish()))
    assert names(machine.handle(say.FilesSeen(1021, 1, ready=False))) == ["Wait", "Look"]
    machine.handle(say.Looked(1030, checkpoint=say.CheckpointWish()))
    machine.handle(say.FilesSeen(1031, 1, ready=True))
    machine.handle(say.ManifestWritten(1032, 1))
    assert names(machine.handle(say.CheckpointFinished(1033))) == ["RunEpoch"]


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (CheckpointRules(), "execution.checkpointing.interval"),
        (CheckpointRules(stored=True, every_epoch=True), "execution.checkpointing.interval"),
        (CheckpointRules(interval=1000, batch_mode=True), "BATCH"),
    ],
)
def test_a_job_without_checkpoints_refuses_one(rules: CheckpointRules, why: str) -> None:
    machine, _ = machine_in(Phase.IDLE, rules)
    refused = machine.handle(say.Looked(3, checkpoint=say.CheckpointWish()))[0]
    assert isinstance(refused, say.RefuseCheckpoint) and why in refused.reason


def test_a_checkpoint_that_no_job_may_take_now_is_refused() -> None:
    machine, _ = machine_in(Phase.IDLE)
    machine.handle(say.Looked(0, work=True))
    machine.handle(say.EpochDone(10, unsafe="a part has ended"))
    assert machine.handle(say.Looked(20, checkpoint=say.CheckpointWish()))[0] == say.RefuseCheckpoint(
        "takes no checkpoints now: a part has ended"
    )


# ---- failures -------------------------------------------------------------------------------------------------------

RESTARTABLE = [Phase.STARTING, Phase.IDLE, Phase.IN_EPOCH, Phase.SETTLING]
BEFORE_THE_END = [Phase.OPENING, *RESTARTABLE, Phase.BACKING_OFF]


@pytest.mark.parametrize("phase", RESTARTABLE)
def test_a_failure_restarts_the_job(phase: Phase) -> None:
    machine, question = machine_in(phase)
    assert machine.handle(failure(question)) == [
        say.SetStatus(JobStatus.RESTARTING),
        say.RollBack(),
        say.BackOff(70, "it broke"),
    ]
    assert machine.handle(say.BackedOff(80, cancelled=False)) == [say.SetStatus(JobStatus.RUNNING), say.Start(1)]
    machine.handle(say.Started(81))
    again = machine.handle(say.Looked(82))[-1]
    assert isinstance(again, say.RunEpoch)
    assert (again.generation, again.first) == (1, True)


@pytest.mark.parametrize("phase", BEFORE_THE_END)
@pytest.mark.parametrize("kind", [kind for kind in FailureKind if kind is not FailureKind.MOVED])
def test_every_failure_in_every_phase_without_restarts(phase: Phase, kind: FailureKind) -> None:
    machine, question = machine_in(phase, restarts=1 if phase is Phase.BACKING_OFF else 0)
    machine.handle(failure(question, kind))
    outcome = {FailureKind.OUTSIDE: Outcome.INTERRUPTED}.get(kind, Outcome.FAILED)
    if kind is FailureKind.INTERRUPTED and phase in RESTARTABLE:
        outcome = Outcome.CANCELLED
    status = JobStatus.FAILED if outcome is Outcome.FAILED else JobStatus.CANCELED
    assert finish(machine) == [say.SetStatus(status), say.Finish(outcome)]


def test_a_subtask_that_has_moved_takes_the_job_back_and_is_no_failure() -> None:
    machine, question = machine_in(Phase.IN_EPOCH, restarts=0)
    assert machine.handle(failure(question, FailureKind.MOVED)) == [
        say.SetStatus(JobStatus.RESTARTING),
        say.RollBack(),
        say.BackOff(0, "it broke"),
    ]
    machine.handle(say.BackedOff(10, cancelled=False))
    machine.handle(say.Started(10))
    complete_a_checkpoint(machine)
    again = machine.handle(say.Looked(2000, work=True))[-1]
    assert names(machine.handle(failure(again, FailureKind.MOVED)))[-1] == "BackOff"


def complete_a_checkpoint(machine: JobMachine) -> None:
    machine.handle(say.Looked(11, work=True))
    machine.handle(say.EpochDone(12))
    machine.handle(say.Looked(1500, work=True))
    machine.handle(say.EpochDone(1501))
    machine.handle(say.SnapshotKept(1502, 1))
    assert isinstance(machine.handle(say.FilesSeen(1503, 1, ready=True))[-1], say.WriteManifest)
    machine.handle(say.ManifestWritten(1504, 1))
    machine.handle(say.CheckpointFinished(1505))


def test_subtasks_that_move_again_before_the_job_got_on_are_a_failure() -> None:
    machine, question = machine_in(Phase.IN_EPOCH, restarts=1)
    machine.handle(failure(question, FailureKind.MOVED))
    for delay in (70, None):
        machine.handle(say.BackedOff(10, cancelled=False))
        machine.handle(say.Started(10))
        question = machine.handle(say.Looked(11, work=True))[-1]
        told = machine.handle(failure(question, FailureKind.MOVED))
        assert (
            (told[-1] == say.BackOff(delay, "it broke")) if delay else (finish(machine)[-1].outcome is Outcome.FAILED)
        )


def test_a_job_without_checkpoints_cannot_go_back_for_a_subtask_that_has_moved() -> None:
    machine, question = machine_in(Phase.IN_EPOCH, NO_CHECKPOINTS, restarts=0)
    machine.handle(failure(question, FailureKind.MOVED))
    assert finish(machine)[-1] == say.Finish(Outcome.FAILED)


@pytest.mark.parametrize("phase", RESTARTABLE)
@pytest.mark.parametrize("kind", [FailureKind.EPOCH, FailureKind.HOPELESS, FailureKind.STORED_STATE])
def test_a_failure_of_a_job_that_is_to_end_only_ends_it(phase: Phase, kind: FailureKind) -> None:
    machine, question = machine_in(phase)
    told = machine.handle(failure(question, kind, cancelled=True))
    assert told[:2] == [say.RollBack(), say.CommitAgain()]
    assert say.CloseCheckpoints(finished=False, cancelled=True) in told
    assert finish(machine)[-1] == say.Finish(Outcome.CANCELLED)


@pytest.mark.parametrize("kind", [FailureKind.HOPELESS, FailureKind.FINAL])
def test_some_failures_no_restart_helps_against(kind: FailureKind) -> None:
    machine, question = machine_in(Phase.IN_EPOCH)
    machine.handle(failure(question, kind))
    assert finish(machine)[-1] == say.Finish(Outcome.FAILED)


def test_stored_state_that_does_not_fit_stops_a_job_only_at_its_beginning() -> None:
    machine = JobMachine(EVERY_SECOND, Restarts(5))
    machine.handle(say.Submitted(0))
    machine.handle(say.Opened(1, restored=True, next_id=8))
    machine.handle(say.Started(2))
    run = machine.handle(say.Looked(3))[-1]
    assert isinstance(run, say.RunEpoch)
    assert run.checkpoint_id == 8
    machine.handle(failure(run, FailureKind.STORED_STATE))
    assert finish(machine)[-1] == say.Finish(Outcome.FAILED)

    machine, question = machine_in(Phase.IN_EPOCH)
    assert names(machine.handle(failure(question, FailureKind.STORED_STATE)))[-1] == "BackOff"


def test_a_job_that_is_cancelled_while_it_waits_for_its_restart() -> None:
    machine, _ = machine_in(Phase.BACKING_OFF)
    told = machine.handle(say.BackedOff(20, cancelled=True))
    assert told[:2] == [say.CommitAgain(), say.SetStatus(JobStatus.CANCELLING)]
    assert finish(machine) == [say.SetStatus(JobStatus.CANCELED), say.Finish(Outcome.CANCELLED)]


def test_what_fails_while_closing_does_not_keep_the_rest_from_closing() -> None:
    machine, _ = machine_in(Phase.IDLE)
    told = machine.handle(say.Looked(5, cancelled=True))
    closing = [each for each in told if not isinstance(each, say.SetStatus)]
    for place, instruction in enumerate(closing[:-1]):
        left = machine.handle(failure(instruction))
        assert left == closing[place + 1 :]
    assert machine.handle(failure(closing[-1])) == [
        say.SetStatus(JobStatus.CANCELED),
        say.Finish(Outcome.CANCELLED),
    ]


def test_a_job_whose_end_fails_has_failed() -> None:
    machine, _ = machine_in(Phase.IN_EPOCH, NO_CHECKPOINTS)
    machine.handle(say.EpochDone(5, ended=True))
    machine.handle(say.UnfinishedSeen(6, unfinished=False))
    told = machine.handle(failure(say.CloseCluster(failed=False)))
    assert told == [
        say.SetStatus(JobStatus.FAILING),
        say.CloseCheckpoints(finished=False, cancelled=False),
        say.RefuseSavepoints(),
    ]
    assert finish(machine)[-1] == say.Finish(Outcome.FAILED)


def test_output_that_cannot_be_committed_makes_a_cancelled_job_fail() -> None:
    machine, question = machine_in(Phase.IN_EPOCH)
    machine.handle(failure(question, cancelled=True))
    told = machine.handle(failure(say.CommitAgain()))
    assert told[0] == say.SetStatus(JobStatus.FAILING)
    assert finish(machine)[-1] == say.Finish(Outcome.FAILED)


def test_ctrl_c_while_closing_is_an_interrupt() -> None:
    machine, _ = machine_in(Phase.IDLE)
    machine.handle(say.Looked(5, cancelled=True))
    machine.handle(failure(say.CloseCluster(failed=True), FailureKind.OUTSIDE))
    assert finish(machine)[-1] == say.Finish(Outcome.INTERRUPTED)


# ---- the table, the rules, the story --------------------------------------------------------------------------------

EVENTS: list[Callable[[], say.Event]] = [
    lambda: say.Submitted(0),
    lambda: say.Opened(0, restored=False, next_id=1),
    lambda: say.Started(0),
    lambda: say.Looked(0),
    lambda: say.EpochDone(0),
    lambda: say.BackedOff(0, cancelled=False),
    lambda: say.Closed(0),
]


@pytest.mark.parametrize("phase", [*BEFORE_THE_END, Phase.CLOSING])
@pytest.mark.parametrize("make", EVENTS, ids=lambda make: type(make()).__name__)
def test_what_the_table_does_not_name_cannot_happen(phase: Phase, make: Callable[[], say.Event]) -> None:
    machine, _ = machine_in(phase)
    event = make()
    if (phase, type(event)) in TRANSITIONS:
        machine.handle(event)
        return
    with pytest.raises(MachineError, match=f"(?s){type(event).__name__}.*cannot happen.*{phase.value}.*Submitted"):
        machine.handle(event)


def test_every_phase_but_the_last_takes_a_failure_and_something_else() -> None:
    for phase in Phase:
        taken = {event for at, event in TRANSITIONS if at is phase}
        assert (say.Failed in taken and len(taken) >= 2) == (phase is not Phase.ENDED)


def test_a_status_that_cannot_follow_tells_the_story() -> None:
    machine, _ = machine_in(Phase.IDLE)
    machine.status = JobStatus.FINISHED
    with pytest.raises(MachineError, match=r"(?s)from FINISHED to CANCELLING\..*Submitted\(\) -> opening"):
        machine.handle(say.Looked(0, cancelled=True))


def test_a_rule_that_does_not_hold_is_found() -> None:
    machine, _ = machine_in(Phase.IDLE)
    with pytest.raises(MachineError, match="ends with a question, and only there"):
        machine.check([say.Look(), say.TakeIn()])
    machine.phase = Phase.BACKING_OFF
    with pytest.raises(MachineError, match="the status fits the phase"):
        machine.check([say.BackOff(1, "")])


def test_statuses_end() -> None:
    reached = {status for after in STATUS_AFTER.values() for status in after}
    assert reached - set(STATUS_AFTER) == {JobStatus.FINISHED, JobStatus.FAILED, JobStatus.CANCELED}


def answers(question: say.Instruction, at: int, draw: Callable[[list[str]], str], number: int) -> say.Event:
    """Some answer to a question, or its failure."""
    choice = draw(["yes", "yes", "yes", "no", "fails", "cancelled"])
    if choice == "fails":
        kind = FailureKind[draw(["EPOCH", "STORED_STATE", "HOPELESS", "FINAL", "INTERRUPTED", "OUTSIDE"])]
        return say.Failed(at, kind, "it broke", question, draw(["yes", "no"]) == "yes")
    yes, cancelled = choice == "yes", choice == "cancelled"
    saving = Saving(stop=draw(["yes", "no"]) == "yes") if choice == "no" else None
    table: dict[type[say.Instruction], say.Event] = {
        say.OpenCheckpoints: say.Opened(at, restored=yes, next_id=1),
        say.Start: say.Started(at),
        say.Look: say.Looked(at, work=yes, savepoint=saving, cancelled=cancelled),
        say.RunEpoch: say.EpochDone(at, ended=cancelled, problem="no space" if choice == "no" else None),
        say.KeepSnapshot: say.SnapshotKept(at, 3),
        say.LookForFiles: say.FilesSeen(at, number, ready=yes),
        say.WriteManifest: say.ManifestWritten(at, number) if yes else say.ManifestRefused(at, number, "no"),
        say.FinishCheckpoint: say.CheckpointFinished(at),
        say.WriteSavepoint: say.SavepointWritten(at) if yes else say.SavepointRefused(at),
        say.AskUnfinished: say.UnfinishedSeen(at, choice == "no", cancelled),
        say.BackOff: say.BackedOff(at, cancelled),
        say.RefuseSavepoints: say.Closed(at),
    }
    return table[type(question)]


@given(st.data(), st.sampled_from([NO_CHECKPOINTS, EVERY_SECOND, CheckpointRules(stored=True, every_epoch=True)]))
def test_whatever_happens_the_rules_hold_and_committed_output_never_comes_again(
    data: st.DataObject, rules: CheckpointRules
) -> None:
    """Rules are checked after each event. A checkpoint is committed once, after its manifest, in order."""

    def draw(choices: list[str]) -> str:
        return data.draw(st.sampled_from(choices))

    machine = JobMachine(rules, Restarts(2))
    event: say.Event = say.Submitted(0)
    written, committed = [0], []
    for step in range(1, 80):
        told = machine.handle(event)
        committed += [each.checkpoint_id for each in told if isinstance(each, say.Commit) and each.stored]
        assert set(committed) <= set(written)
        if machine.phase is Phase.ENDED:
            break
        question = told[-1]
        number = getattr(question, "checkpoint_id", 0)
        event = answers(question, step * 400, draw, number)
        if isinstance(event, say.ManifestWritten):
            written.append(event.checkpoint_id)
    assert committed == sorted(set(committed))
