"""Graphs of known shape, made in the tasks: ``CycleGraph(env, 1000).generate()``.

Ids are whole numbers from 0. Edges go in both directions, so that the graphs are undirected in Flink's sense;
there are no values.
"""

from __future__ import annotations

import copy
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from firesteel.dataset import DataSet, ExecutionEnvironment
from firesteel.errors import ConfigurationError
from firesteel.gelly.graph import Graph

__all__ = [
    "CirculantGraph",
    "CompleteGraph",
    "CycleGraph",
    "EmptyGraph",
    "GraphGenerator",
    "GridGraph",
    "HypercubeGraph",
    "PathGraph",
    "RMatGraph",
    "SingletonEdgeGraph",
    "StarGraph",
]

_EdgeTuple = tuple[int, int, None]
_G = TypeVar("_G", bound="GraphGenerator")


class GraphGenerator(ABC):
    """Makes a graph."""

    def __init__(self, context: ExecutionEnvironment) -> None:
        if not isinstance(context, ExecutionEnvironment):
            raise ConfigurationError(
                f"{type(self).__name__}: the first argument is the environment, got {context!r:.100}"
            )
        self._context = context
        self._parallelism: int | None = None

    def set_parallelism(self, parallelism: int) -> GraphGenerator:
        """In how many tasks the graph is made."""
        self._parallelism = parallelism
        return self

    @abstractmethod
    def vertex_count(self) -> int:
        """How many vertices the graph has."""

    @abstractmethod
    def generate(self) -> Graph:
        """The graph. Nothing runs yet."""

    def _for_tasks(self: _G) -> _G:
        """This object without its environment, which stays in the driver."""
        twin = copy.copy(self)
        del vars(twin)["_context"]
        return twin

    def _numbers(self, count: int) -> DataSet:
        numbers = self._context.generate_sequence(0, count - 1) if count else self._context.from_collection([])
        return numbers if self._parallelism is None else numbers.set_parallelism(self._parallelism)


class _ByVertex(GraphGenerator):
    """A graph of which each vertex knows its neighbours."""

    @abstractmethod
    def edges_of(self, vertex: int) -> Iterable[int]:
        """The vertices that the edges of a vertex go to."""

    def generate(self) -> Graph:
        """The graph. Nothing runs yet."""
        vertices = self._numbers(self.vertex_count())
        targets = self._for_tasks().edges_of
        edges = vertices.flat_map(lambda vertex: [(vertex, target, None) for target in targets(vertex)])
        return Graph(vertices.map(lambda vertex: (vertex, None)).name("Vertices"), edges.name(type(self).__name__))


class _Sized(_ByVertex):
    """A graph that has a number of vertices, and at least so many."""

    least = 1

    def __init__(self, context: ExecutionEnvironment, vertex_count: int) -> None:
        super().__init__(context)
        self._count = _whole(vertex_count, self.least, type(self).__name__, "the number of vertices")

    def vertex_count(self) -> int:
        """How many vertices the graph has."""
        return self._count


def _whole(number: Any, least: int, where: str, what: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise ConfigurationError(f"{where}: {what} must be a whole number of at least {least}, got {number!r}")
    return number


class CompleteGraph(_Sized):
    """Every vertex is a neighbour of every other."""

    least = 2

    def edges_of(self, vertex: int) -> Iterable[int]:
        """All others."""
        return (other for other in range(self._count) if other != vertex)


class EmptyGraph(_Sized):
    """Vertices without edges."""

    least = 0

    def edges_of(self, vertex: int) -> Iterable[int]:
        """None."""
        return ()


class CycleGraph(_Sized):
    """A ring: each vertex has two neighbours."""

    least = 2

    def edges_of(self, vertex: int) -> Iterable[int]:
        """The one before, and the one after."""
        return sorted({(vertex - 1) % self._count, (vertex + 1) % self._count})


class PathGraph(_Sized):
    """A line: each vertex has two neighbours, but those at the ends."""

    least = 2

    def edges_of(self, vertex: int) -> Iterable[int]:
        """The one before, and the one after."""
        return (other for other in (vertex - 1, vertex + 1) if 0 <= other < self._count)


class StarGraph(_Sized):
    """Vertex 0 is the neighbour of all others, which have no other."""

    least = 2

    def edges_of(self, vertex: int) -> Iterable[int]:
        """The middle, or all others."""
        return range(1, self._count) if vertex == 0 else (0,)


class SingletonEdgeGraph(_ByVertex):
    """Pairs of neighbours that have no other."""

    def __init__(self, context: ExecutionEnvironment, vertex_pair_count: int) -> None:
        super().__init__(context)
        self._pairs = _whole(vertex_pair_count, 1, "SingletonEdgeGraph", "the number of pairs")

    def vertex_count(self) -> int:
        """Two for each pair."""
        return 2 * self._pairs

    def edges_of(self, vertex: int) -> Iterable[int]:
        """The other of the pair."""
        return (vertex ^ 1,)


class HypercubeGraph(_ByVertex):
    """The corners of a cube of some dimensions, each a neighbour of those along its sides."""

    def __init__(self, context: ExecutionEnvironment, dimensions: int) -> None:
        super().__init__(context)
        self._dimensions = _whole(dimensions, 1, "HypercubeGraph", "the number of dimensions")

    def vertex_count(self) -> int:
        """Two to the power of the dimensions."""
        return 1 << self._dimensions

    def edges_of(self, vertex: int) -> Iterable[int]:
        """The corners that differ in one dimension."""
        return (vertex ^ (1 << dimension) for dimension in range(self._dimensions))


class CirculantGraph(_Sized):
    """A ring in which vertices of some distances are neighbours: ``CirculantGraph(env, 9).add_range(2, 1)``."""

    least = 2

    def __init__(self, context: ExecutionEnvironment, vertex_count: int) -> None:
        super().__init__(context, vertex_count)
        self._offsets: set[int] = set()

    def add_range(self, offset: int, length: int) -> CirculantGraph:
        """Make vertices neighbours at the distances from ``offset`` on, ``length`` of them."""
        _whole(offset, 1, "add_range", "the offset")
        _whole(length, 1, "add_range", "the length")
        if offset + length - 1 > self._count // 2:
            raise ConfigurationError(f"add_range: a distance is at most half the ring, {self._count // 2}")
        self._offsets.update(range(offset, offset + length))
        return self

    def edges_of(self, vertex: int) -> Iterable[int]:
        """The vertices at each of the distances, on both sides."""
        return sorted({(vertex + way * offset) % self._count for offset in self._offsets for way in (-1, 1)})


class GridGraph(_ByVertex):
    """A grid: ``GridGraph(env).add_dimension(3, False).add_dimension(4, True)``, whose rows are rings then."""

    def __init__(self, context: ExecutionEnvironment) -> None:
        super().__init__(context)
        self._dimensions: list[tuple[int, bool]] = []

    def add_dimension(self, size: int, wrap_endpoints: bool) -> GridGraph:
        """Add a dimension of some size; if endpoints are wrapped, its last is a neighbour of its first."""
        self._dimensions.append((_whole(size, 2, "add_dimension", "the size"), bool(wrap_endpoints)))
        return self

    def vertex_count(self) -> int:
        """The product of the sizes."""
        if not self._dimensions:
            raise ConfigurationError("GridGraph: it has no dimension; call add_dimension(size, wrap_endpoints)")
        count = 1
        for size, _ in self._dimensions:
            count *= size
        return count

    def edges_of(self, vertex: int) -> Iterable[int]:
        """The neighbours in each dimension."""
        return sorted(set(self._neighbours(vertex)))

    def _neighbours(self, vertex: int) -> Iterator[int]:
        stride = 1
        for size, wraps in reversed(self._dimensions):
            place = vertex // stride % size
            for other in (place - 1, place + 1):
                if wraps or 0 <= other < size:
                    yield vertex + (other % size - place) * stride
            stride *= size


class RMatGraph(GraphGenerator):
    """A random graph with few vertices of many neighbours and many of few (recursive matrix), the same for a seed.

    Edges go one way, and may be there more than once.

    :param seed: Of the random numbers; Flink has a factory of generators here.
    """

    _blocks = 64

    def __init__(self, context: ExecutionEnvironment, seed: int, vertex_count: int, edge_count: int) -> None:
        super().__init__(context)
        self._seed = seed
        self._vertices = _whole(vertex_count, 1, "RMatGraph", "the number of vertices")
        self._edges = _whole(edge_count, 1, "RMatGraph", "the number of edges")
        self._constants = (0.57, 0.19, 0.19)

    def set_constants(self, a: float, b: float, c: float) -> RMatGraph:
        """How likely an edge is in the first three quarters of the matrix; the rest is for the last."""
        if min(a, b, c) < 0 or a + b + c > 1:
            raise ConfigurationError(f"set_constants: expected three parts of 1, got {a}, {b}, {c}")
        self._constants = (a, b, c)
        return self

    def vertex_count(self) -> int:
        """How many vertices can have edges."""
        return self._vertices

    def generate(self) -> Graph:
        """The graph. Vertices without edges are not part of it, as in Flink."""
        # blocks, whose number does not depend on the parallelism: so the graph does not either
        edges = self._numbers(self._blocks).flat_map(self._for_tasks().block).name("RMatGraph")
        return Graph.from_data_set(edges)

    def block(self, number: int) -> Iterator[_EdgeTuple]:
        """One of the blocks of edges."""
        choice = random.Random(f"{self._seed} {number}")
        bits = (self._vertices - 1).bit_length()
        a, b, c = self._constants
        first, last = (self._edges * part // self._blocks for part in (number, number + 1))
        for _ in range(last - first):
            while True:
                source = target = 0
                for _ in range(bits):
                    found = choice.random()
                    lower, right = found >= a + b, a <= found < a + b or found >= a + b + c
                    source, target = source << 1 | lower, target << 1 | right
                if source < self._vertices and target < self._vertices:
                    break
            yield source, target, None
