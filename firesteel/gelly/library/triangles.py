"""Three vertices of which each is a neighbour of the others; direction and repetition of edges do not matter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

from firesteel.dataset import DataSet
from firesteel.gelly.graph import Graph, GraphAlgorithm, GraphAnalytic
from firesteel.gelly.library.simple import pairs_with_degrees, simple_edges

__all__ = ["TriangleCount", "TriangleEnumerator", "TriangleListing"]


class TriangleListing(GraphAlgorithm):
    """All triangles, each once, as three ids in ascending order."""

    def run(self, graph: Graph) -> DataSet:
        """Triples of ids."""
        return triangles(simple_edges(graph))


class TriangleEnumerator(TriangleListing):
    """Flink's older name for :class:`TriangleListing`."""


class TriangleCount(GraphAnalytic):
    """How many triangles there are."""

    _found: DataSet

    def run(self, graph: Graph) -> TriangleCount:
        """Take the graph."""
        self._found = triangles(simple_edges(graph))
        return self

    def get_result(self) -> int:
        """How many. Runs the program."""
        return self._found.count()


def triangles(pairs: DataSet) -> DataSet:
    """The triangles among pairs of neighbours.

    Each edge goes from the vertex with fewer neighbours: so a vertex with very many does not pair them all.
    """
    directed = pairs_with_degrees(pairs).map(_from_fewer).name("Edges from fewer neighbours")
    open_ends = directed.group_by(0).reduce_group(_open_triangles).name("Pairs of edges")
    closed = open_ends.join(pairs).where(0, 1).equal_to(0, 1)
    return closed.with_(lambda ends, _: tuple(sorted(ends))).name("Triangles")


def _from_fewer(entry: tuple[Any, Any, int, int]) -> tuple[Any, Any]:
    first, second, of_first, of_second = entry
    return (first, second) if (of_first, first) < (of_second, second) else (second, first)


def _open_triangles(edges: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any, Any]]:
    """Two edges of a vertex: their ends, the smaller first, and the vertex."""
    entries = list(edges)
    vertex = entries[0][0]
    for one, other in combinations(sorted(target for _, target in entries), 2):
        yield one, other, vertex
