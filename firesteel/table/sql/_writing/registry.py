"""Which function writes which kind of node."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from firesteel.table.sql.keywords import KEYWORDS
from firesteel.table.sql.nodes.base import Identifier, Node, Option

N = TypeVar("N", bound=Node)
_WRITERS: dict[type[Node], Callable[[Any], str]] = {}
# Words that have a meaning at places where no name can stand; others are better read between back-ticks.
_HARMLESS = {"A", "C", "G", "K", "M", "DATA", "DESCRIPTION", "LEVEL", "NAME", "NUMBER", "SOURCE", "STATE", "TYPE"}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*", re.ASCII)


def writes(kind: type[N]) -> Callable[[Callable[[N], str]], Callable[[N], str]]:
    """Say that a function writes this kind of node."""

    def register(function: Callable[[N], str]) -> Callable[[N], str]:
        _WRITERS[kind] = function
        return function

    return register


def write(node: Node) -> str:
    """The SQL of a node."""
    return _WRITERS[type(node)](node)


def write_name(name: str) -> str:
    """A name, between back-ticks where it needs them."""
    if _PLAIN_NAME.fullmatch(name) and (name.upper() not in KEYWORDS or name.upper() in _HARMLESS):
        return name
    return "`" + name.replace("`", "``") + "`"


def write_names(names: Iterable[str]) -> str:
    """Names in parentheses."""
    return f"({', '.join(map(write_name, names))})"


def write_string(text: str) -> str:
    """A string between quotes."""
    return "'" + text.replace("'", "''") + "'"


def write_options(options: Iterable[Option]) -> str:
    """Options in parentheses."""
    return f"({', '.join(f'{write_string(key)} = {write_string(value)}' for key, value in options)})"


def write_all(nodes: Iterable[Node]) -> str:
    """Nodes with commas between them."""
    return ", ".join(map(write, nodes))


def words(*parts: str | None) -> str:
    """What there is of some words, with blanks between."""
    return " ".join(part for part in parts if part)


@writes(Identifier)
def _identifier(node: Identifier) -> str:
    return ".".join(map(write_name, node.parts))
