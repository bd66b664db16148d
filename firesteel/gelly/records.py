"""What graphs are made of. All are tuples: a vertex equals ``(id, value)``, an edge ``(source, target, value)``."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from firesteel.errors import MalformedRecordError

__all__ = ["Edge", "EdgeDirection", "Triplet", "Vertex"]


class Vertex(NamedTuple):
    """A vertex: an id, by which it is found, and a value."""

    id: Any
    value: Any = None

    def get_id(self) -> Any:
        """The id."""
        return self.id

    def get_value(self) -> Any:
        """The value."""
        return self.value


class Edge(NamedTuple):
    """An edge from one vertex to another, with a value."""

    source: Any
    target: Any
    value: Any = None

    def get_source(self) -> Any:
        """The id of the vertex it comes from."""
        return self.source

    def get_target(self) -> Any:
        """The id of the vertex it goes to."""
        return self.target

    def get_value(self) -> Any:
        """The value."""
        return self.value

    def reverse(self) -> Edge:
        """The edge the other way round."""
        return Edge(self.target, self.source, self.value)


class Triplet(NamedTuple):
    """An edge with both of its vertices."""

    source: Any
    target: Any
    source_value: Any
    target_value: Any
    value: Any

    def get_src_vertex(self) -> Vertex:
        """The vertex it comes from."""
        return Vertex(self.source, self.source_value)

    def get_trg_vertex(self) -> Vertex:
        """The vertex it goes to."""
        return Vertex(self.target, self.target_value)

    def get_edge(self) -> Edge:
        """The edge alone."""
        return Edge(self.source, self.target, self.value)


class EdgeDirection(Enum):
    """Which edges of a vertex are meant: those that come in, those that go out, or all."""

    IN = "in"
    OUT = "out"
    ALL = "all"


def as_vertex(record: Any) -> tuple[Any, Any]:
    """A vertex as a plain tuple: data sets hold these, which are quicker to send than named ones."""
    if isinstance(record, tuple) and len(record) == 2:
        return record[0], record[1]
    raise MalformedRecordError(f"a vertex is a Vertex or a tuple (id, value); got {record!r:.100}")


def as_edge(record: Any) -> tuple[Any, Any, Any]:
    """An edge as a plain tuple; without a value it has None."""
    if isinstance(record, tuple) and len(record) in (2, 3):
        return record[0], record[1], record[2] if len(record) == 3 else None
    raise MalformedRecordError(
        f"an edge is an Edge or a tuple (source, target) or (source, target, value); got {record!r:.100}"
    )
