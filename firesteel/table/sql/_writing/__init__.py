"""From the tree back to SQL: one file for each family of nodes."""

from __future__ import annotations

from firesteel.table.sql._writing import ddl, expressions, json_calls, patterns, queries, statements, types
from firesteel.table.sql._writing.registry import write
from firesteel.table.sql.nodes.base import Node

__all__ = ["unparse", "ddl", "expressions", "json_calls", "patterns", "queries", "statements", "types"]


def unparse(node: Node) -> str:
    """The SQL of a statement or of a part of one, in one line; parsed again, it is the same tree."""
    return write(node)
