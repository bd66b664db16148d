"""A job's life as a machine: events in, instructions out. No clock, no thread, no file, no Spark.

Each list of instructions ends with a question, whose answer is the next event, until the job has ended::

    CREATED -> OPENING -> STARTING -> IDLE <-> IN_EPOCH -> SETTLING -> IDLE ...
                              ^         |         |           |
                              +---- BACKING_OFF <-+-----------+  (a failure, and the strategy allows a restart)
                                        |
               any of them  --------> CLOSING -> ENDED

An instruction that fails is the event :class:`Failed`; what was to be done after it is not done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from firesteel.common import JobStatus
from firesteel.common.restart_strategy import RestartPolicy
from firesteel.errors import FiresteelError
from firesteel.execution.control import language as say
from firesteel.execution.control.language import Event, FailureKind, Instruction, Outcome, Question, Saving
from firesteel.execution.control.ledger import CheckpointLedger, CheckpointRules
from firesteel.runtime.snapshot_order import SnapshotOrder

VALIDATE = False
"""Whether machines look after every event whether all is as it should be. Tests switch it on."""

STATUS_AFTER: dict[JobStatus, frozenset[JobStatus]] = {
    JobStatus.CREATED: frozenset({JobStatus.RUNNING, JobStatus.CANCELLING, JobStatus.FAILING}),
    JobStatus.RUNNING: frozenset({JobStatus.FINISHED, JobStatus.CANCELLING, JobStatus.FAILING, JobStatus.RESTARTING}),
    JobStatus.RESTARTING: frozenset({JobStatus.RUNNING, JobStatus.CANCELLING, JobStatus.FAILING}),
    JobStatus.FAILING: frozenset({JobStatus.FAILED}),
    JobStatus.CANCELLING: frozenset({JobStatus.CANCELED, JobStatus.FAILING}),
}
"""From each status to those that may follow. A status that is not here is the end."""

_LONGEST_STORY = 200
_POLL_SECONDS = 0.1
_LONGEST_WAIT_SECONDS = 1.0


class Phase(Enum):
    """What the machine waits for."""

    CREATED = "created"
    OPENING = "opening"
    STARTING = "starting"
    IDLE = "idle"
    IN_EPOCH = "in an epoch"
    SETTLING = "settling"
    """What an epoch has brought is being made to count: checkpoints, savepoints."""
    BACKING_OFF = "backing off"
    CLOSING = "closing"
    ENDED = "ended"


class Step(Enum):
    """What is still to be done before the next look or the end."""

    COMPLETE_READY = "complete the checkpoints whose files are there"
    COMPLETE_ALL = "complete all checkpoints under way"
    KEEP = "put the checkpoint together"
    PROBLEM = "give up checkpoints that could not be written"
    SAVEPOINT = "complete the savepoint"
    MEASURE = "measure"
    CONSIDER = "decide what to do next"
    GO_ON = "look again, or end"


@dataclass(frozen=True)
class _Epoch:
    """The epoch in work."""

    order: say.RunEpoch
    checkpoint: bool
    """Whether it was to end with a checkpoint."""
    saving: Saving | None
    ended: bool = False
    problem: str | None = None
    checkpoint_id: int | None = None


class MachineError(FiresteelError):
    """An event that cannot happen now, or a rule that does not hold: a bug of ours. It tells how it came to it."""


class JobMachine:
    """Decides everything about one job: epochs, checkpoints, restarts, its end.

    :param restarts: Whether and when the job is restarted; None: never.
    """

    def __init__(self, rules: CheckpointRules, restarts: RestartPolicy | None = None) -> None:
        # configuration
        self._restarts = restarts
        # what is
        self.ledger = CheckpointLedger(rules)
        self.phase = Phase.CREATED
        self.status = JobStatus.CREATED
        self.generation = 0
        """How often the job has been restarted."""
        self._epochs = 0
        self._first = True
        """Whether no epoch has been run since the job was started or restarted."""
        self._moved = False
        """Whether a subtask has moved since the last checkpoint was completed."""
        self._restored = False
        self._begins = True
        """Whether the job has not come through its first epoch."""
        self._epoch: _Epoch | None = None
        self._looked: say.Looked | None = None
        self._agenda: list[Step] = []
        self._closing: list[Instruction] = []
        self._outcome: Outcome | None = None
        self._story: deque[tuple[Phase, Event, Phase, list[Instruction]]] = deque(maxlen=_LONGEST_STORY)
        """The last events: where the machine was, what happened, where it went, what it said."""

    # ---- the door ------------------------------------------------------------------------------------------------

    def handle(self, event: Event) -> list[Instruction]:
        """Take in what has happened. Returns what to do, in this order."""
        before = self.phase
        handler = TRANSITIONS.get((self.phase, type(event)))
        if handler is None:
            raise MachineError(f"{_brief(event)} cannot happen while the job is {self.phase.value}.\n{self.story()}")
        instructions = handler(self, event)
        self._story.append((before, event, self.phase, instructions))
        if VALIDATE:
            self.check(instructions)
        return instructions

    def story(self) -> str:
        """How it came to where it is: the last events, each with what followed from it."""
        lines = [
            f"{event.at}: {before.value}: {_brief(event)} -> {after.value}: {', '.join(map(_brief, told))}"
            for before, event, after, told in self._story
        ]
        return "\n".join(lines) or "nothing has happened yet"

    def check(self, instructions: list[Instruction]) -> None:
        """Raise :class:`MachineError` if a rule does not hold."""
        for broken in [rule for rule, holds in self._rules(instructions) if not holds]:
            raise MachineError(f"{broken}.\n{self.story()}")

    def _rules(self, instructions: list[Instruction]) -> list[tuple[str, bool]]:
        ids = [each.checkpoint_id for each in self.ledger.pending]
        rules, over = self.ledger.rules, self.phase is Phase.ENDED
        return [
            ("a list of instructions ends with a question, and only there", _one_question_last(instructions, over)),
            ("checkpoints are under way in the order of their numbers", ids == sorted(set(ids))),
            ("the next checkpoint has a new number", not ids or ids[-1] < self.ledger.next_id),
            (
                "no more checkpoints are under way than may be",
                rules.every_epoch or len(ids) <= max(1, rules.max_concurrent),
            ),
            ("an epoch is in work only while it runs or settles", self._epoch is None or self.phase in _WORKING),
            ("an epoch that runs is in work", self._epoch is not None or self.phase is not Phase.IN_EPOCH),
            ("nothing is left to do between epochs", not self._agenda or self.phase is Phase.SETTLING),
            ("the status fits the phase", self.status in _STATUS_IN[self.phase]),
            ("an outcome is known when the job closes", (self._outcome is None) == (self.phase not in _AT_END)),
            ("a job is given up only with nothing under way", self.phase is not Phase.BACKING_OFF or not ids),
        ]

    def _status(self, status: JobStatus) -> Instruction:
        if status not in STATUS_AFTER.get(self.status, frozenset()):
            raise MachineError(f"a job cannot go from {self.status.name} to {status.name}.\n{self.story()}")
        self.status = status
        return say.SetStatus(status)

    # ---- starting ------------------------------------------------------------------------------------------------

    def _on_submitted(self, event: say.Submitted) -> list[Instruction]:
        self.phase = Phase.OPENING
        return [self._status(JobStatus.RUNNING), say.OpenCheckpoints()]

    def _on_opened(self, event: say.Opened) -> list[Instruction]:
        self._restored = event.restored
        self.ledger.next_id = event.next_id
        self.phase = Phase.STARTING
        return [say.Start(self.generation)]

    def _on_started(self, event: say.Started) -> list[Instruction]:
        return self._look()

    def _look(self, *before: Instruction) -> list[Instruction]:
        self.phase = Phase.IDLE
        self._epoch = self._looked = None
        return [*before, say.Look()]

    # ---- between epochs ------------------------------------------------------------------------------------------

    def _on_looked(self, event: say.Looked) -> list[Instruction]:
        if event.cancelled:
            return self._close(Outcome.CANCELLED)
        self._looked = event
        self.phase = Phase.IDLE
        if self.ledger.pending:
            return self._settle([Step.COMPLETE_READY, Step.CONSIDER], event.at)
        return self._consider(event.at)

    def _consider(self, at: int) -> list[Instruction]:
        """Run an epoch if there is anything to do, otherwise wait."""
        assert self._looked is not None
        self._agenda = []
        looked, saving = self._looked, self._looked.savepoint
        before: list[Instruction] = []
        if saving is not None and self.ledger.rules.batch_mode:
            before.append(say.RefuseSavepoint(_NO_SAVEPOINTS))
            saving = None
        wish, refusal = looked.checkpoint, self.ledger.refusal()
        if wish is not None and refusal is not None:
            before.append(say.RefuseCheckpoint(refusal))
            wish = None
        due = saving is None and self.ledger.due(at, wish is not None)
        self.ledger.full_due |= due and wish is not None and wish.full
        checkpoint_now = due and self.ledger.rules.enabled
        if self._first or saving is not None or looked.work or checkpoint_now:
            return [*before, self._begin_epoch(due, saving)]
        return self._look(*before, say.Wait(self._seconds_to_wait(looked, at)))

    def _begin_epoch(self, due: bool, saving: Saving | None) -> Instruction:
        order = self.ledger.order(due)
        if saving is not None:
            order = SnapshotOrder.DRAIN if saving.drain else SnapshotOrder.SAVEPOINT
        self._epochs += 1
        run = say.RunEpoch(self._epochs, self.generation, self._first, order, self.ledger.next_id)
        self._epoch = _Epoch(run, due, saving)
        self._first, self._looked = False, None
        self.phase = Phase.IN_EPOCH
        return run

    def _seconds_to_wait(self, looked: say.Looked, at: int) -> float:
        known = [] if looked.idle_ms is None else [looked.idle_ms]
        checkpoint = self.ledger.next_due()
        if checkpoint is not None:
            known.append(checkpoint - at)
        if looked.polls or self.ledger.pending:
            known.append(int(_POLL_SECONDS * 1000))
        return min(max(min(known, default=0) / 1000, 0.001), _LONGEST_WAIT_SECONDS)

    # ---- after an epoch ------------------------------------------------------------------------------------------

    def _on_epoch_done(self, event: say.EpochDone) -> list[Instruction]:
        epoch = self._working()
        epoch = self._epoch = _Epoch(epoch.order, epoch.checkpoint, epoch.saving, event.ended, event.problem)
        instructions: list[Instruction] = [say.TakeIn(), *self._pause(event.unsafe)]
        agenda: list[Step] = []
        if event.ended and not self.ledger.rules.enabled:
            instructions.append(say.Commit(self.ledger.next_id, stored=False))
        elif epoch.checkpoint and event.unsafe is not None:
            self.ledger.give_up()
            instructions.append(say.ForgetSnapshot(event.unsafe))
        elif epoch.checkpoint or event.ended:
            agenda = [*([Step.COMPLETE_ALL] if event.ended else []), Step.KEEP, Step.COMPLETE_READY, Step.PROBLEM]
        if epoch.saving is not None:
            agenda += [*([Step.COMPLETE_ALL] if epoch.saving.stop else []), Step.SAVEPOINT]
        return [*instructions, *self._settle([*agenda, Step.MEASURE, Step.GO_ON], event.at)]

    def _pause(self, reason: str | None) -> list[Instruction]:
        """Take no checkpoints, for this reason; or take them again. Said where somebody expects some."""
        before, self.ledger.paused = self.ledger.paused, reason
        expected = self.ledger.rules.enabled or self.ledger.rules.every_epoch
        return [say.PauseCheckpoints(reason)] if expected and (before is None) != (reason is None) else []

    def _working(self) -> _Epoch:
        assert self._epoch is not None
        return self._epoch

    def _settle(self, agenda: list[Step], at: int) -> list[Instruction]:
        """Do what is on the agenda, up to the first question."""
        self._agenda = agenda
        self.phase = Phase.SETTLING
        instructions: list[Instruction] = []
        while not instructions or not isinstance(instructions[-1], Question):
            instructions += _STEPS[self._agenda[0]](self, at)
        return instructions

    def _go_on_settling(self, at: int, *before: Instruction) -> list[Instruction]:
        return [*before, *self._settle(self._agenda, at)]

    def _step_complete(self, at: int) -> list[Instruction]:
        if self.ledger.pending:
            return [say.LookForFiles(self.ledger.pending[0].checkpoint_id)]
        self._agenda.pop(0)
        return []

    def _step_keep(self, at: int) -> list[Instruction]:
        epoch = self._working()
        self._agenda.pop(0)
        begun = self.ledger.begin()
        self._epoch = _Epoch(
            epoch.order, epoch.checkpoint, epoch.saving, epoch.ended, epoch.problem, begun.checkpoint_id
        )
        return [say.KeepSnapshot(begun.checkpoint_id, begun.full)]

    def _step_problem(self, at: int) -> list[Instruction]:
        self._agenda.pop(0)
        problem = self._working().problem
        return [] if problem is None else self._checkpoint_failed(problem)

    def _step_savepoint(self, at: int) -> list[Instruction]:
        self._agenda.pop(0)
        saving = self._working().saving
        assert saving is not None
        return [say.WriteSavepoint(self.ledger.next_id, saving)]

    def _step_measure(self, at: int) -> list[Instruction]:
        self._agenda.pop(0)
        return [say.Measure(self._working().checkpoint_id)]

    def _step_consider(self, at: int) -> list[Instruction]:
        return self._consider(at)

    def _step_go_on(self, at: int) -> list[Instruction]:
        self._begins = False
        if self._working().ended:
            return [say.AskUnfinished()]
        self._agenda = []
        return self._look()

    def _on_unfinished_seen(self, event: say.UnfinishedSeen) -> list[Instruction]:
        if event.cancelled:
            return self._close(Outcome.CANCELLED)
        if event.unfinished:
            return [say.Wait(_POLL_SECONDS), say.AskUnfinished()]
        return self._close(Outcome.FINISHED)

    def _on_snapshot_kept(self, event: say.SnapshotKept) -> list[Instruction]:
        self.ledger.kept(event.files_per_subtask)
        return self._go_on_settling(event.at)

    def _on_files_seen(self, event: say.FilesSeen) -> list[Instruction]:
        if event.ready:
            return [say.WriteManifest(event.checkpoint_id)]
        if self.ledger.is_late(event.at):
            reason = f"checkpoint {event.checkpoint_id} was not complete within its time"
            return self._go_on_settling(event.at, *self._checkpoint_failed(reason))
        if self._agenda[0] is Step.COMPLETE_ALL:
            return [say.Wait(_POLL_SECONDS), say.LookForFiles(event.checkpoint_id)]
        self._agenda.pop(0)
        return self._go_on_settling(event.at)

    def _on_manifest_written(self, event: say.ManifestWritten) -> list[Instruction]:
        done = self.ledger.complete()
        self._moved = False
        number = done.checkpoint_id
        return [say.Commit(number), say.FinishCheckpoint(number, done.started, done.full)]

    def _on_checkpoint_finished(self, event: say.CheckpointFinished) -> list[Instruction]:
        self.ledger.finished(event.at)
        return self._go_on_settling(event.at)

    def _on_manifest_refused(self, event: say.ManifestRefused) -> list[Instruction]:
        reason = f"checkpoint {event.checkpoint_id} could not be completed: {event.reason}"
        return self._go_on_settling(event.at, *self._checkpoint_failed(reason))

    def _checkpoint_failed(self, reason: str) -> list[Instruction]:
        given_up, too_many = self.ledger.fail()
        limit = self.ledger.rules.tolerable_failures
        text = f"{reason}, and no more than {limit} failures are tolerated" if too_many else reason
        return [say.GiveUpCheckpoints(given_up, text, fatal=too_many)]

    def _on_savepoint_written(self, event: say.SavepointWritten) -> list[Instruction]:
        epoch = self._working()
        assert epoch.saving is not None
        if not epoch.saving.stop:
            return self._go_on_settling(event.at, say.AnswerSavepoint())
        number = self.ledger.next_id
        self.ledger.next_id += 1
        self._epoch = _Epoch(epoch.order, epoch.checkpoint, epoch.saving, True, None, epoch.checkpoint_id)
        return self._go_on_settling(event.at, say.StopWithSavepoint(number), say.AnswerSavepoint())

    def _on_savepoint_refused(self, event: say.SavepointRefused) -> list[Instruction]:
        return self._go_on_settling(event.at)

    # ---- failures and the end ------------------------------------------------------------------------------------

    def _on_failure(self, event: say.Failed) -> list[Instruction]:
        if self.phase is Phase.CLOSING:
            return self._close_the_rest(event)
        saving = self._epoch.saving if self._epoch is not None else self._looked.savepoint if self._looked else None
        refusal: list[Instruction] = [] if saving is None else [say.RefuseSavepoint(event.headline)]
        self._agenda, self._epoch, self._looked = [], None, None
        if event.kind is FailureKind.OUTSIDE:
            return [*refusal, *self._close(Outcome.INTERRUPTED)]
        if self.phase not in _RESTARTABLE or event.kind is FailureKind.FINAL:
            return [*refusal, *self._close(Outcome.FAILED)]
        if event.cancelled or event.kind is FailureKind.INTERRUPTED:
            self.ledger.roll_back()
            return [*refusal, *self._close(Outcome.CANCELLED, say.RollBack(), say.CommitAgain())]
        delay = self._delay_after(event)
        if delay is None or self._hopeless(event.kind):
            return [*refusal, *self._close(Outcome.FAILED)]
        self.phase = Phase.BACKING_OFF
        self.ledger.roll_back()
        restarting = self._status(JobStatus.RESTARTING)
        return [*refusal, restarting, say.RollBack(), say.BackOff(delay, event.headline)]

    def _delay_after(self, event: say.Failed) -> int | None:
        """How long to wait before a restart; None: there is none.

        That a subtask has moved is no failure of the job's, as long as the job gets on between two moves.
        """
        if event.kind is FailureKind.MOVED and self.ledger.rules.enabled and not self._moved:
            self._moved = True
            return 0
        return None if self._restarts is None else self._restarts.on_failure(event.at)

    def _hopeless(self, kind: FailureKind) -> bool:
        """Whether no restart changes anything: what is needed is gone, or the job could not even begin."""
        begins = self._begins and self._restored
        return kind is FailureKind.HOPELESS or (kind is FailureKind.STORED_STATE and begins)

    def _on_backed_off(self, event: say.BackedOff) -> list[Instruction]:
        if event.cancelled:
            return self._close(Outcome.CANCELLED, say.CommitAgain())
        self.generation += 1
        self._begins, self._first = False, True
        self.phase = Phase.STARTING
        return [self._status(JobStatus.RUNNING), say.Start(self.generation)]

    def _close(self, outcome: Outcome, *before: Instruction) -> list[Instruction]:
        """End the job. What of this fails does not keep the rest from being done."""
        self.phase = Phase.CLOSING
        self._epoch, self._agenda = None, []
        self._outcome = outcome
        self._closing = [
            *before,
            *self._closing_status(),
            say.CloseCoordinators(),
            say.CloseCluster(failed=outcome is not Outcome.FINISHED),
            self._close_checkpoints(),
            say.RefuseSavepoints(),
        ]
        return list(self._closing)

    def _closing_status(self) -> list[Instruction]:
        """The status of a job that does not end well while it closes, unless it has it already."""
        assert self._outcome is not None
        wanted = _LAST_STATUSES[self._outcome][0]
        return [] if wanted in (JobStatus.FINISHED, self.status) else [self._status(wanted)]

    def _close_checkpoints(self) -> Instruction:
        cancelled = self._outcome in (Outcome.CANCELLED, Outcome.INTERRUPTED)
        return say.CloseCheckpoints(self._outcome is Outcome.FINISHED, cancelled)

    def _close_the_rest(self, event: say.Failed) -> list[Instruction]:
        """Go on after what has failed while closing. A job that would have ended well has failed by it."""
        rest = self._closing[self._closing.index(event.during) + 1 :]
        if event.kind is FailureKind.OUTSIDE and self._outcome is not Outcome.FAILED:
            self._outcome = Outcome.INTERRUPTED
        elif self._outcome is Outcome.FINISHED or event.during in (say.RollBack(), say.CommitAgain()):
            self._outcome = Outcome.FAILED
        dropped = (say.SetStatus, say.RollBack, say.CommitAgain)
        rest = [each for each in rest if not isinstance(each, dropped)]
        rest = [self._close_checkpoints() if isinstance(each, say.CloseCheckpoints) else each for each in rest]
        self._closing = [*self._closing_status(), *rest]
        return list(self._closing) if rest else [*self._closing, *self._finish()]

    def _on_closed(self, event: say.Closed) -> list[Instruction]:
        return self._finish()

    def _finish(self) -> list[Instruction]:
        assert self._outcome is not None
        self.phase = Phase.ENDED
        return [self._status(_LAST_STATUSES[self._outcome][-1]), say.Finish(self._outcome)]


_LAST_STATUSES = {
    Outcome.FINISHED: (JobStatus.FINISHED,),
    Outcome.FAILED: (JobStatus.FAILING, JobStatus.FAILED),
    Outcome.CANCELLED: (JobStatus.CANCELLING, JobStatus.CANCELED),
    Outcome.INTERRUPTED: (JobStatus.CANCELLING, JobStatus.CANCELED),
}
_WORKING = (Phase.IN_EPOCH, Phase.SETTLING)
_AT_END = (Phase.CLOSING, Phase.ENDED)
_RESTARTABLE = (Phase.STARTING, Phase.IDLE, Phase.IN_EPOCH, Phase.SETTLING)
_RUNNING = frozenset({JobStatus.RUNNING})
_STATUS_IN: dict[Phase, frozenset[JobStatus]] = {
    Phase.CREATED: frozenset({JobStatus.CREATED}),
    Phase.OPENING: _RUNNING,
    Phase.STARTING: _RUNNING,
    Phase.IDLE: _RUNNING,
    Phase.IN_EPOCH: _RUNNING,
    Phase.SETTLING: _RUNNING,
    Phase.BACKING_OFF: frozenset({JobStatus.RESTARTING}),
    Phase.CLOSING: frozenset({JobStatus.RUNNING, JobStatus.CANCELLING, JobStatus.FAILING}),
    Phase.ENDED: frozenset({JobStatus.FINISHED, JobStatus.FAILED, JobStatus.CANCELED}),
}
_NO_SAVEPOINTS = (
    "runs in BATCH mode, in which there are no savepoints: its input is being sorted, and what has been read of it "
    "is not state. Set the runtime mode STREAMING"
)

_STEPS: dict[Step, Callable[[JobMachine, int], list[Instruction]]] = {
    Step.COMPLETE_READY: JobMachine._step_complete,
    Step.COMPLETE_ALL: JobMachine._step_complete,
    Step.KEEP: JobMachine._step_keep,
    Step.PROBLEM: JobMachine._step_problem,
    Step.SAVEPOINT: JobMachine._step_savepoint,
    Step.MEASURE: JobMachine._step_measure,
    Step.CONSIDER: JobMachine._step_consider,
    Step.GO_ON: JobMachine._step_go_on,
}

TRANSITIONS: dict[tuple[Phase, type[Event]], Callable[[JobMachine, Any], list[Instruction]]] = {
    (Phase.CREATED, say.Submitted): JobMachine._on_submitted,
    (Phase.OPENING, say.Opened): JobMachine._on_opened,
    (Phase.STARTING, say.Started): JobMachine._on_started,
    (Phase.IDLE, say.Looked): JobMachine._on_looked,
    (Phase.IN_EPOCH, say.EpochDone): JobMachine._on_epoch_done,
    (Phase.SETTLING, say.SnapshotKept): JobMachine._on_snapshot_kept,
    (Phase.SETTLING, say.FilesSeen): JobMachine._on_files_seen,
    (Phase.SETTLING, say.ManifestWritten): JobMachine._on_manifest_written,
    (Phase.SETTLING, say.CheckpointFinished): JobMachine._on_checkpoint_finished,
    (Phase.SETTLING, say.ManifestRefused): JobMachine._on_manifest_refused,
    (Phase.SETTLING, say.SavepointWritten): JobMachine._on_savepoint_written,
    (Phase.SETTLING, say.SavepointRefused): JobMachine._on_savepoint_refused,
    (Phase.SETTLING, say.UnfinishedSeen): JobMachine._on_unfinished_seen,
    (Phase.BACKING_OFF, say.BackedOff): JobMachine._on_backed_off,
    (Phase.CLOSING, say.Closed): JobMachine._on_closed,
    **{(phase, say.Failed): JobMachine._on_failure for phase in Phase if phase is not Phase.ENDED},
}
"""What may happen when, and what answers it. Everything else is a bug of ours."""


def _brief(what: Event | Instruction) -> str:
    shown = [f"{name}={value!r}" for name, value in vars(what).items() if name not in ("at", "during")]
    return f"{type(what).__name__}({', '.join(shown)})"


def _one_question_last(instructions: list[Instruction], over: bool) -> bool:
    questions = [place for place, each in enumerate(instructions) if isinstance(each, Question)]
    return questions == ([] if over else [len(instructions) - 1])
