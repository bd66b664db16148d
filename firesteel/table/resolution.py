"""What an expression means: each column found, each function chosen, each type known."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from firesteel.errors import ProgramError
from firesteel.table.from_sql import expression_of
from firesteel.table.functions import Argument, Call, Function, Session, find_function
from firesteel.table.sql import parse_expression
from firesteel.table.tree import Apply, Column, Constant, Known, Node, TypeNode
from firesteel.table.types import DataType, RowField, RowType, StructuredType, SymbolType

__all__ = ["ColumnValue", "ConstantValue", "FunctionValue", "ResolveError", "Typed", "resolve"]


class ResolveError(ProgramError, ValueError):
    """An expression that means nothing: an unknown column, say."""


@dataclass(frozen=True)
class Typed:
    """An expression whose type is known."""

    type: DataType


@dataclass(frozen=True)
class ColumnValue(Typed):
    """The value of a column, by its position in the row."""

    index: int
    name: str


@dataclass(frozen=True)
class ConstantValue(Typed):
    """A value that is known already; of a type in the place of an argument, none."""

    value: object


@dataclass(frozen=True)
class FunctionValue(Typed):
    """The value that a function gives."""

    function: Function
    call: Call
    arguments: tuple[Typed, ...]


def resolve(node: Node, fields: Sequence[RowField] = (), session: Session | None = None) -> Typed:
    """Find out what an expression over a row with these fields means; an error says what it does not find."""
    return _Resolver(list(fields), session or Session()).resolve(node)


class _Resolver:
    def __init__(self, fields: list[RowField], session: Session) -> None:
        self._fields = fields
        self._names = [field.name for field in fields]
        self._session = session

    def resolve(self, node: Node) -> Typed:
        if isinstance(node, Constant):
            return ConstantValue(node.type, node.value)
        if isinstance(node, TypeNode):
            return ConstantValue(node.type, None)
        if isinstance(node, Column):
            return self._column(node)
        if isinstance(node, Apply):
            return self._apply(node)
        if isinstance(node, Known) and isinstance(node.value, Typed):
            return node.value
        raise ResolveError(f"{node} cannot stand here.")

    def _column(self, node: Column) -> Typed:
        name, *path = node.parts
        if name not in self._names:
            near = difflib.get_close_matches(name, self._names, 3)
            hint = f" Did you mean {' or '.join(near)}?" if near else f" There are {', '.join(self._names) or 'none'}."
            raise ResolveError(f"there is no column {name!r}.{hint}")
        index = self._names.index(name)
        found: Typed = ColumnValue(self._fields[index].data_type, index, name)
        for part in path:
            found = self._field(found, part)
        return found

    def _field(self, row: Typed, name: str) -> Typed:
        if not isinstance(row.type, (RowType, StructuredType)):
            raise ResolveError(f"{row.type} has no field {name!r}: it is no row.")
        return self._call("GET", (row, ConstantValue(SymbolType(False), name)))

    def _apply(self, node: Apply) -> Typed:
        if isinstance(node.function, Function):
            return self._called(node.function, tuple(map(self.resolve, node.arguments)))
        if not isinstance(node.function, str):
            raise ResolveError(f"{node} cannot stand here.")
        if node.function == "CALL_SQL" and isinstance(node.arguments[0], Constant):
            return self.resolve(expression_of(parse_expression(node.arguments[0].value)))
        return self._call(node.function, tuple(map(self.resolve, node.arguments)))

    def _call(self, name: str, arguments: tuple[Typed, ...]) -> Typed:
        return self._called(find_function(name), arguments)

    def _called(self, function: Function, arguments: tuple[Typed, ...]) -> Typed:
        known = tuple(
            Argument(
                each.type, isinstance(each, ConstantValue), each.value if isinstance(each, ConstantValue) else None
            )
            for each in arguments
        )
        call = Call(function.name, known, self._session)
        result = function.infer(call)
        return FunctionValue(result, function, replace(call, result=result), arguments)
