"""Graphs in which direction, repeated edges and loops do not matter: what triangles and similarities are found in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.dataset import DataSet
from firesteel.gelly.graph import Graph

Pair = tuple[Any, Any]


def simple_edges(graph: Graph) -> DataSet:
    """Each pair of neighbours once, the smaller id first. Ids have to be comparable."""
    return graph.get_edges_as_tuple3().flat_map(_sorted_ends).distinct(0, 1).name("Pairs of neighbours")


def _sorted_ends(edge: tuple[Any, Any, Any]) -> Iterator[Pair]:
    source, target, _ = edge
    if source < target:
        yield source, target
    elif target < source:
        yield target, source


def degrees(pairs: DataSet) -> DataSet:
    """How many neighbours each vertex has that has some."""
    return pairs.flat_map(lambda pair: ((pair[0], 1), (pair[1], 1))).group_by(0).sum(1).name("Number of neighbours")


def pairs_with_degrees(pairs: DataSet) -> DataSet:
    """Pairs of neighbours with the number of neighbours of each: ``(a, b, of a, of b)``."""
    counted = degrees(pairs)
    half = pairs.join(counted).where(0).equal_to(0).with_(lambda pair, one: (*pair, one[1]))
    return half.join(counted).where(1).equal_to(0).with_(lambda entry, one: (*entry, one[1])).name("Pairs with degrees")
