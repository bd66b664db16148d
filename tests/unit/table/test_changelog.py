"""Modes of changelogs."""

from __future__ import annotations

from firesteel.table import RowKind
from firesteel.table.changelog import (
    ADDS,
    DELETE,
    INSERT,
    INSERT_ONLY,
    KIND_NAMES,
    RETRACT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    merged,
    upsert,
)


def test_kinds_are_those_of_row_kind() -> None:
    kinds = (INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE)
    assert [RowKind(kind) for kind in kinds] == list(RowKind)
    assert [str(RowKind(kind)) for kind in kinds] == list(KIND_NAMES)
    assert [ADDS[kind] for kind in kinds] == [True, False, True, False]


def test_modes_are_written_as_explain_writes_them() -> None:
    assert [str(mode) for mode in (INSERT_ONLY, RETRACT, upsert([0]), upsert([0], deletes=False))] == [
        "[I]",
        "[I,UB,UA,D]",
        "[I,UA,D]",
        "[I,UA]",
    ]


def test_together_changelogs_have_the_kinds_of_all() -> None:
    assert merged([INSERT_ONLY, INSERT_ONLY]).is_insert_only
    assert merged([INSERT_ONLY, RETRACT]) == RETRACT
