"""The functions of graph programs. Plain callables will do too."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from firesteel.dataset.functions import Function
from firesteel.gelly.records import Edge, Vertex

__all__ = [
    "EdgeJoinFunction",
    "EdgesFunction",
    "EdgesFunctionWithVertexValue",
    "NeighborsFunction",
    "NeighborsFunctionWithVertexValue",
    "ReduceEdgesFunction",
    "ReduceNeighborsFunction",
    "TranslateFunction",
    "VertexJoinFunction",
]


class VertexJoinFunction(Function):
    """Makes a vertex value out of the old one and a value of a data set."""

    @abstractmethod
    def vertex_join(self, vertex_value: Any, input_value: Any) -> Any:
        """Called once per vertex that has a record in the data set; returns the new value."""


class EdgeJoinFunction(Function):
    """Makes an edge value out of the old one and a value of a data set."""

    @abstractmethod
    def edge_join(self, edge_value: Any, input_value: Any) -> Any:
        """Called once per edge that has a record in the data set; returns the new value."""


class TranslateFunction(Function):
    """Makes an id or a value out of another."""

    @abstractmethod
    def translate(self, value: Any, reuse: Any) -> Any:
        """Called once per id or value. ``reuse`` is Flink's object to fill in; here it is always None."""


class EdgesFunction(Function):
    """Sees all edges of a vertex, without the vertex."""

    @abstractmethod
    def iterate_edges(self, edges: Iterable[tuple[Any, Edge]]) -> Iterable[Any] | None:
        """Called once per vertex that has edges, with pairs of id and edge. ``yield`` results, or take ``out``."""


class EdgesFunctionWithVertexValue(Function):
    """Sees a vertex and all of its edges."""

    @abstractmethod
    def iterate_edges(self, vertex: Vertex, edges: Iterable[Edge]) -> Iterable[Any] | None:
        """Called once per vertex, also for one without edges. ``yield`` results, or take a parameter ``out``."""


class NeighborsFunction(Function):
    """Sees all neighbours of a vertex, without the vertex."""

    @abstractmethod
    def iterate_neighbors(self, neighbors: Iterable[tuple[Any, Edge, Vertex]]) -> Iterable[Any] | None:
        """Called once per vertex that has neighbours, with its id, the edge and the neighbour of each."""


class NeighborsFunctionWithVertexValue(Function):
    """Sees a vertex and all of its neighbours."""

    @abstractmethod
    def iterate_neighbors(self, vertex: Vertex, neighbors: Iterable[tuple[Edge, Vertex]]) -> Iterable[Any] | None:
        """Called once per vertex, also for one without neighbours. ``yield`` results, or take a parameter ``out``."""


class ReduceEdgesFunction(Function):
    """Makes one edge value out of two."""

    @abstractmethod
    def reduce_edges(self, first_edge_value: Any, second_edge_value: Any) -> Any:
        """Must not depend on the order of edges."""


class ReduceNeighborsFunction(Function):
    """Makes one vertex value out of two."""

    @abstractmethod
    def reduce_neighbors(self, first_neighbor: Any, second_neighbor: Any) -> Any:
        """Must not depend on the order of neighbours."""


class Delegate(Function):
    """A function of a data set that does its work with one of the user's, and lets it live as long as itself."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def open(self, runtime_context: Any) -> None:
        """Open the user's function."""
        self._function.set_runtime_context(runtime_context)
        self._function.open(runtime_context)

    def close(self) -> None:
        """Close the user's function."""
        self._function.close()
