"""A changelog made whole: from rows that replace those with their key, and from rows that come twice."""

from __future__ import annotations

from functools import partial
from typing import Any

from firesteel.operators import Operator, RowBatch, value_table
from firesteel.table.changelog import ADDS, DELETE, INSERT, INSERT_ONLY, RETRACT, UPDATE_AFTER, UPDATE_BEFORE
from firesteel.table.physical.expiry import Expiry
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.options import state_ttl
from firesteel.table.physical.planner import Planner
from firesteel.table.physical.rows import KeyOf
from firesteel.table.resolution import ColumnValue

__all__ = ["NormalizeOperator", "normalized"]


class NormalizeOperator(Operator):
    """Remembers the row of each key, so that an update says what was there before.

    State: ``rows``: the row, and when it was written.
    """

    takes_sorted_input = False

    def __init__(self, ttl: int, final: bool) -> None:
        self._expiry = Expiry(ttl)
        self._final = final

    def open(self) -> None:
        """Declare the state."""
        assert self.context.keyed_state is not None
        self._rows = value_table(self.context.keyed_state, "rows")

    def process(self, batch: Any) -> None:
        """Compare each row with the one that its key has."""
        rows, now, timestamps = self._rows, self.context.clock.now, batch.timestamps
        changes: list[Any] = []
        stamps: list[int] | None = None if timestamps is None else []
        self.cursor = cursor = iter(batch.values)
        for at, ((kind, row), key) in enumerate(zip(cursor, batch.keys)):
            known = rows.entries.get(key)
            before = None if known is None or self._expiry.has_expired(known[1], now) else known[0]
            count = len(changes)
            if ADDS[kind]:
                if before is None:
                    changes.append((INSERT, row))
                elif before != row or self._expiry.length:
                    changes += ((UPDATE_BEFORE, before), (UPDATE_AFTER, row))
                rows.put(key, (row, now))
            elif kind == DELETE and before is not None:
                changes.append((DELETE, before))
                rows.remove(key)
            if stamps is not None:
                stamps += [timestamps[at]] * (len(changes) - count)
        if not self._final:
            self.output.emit(RowBatch(changes, stamps))

    def end_epoch(self) -> None:
        """Forget what is too old."""
        self._expiry.sweep(self.context.clock.now, self._rows.entries, lambda entry: int(entry[1]), self._rows.remove)

    def finish(self) -> None:
        """If only the end counts, this is it."""
        if self._final:
            self.output.emit(RowBatch([(INSERT, row) for row, _ in self._rows.entries.values()], None))


def normalized(source: PhysicalNode, planner: Planner) -> PhysicalNode:
    """A node whose updates say what was there before."""
    key = source.mode.upsert_key or ()
    columns = [ColumnValue(source.fields[at].data_type, at, source.fields[at].name) for at in key]
    operator = partial(NormalizeOperator, state_ttl(planner.options), planner.batch)

    def connect(streams: Any) -> Any:
        return streams[0].key_by(KeyOf(columns)).transform("ChangelogNormalize", None, operator)

    mode = INSERT_ONLY if planner.batch else RETRACT
    names = ", ".join(column.name for column in columns)
    return PhysicalNode(
        "ChangelogNormalize", f"key=[{names}]", source.fields, mode, connect, (source,), (frozenset(key),)
    )
