"""Which operators run in one pass: a chain is a head and what is joined to it by edges that are plain calls."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.plan.graph import PhysicalTransformation
from firesteel.plan.rewrites.edges import ResolvedEdge
from firesteel.runtime.partitioners import FORWARD


def chained_edges(edges: Sequence[ResolvedEdge], enabled: bool) -> list[ResolvedEdge]:
    """The edges that become calls; all others are shuffled."""
    return [edge for edge in edges if enabled and _can_chain(edge, edges)]


def _can_chain(edge: ResolvedEdge, edges: Sequence[ResolvedEdge]) -> bool:
    producer, consumer = edge.producer, edge.consumer
    return (
        edge.partitioning.kind == FORWARD
        and sum(other.consumer is consumer for other in edges) == 1
        and len(consumer.inputs) == 1
        and consumer.chaining == "always"
        and producer.chaining != "never"
        and consumer.slot_sharing_group in (None, producer.slot_sharing_group)
    )


def group_chains(nodes: Sequence[PhysicalTransformation], chained: Sequence[ResolvedEdge]) -> dict[int, int]:
    """Node id -> chain id, which is the id of the chain's head."""
    feeder = {edge.consumer.id: edge.producer.id for edge in chained}
    chain_of: dict[int, int] = {}
    for node in nodes:  # inputs come before consumers
        chain_of[node.id] = chain_of[feeder[node.id]] if node.id in feeder else node.id
    return chain_of
