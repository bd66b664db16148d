"""What every part of a graph's interface stands on: two data sets and their environment."""

from __future__ import annotations

from typing import Any, TypeVar

from firesteel.dataset import DataSet, ExecutionEnvironment
from firesteel.errors import ConfigurationError
from firesteel.gelly.records import Edge, Vertex, as_edge, as_vertex

__all__ = ["GraphSets"]

G = TypeVar("G", bound="GraphSets")


class GraphSets:
    """The vertices and edges of a graph. They are held as plain tuples, which travel faster than named ones."""

    def __init__(self, vertices: DataSet, edges: DataSet) -> None:
        self._vertices = vertices
        self._edges = edges
        self._context = vertices.get_execution_environment()

    def _with(self: G, vertices: DataSet | None = None, edges: DataSet | None = None) -> G:
        """A graph with other vertices, edges or both."""
        return type(self)(self._vertices if vertices is None else vertices, self._edges if edges is None else edges)

    def get_context(self) -> ExecutionEnvironment:
        """The environment in which the graph was made."""
        return self._context

    def get_vertices(self) -> DataSet:
        """The vertices, as :class:`Vertex`."""
        return self._vertices.map(Vertex._make).with_forwarded_fields("f0; f1").name("Vertices")

    def get_edges(self) -> DataSet:
        """The edges, as :class:`Edge`."""
        return self._edges.map(Edge._make).with_forwarded_fields("f0; f1; f2").name("Edges")

    def get_vertices_as_tuple2(self) -> DataSet:
        """The vertices, as plain tuples ``(id, value)``."""
        return self._vertices

    def get_edges_as_tuple3(self) -> DataSet:
        """The edges, as plain tuples ``(source, target, value)``."""
        return self._edges

    def get_vertex_ids(self) -> DataSet:
        """The ids of all vertices."""
        return self._vertices.map(_first).name("Vertex ids")

    def get_edge_ids(self) -> DataSet:
        """Pairs of source and target of all edges."""
        return self._edges.project(0, 1).name("Edge ids")

    def number_of_vertices(self) -> int:
        """How many vertices there are. Runs the program."""
        return self._vertices.count()

    def number_of_edges(self) -> int:
        """How many edges there are. Runs the program."""
        return self._edges.count()

    def get_triplets(self) -> DataSet:
        """Each edge with the values of both of its vertices, as :class:`Triplet`."""
        from firesteel.gelly.steps import triplet, with_source_value

        half = self._edges.join(self._vertices).where(0).equal_to(0).with_(with_source_value)
        return half.join(self._vertices).where(1).equal_to(0).with_(triplet).name("Triplets")


def _first(record: Any) -> Any:
    return record[0]


def vertex_set(data: DataSet) -> DataSet:
    """A user's data set of vertices as plain tuples."""
    return data.map(as_vertex).with_forwarded_fields("f0; f1").name("Vertices")


def edge_set(data: DataSet) -> DataSet:
    """A user's data set of edges as plain tuples."""
    return data.map(as_edge).with_forwarded_fields("f0; f1").name("Edges")


def data_set(value: Any, where: str) -> DataSet:
    """A data set, or an error that says where one was expected."""
    if not isinstance(value, DataSet):
        raise ConfigurationError(f"{where}: expected a DataSet, got {value!r:.100}")
    return value
