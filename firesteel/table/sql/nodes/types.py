"""Types as they are written in SQL; what they mean is for firesteel.table's types to say."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.table.sql.nodes.base import Identifier, Node, TypeNode


@dataclass(frozen=True)
class BasicType(TypeNode):
    """A type of one word, perhaps with numbers in parentheses.

    ``name`` is one of BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, REAL, DOUBLE, DECIMAL, ANY, CHAR, VARCHAR,
    STRING, BINARY, VARBINARY, BYTES, DATE, TIME, TIME_LTZ, TIMESTAMP, TIMESTAMP_LTZ, VARIANT, BITMAP, whichever of its
    synonyms was written.
    """

    name: str
    precision: int | None = None
    scale: int | None = None
    character_set: str | None = None


@dataclass(frozen=True)
class CollectionType(TypeNode):
    """``ARRAY<INT>``, ``INT ARRAY``, ``MULTISET<INT>``: ``kind`` is ARRAY or MULTISET."""

    kind: str
    element: TypeNode


@dataclass(frozen=True)
class MapType(TypeNode):
    """``MAP<STRING, INT>``."""

    key: TypeNode
    value: TypeNode


@dataclass(frozen=True)
class Field(Node):
    """A field of a row or of a structured type."""

    name: str
    type: TypeNode
    comment: str | None = None


@dataclass(frozen=True)
class RowType(TypeNode):
    """``ROW<a INT, b STRING 'comment'>`` or with parentheses."""

    fields: tuple[Field, ...]


@dataclass(frozen=True)
class StructuredType(TypeNode):
    """``STRUCTURED<'name', a INT>``."""

    class_name: str
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True)
class RawType(TypeNode):
    """``RAW('class', 'serializer')``."""

    class_name: str
    serializer: str


@dataclass(frozen=True)
class NamedType(TypeNode):
    """A type that the language does not know by itself: a user's."""

    name: Identifier


@dataclass(frozen=True)
class IntervalQualifier(Node):
    """``DAY(2) TO SECOND(3)``: units in the singular; ``precision`` of the first, ``fraction`` of the seconds."""

    start: str
    end: str | None = None
    precision: int | None = None
    fraction: int | None = None


@dataclass(frozen=True)
class IntervalType(TypeNode):
    """``INTERVAL DAY TO SECOND`` in a CAST."""

    qualifier: IntervalQualifier
