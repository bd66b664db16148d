"""Which chains run in one stage: a level reads from the levels before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from firesteel.plan.graph import PhysicalTransformation
from firesteel.plan.rewrites.edges import ResolvedEdge


def assign_levels(
    nodes: Sequence[PhysicalTransformation], chain_of: Mapping[int, int], shuffled: Sequence[ResolvedEdge]
) -> dict[int, int]:
    """Chain id -> level: one more than the highest level it reads from."""
    levels: dict[int, int] = {}
    for node in nodes:
        chain = chain_of[node.id]
        if chain == node.id:
            feeders = [chain_of[edge.producer.id] for edge in shuffled if edge.consumer is node]
            levels[chain] = 1 + max((levels[feeder] for feeder in feeders), default=-1)
    return levels
