"""How far the neighbours of vertices are neighbours of each other; direction and repetition of edges do not matter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from firesteel.dataset import DataSet
from firesteel.gelly.graph import Graph, GraphAlgorithm, GraphAnalytic
from firesteel.gelly.library.simple import degrees, simple_edges
from firesteel.gelly.library.triangles import triangles

__all__ = [
    "AverageClusteringCoefficient",
    "ClusteringResult",
    "GlobalClusteringCoefficient",
    "LocalClusteringCoefficient",
]


class ClusteringResult(NamedTuple):
    """What is known of a vertex: its id, how many neighbours it has, and how many triangles it is in."""

    vertex_id: Any
    degree: int
    triangle_count: int

    def get_local_clustering_coefficient_score(self) -> float:
        """Which part of the pairs of its neighbours are neighbours of each other; 0 if there are no pairs."""
        pairs = self.degree * (self.degree - 1) / 2
        return self.triangle_count / pairs if pairs else 0.0


class LocalClusteringCoefficient(GraphAlgorithm):
    """Neighbours and triangles of each vertex, from which its clustering coefficient follows."""

    def run(self, graph: Graph) -> DataSet:
        """A :class:`ClusteringResult` per vertex."""
        pairs = simple_edges(graph)
        counted = triangles(pairs).flat_map(lambda found: [(vertex, 1) for vertex in found]).group_by(0).sum(1)
        by_degree = graph.get_vertices_as_tuple2().co_group(degrees(pairs)).where(0).equal_to(0).with_(_with_degree)
        found = by_degree.co_group(counted).where(0).equal_to(0).with_(_with_triangles)
        return found.map(ClusteringResult._make).name("Local clustering coefficients")


def _with_degree(vertices: Iterable[Any], counts: Iterable[Any]) -> Iterator[tuple[Any, int]]:
    for vertex in vertices:
        yield vertex[0], sum(count for _, count in counts)


def _with_triangles(vertices: Iterable[Any], counts: Iterable[Any]) -> Iterator[tuple[Any, int, int]]:
    for vertex, degree in vertices:
        yield vertex, degree, sum(count for _, count in counts)


class _Scores(GraphAnalytic):
    _results: DataSet

    def run(self, graph: Graph) -> Any:
        """Take the graph."""
        self._results = graph.run(LocalClusteringCoefficient())
        return self

    def _sums(self) -> tuple[int, int, int, float]:
        """Vertices, triangles times three, pairs of neighbours, and the sum of scores."""
        parts = self._results.map(_numbers).reduce(lambda one, other: tuple(map(sum, zip(one, other)))).collect()
        return parts[0] if parts else (0, 0, 0, 0.0)


def _numbers(result: ClusteringResult) -> tuple[int, int, int, float]:
    pairs = result.degree * (result.degree - 1) // 2
    return 1, result.triangle_count, pairs, result.get_local_clustering_coefficient_score()


class GlobalClusteringCoefficient(_Scores):
    """Which part of the pairs of neighbours in the whole graph are neighbours of each other."""

    def get_result(self) -> float:
        """The part, from 0 to 1; 0 if there are no pairs. Runs the program."""
        _, closed, pairs, _ = self._sums()
        return closed / pairs if pairs else 0.0


class AverageClusteringCoefficient(_Scores):
    """The mean of the local clustering coefficients of all vertices."""

    def get_result(self) -> float:
        """The mean; 0 for a graph without vertices. Runs the program."""
        vertices, _, _, scores = self._sums()
        return scores / vertices if vertices else 0.0
