"""Kinds of results."""

from __future__ import annotations

import enum

__all__ = ["ResultKind"]


class ResultKind(enum.Enum):
    """What a statement has given."""

    SUCCESS = 0
    """It was done; there is only OK to be seen."""
    SUCCESS_WITH_CONTENT = 1
    """Rows."""
