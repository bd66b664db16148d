"""What all parts of a statement's tree have in common: they are values, and they know where they were read."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Position:
    """Where a part of a text begins and ends: lines and columns count from 1, the end is the last character."""

    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, end: Position) -> Position:
        """From the beginning of this position to the end of another."""
        return Position(self.line, self.column, end.end_line, end.end_column)

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


@dataclass(frozen=True, kw_only=True)
class Node:
    """A part of a statement. Two are equal if they say the same, wherever they were read."""

    pos: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Expression(Node):
    """Something with a value."""


@dataclass(frozen=True)
class Query(Node):
    """Something with rows: SELECT, VALUES, TABLE, their combinations."""


@dataclass(frozen=True)
class TableReference(Node):
    """What may stand in a FROM clause."""


@dataclass(frozen=True)
class TypeNode(Node):
    """A type as it is written; ``nullable`` is None where the text says nothing, which means nullable."""

    nullable: bool | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Statement(Node):
    """What is executed as a whole."""


@dataclass(frozen=True)
class Identifier(Expression):
    """A name of one or more parts, without its quotes: a column, a table, a function."""

    parts: tuple[str, ...]

    @property
    def simple(self) -> str:
        """The last part."""
        return self.parts[-1]

    def __str__(self) -> str:
        return ".".join(self.parts)


Option = tuple[str, str]  # a key and its value, of WITH (...), SET (...), hints
