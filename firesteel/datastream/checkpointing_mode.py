"""What a checkpoint promises."""

from __future__ import annotations

from enum import Enum


class CheckpointingMode(Enum):
    """What records may have done to state after a recovery."""

    EXACTLY_ONCE = "EXACTLY_ONCE"
    """State reflects every record once."""

    AT_LEAST_ONCE = "AT_LEAST_ONCE"
    """State may reflect some records more than once. Here it costs the same as exactly once: epochs are aligned."""
