"""Dialects of SQL."""

from __future__ import annotations

import enum

__all__ = ["SqlDialect"]


class SqlDialect(enum.Enum):
    """Which SQL is spoken."""

    DEFAULT = 0
    """Flink's own."""
    HIVE = 1
    """Hive's, which is not spoken here."""
