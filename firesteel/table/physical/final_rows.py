"""The last word of a changelog: of a bounded input only the rows that are there at the end are wanted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firesteel.operators import value_table
from firesteel.table.changelog import ADDS, INSERT, INSERT_ONLY
from firesteel.table.functions.collections import element_key
from firesteel.table.physical.keeping import TableOperator
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.planner import Planner

__all__ = ["FinalRows", "finally_only", "whole_row"]


def whole_row(change: Any) -> Any:
    """A change by its row, as something that can be a key."""
    return element_key(change[1])


class FinalRows(TableOperator):
    """Counts each row, and emits at the end those that are there. The key of the stream is the whole row."""

    def open(self) -> None:
        """Find the counts: (how often, row)."""
        super().open()
        self._counts = value_table(self.state, "counts")

    def process(self, batch: Any) -> None:
        """Count."""
        for (kind, row), key in zip(batch.values, batch.keys):
            times, _ = self._counts.entries.get(key, (0, row))
            times += 1 if ADDS[kind] else -1
            if times:
                self._counts.put(key, (times, row))
            else:
                self._counts.remove(key)

    def finish(self) -> None:
        """This is what is there."""
        for times, row in self._counts.entries.values():
            self._changes.extend([(INSERT, row)] * times)
        self.flush()


def finally_only(node: PhysicalNode, planner: Planner) -> PhysicalNode:
    """The node itself; in batch mode, behind it only the rows of the end."""
    if not planner.batch or node.mode.is_insert_only:
        return replace(node, mode=INSERT_ONLY) if planner.batch else node
    return PhysicalNode(
        "Final",
        "",
        node.fields,
        INSERT_ONLY,
        lambda streams: streams[0].key_by(whole_row).transform("Final", None, FinalRows),
        (node,),
        node.unique_keys,
    )
