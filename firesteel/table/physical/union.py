"""UNION ALL: several inputs together. The other operations on sets need state."""

from __future__ import annotations

from typing import Any

from firesteel.table.changelog import merged
from firesteel.table.logical.plan import Relation, SetOperation
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.planner import RULES, Planner

__all__ = ["union_all"]


def union_all(relation: Relation, planner: Planner) -> PhysicalNode | None:
    """UNION ALL as a union of streams."""
    if not isinstance(relation, SetOperation) or relation.operator != "UNION" or not relation.all:
        return None
    sides = tuple(planner.translate(each) for each in relation.inputs())
    names = ", ".join(field.name for field in relation.fields)

    def connect(streams: Any) -> Any:
        first, *others = streams
        return first.union(*others)

    return PhysicalNode(
        "Union", f"all=[true], union=[{names}]", relation.fields, merged(s.mode for s in sides), connect, sides
    )


RULES.append(union_all)
