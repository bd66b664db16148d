"""Rows that the program itself brings: collections and streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from firesteel.table.logical.plan import Relation
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.planner import Planner, translation

__all__ = ["GivenRows"]


@dataclass(frozen=True)
class GivenRows(Relation):
    """Rows that a function of the planner brings into the job."""

    name: str
    node: Callable[[Planner], PhysicalNode] = field(compare=False)

    def describe(self) -> str:
        """The name."""
        return f"Given {self.name}"


@translation(GivenRows)
def translate_given(relation: Any, planner: Planner) -> PhysicalNode:
    """What the function brings."""
    node: PhysicalNode = relation.node(planner)
    return node
