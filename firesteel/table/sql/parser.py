"""The ways into the parser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from firesteel.errors import SqlParserError
from firesteel.table.sql._parsing.statements import StatementParser
from firesteel.table.sql.nodes.base import Expression, Identifier, Statement, TypeNode
from firesteel.table.sql.nodes.statements import ClientCommand, ResetOption, SetOption

T = TypeVar("T")

# Commands that Flink knows by their form, before it cuts a text into words.
_SET = re.compile(
    r"SET(\s+(?P<key>[^'\s]+)\s*=\s*('(?P<quoted>[^']*)'|(?P<plain>[^;\s]+)))?\s*;?", re.IGNORECASE | re.DOTALL
)
_RESET = re.compile(r"RESET(\s+(?P<key>[^'\s]+))?\s*;?", re.IGNORECASE | re.DOTALL)
_COMMAND = re.compile(r"(CLEAR|HELP|EXIT|QUIT)\s*;?", re.IGNORECASE)


def parse_statement(text: str) -> Statement:
    """Read the one statement that a text is; a semicolon may end it."""
    command = _client_command(text.strip())
    if command is not None:
        return command
    found = _read(text, lambda parser: parser.statements())
    if len(found) > 1:
        second = found[1].pos
        where = f" (the second begins in {second})" if second is not None else ""
        raise SqlParserError(f"one statement is expected, there are {len(found)}{where}.")
    return found[0]


def parse_statements(text: str) -> tuple[Statement, ...]:
    """Read all statements of a text, with semicolons between them."""
    command = _client_command(text.strip())
    return _read(text, lambda parser: parser.statements()) if command is None else (command,)


def parse_expression(text: str) -> Expression:
    """Read an expression, as it may stand in a WHERE clause."""
    return _read(text, lambda parser: _whole(parser, parser.expression))


def parse_type(text: str) -> TypeNode:
    """Read a type, as it may stand behind the name of a column."""
    return _read(text, lambda parser: _whole(parser, parser.column_type))


def parse_identifier(text: str) -> Identifier:
    """Read a name of one or more parts."""
    return _read(text, lambda parser: _whole(parser, parser.identifier))


def _whole(parser: StatementParser, read: Callable[[], T]) -> T:
    found = read()
    parser.expect_end()
    return found


def _read(text: str, read: Callable[[StatementParser], T]) -> T:
    try:
        return read(StatementParser(text))
    except RecursionError:
        raise SqlParserError("the statement has too many parentheses or sub-queries in each other.") from None


def _client_command(text: str) -> Statement | None:
    match = _SET.fullmatch(text)
    if match is not None:
        quoted = match["quoted"]
        return SetOption(match["key"], match["plain"] if quoted is None else quoted)
    match = _RESET.fullmatch(text)
    if match is not None:
        return ResetOption(match["key"])
    match = _COMMAND.fullmatch(text)
    if match is None:
        return None
    return ClientCommand({"EXIT": "QUIT"}.get(match[1].upper(), match[1].upper()))
