"""All translations, brought together: importing this fills the planner's table."""

from __future__ import annotations

from firesteel.table.logical.plan import Scan
from firesteel.table.physical import (
    calc,
    given,
    group_aggregate,
    normalize,
    scan,
    sink,
    translate_joins,
    translate_rank,
    translate_sets,
    translate_subqueries,
    translate_windows,
    union,
    values,
)
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.planner import Planner, translation

__all__ = ["ALL"]

ALL = (
    calc,
    given,
    group_aggregate,
    normalize,
    scan,
    sink,
    translate_joins,
    translate_rank,
    translate_sets,
    translate_subqueries,
    translate_windows,
    union,
    values,
)
"""The modules that translate."""


@translation(Scan)
def translate_scan(relation: Scan, planner: Planner) -> PhysicalNode:
    """A table, read as the session says."""
    return planner.scan(relation, planner)
