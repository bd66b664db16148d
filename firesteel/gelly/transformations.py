"""Graphs out of graphs, record by record: values, ids, directions, parts."""

from __future__ import annotations

from typing import Any, TypeVar

from firesteel.dataset import DataSet
from firesteel.dataset.functions import as_function
from firesteel.errors import ConfigurationError
from firesteel.gelly import steps
from firesteel.gelly.base import GraphSets, data_set
from firesteel.gelly.functions import EdgeJoinFunction, TranslateFunction, VertexJoinFunction
from firesteel.gelly.records import Edge, Vertex
from firesteel.model.functions.adapt import as_filter_function, as_map_function

__all__ = ["Transformations"]

_G = TypeVar("_G", bound="Transformations")


class Transformations(GraphSets):
    """The part of :class:`Graph` that changes values, ids and directions, and leaves out records."""

    # --- values -------------------------------------------------------------------------------------

    def map_vertices(self: _G, mapper: Any) -> _G:
        """New vertex values: a function of each :class:`Vertex`."""
        function = as_map_function(mapper, "map_vertices")
        return self._with(vertices=self._vertices.map(steps.MapVertex(function)).name("MapVertices"))

    def map_edges(self: _G, mapper: Any) -> _G:
        """New edge values: a function of each :class:`Edge`."""
        function = as_map_function(mapper, "map_edges")
        return self._with(edges=self._edges.map(steps.MapEdge(function)).name("MapEdges"))

    def translate_graph_ids(self: _G, translator: Any) -> _G:
        """New ids of vertices, also where edges name them: a function of each id, which keeps different ones apart."""
        function = _translator(translator, "translate_graph_ids")
        vertices = self._vertices.map(steps.TranslateFields(function, frozenset({0}))).with_forwarded_fields("f1")
        edges = self._edges.map(steps.TranslateFields(function, frozenset({0, 1}))).with_forwarded_fields("f2")
        return self._with(vertices.name("TranslateVertexIds"), edges.name("TranslateEdgeIds"))

    def translate_vertex_values(self: _G, translator: Any) -> _G:
        """New vertex values: a function of each value."""
        function = _translator(translator, "translate_vertex_values")
        vertices = self._vertices.map(steps.TranslateFields(function, frozenset({1}))).with_forwarded_fields("f0")
        return self._with(vertices=vertices.name("TranslateVertexValues"))

    def translate_edge_values(self: _G, translator: Any) -> _G:
        """New edge values: a function of each value."""
        function = _translator(translator, "translate_edge_values")
        edges = self._edges.map(steps.TranslateFields(function, frozenset({2}))).with_forwarded_fields("f0; f1")
        return self._with(edges=edges.name("TranslateEdgeValues"))

    # --- joins --------------------------------------------------------------------------------------

    def join_with_vertices(self: _G, input_data_set: DataSet, vertex_join_function: Any) -> _G:
        """New values for the vertices that have a record ``(id, input)``: a function of value and input."""
        data_set(input_data_set, "join_with_vertices")
        function = as_function(
            vertex_join_function, "join_with_vertices", (VertexJoinFunction,), "vertex_join", 2, emits=False
        )
        joined = self._vertices.co_group(input_data_set).where(0).equal_to(0)
        vertices = joined.with_(steps.JoinValues(function, "vertex_join"))
        return self._with(vertices=vertices.name("JoinWithVertices"))

    def join_with_edges(self: _G, input_data_set: DataSet, edge_join_function: Any) -> _G:
        """New values for the edges that have a record ``(source, target, input)``: a function of value and input."""
        return self._join_edges(input_data_set, edge_join_function, (0, 1), (0, 1), "join_with_edges")

    def join_with_edges_on_source(self: _G, input_data_set: DataSet, edge_join_function: Any) -> _G:
        """New values for the edges whose source has a record ``(id, input)``."""
        return self._join_edges(input_data_set, edge_join_function, (0,), (0,), "join_with_edges_on_source")

    def join_with_edges_on_target(self: _G, input_data_set: DataSet, edge_join_function: Any) -> _G:
        """New values for the edges whose target has a record ``(id, input)``."""
        return self._join_edges(input_data_set, edge_join_function, (1,), (0,), "join_with_edges_on_target")

    def _join_edges(
        self: _G, other: DataSet, function: Any, mine: tuple[int, ...], theirs: tuple[int, ...], where: str
    ) -> _G:
        data_set(other, where)
        own = as_function(function, where, (EdgeJoinFunction,), "edge_join", 2, emits=False)
        joined = self._edges.co_group(other).where(*mine).equal_to(*theirs)
        return self._with(edges=joined.with_(steps.JoinValues(own, "edge_join")).name("JoinWithEdges"))

    # --- parts --------------------------------------------------------------------------------------

    def subgraph(self: _G, vertex_filter: Any, edge_filter: Any) -> _G:
        """The vertices that satisfy a condition, and the edges between them that satisfy another."""
        return self.filter_on_vertices(vertex_filter).filter_on_edges(edge_filter)

    def filter_on_vertices(self: _G, vertex_filter: Any) -> _G:
        """The vertices that satisfy a condition, and the edges between them."""
        condition = as_filter_function(vertex_filter, "filter_on_vertices")
        vertices = self._vertices.filter(steps.FilterRecords(condition, Vertex)).name("FilterOnVertices")
        return self._with(vertices, edges_between(self._edges, vertices))

    def filter_on_edges(self: _G, edge_filter: Any) -> _G:
        """All vertices, and the edges that satisfy a condition."""
        condition = as_filter_function(edge_filter, "filter_on_edges")
        return self._with(edges=self._edges.filter(steps.FilterRecords(condition, Edge)).name("FilterOnEdges"))

    # --- directions ---------------------------------------------------------------------------------

    def reverse(self: _G) -> _G:
        """All edges the other way round."""
        edges = self._edges.map(steps.reversed_edge).with_forwarded_fields("f0->f1; f1->f0; f2")
        return self._with(edges=edges.name("Reverse"))

    def get_undirected(self: _G) -> _G:
        """Each edge in both directions; edges that were there in both are there twice then, as in Flink."""
        return self._with(edges=self._edges.flat_map(steps.both_directions).name("Undirected"))


def edges_between(edges: DataSet, vertices: DataSet) -> DataSet:
    """The edges of which both ends are among the vertices."""
    from_there = edges.join(vertices).where(0).equal_to(0).with_(steps.edge_alone)
    return from_there.join(vertices).where(1).equal_to(0).with_(steps.edge_alone).name("Edges between vertices")


def _translator(function: Any, where: str) -> Any:
    if function is None:
        raise ConfigurationError(f"{where}: expected a TranslateFunction or a function of one argument, got None")
    return as_function(function, where, (TranslateFunction,), "translate", 1, emits=False)
