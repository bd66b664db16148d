"""What subtasks tell the driver about an epoch: they are done, they have failed, or their state is lost."""

from __future__ import annotations

from dataclasses import dataclass, field

from firesteel.runtime.epoch import SubtaskReport
from firesteel.runtime.failure import OperatorFailure


@dataclass(frozen=True)
class Place:
    """Where a subtask ran.

    :param keeper: The process that has started this one: on Spark there is one for each executor.
    """

    host: str
    pid: int
    keeper: int = 0


@dataclass
class SubtaskDone:
    """A subtask has run its epoch: its report, the snapshots in it written to a file by now."""

    level: int
    index: int
    attempt: str
    report: SubtaskReport
    place: Place
    state_file: str | None = None
    snapshot_uids: list[str] = field(default_factory=list)
    stateful_uids: list[str] = field(default_factory=list)
    """The operators among them that have state which would be missed."""
    state_bytes: dict[str, int] = field(default_factory=dict)
    """Operator uid -> how many bytes of the state file are its own, where that is known already."""
    snapshot_seconds: float = 0.0
    """How long the snapshot held the subtask up."""
    write_problems: list[str] = field(default_factory=list)
    """State files that could not be written, of this checkpoint or of one before."""
    busy_seconds: float = 0.0
    bytes_in: dict[int, int] = field(default_factory=dict)
    """Edge -> bytes of the chunks that came on it."""
    bytes_out: dict[int, int] = field(default_factory=dict)
    """Edge -> bytes of the chunks that were sent on it."""


@dataclass
class SubtaskFailed:
    """A function, or the engine, has failed."""

    level: int
    index: int
    attempt: str
    place: Place
    failure: OperatorFailure


@dataclass
class StateLost:
    """The state that the epoch needs is neither in memory nor in a checkpoint."""

    level: int
    index: int
    attempt: str
    place: Place
    message: str


LevelResult = SubtaskDone | SubtaskFailed | StateLost
"""How an epoch went for one subtask of a level."""
