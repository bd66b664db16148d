"""Rows that stand in the query."""

from __future__ import annotations

from typing import Any

from firesteel.table.changelog import INSERT, INSERT_ONLY
from firesteel.table.evaluation import evaluator
from firesteel.table.logical.plan import Values
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.planner import Planner, translation

__all__ = ["translate_values"]


@translation(Values)
def translate_values(relation: Values, planner: Planner) -> PhysicalNode:
    """The rows, computed when the job is made."""

    def connect(streams: Any) -> Any:
        rows = [(INSERT, tuple([evaluator(value)(()) for value in row])) for row in relation.rows]
        return planner.environment.from_collection(rows)

    names = ", ".join(field.name for field in relation.fields)
    return PhysicalNode("Values", f"{len(relation.rows)} rows, select=[{names}]", relation.fields, INSERT_ONLY, connect)
