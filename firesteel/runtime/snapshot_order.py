"""What subtasks do about their state at the end of an epoch: one value for all that can be asked of them."""

from __future__ import annotations

from enum import Enum

__all__ = ["SnapshotOrder"]


class SnapshotOrder(Enum):
    """What is asked of every subtask at the end of an epoch.

    Chains that end are asked for their last committables in any case.
    """

    FORGET = "forget"
    """Nothing is stored, now or later: what has changed is forgotten."""
    KEEP = "keep"
    """Nothing now; a later snapshot will ask what has changed."""
    COMMIT_ONLY = "commit only"
    """Sinks prepare their output; no state is stored, now or later."""
    CHANGES = "changes"
    """What has changed since the last snapshot."""
    FULL = "full"
    """A snapshot that stands by itself."""
    CHANGES_AT_ONCE = "changes at once"
    """What has changed, in the store when the epoch ends: the subtask may run elsewhere in the next one."""
    FULL_AT_ONCE = "full at once"
    """A snapshot that stands by itself, in the store when the epoch ends."""
    SAVEPOINT = "savepoint"
    """A full snapshot beside the checkpoints: their next changes are the same as without it."""
    DRAIN = "drain"
    """As a savepoint; before it, sources send the last watermark, so that everything fires."""

    @property
    def takes_snapshot(self) -> bool:
        """Whether operators prepare their output and give their state."""
        return self not in (SnapshotOrder.FORGET, SnapshotOrder.KEEP)

    @property
    def forgets(self) -> bool:
        """Whether nobody will ask what has changed so far."""
        return self in (SnapshotOrder.FORGET, SnapshotOrder.COMMIT_ONLY)

    @property
    def full(self) -> bool:
        """Whether the snapshot stands by itself."""
        return self in (SnapshotOrder.FULL, SnapshotOrder.FULL_AT_ONCE) or self.beside

    @property
    def beside(self) -> bool:
        """Whether the snapshot is a savepoint, which the next changes do not build on."""
        return self in (SnapshotOrder.SAVEPOINT, SnapshotOrder.DRAIN)

    @property
    def drains(self) -> bool:
        """Whether the job stops for good, so that everything has to fire before."""
        return self is SnapshotOrder.DRAIN

    @property
    def at_once(self) -> bool:
        """Whether the snapshot must be in the store when the epoch ends."""
        return self in (SnapshotOrder.CHANGES_AT_ONCE, SnapshotOrder.FULL_AT_ONCE) or self.beside

    @staticmethod
    def of_checkpoint(full: bool, at_once: bool) -> SnapshotOrder:
        """The order for a checkpoint."""
        if at_once:
            return SnapshotOrder.FULL_AT_ONCE if full else SnapshotOrder.CHANGES_AT_ONCE
        return SnapshotOrder.FULL if full else SnapshotOrder.CHANGES
