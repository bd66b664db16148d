"""What the steps of graph programs do with records: plain tuples, ``(id, value)`` and ``(source, target, value)``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from firesteel.dataset.functions import (
    CoGroupFunction,
    FilterFunction,
    FlatMapFunction,
    GroupReduceFunction,
    MapFunction,
    ReduceFunction,
    forwarded_fields,
    forwarded_fields_first,
    forwarded_fields_second,
)
from firesteel.gelly.functions import Delegate, TranslateFunction
from firesteel.gelly.records import Edge, Triplet, Vertex
from firesteel.model.functions.adapt import bound_call, emitting

VertexTuple = tuple[Any, Any]
EdgeTuple = tuple[Any, Any, Any]
_MOST_HELD = 500_000


# --- vertices and edges -----------------------------------------------------------------------------


def triplet(half: tuple[Any, Any, Any, Any], target: VertexTuple) -> Triplet:
    """An edge with its source's value meets its target."""
    return Triplet(half[0], half[1], half[3], target[1], half[2])


def with_source_value(edge: EdgeTuple, vertex: VertexTuple) -> tuple[Any, Any, Any, Any]:
    """An edge, and the value of its source."""
    return (*edge, vertex[1])


def edge_alone(edge: EdgeTuple, _: Any) -> EdgeTuple:
    """The edge of a pair."""
    return edge


def vertex_alone(vertex: VertexTuple, _: Any) -> VertexTuple:
    """The vertex of a pair."""
    return vertex


def ends_once(edges: Iterable[EdgeTuple]) -> Iterator[tuple[Any]]:
    """The ids of the vertices of edges, each in a tuple of its own: once, as far as they fit into memory."""
    seen: set[Any] = set()
    for source, target, _ in edges:
        seen.add(source)
        seen.add(target)
        if len(seen) >= _MOST_HELD:
            yield from zip(seen)
            seen = set()
    yield from zip(seen)


def reversed_edge(edge: EdgeTuple) -> EdgeTuple:
    """The edge the other way round."""
    return edge[1], edge[0], edge[2]


def both_directions(edge: EdgeTuple) -> tuple[EdgeTuple, EdgeTuple]:
    """The edge, and the edge the other way round."""
    return edge, (edge[1], edge[0], edge[2])


class _Mapping(Delegate, MapFunction):
    """Calls the ``map`` of a function, whatever kind of function it is."""

    def open(self, runtime_context: Any) -> None:
        """Find out what to call."""
        super().open(runtime_context)
        self._call = bound_call(self._function, "map")


@forwarded_fields("f0")
class MapVertex(_Mapping):
    """A new value for each vertex, made by a function of the vertex."""

    def map(self, value: VertexTuple) -> VertexTuple:
        """One vertex."""
        return value[0], self._call(Vertex._make(value))


@forwarded_fields("f0")
class InitialValue(_Mapping):
    """A vertex out of an id, with a value that a function makes of the id."""

    def map(self, value: tuple[Any]) -> VertexTuple:
        """One id."""
        return value[0], self._call(value[0])


@forwarded_fields("f0; f1")
class MapEdge(_Mapping):
    """A new value for each edge, made by a function of the edge."""

    def map(self, value: EdgeTuple) -> EdgeTuple:
        """One edge."""
        return value[0], value[1], self._call(Edge._make(value))


class FilterRecords(Delegate, FilterFunction):
    """Keeps what a condition on vertices or edges is true for.

    :param kind: The class that the condition wants to see.
    """

    def __init__(self, function: Any, kind: Any) -> None:
        super().__init__(function)
        self._kind = kind

    def open(self, runtime_context: Any) -> None:
        """Find out what to call."""
        super().open(runtime_context)
        self._call = bound_call(self._function, "filter")

    def filter(self, value: Any) -> bool:
        """One record."""
        return bool(self._call(self._kind._make(value)))


def _ignoring_reuse(call: Callable[..., Any], value: Any) -> Any:
    return call(value, None)


class TranslateFields(Delegate, MapFunction):
    """Translates some fields of vertices or edges."""

    def __init__(self, function: Any, fields: frozenset[int]) -> None:
        super().__init__(function)
        self._fields = fields

    def open(self, runtime_context: Any) -> None:
        """Find out what to call."""
        super().open(runtime_context)
        call = bound_call(self._function, "translate")
        self._call = partial(_ignoring_reuse, call) if isinstance(self._function, TranslateFunction) else call

    def map(self, value: tuple[Any, ...]) -> tuple[Any, ...]:
        """One record."""
        return tuple(self._call(part) if place in self._fields else part for place, part in enumerate(value))


# --- joining values ---------------------------------------------------------------------------------


class JoinValues(Delegate, CoGroupFunction):
    """New values for the vertices or edges that have a record in a data set; the first of it, if there are several.

    :param method: Of the user's function.
    """

    def __init__(self, function: Any, method: str) -> None:
        super().__init__(function)
        self._method = method

    def open(self, runtime_context: Any) -> None:
        """Find out what to call."""
        super().open(runtime_context)
        self._call = bound_call(self._function, self._method)

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
        """One key."""
        found = next(iter(second), None)
        if found is None:
            yield from first
            return
        for record in first:
            yield (*record[:-1], self._call(record[-1], found[-1]))


# --- what is in one set and not in the other --------------------------------------------------------


def only_first(first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any]:
    """The records of the first set whose key is not in the second."""
    return () if next(iter(second), None) is not None else first


def one_of_each(first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
    """One record for each key, of the first set if it has one."""
    for records in (first, second):
        for record in records:
            yield record
            return


class Intersection(CoGroupFunction):
    """Edges that are in both sets.

    :param distinct: One for each edge in both; otherwise as many pairs as can be made.
    """

    def __init__(self, distinct: bool) -> None:
        self._distinct = distinct

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
        """One edge."""
        for mine, _ in zip(first, second):
            yield mine
            if self._distinct:
                return
            yield mine


# --- neighbourhoods ---------------------------------------------------------------------------------


class EdgesOf(FlatMapFunction):
    """Each edge for the vertices that it belongs to: ``(id, neighbour, edge)``.

    :param outgoing: For its source.
    :param incoming: For its target.
    """

    def __init__(self, outgoing: bool, incoming: bool) -> None:
        self._outgoing, self._incoming = outgoing, incoming

    def flat_map(self, value: EdgeTuple) -> Iterator[tuple[Any, Any, EdgeTuple]]:
        """One edge."""
        if self._outgoing:
            yield value[0], value[1], value
        if self._incoming:
            yield value[1], value[0], value


@forwarded_fields_first("f0")
@forwarded_fields_second("f0")
class CountEdges(CoGroupFunction):
    """How many edges a vertex has."""

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[tuple[Any, int]]:
        """One vertex, and the counts of its edges."""
        for vertex in first:
            yield vertex[0], sum(count for _, count in second)
            return


class CallWithEdges(Delegate, GroupReduceFunction):
    """All edges of a vertex for a user's function."""

    def reduce(self, values: Iterable[Any]) -> Iterable[Any]:
        """One vertex that has edges."""
        call = emitting(self._function, "iterate_edges", 1)
        return call((own, Edge._make(edge)) for own, _, edge in values) or ()


class CallWithVertexAndEdges(Delegate, CoGroupFunction):
    """A vertex and all of its edges for a user's function."""

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
        """One vertex."""
        call = emitting(self._function, "iterate_edges", 2)
        for vertex in first:
            yield from call(Vertex._make(vertex), (Edge._make(edge) for _, _, edge in second)) or ()


class CallWithNeighbors(Delegate, GroupReduceFunction):
    """All neighbours of a vertex for a user's function."""

    def reduce(self, values: Iterable[Any]) -> Iterable[Any]:
        """One vertex that has neighbours."""
        call = emitting(self._function, "iterate_neighbors", 1)
        return call((own, Edge._make(edge), Vertex._make(other)) for own, edge, other in values) or ()


class CallWithVertexAndNeighbors(Delegate, CoGroupFunction):
    """A vertex and all of its neighbours for a user's function."""

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
        """One vertex."""
        call = emitting(self._function, "iterate_neighbors", 2)
        for vertex in first:
            neighbors = ((Edge._make(edge), Vertex._make(other)) for _, edge, other in second)
            yield from call(Vertex._make(vertex), neighbors) or ()


def meet_neighbor(entry: tuple[Any, Any, EdgeTuple], other: VertexTuple) -> tuple[Any, EdgeTuple, VertexTuple]:
    """An edge of a vertex, and the vertex at its other end."""
    return entry[0], entry[2], other


class ReduceValues(Delegate, ReduceFunction):
    """Reduces pairs of id and value."""

    def __init__(self, function: Any, method: str) -> None:
        super().__init__(function)
        self._method = method

    def open(self, runtime_context: Any) -> None:
        """Find out what to call."""
        super().open(runtime_context)
        self._call = bound_call(self._function, self._method)

    def reduce(self, value1: VertexTuple, value2: VertexTuple) -> VertexTuple:
        """Two pairs of an id."""
        return value1[0], self._call(value1[1], value2[1])
