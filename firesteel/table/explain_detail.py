"""What EXPLAIN shows beside the plans."""

from __future__ import annotations

import enum

__all__ = ["ExplainDetail"]


class ExplainDetail(enum.Enum):
    """What EXPLAIN shows beside the plans."""

    ESTIMATED_COST = 0
    """How many rows are expected; nothing is known of them, so nothing is shown."""
    CHANGELOG_MODE = 1
    """Which changes each node emits."""
    JSON_EXECUTION_PLAN = 2
    """The plan of the engine as JSON."""
    PLAN_ADVICE = 3
    """What could be done better: nothing is known."""
