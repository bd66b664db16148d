"""How much vertices have in common; direction and repetition of edges do not matter."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

from firesteel.dataset import Aggregations, DataSet
from firesteel.errors import ConfigurationError
from firesteel.gelly.graph import Graph, GraphAlgorithm
from firesteel.gelly.library.simple import pairs_with_degrees, simple_edges

__all__ = ["AdamicAdar", "AdamicAdarResult", "JaccardIndex", "JaccardResult"]


class JaccardResult(NamedTuple):
    """Two vertices, how many neighbours they have in common, and how many they have together."""

    vertex_id_0: Any
    vertex_id_1: Any
    shared_neighbor_count: int
    distinct_neighbor_count: int

    def get_jaccard_index_score(self) -> float:
        """Which part of their neighbours they have in common."""
        return self.shared_neighbor_count / self.distinct_neighbor_count


class JaccardIndex(GraphAlgorithm):
    """The neighbours in common of every two vertices that have some, as :class:`JaccardResult`."""

    def __init__(self) -> None:
        self._least: Fraction | None = None
        self._most: Fraction | None = None

    def set_minimum_score(self, numerator: int, denominator: int) -> JaccardIndex:
        """Leave out pairs with a smaller score."""
        self._least = _part(numerator, denominator, "set_minimum_score")
        return self

    def set_maximum_score(self, numerator: int, denominator: int) -> JaccardIndex:
        """Leave out pairs with a larger score."""
        self._most = _part(numerator, denominator, "set_maximum_score")
        return self

    def run(self, graph: Graph) -> DataSet:
        """A :class:`JaccardResult` per pair, the smaller id first."""
        met = _neighbours(graph).group_by(0).reduce_group(_shared_once).name("Neighbours in common")
        counted = met.group_by(0, 1).sum(2)
        least, most = self._least, self._most

        def within(result: JaccardResult) -> bool:
            score = Fraction(result.shared_neighbor_count, result.distinct_neighbor_count)
            return (least is None or score >= least) and (most is None or score <= most)

        results = counted.map(_jaccard).name("Jaccard index")
        return results if least is None and most is None else results.filter(within)


def _part(numerator: int, denominator: int, where: str) -> Fraction:
    if denominator <= 0 or not 0 <= numerator <= denominator:
        raise ConfigurationError(f"{where}: expected a part from 0 to 1, got {numerator}/{denominator}")
    return Fraction(numerator, denominator)


def _neighbours(graph: Graph) -> DataSet:
    """Each vertex with each of its neighbours, and the number of neighbours of these: ``(id, neighbour, degree)``."""
    return pairs_with_degrees(simple_edges(graph)).flat_map(_both_ways).name("Neighbours with degrees")


def _both_ways(entry: tuple[Any, Any, int, int]) -> Iterator[tuple[Any, Any, int, int]]:
    first, second, of_first, of_second = entry
    yield first, second, of_second, of_first
    yield second, first, of_first, of_second


def _shared_once(entries: Iterable[tuple[Any, Any, int, int]]) -> Iterator[tuple[Any, Any, int, int]]:
    neighbours = sorted((other, degree) for _, other, degree, _ in entries)
    for (one, of_one), (other, of_other) in combinations(neighbours, 2):
        yield one, other, 1, of_one + of_other


def _jaccard(entry: tuple[Any, Any, int, int]) -> JaccardResult:
    one, other, shared, together = entry
    return JaccardResult(one, other, shared, together - shared)


class AdamicAdarResult(NamedTuple):
    """Two vertices and their score."""

    vertex_id_0: Any
    vertex_id_1: Any
    adamic_adar_score: float


class AdamicAdar(GraphAlgorithm):
    """A score for every two vertices that have neighbours in common: rare ones, with few neighbours, count more.

    Each counts 1 / log(number of its neighbours).
    """

    def __init__(self) -> None:
        self._least = 0.0

    def set_minimum_score(self, score: float) -> AdamicAdar:
        """Leave out pairs with a smaller score."""
        if not score >= 0:
            raise ConfigurationError(f"set_minimum_score: expected a number of 0 or more, got {score!r}")
        self._least = float(score)
        return self

    def run(self, graph: Graph) -> DataSet:
        """An :class:`AdamicAdarResult` per pair, the smaller id first."""
        met = _neighbours(graph).group_by(0).reduce_group(_weighted).name("Neighbours in common")
        least = self._least
        results = met.group_by(0, 1).aggregate(Aggregations.SUM, 2).map(AdamicAdarResult._make).name("Adamic-Adar")
        return results.filter(lambda result: result.adamic_adar_score >= least) if least else results


def _weighted(entries: Iterable[tuple[Any, Any, int, int]]) -> Iterator[tuple[Any, Any, float]]:
    found = list(entries)
    if len(found) > 1:
        weight = 1 / math.log(found[0][3])
        for one, other in combinations(sorted(other for _, other, _, _ in found), 2):
            yield one, other, weight
