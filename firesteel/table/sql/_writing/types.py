"""Types, as text."""

from __future__ import annotations

from firesteel.table.sql._writing.registry import words, write, write_all, write_name, write_string, writes
from firesteel.table.sql.nodes.base import TypeNode
from firesteel.table.sql.nodes.types import (
    BasicType,
    CollectionType,
    Field,
    IntervalQualifier,
    IntervalType,
    MapType,
    NamedType,
    RawType,
    RowType,
    StructuredType,
)


def _nullable(node: TypeNode) -> str | None:
    return {None: None, True: "NULL", False: "NOT NULL"}[node.nullable]


def _numbers(*numbers: int | None) -> str:
    given = [str(number) for number in numbers if number is not None]
    return f"({', '.join(given)})" if given else ""


@writes(BasicType)
def _basic(node: BasicType) -> str:
    name = node.name
    numbers = _numbers(node.precision, node.scale)
    if name == "TIME_LTZ":
        return words(f"TIME{numbers} WITH LOCAL TIME ZONE", _nullable(node))
    characters = None if node.character_set is None else f"CHARACTER SET {write_name(node.character_set)}"
    return words(f"{name}{numbers}", characters, _nullable(node))


@writes(CollectionType)
def _collection(node: CollectionType) -> str:
    return words(f"{node.kind}<{write(node.element)}>", _nullable(node))


@writes(MapType)
def _map(node: MapType) -> str:
    return words(f"MAP<{write(node.key)}, {write(node.value)}>", _nullable(node))


@writes(Field)
def _field(node: Field) -> str:
    return words(write_name(node.name), write(node.type), None if node.comment is None else write_string(node.comment))


@writes(RowType)
def _row(node: RowType) -> str:
    return words(f"ROW<{write_all(node.fields)}>", _nullable(node))


@writes(StructuredType)
def _structured(node: StructuredType) -> str:
    inside = ", ".join([write_string(node.class_name), *map(write, node.fields)])
    return words(f"STRUCTURED<{inside}>", _nullable(node))


@writes(RawType)
def _raw(node: RawType) -> str:
    return words(f"RAW({write_string(node.class_name)}, {write_string(node.serializer)})", _nullable(node))


@writes(NamedType)
def _named(node: NamedType) -> str:
    return words(write(node.name), _nullable(node))


@writes(IntervalQualifier)
def _qualifier(node: IntervalQualifier) -> str:
    if node.start == "SECOND":
        return f"SECOND{_numbers(node.precision, node.fraction)}"
    start = f"{node.start}{_numbers(node.precision)}"
    return start if node.end is None else f"{start} TO {node.end}{_numbers(node.fraction)}"


@writes(IntervalType)
def _interval(node: IntervalType) -> str:
    return f"INTERVAL {write(node.qualifier)}"
