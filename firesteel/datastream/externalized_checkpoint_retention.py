"""What becomes of checkpoints when a job is cancelled."""

from __future__ import annotations

from enum import Enum


class ExternalizedCheckpointRetention(Enum):
    """Whether the last checkpoint stays when the job is cancelled. After a failure it always stays."""

    DELETE_ON_CANCELLATION = "DELETE_ON_CANCELLATION"
    """Cancelling the job deletes its checkpoints."""

    RETAIN_ON_CANCELLATION = "RETAIN_ON_CANCELLATION"
    """The last checkpoint stays and a new job can start from it; somebody has to delete it by hand."""

    NO_EXTERNALIZED_CHECKPOINTS = "NO_EXTERNALIZED_CHECKPOINTS"
    """Checkpoints serve recovery within the job only."""
