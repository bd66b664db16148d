"""What is said against a query that can be read, but means nothing."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from firesteel.errors import ProgramError
from firesteel.table.sql.nodes.base import Node

__all__ = ["QueryError", "did_you_mean", "query_error"]


class QueryError(ProgramError, ValueError):
    """A query that means nothing: an unknown table, say. It carries line and column of what is wrong."""

    def __init__(self, message: str, *, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column

    def __reduce__(self) -> tuple[Callable[..., QueryError], tuple[object, ...]]:
        return _restored, (self.args[0], self.line, self.column)


def _restored(message: str, line: int, column: int) -> QueryError:
    return QueryError(message, line=line, column=column)


def query_error(node: Node | None, reason: str) -> QueryError:
    """The error for a part of a query."""
    pos = None if node is None else node.pos
    if pos is None:
        return QueryError(reason)
    return QueryError(f"{pos}: {reason}", line=pos.line, column=pos.column)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the known one that was perhaps meant."""
    names = sorted(set(known))
    same = [each for each in names if each.lower() == name.lower()]
    close = same or difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else "."
