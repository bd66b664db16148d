"""Coordinators: the half of an operator that lives in the driver, and talks to its subtasks once per epoch.

Whatever has to be decided for all subtasks together, or must happen once, is done here: finding splits, committing
output, keeping records on their way back to the head of a loop. A coordinator gives an *order* to subtasks before an
epoch, and gets a *report* of each after it; its state is part of every checkpoint::

    between two epochs    poll, has_work
    an epoch begins       orders            -> Operator.on_order in the tasks
    it has ended          apply             <- Operator.report
    a checkpoint          snapshot, and committed when it is complete
    after a failure       roll_back, then restore

All of this is called by one thread, the driver's loop, never while an epoch runs. What takes long belongs into
:meth:`CoordinatorContext.call_async`: the job stands still meanwhile otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from firesteel.metrics import MetricGroup

_T = TypeVar("_T")


@dataclass(frozen=True)
class EpochPlan:
    """What is known of an epoch that is about to begin.

    :param now: When it begins, in milliseconds.
    :param checkpoint_id: The checkpoint that will hold what happens in it.
    :param max_records: About how many records a source subtask should read.
    :param drain: The job stops for good with this epoch: event time comes to its end.
    """

    now: int
    checkpoint_id: int
    max_records: int = 0
    drain: bool = False


@dataclass(frozen=True)
class OperatorReport:
    """What one subtask of an operator has reported: the value that its ``report()`` returned."""

    uid: str
    subtask: int
    message: Any


@dataclass(frozen=True)
class Intake:
    """What came into the job by one operator in the epoch that was applied last.

    :param records: Subtask -> records read.
    :param newest: The time of about the newest record so far.
    """

    records: Mapping[int, int] = field(default_factory=dict)
    newest: int | None = None


class CoordinatorContext(ABC):
    """What a coordinator is given by the driver."""

    @property
    @abstractmethod
    def uid(self) -> str:
        """The uid of the coordinator's operator."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the operator."""

    @property
    @abstractmethod
    def call_site(self) -> str:
        """The line of the program that has made the operator."""

    @property
    @abstractmethod
    def parallelism(self) -> int:
        """How many subtasks the operator has."""

    @property
    @abstractmethod
    def job_parameters(self) -> Mapping[str, str]:
        """The parameters of the job."""

    @property
    @abstractmethod
    def replays(self) -> bool:
        """Whether output may come again: the job goes back to a checkpoint, or a BATCH job begins anew."""

    @property
    @abstractmethod
    def metrics(self) -> MetricGroup:
        """The coordinator's own metrics: they are shown among those of the operator."""

    @abstractmethod
    def metrics_of(self, subtask: int) -> MetricGroup:
        """The metrics of what the driver does for one subtask; the same group after a restart."""

    @property
    @abstractmethod
    def shared(self) -> MutableMapping[str, Any]:
        """A place for what several coordinators of the job have to agree on."""

    @abstractmethod
    def hand_out(self, collector_id: str, subtask: int, values: list[Any]) -> None:
        """Give records to the object of the program that waits for them: one that prints, or collects."""

    @abstractmethod
    def wake(self) -> None:
        """Have the driver look again soon whether there is work. May be called from any thread."""

    @abstractmethod
    def call_async(self, work: Callable[[], _T], then: Callable[[_T | None, Exception | None], None]) -> None:
        """Do something slow beside the driver's loop, which goes on meanwhile.

        ``work`` runs in a thread of the coordinator, one call after the other. ``then`` is called with its result, or
        with what it has raised, in the driver's loop between two epochs: so it may use the coordinator's state, and
        what it raises is a failure of the operator. It is not called any more after the job has failed or ended.
        """


class Coordinator(ABC):
    """The driver's half of an operator. All methods but :meth:`restore` may stay as they are.

    :cvar kind: The heading under which its state is stored in checkpoints. State that no operator of a program claims
        is an error when the program is started from it.
    :cvar first: Hears of a completed checkpoint before all others: what it holds cannot come again.
    :cvar commits: Works only if epochs become final, with or without checkpoints: one without is final by itself.
    """

    kind: ClassVar[str] = "coordinators"
    first: ClassVar[bool] = False
    commits: ClassVar[bool] = False
    context: CoordinatorContext

    def open(self, context: CoordinatorContext) -> None:
        """Called once, before anything else."""
        self.context = context

    @abstractmethod
    def restore(self, checkpoint_id: int | None, state: Any | None) -> None:
        """A run of the job begins, the first one or another after a failure: go on from what :meth:`snapshot` gave.

        :param checkpoint_id: The checkpoint that the job goes on from; None if it begins anew.
        :param state: None if that has nothing of this coordinator.
        """

    def poll(self, now: int) -> None:
        """Called between epochs, at least every second: look whether something has changed. Must not block."""
        return None

    def has_work(self, now: int) -> bool:
        """Whether an epoch would do something."""
        return False

    def next_work_time(self, now: int) -> int | None:
        """When to look again, in milliseconds, if the coordinator knows."""
        return None

    def ended(self) -> bool:
        """Whether nothing more will come into the job through this operator. When that is so of all, the job ends."""
        return True

    def unfinished(self) -> bool:
        """Whether the job, though it has ended, must wait for this coordinator. It is polled meanwhile."""
        return False

    def orders(self, epoch: EpochPlan) -> Mapping[int, Any]:
        """Subtask -> what it is told before the epoch's records: plain values that can be pickled."""
        return {}

    def apply(self, reports: Sequence[OperatorReport]) -> None:
        """An epoch has ended well: take in what the subtasks have reported, in their order. Called in every epoch."""
        return None

    def intake(self) -> Intake | None:
        """For sources: what has come in by the epoch that was applied last."""
        return None

    def snapshot(self, checkpoint_id: int) -> Any | None:
        """What :meth:`restore` goes on from: plain values that can be pickled; None for nothing.

        A savepoint asks too, and then a checkpoint with the same id may follow.
        """
        return None

    def committed(self, checkpoint_id: int) -> None:
        """A checkpoint is complete: what came before its :meth:`snapshot` is final.

        Checkpoints may be given up: this one stands for all before it. It may be called again for the same one.
        """
        return None

    def roll_back(self, checkpoint_id: int | None) -> None:
        """The job has failed or is cancelled: stop what runs, undo what came after the checkpoint (None: everything).

        :meth:`restore` or :meth:`close` follows.
        """
        return None

    def shortcoming(self) -> str | None:
        """Why the job cannot give exactly-once because of this operator; said once when it starts."""
        return None

    def close(self) -> None:
        """Called once, when the job has ended."""
        return None
