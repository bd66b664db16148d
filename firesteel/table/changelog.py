"""What flows between the operators of a table program: changes of rows, and which kinds of them to expect where.

A record on an edge between table operators is a pair ``(kind, row)``: ``kind`` is one of the numbers below, which are
the values of :class:`~firesteel.common.types.RowKind`, ``row`` a tuple of values as the engine holds them
(:mod:`firesteel.table.values`).

Between operators a changelog is insert-only, or it is complete: each update is a pair of :data:`UPDATE_BEFORE` and
:data:`UPDATE_AFTER`, and a row that goes was there. A source that says only what a row with a key is now is completed
where it is read; for a sink that wants no more, what is too much is left out where it is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "ADDS",
    "DELETE",
    "INSERT",
    "INSERT_ONLY",
    "KIND_NAMES",
    "RETRACT",
    "UPDATE_AFTER",
    "UPDATE_BEFORE",
    "ChangelogMode",
    "merged",
    "upsert",
]

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = 0, 1, 2, 3
KIND_NAMES = ("+I", "-U", "+U", "-D")
ADDS = (True, False, True, False)
"""Whether a kind adds its row; else it takes it back. `ADDS[kind]` is quicker than a comparison with two."""


@dataclass(frozen=True)
class ChangelogMode:
    """Which kinds of changes a node emits.

    :param updates: Whether rows change.
    :param deletes: Whether rows go.
    :param upsert_key: The columns by which a change finds its row. Where there is a key, no :data:`UPDATE_BEFORE`
        comes, and of a row that goes only the key may be known. Only sources and sinks have such modes.
    """

    updates: bool = False
    deletes: bool = False
    upsert_key: tuple[int, ...] | None = None

    @property
    def is_insert_only(self) -> bool:
        """Whether rows only come."""
        return not self.updates and not self.deletes

    def kinds(self) -> tuple[int, ...]:
        """The kinds of changes that may come."""
        updates = (UPDATE_BEFORE, UPDATE_AFTER) if self.upsert_key is None else (UPDATE_AFTER,)
        return (INSERT, *(updates if self.updates else ()), *((DELETE,) if self.deletes else ()))

    def __str__(self) -> str:
        """As EXPLAIN writes it: ``[I,UB,UA,D]``."""
        return f"[{','.join(_SHORT[kind] for kind in self.kinds())}]"


_SHORT = ("I", "UB", "UA", "D")

INSERT_ONLY = ChangelogMode()
RETRACT = ChangelogMode(updates=True, deletes=True)


def upsert(key: Iterable[int], deletes: bool = True) -> ChangelogMode:
    """The mode of rows that replace those with the same key."""
    return ChangelogMode(updates=True, deletes=deletes, upsert_key=tuple(key))


def merged(modes: Iterable[ChangelogMode]) -> ChangelogMode:
    """What comes out where several changelogs are put together, or go through rows unchanged."""
    modes = list(modes)
    return ChangelogMode(any(mode.updates for mode in modes), any(mode.deletes for mode in modes))
