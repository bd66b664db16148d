"""Which kinds of changes a stream of rows has, as programs say it."""

from __future__ import annotations

from collections.abc import Iterable

from firesteel.common.types import RowKind

__all__ = ["ChangelogMode"]


class ChangelogMode:
    """The kinds of changes of a stream: ``ChangelogMode.insert_only()``, ``upsert()``, ``all()``."""

    def __init__(self, kinds: Iterable[RowKind]) -> None:
        self._kinds = frozenset(kinds)

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Rows only come."""
        return ChangelogMode([RowKind.INSERT])

    @staticmethod
    def upsert() -> ChangelogMode:
        """Rows come and replace those with their key, or go."""
        return ChangelogMode([RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE])

    @staticmethod
    def all() -> ChangelogMode:
        """All kinds."""
        return ChangelogMode(RowKind)

    def get_contained_kinds(self) -> frozenset[RowKind]:
        """The kinds."""
        return self._kinds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangelogMode) and self._kinds == other._kinds

    def __hash__(self) -> int:
        return hash(self._kinds)

    def __repr__(self) -> str:
        return f"ChangelogMode({', '.join(sorted(map(str, self._kinds)))})"
