"""Walks over trees: of expressions as they are written, and of those whose meaning is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from firesteel.table.from_sql import Given
from firesteel.table.resolution import FunctionValue, Typed
from firesteel.table.sql.nodes import base
from firesteel.table.sql.nodes import expressions as sql

__all__ = ["children", "mapped", "replaced"]

N = TypeVar("N", bound=base.Node)
# Parts that are names, but not of columns.
_NAMES: dict[type, tuple[str, ...]] = {
    sql.FunctionCall: ("name",),
    sql.FieldAccess: ("member",),
    sql.ModelReference: ("name",),
    sql.SequenceValue: ("sequence",),
}


def _parts(node: base.Node) -> Iterator[tuple[str, Any]]:
    if isinstance(node, Given):
        return
    names = _NAMES.get(type(node), ())
    for each in dataclasses.fields(node):
        if each.name not in names and each.name != "pos":
            yield each.name, getattr(node, each.name)


def children(node: base.Node) -> Iterator[base.Node]:
    """The parts of an expression that are expressions or hold some; queries in it are not looked into."""
    for _, part in _parts(node):
        for each in part if isinstance(part, tuple) else (part,):
            if isinstance(each, base.Node) and not isinstance(each, (base.Query, base.TypeNode)):
                yield each


def replaced(node: N, replace: Callable[[base.Expression], Typed | None]) -> N:
    """An expression with what `replace` knows in the place of its parts, from the whole down."""
    if isinstance(node, base.Expression):
        found = replace(node)
        if found is not None:
            return Given(found, pos=node.pos)  # type: ignore[return-value]
    changes: dict[str, Any] = {}
    for name, old in _parts(node):
        new = tuple(_part(each, replace) for each in old) if isinstance(old, tuple) else _part(old, replace)
        if new != old:
            changes[name] = new
    return dataclasses.replace(node, **changes) if changes else node


def _part(part: Any, replace: Callable[[base.Expression], Typed | None]) -> Any:
    if isinstance(part, base.Node) and not isinstance(part, (base.Query, base.TypeNode)):
        return replaced(part, replace)
    return part


def mapped(value: Typed, change: Callable[[Typed], Typed | None]) -> Typed:
    """An expression with what `change` gives in the place of its parts, from the whole down."""
    found = change(value)
    if found is not None:
        return found
    if isinstance(value, FunctionValue):
        return dataclasses.replace(value, arguments=tuple(mapped(each, change) for each in value.arguments))
    return value
