"""What driver and subtasks tell each other about an epoch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from firesteel.runtime.remarks import Remarks
from firesteel.runtime.snapshot_order import SnapshotOrder
from firesteel.state.snapshots import OperatorSnapshot


@dataclass
class EpochRequest:
    """What the driver tells every subtask about an epoch."""

    epoch: int
    generation: int
    """How often the job has been restarted."""
    now: int
    previous_end: int | None = None
    """When the epoch before this one ended."""
    checkpoint_id: int = 0
    """The number of the checkpoint that this epoch belongs to."""
    snapshot: SnapshotOrder = SnapshotOrder.KEEP
    """What to do about state at the end of this epoch."""
    completed_checkpoint: int | None = None
    """A checkpoint that has been completed since the last epoch."""
    time_budget_ms: int = 1000
    """How long sources may read."""


@dataclass
class SubtaskReport:
    """What a subtask tells the driver at the end of an epoch."""

    level: int
    subtask: int
    messages: dict[str, bytes] = field(default_factory=dict)
    """Operator uid -> what it reports to its coordinator, packed."""
    snapshots: dict[str, OperatorSnapshot] = field(default_factory=dict)
    next_timer: int | None = None
    ended_chains: list[int] = field(default_factory=list)
    sent: dict[tuple[int, int], int] = field(default_factory=dict)
    """(edge, target) -> chunks sent."""
    received: dict[tuple[int, int], tuple[str, int]] = field(default_factory=dict)
    """(edge, from_subtask) -> the producer's attempt and the chunks received."""
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Operator uid -> its numbers."""
    union_state: list[str] = field(default_factory=list)
    """The uids of operators with union list state."""
    remarks: Remarks = field(default_factory=Remarks)

    def count_received(self, edge: int, sender: int, attempt: str) -> None:
        """A chunk has come: chunks of one channel in one epoch are of one attempt, or something is wrong."""
        first, count = self.received.get((edge, sender), (attempt, 0))
        self.received[(edge, sender)] = (first if first == attempt else "several attempts", count + 1)
