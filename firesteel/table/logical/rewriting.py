"""Walks over trees: of expressions as they are written, and of those whose meaning is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from firesteel.table.from_sql import Given
from firesteel.table.resolution import FunctionValue, Typed
from firesteel.table.sql.nodes import base
from firesteel.table.sql.nodes import expressions as sql

__all__ = ["Settled", "children", "mapped", "replaced", "within"]

N = TypeVar("N", bound=base.Node)
# Parts that are names, but not of columns.
_NAMES: dict[type, tuple[str, ...]] = {
    sql.FunctionCall: ("name",),
    sql.FieldAccess: ("member",),
    sql.ModelReference: ("name",),
    sql.SequenceValue: ("sequence",),
}


@dataclasses.dataclass(frozen=True)
class Settled(Given):
    """What is known over the rows that a query gives, and not over those that it reads."""


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


def within(node: base.Node) -> Iterator[base.Node]:
    """An expression and all its parts; queries in it are not looked into."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += children(part)


def replaced(node: N, replace: Callable[[base.Expression], Typed | None], kind: type[Given] = Given) -> N:
    """An expression with what `replace` knows in the place of its parts, from the whole down."""
    if isinstance(node, base.Expression):
        found = replace(node)
        if found is not None:
            return kind(found, pos=node.pos)  # type: ignore[return-value]
    if isinstance(node, sql.Infix):
        return _replaced_chain(node, replace, kind)  # type: ignore[return-value]
    return _with_parts(node, replace, kind)


def _replaced_chain(
    node: sql.Infix, replace: Callable[[base.Expression], Typed | None], kind: type[Given]
) -> base.Expression:
    """A long ``a OR b OR c`` leans to the left: it is walked down in a loop."""
    chain, found = [node], None
    first = node.left
    while isinstance(first, sql.Infix):
        found = replace(first)
        if found is not None:
            break
        chain.append(first)
        first = first.left
    left = replaced(first, replace, kind) if found is None else kind(found, pos=first.pos)
    for each in reversed(chain):
        right = replaced(each.right, replace, kind)
        same = left is each.left and right is each.right
        left = each if same else dataclasses.replace(each, left=left, right=right)
    return left


def _with_parts(node: N, replace: Callable[[base.Expression], Typed | None], kind: type[Given]) -> N:
    changes: dict[str, Any] = {}
    for name, old in _parts(node):
        if isinstance(old, tuple):
            parts = tuple(_part(each, replace, kind) for each in old)
            if any(new is not each for new, each in zip(parts, old)):
                changes[name] = parts
        elif (new := _part(old, replace, kind)) is not old:
            changes[name] = new
    return dataclasses.replace(node, **changes) if changes else node


def _part(part: Any, replace: Callable[[base.Expression], Typed | None], kind: type[Given]) -> Any:
    if isinstance(part, base.Node) and not isinstance(part, (base.Query, base.TypeNode)):
        return replaced(part, replace, kind)
    return part


def mapped(value: Typed, change: Callable[[Typed], Typed | None]) -> Typed:
    """An expression with what `change` gives in the place of its parts, from the whole down."""
    found = change(value)
    if found is not None:
        return found
    if isinstance(value, FunctionValue):
        return dataclasses.replace(value, arguments=tuple(mapped(each, change) for each in value.arguments))
    return value
