"""Which checkpoints are under way, when the next is due, how many have failed: the bookkeeping, without a file."""

from __future__ import annotations

from dataclasses import dataclass, field

from firesteel.runtime.snapshot_order import SnapshotOrder

_LONG_AGO = -(1 << 62)
_MAX_CHANGES = 32
"""After so many changes a subtask writes everything anew: recovery reads no more files than that."""


@dataclass(frozen=True)
class CheckpointRules:
    """When checkpoints are taken; times in milliseconds.

    :param interval: None: the user asked for none.
    :param stored: There is a place for state; without one, sinks commit at the end of an epoch.
    :param every_epoch: Subtasks may move between hosts, and the user asked for no checkpoints to go back to: the state
        after each epoch must be in the store.
    :param commits: There are sinks whose output becomes visible by a commit.
    """

    interval: int | None = None
    min_pause: int = 0
    timeout: int = 600_000
    max_concurrent: int = 1
    tolerable_failures: int = 0
    stored: bool = False
    every_epoch: bool = False
    commits: bool = False
    batch_mode: bool = False

    @property
    def enabled(self) -> bool:
        """Whether the user asked for checkpoints."""
        return self.interval is not None


@dataclass(frozen=True)
class Pending:
    """A checkpoint whose snapshots have been taken, and whose files are being written."""

    checkpoint_id: int
    started: int
    full: bool


@dataclass
class CheckpointLedger:
    """The checkpoints of a job. Holds no clock: it is told the time."""

    rules: CheckpointRules
    next_id: int = 1
    pending: list[Pending] = field(default_factory=list)
    paused: str | None = None
    """Why none are taken now."""
    full_due: bool = True
    """Whether the next snapshot must stand by itself."""
    failures_in_a_row: int = 0
    _asked_at: int = 0
    """When the epoch in work was about to begin: the time of the checkpoint that it ends with."""
    _last_started: int | None = None
    _last_ended: int = _LONG_AGO

    def refusal(self) -> str | None:
        """Why a user who asks for a checkpoint gets none."""
        if self.rules.batch_mode:
            return "runs in BATCH mode, in which there are no checkpoints"
        if not self.rules.enabled:
            return "takes no checkpoints: execution.checkpointing.interval is not set"
        return None if self.paused is None else f"takes no checkpoints now: {self.paused}"

    def due(self, at: int, wanted: bool = False) -> bool:
        """Whether an epoch that begins now should end with a checkpoint.

        :param wanted: Somebody asks for one: it is taken as soon as there is room for it.
        """
        self._asked_at = at
        rules = self.rules
        if self.paused is not None:
            return False
        if rules.every_epoch:
            return True
        if rules.interval is None:
            return rules.commits and not rules.batch_mode
        if self._last_started is None:
            self._last_started = at
        in_time = at - self._last_started >= rules.interval and at - self._last_ended >= rules.min_pause
        return (wanted or in_time) and len(self.pending) < rules.max_concurrent

    def next_due(self) -> int | None:
        """When the next checkpoint is due, if they are on."""
        if self.rules.interval is None or self._last_started is None or self.paused is not None:
            return None
        return max(self._last_started + self.rules.interval, self._last_ended + self.rules.min_pause)

    def order(self, due: bool) -> SnapshotOrder:
        """What subtasks are told to do about their state in an epoch without a savepoint."""
        if not self.rules.stored:
            return SnapshotOrder.COMMIT_ONLY if due else SnapshotOrder.FORGET
        if not due:
            return SnapshotOrder.KEEP
        return SnapshotOrder.of_checkpoint(self.full_due, at_once=self.rules.every_epoch)

    def begin(self) -> Pending:
        """A checkpoint has been put together."""
        self._last_started = self._asked_at
        begun = Pending(self.next_id, self._asked_at, self.full_due)
        self.next_id += 1
        self.pending.append(begun)
        return begun

    def kept(self, files_per_subtask: int) -> None:
        """How many files a recovery from the newest one would read."""
        self.full_due = files_per_subtask >= _MAX_CHANGES

    def is_late(self, at: int) -> bool:
        """Whether the oldest one under way has used up its time."""
        return at - self.pending[0].started >= self.rules.timeout

    def complete(self) -> Pending:
        """The oldest one under way counts."""
        self.failures_in_a_row = 0
        return self.pending.pop(0)

    def finished(self, at: int) -> None:
        """What was to follow a checkpoint has been done."""
        self._last_ended = at

    def fail(self) -> tuple[tuple[int, ...], bool]:
        """One has failed: which are given up, and whether that is one failure too many."""
        self.failures_in_a_row += 1
        return self.give_up(), self.failures_in_a_row > self.rules.tolerable_failures

    def give_up(self) -> tuple[int, ...]:
        """Forget all under way: each builds on the one before. The next stands by itself."""
        given_up, self.pending, self.full_due = tuple(each.checkpoint_id for each in self.pending), [], True
        return given_up

    def roll_back(self) -> None:
        """The job goes back to the last complete one."""
        self.give_up()
        self.paused = None
