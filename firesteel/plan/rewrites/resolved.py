"""What all steps before the last ones have found out about a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from firesteel.plan.graph import PhysicalTransformation, StreamGraph
from firesteel.plan.rewrites.chaining import chained_edges, group_chains
from firesteel.plan.rewrites.edges import ResolvedEdge, resolve_edges
from firesteel.plan.rewrites.formats import EdgeFormats
from firesteel.plan.rewrites.levels import assign_levels
from firesteel.plan.rewrites.parallelism import Width, resolve_widths
from firesteel.plan.rewrites.settings import CompileSettings
from firesteel.plan.rewrites.uids import assign_uids
from firesteel.runtime.failure import OperatorInfo


@dataclass(frozen=True)
class ResolvedGraph:
    """The operators of a program and everything that is decided about them, by the ids of their nodes."""

    nodes: Sequence[PhysicalTransformation]
    widths: Mapping[int, Width]
    uids: Mapping[int, str]
    formats: EdgeFormats
    chained: Sequence[ResolvedEdge]
    shuffled: Sequence[ResolvedEdge]
    chain_of: Mapping[int, int]
    """Node -> its chain."""
    levels: Mapping[int, int]
    """Chain -> its level."""

    def info(self, node: PhysicalTransformation) -> OperatorInfo:
        """Who an operator is, for messages."""
        return OperatorInfo(node.name, self.uids[node.id], node.call_site)


def resolve(graph: StreamGraph, settings: CompileSettings) -> ResolvedGraph:
    """Run the steps that look at the graph as a whole."""
    nodes = [node for node in graph.transformations if isinstance(node, PhysicalTransformation)]
    widths = resolve_widths(nodes, settings)
    uids = assign_uids(nodes)
    edges = resolve_edges(nodes, widths)
    chained = chained_edges(edges, settings.chaining)
    shuffled = [edge for edge in edges if edge not in chained]
    chain_of = group_chains(nodes, chained)
    levels = assign_levels(nodes, chain_of, shuffled)
    return ResolvedGraph(nodes, widths, uids, EdgeFormats(nodes, edges), chained, shuffled, chain_of, levels)
