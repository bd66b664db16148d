"""Graphs out of graphs, set by set: vertices and edges added and removed, unions, differences, intersections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from firesteel.dataset import DataSet
from firesteel.errors import ConfigurationError
from firesteel.gelly import steps
from firesteel.gelly.base import GraphSets, edge_set, vertex_set
from firesteel.gelly.records import as_edge, as_vertex
from firesteel.gelly.transformations import edges_between

__all__ = ["Mutations"]

_G = TypeVar("_G", bound="Mutations")


class Mutations(GraphSets):
    """The part of :class:`Graph` that adds and removes vertices and edges."""

    def add_vertex(self: _G, vertex: Any) -> _G:
        """The graph with a vertex more, unless there is one with its id."""
        return self.add_vertices([vertex])

    def add_vertices(self: _G, vertices_to_add: Any) -> _G:
        """The graph with more vertices, out of a list or a data set. Those whose id is there already are left out."""
        added = self._set_of(vertices_to_add, vertex_set, as_vertex, "add_vertices")
        return self._with(vertices=_one_per_id(self._vertices, added))

    def add_edge(self: _G, source: Any, target: Any, edge_value: Any = None) -> _G:
        """The graph with an edge more between two vertices, which are added if they are not there."""
        ends = [as_vertex(source), as_vertex(target)]
        added = self._context.from_collection(dict(ends).items())
        edge = self._context.from_elements((ends[0][0], ends[1][0], edge_value))
        return self._with(_one_per_id(self._vertices, added), self._edges.union(edge).name("AddEdge"))

    def add_edges(self: _G, new_edges: Any) -> _G:
        """The graph with more edges, out of a list or a data set. Those that name an unknown vertex are left out."""
        added = self._set_of(new_edges, edge_set, as_edge, "add_edges")
        return self._with(edges=self._edges.union(edges_between(added, self._vertices)).name("AddEdges"))

    def remove_vertex(self: _G, vertex: Any) -> _G:
        """The graph without a vertex and its edges."""
        return self.remove_vertices([vertex])

    def remove_vertices(self: _G, vertices_to_be_removed: Any) -> _G:
        """The graph without some vertices, found by their ids, and without their edges."""
        removed = self._set_of(vertices_to_be_removed, vertex_set, as_vertex, "remove_vertices")
        left = self._vertices.co_group(removed).where(0).equal_to(0).with_(steps.only_first).name("RemoveVertices")
        return self._with(left, edges_between(self._edges, left))

    def remove_edge(self: _G, edge: Any) -> _G:
        """The graph without the edges that go from and to the same vertices as this one."""
        return self.remove_edges([edge])

    def remove_edges(self: _G, edges_to_be_removed: Any) -> _G:
        """The graph without some edges, found by source and target."""
        removed = self._set_of(edges_to_be_removed, edge_set, as_edge, "remove_edges")
        left = self._edges.co_group(removed).where(0, 1).equal_to(0, 1).with_(steps.only_first)
        return self._with(edges=left.name("RemoveEdges"))

    def union(self: _G, graph: _G) -> _G:
        """The vertices and edges of both. A vertex in both keeps its value of here; edges in both are there twice."""
        _graph(graph, "union")
        return self._with(
            _one_per_id(self._vertices, graph.get_vertices_as_tuple2()),
            self._edges.union(graph.get_edges_as_tuple3()).name("UnionOfEdges"),
        )

    def difference(self: _G, graph: _G) -> _G:
        """The vertices that the other graph does not have, and the edges between them."""
        _graph(graph, "difference")
        return self.remove_vertices(graph.get_vertices_as_tuple2())

    def intersect(self: _G, graph: _G, distinct_edges: bool = True) -> _G:
        """The edges that both have, with the same value, and their vertices; these have no value.

        :param distinct_edges: Each edge once; otherwise once for each graph and pair, as in Flink.
        """
        _graph(graph, "intersect")
        both = self._edges.co_group(graph.get_edges_as_tuple3()).where(0, 1, 2).equal_to(0, 1, 2)
        edges = both.with_(steps.Intersection(distinct_edges)).name("IntersectionOfEdges")
        vertices = edges.map_partition(steps.ends_once).distinct(0).map(lambda found: (found[0], None))
        return self._with(vertices.name("IntersectionOfVertices"), edges)

    def _set_of(self, given: Any, of_data_set: Any, of_record: Any, where: str) -> DataSet:
        if isinstance(given, DataSet):
            records: DataSet = of_data_set(given)
            return records
        if isinstance(given, (str, bytes, tuple)) or not isinstance(given, Iterable):
            raise ConfigurationError(f"{where}: expected a list or a data set, got {given!r:.100}")
        return self._context.from_collection([of_record(record) for record in given])


def _one_per_id(mine: DataSet, others: DataSet) -> DataSet:
    return mine.co_group(others).where(0).equal_to(0).with_(steps.one_of_each).name("UnionOfVertices")


def _graph(value: Any, where: str) -> None:
    if not isinstance(value, GraphSets):
        raise ConfigurationError(f"{where}: expected a Graph, got {value!r:.100}")
