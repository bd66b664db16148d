"""Errors that show the place in the text, what may stand there, and what was perhaps meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from firesteel.errors import SqlParserError
from firesteel.table.sql.nodes.base import Position

_SHOWN = 12  # expected words in a message; the error carries all of them
_WIDTH = 110


def syntax_error(text: str, pos: Position, what: str, expected: Iterable[str] = ()) -> SqlParserError:
    """The error for a place: ``what`` is wrong there."""
    words = tuple(sorted(set(expected)))
    lines = [f"{what} ({pos})."]
    if words:
        shown = ", ".join(sorted(words, key=_words_first)[:_SHOWN])
        more = f" and {len(words) - _SHOWN} others" if len(words) > _SHOWN else ""
        lines.append(f"Expected here: {shown}{more}.")
    lines += _excerpt(text, pos)
    return SqlParserError("\n".join(lines), line=pos.line, column=pos.column, expected=words)


def _words_first(word: str) -> tuple[bool, str]:
    return not word[:1].isalpha(), word


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was perhaps meant."""
    close = difflib.get_close_matches(word.upper(), sorted(known), n=1, cutoff=0.75)
    return close[0] if close else None


def _excerpt(text: str, pos: Position) -> list[str]:
    lines = text.split("\n")
    if not 0 < pos.line <= len(lines):
        return []
    line = lines[pos.line - 1].rstrip("\r")
    start = max(0, min(pos.column - 1 - _WIDTH // 2, len(line) - _WIDTH))
    shown = line[start : start + _WIDTH].replace("\t", " ")
    return [f"  {shown}", "  " + " " * (pos.column - 1 - start) + "^"]
