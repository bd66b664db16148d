"""What the edges and neighbours of each vertex come to."""

from __future__ import annotations

from typing import Any

from firesteel.dataset import DataSet
from firesteel.dataset.functions import as_function
from firesteel.errors import ConfigurationError
from firesteel.gelly import steps
from firesteel.gelly.base import GraphSets
from firesteel.gelly.functions import (
    EdgesFunction,
    EdgesFunctionWithVertexValue,
    NeighborsFunction,
    NeighborsFunctionWithVertexValue,
    ReduceEdgesFunction,
    ReduceNeighborsFunction,
)
from firesteel.gelly.records import EdgeDirection

__all__ = ["Neighborhoods"]


class Neighborhoods(GraphSets):
    """The part of :class:`Graph` that looks at the edges and neighbours of each vertex."""

    def out_degrees(self) -> DataSet:
        """Pairs of id and number of edges that go out; 0 for a vertex without any."""
        return self._degrees(EdgeDirection.OUT)

    def in_degrees(self) -> DataSet:
        """Pairs of id and number of edges that come in; 0 for a vertex without any."""
        return self._degrees(EdgeDirection.IN)

    def get_degrees(self) -> DataSet:
        """Pairs of id and number of edges; an edge from a vertex to itself counts twice."""
        return self._degrees(EdgeDirection.ALL)

    def _degrees(self, direction: EdgeDirection) -> DataSet:
        ends = edges_of(self._edges, direction).map(lambda entry: (entry[0], 1)).group_by(0).sum(1)
        counted = self._vertices.co_group(ends).where(0).equal_to(0).with_(steps.CountEdges())
        return counted.name(f"Degrees {direction.value}")

    def reduce_on_edges(self, reduce_edges_function: Any, direction: EdgeDirection) -> DataSet:
        """Pairs of id and what a function makes of the values of its edges, two at a time."""
        function = as_function(
            reduce_edges_function, "reduce_on_edges", (ReduceEdgesFunction,), "reduce_edges", 2, emits=False
        )
        values = edges_of(self._edges, direction).map(lambda entry: (entry[0], entry[2][2]))
        return values.group_by(0).reduce(steps.ReduceValues(function, "reduce_edges")).name("ReduceOnEdges")

    def reduce_on_neighbors(self, reduce_neighbors_function: Any, direction: EdgeDirection) -> DataSet:
        """Pairs of id and what a function makes of the values of its neighbours, two at a time."""
        function = as_function(
            reduce_neighbors_function,
            "reduce_on_neighbors",
            (ReduceNeighborsFunction,),
            "reduce_neighbors",
            2,
            emits=False,
        )
        entries = edges_of(self._edges, direction).join(self._vertices).where(1).equal_to(0)
        values = entries.with_(lambda entry, other: (entry[0], other[1]))
        return values.group_by(0).reduce(steps.ReduceValues(function, "reduce_neighbors")).name("ReduceOnNeighbors")

    def group_reduce_on_edges(self, edges_function: Any, direction: EdgeDirection) -> DataSet:
        """What a function makes of all edges of a vertex.

        :param edges_function: An EdgesFunction, which is called for vertices that have edges; or an
            EdgesFunctionWithVertexValue or a function of a vertex and its edges, which is called for every vertex.
        """
        entries = edges_of(self._edges, direction)
        if isinstance(edges_function, EdgesFunction):
            return entries.group_by(0).reduce_group(steps.CallWithEdges(edges_function)).name("GroupReduceOnEdges")
        function = as_function(
            edges_function,
            "group_reduce_on_edges",
            (EdgesFunctionWithVertexValue, EdgesFunction),
            "iterate_edges",
            2,
        )
        grouped = self._vertices.co_group(entries).where(0).equal_to(0)
        return grouped.with_(steps.CallWithVertexAndEdges(function)).name("GroupReduceOnEdges")

    def group_reduce_on_neighbors(self, neighbors_function: Any, direction: EdgeDirection) -> DataSet:
        """What a function makes of all neighbours of a vertex.

        :param neighbors_function: A NeighborsFunction, which is called for vertices that have neighbours; or a
            NeighborsFunctionWithVertexValue or a function of a vertex and its neighbours, called for every vertex.
        """
        entries = edges_of(self._edges, direction).join(self._vertices).where(1).equal_to(0)
        met = entries.with_(steps.meet_neighbor)
        if isinstance(neighbors_function, NeighborsFunction):
            found = met.group_by(0).reduce_group(steps.CallWithNeighbors(neighbors_function))
            return found.name("GroupReduceOnNeighbors")
        function = as_function(
            neighbors_function,
            "group_reduce_on_neighbors",
            (NeighborsFunctionWithVertexValue, NeighborsFunction),
            "iterate_neighbors",
            2,
        )
        grouped = self._vertices.co_group(met).where(0).equal_to(0)
        return grouped.with_(steps.CallWithVertexAndNeighbors(function)).name("GroupReduceOnNeighbors")


def edges_of(edges: DataSet, direction: EdgeDirection) -> DataSet:
    """Each edge for the vertices that it belongs to, as ``(id, neighbour, edge)``."""
    if not isinstance(direction, EdgeDirection):
        raise ConfigurationError(f"expected EdgeDirection.IN, OUT or ALL, got {direction!r}")
    outgoing, incoming = direction is not EdgeDirection.IN, direction is not EdgeDirection.OUT
    entries = edges.flat_map(steps.EdgesOf(outgoing, incoming)).name(f"Edges {direction.value}")
    if direction is EdgeDirection.OUT:
        return entries.with_forwarded_fields("f0; f1")
    return entries.with_forwarded_fields("f0->f1; f1->f0") if direction is EdgeDirection.IN else entries
