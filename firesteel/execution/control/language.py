"""What happens to a job, and what it is told to do: the words between :class:`JobMachine` and the driver."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from firesteel.common import JobStatus
from firesteel.runtime.snapshot_order import SnapshotOrder


class FailureKind(Enum):
    """What a failure means for the job."""

    EPOCH = "epoch"
    """An epoch, a source or a commit has failed: the job may be restarted."""
    MOVED = "moved"
    """Spark has run a subtask on another executor than before: the job goes back to its last checkpoint."""
    STORED_STATE = "stored state"
    """As an epoch; it is about state that was restored, and stays if that was what the job was given at its start."""
    HOPELESS = "hopeless"
    """The cluster or the checkpoint directory is gone: no restart changes that."""
    FINAL = "final"
    """Records would be lost, or the user wants it so: the job ends."""
    INTERRUPTED = "interrupted"
    """A function was interrupted, because the job is to end."""
    OUTSIDE = "outside"
    """Ctrl-C or SIGTERM in the thread of the job."""


# ---- what happens -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Event:
    """Something has happened. ``at`` is the time by the clock for intervals, in milliseconds."""

    at: int


@dataclass(frozen=True)
class Submitted(Event):
    """The job is to begin."""


@dataclass(frozen=True)
class Opened(Event):
    """The checkpoint directory is ours, and what the job goes on from has been found, if there is anything."""

    restored: bool
    next_id: int
    """The number of the next checkpoint."""


@dataclass(frozen=True)
class Started(Event):
    """The coordinators have begun a run."""


@dataclass(frozen=True)
class Looked(Event):
    """What there is to do.

    :param work: An epoch would have something to do, apart from checkpoints.
    :param idle_ms: For how long there is nothing known to do; None: nothing says so.
    :param polls: Something has to be looked at again soon: a source that does not say when it has data.
    :param savepoint: A user waits for a savepoint.
    :param checkpoint: A user waits for a checkpoint.
    """

    work: bool = False
    idle_ms: int | None = None
    polls: bool = True
    savepoint: Saving | None = None
    checkpoint: CheckpointWish | None = None
    cancelled: bool = False


@dataclass(frozen=True)
class EpochDone(Event):
    """All subtasks have run the epoch, and what they say fits together.

    :param ended: The job has come to its end.
    :param unsafe: Why no checkpoint can be taken after this epoch.
    :param problem: A state file could not be written.
    """

    ended: bool = False
    unsafe: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class SnapshotKept(Event):
    """The snapshots of an epoch have been put together to a checkpoint, whose files may still be on their way.

    :param files_per_subtask: How many state files the recovery of one subtask would read, at the most.
    """

    files_per_subtask: int


@dataclass(frozen=True)
class FilesSeen(Event):
    """Whether all state files of a checkpoint are there."""

    checkpoint_id: int
    ready: bool


@dataclass(frozen=True)
class ManifestWritten(Event):
    """A checkpoint counts from now on."""

    checkpoint_id: int


@dataclass(frozen=True)
class CheckpointFinished(Event):
    """Everything that was to follow a checkpoint has been done."""


@dataclass(frozen=True)
class ManifestRefused(Event):
    """A checkpoint cannot be completed."""

    checkpoint_id: int
    reason: str


@dataclass(frozen=True)
class SavepointWritten(Event):
    """A savepoint counts from now on."""


@dataclass(frozen=True)
class SavepointRefused(Event):
    """A savepoint could not be written. The job goes on."""


@dataclass(frozen=True)
class UnfinishedSeen(Event):
    """Whether output of the last epoch is still on its way, though the job has come to its end."""

    unfinished: bool
    cancelled: bool = False


@dataclass(frozen=True)
class Closed(Event):
    """Everything of the job is closed."""


@dataclass(frozen=True)
class BackedOff(Event):
    """The pause before a restart is over."""

    cancelled: bool


@dataclass(frozen=True)
class Failed(Event):
    """What the machine asked for last has failed.

    :param during: The instruction that failed; what was to come after it has not been done.
    :param cancelled: The job was to end in any case.
    """

    kind: FailureKind
    headline: str
    during: Instruction
    cancelled: bool = False


# ---- what is to be done -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Instruction:
    """Something to do. Its failure is an event."""


@dataclass(frozen=True)
class Question(Instruction):
    """Something to do that is answered by an event. It is the last of a list: what follows depends on the answer."""


@dataclass(frozen=True)
class Saving:
    """How a savepoint is to be taken."""

    stop: bool = False
    """End the job with it."""
    drain: bool = False
    """Let all windows and event-time timers fire before it."""


@dataclass(frozen=True)
class CheckpointWish:
    """A checkpoint that somebody wants before the next one is due."""

    full: bool = False
    """It shall stand by itself."""


@dataclass(frozen=True)
class SetStatus(Instruction):
    """Show the job in another status."""

    status: JobStatus


@dataclass(frozen=True)
class OpenCheckpoints(Question):
    """Take hold of the checkpoint directory and find what to go on from: answered by Opened."""


@dataclass(frozen=True)
class CommitAgain(Instruction):
    """Let the checkpoint that the job would go on from take effect: a failure may have come before it had."""


@dataclass(frozen=True)
class Start(Question):
    """Let the coordinators begin a run, from the last checkpoint or from nothing: answered by Started."""

    generation: int


@dataclass(frozen=True)
class Wait(Instruction):
    """Wait so long, or until something wakes the job."""

    seconds: float


@dataclass(frozen=True)
class Look(Question):
    """See what there is to do: answered by Looked."""


@dataclass(frozen=True)
class RunEpoch(Question):
    """Run an epoch: answered by EpochDone.

    :param first: It is the first since the job was started or restarted.
    """

    number: int
    generation: int
    first: bool
    snapshot: SnapshotOrder
    checkpoint_id: int
    """The number of the checkpoint that the epoch belongs to."""


@dataclass(frozen=True)
class TakeIn(Instruction):
    """Let the coordinators take in what the subtasks have reported."""


@dataclass(frozen=True)
class Commit(Instruction):
    """A checkpoint counts: let the coordinators hand out records that waited, commit output, acknowledge input.

    :param stored: There is a checkpoint; otherwise it is the end of an epoch that cannot come again.
    """

    checkpoint_id: int
    stored: bool = True


@dataclass(frozen=True)
class AskUnfinished(Question):
    """See whether output of the last epoch is still on its way: answered by UnfinishedSeen."""


@dataclass(frozen=True)
class KeepSnapshot(Question):
    """Put the snapshots of the epoch together to a checkpoint: answered by SnapshotKept."""

    checkpoint_id: int
    full: bool


@dataclass(frozen=True)
class PauseCheckpoints(Instruction):
    """Say that no checkpoints are taken, and why; or, with None, that they go on."""

    reason: str | None


@dataclass(frozen=True)
class ForgetSnapshot(Instruction):
    """The snapshots of the epoch are of no use, which is nobody's fault."""

    reason: str


@dataclass(frozen=True)
class LookForFiles(Question):
    """See whether a checkpoint's state files are there: answered by FilesSeen."""

    checkpoint_id: int


@dataclass(frozen=True)
class WriteManifest(Question):
    """Make a checkpoint count: answered by ManifestWritten or ManifestRefused."""

    checkpoint_id: int


@dataclass(frozen=True)
class FinishCheckpoint(Question):
    """A checkpoint is complete: forget those beyond the number to keep. Answered by CheckpointFinished."""

    checkpoint_id: int
    started: int
    """When the epoch that it belongs to was about to begin, by the clock for intervals."""
    full: bool


@dataclass(frozen=True)
class GiveUpCheckpoints(Instruction):
    """Give up all checkpoints under way: each builds on the one before. What waits for them waits for the next."""

    checkpoint_ids: tuple[int, ...]
    reason: str
    fatal: bool = False
    """One more has failed than is tolerated: that is a failure of the job."""


@dataclass(frozen=True)
class WriteSavepoint(Question):
    """Complete a savepoint: answered by SavepointWritten or SavepointRefused."""

    checkpoint_id: int
    saving: Saving


@dataclass(frozen=True)
class StopWithSavepoint(Instruction):
    """Nothing may come again after a savepoint that the job stops with: make what it holds visible."""

    checkpoint_id: int


@dataclass(frozen=True)
class AnswerSavepoint(Instruction):
    """Tell whoever waits for the savepoint that it is there."""


@dataclass(frozen=True)
class RefuseSavepoint(Instruction):
    """Tell whoever waits for a savepoint that there will be none."""

    reason: str


@dataclass(frozen=True)
class RefuseCheckpoint(Instruction):
    """Tell whoever waits for a checkpoint that there will be none."""

    reason: str


@dataclass(frozen=True)
class Measure(Instruction):
    """Take the numbers of the epoch; ``checkpoint_id``: the checkpoint that it ended with."""

    checkpoint_id: int | None


@dataclass(frozen=True)
class RollBack(Instruction):
    """Forget what came after the last completed checkpoint."""


@dataclass(frozen=True)
class BackOff(Question):
    """Wait before a restart: answered by BackedOff."""

    milliseconds: int
    headline: str


@dataclass(frozen=True)
class CloseCoordinators(Instruction):
    """The job has ended: close the coordinators."""


@dataclass(frozen=True)
class CloseCluster(Instruction):
    """Close all functions of the job."""

    failed: bool


@dataclass(frozen=True)
class CloseCheckpoints(Instruction):
    """Delete checkpoints that nobody can want any more, and let go of the directory.

    They stay if the job ends only because its process does: it may be taken up again.
    """

    finished: bool
    cancelled: bool


@dataclass(frozen=True)
class RefuseSavepoints(Question):
    """Whoever still waits for a savepoint learns that there will be none: answered by Closed."""


@dataclass(frozen=True)
class Finish(Instruction):
    """The job has ended: tell those who wait for it."""

    outcome: Outcome


class Outcome(Enum):
    """How a job has ended."""

    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    """Somebody has cancelled it."""
    INTERRUPTED = "interrupted"
    """Ctrl-C, or the end of its process."""
