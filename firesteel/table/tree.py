"""Expressions before anybody has looked at what they mean: what SQL and the Table API both build."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.table.types import DataType

__all__ = ["Apply", "Column", "Constant", "Known", "Node", "TypeNode"]


@dataclass(frozen=True)
class Node:
    """A part of an expression."""


@dataclass(frozen=True)
class Column(Node):
    """A column by its name, which may have several parts: table, column, field of a row."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True)
class Constant(Node):
    """A literal: a value as the engine holds it, and its type. Keywords such as DAY are constants too."""

    value: Any
    type: DataType

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return "'{}'".format(self.value.replace("'", "''"))
        return (
            {None: "null", True: "true", False: "false"}.get(self.value, str(self.value))
            if _is_plain(self.value)
            else str(self.value)
        )


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool)


@dataclass(frozen=True)
class TypeNode(Node):
    """A type in the place of an argument, as in CAST."""

    type: DataType

    def __str__(self) -> str:
        return str(self.type)


@dataclass(frozen=True)
class Known(Node):
    """What somebody has resolved already: a column that a query's scope has found, say."""

    value: Any

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Apply(Node):
    """A function applied to arguments; `function` is a name, or a function of the user's."""

    function: Any
    arguments: tuple[Node, ...] = ()

    def __str__(self) -> str:
        name = self.function if isinstance(self.function, str) else getattr(self.function, "__name__", "function")
        return f"{name}({', '.join(map(str, self.arguments))})"
