"""From text to tokens, as Flink's lexer cuts it: the longest match wins, comments and blanks are left out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from firesteel.table.sql.diagnosis import syntax_error
from firesteel.table.sql.keywords import KEYWORDS
from firesteel.table.sql.nodes.base import Position

# Kinds of tokens. A keyword's and a symbol's `text` is itself, in upper case; other tokens keep what was written.
KEYWORD, NAME, QUOTED_NAME, UNICODE_NAME = "keyword", "name", "quoted name", "unicode name"
INTEGER, DECIMAL, APPROXIMATE = "integer", "decimal", "approximate number"
STRING, PREFIXED_STRING, UNICODE_STRING, ESCAPED_STRING = (
    "string",
    "prefixed string",
    "unicode string",
    "escaped string",
)
BINARY, COLLATION, SYMBOL, END = "binary string", "collation", "symbol", "end of text"

_LETTER = (
    r"$A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u1fff\u3040-\u318f\u3300-\u337f\u3400-\u3d2d\u4e00-\u9fff\uf900-\ufaff"
)
_DIGIT = (
    r"0-9\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\u0a66-\u0a6f\u0ae6-\u0aef\u0b66-\u0b6f\u0be7-\u0bef"
    r"\u0c66-\u0c6f\u0ce6-\u0cef\u0d66-\u0d6f\u0e50-\u0e59\u0ed0-\u0ed9\u1040-\u1049"
)
_QUOTED = r"'(?:[^']|'')*'"
_NAME = rf"[{_LETTER}][{_LETTER}{_DIGIT}]*"
# What a collation has in common with other tokens is settled below: it wins only where it is longer.
_COLLATION = re.compile(
    rf"[{_LETTER}{_DIGIT}]+[{_LETTER}{_DIGIT}:.\-_]*\$[{_LETTER}_]+(?:\$[{_LETTER}{_DIGIT}_]+)?", re.DOTALL
)
_TOKENS = re.compile(
    "|".join(
        [
            r"(?P<blank>[ \t\n\r\f]+|(?://|--)[^\n\r]*)",
            r"(?P<hint>/\*\+)",
            r"(?P<comment>/\*)",
            rf"(?P<binary>[xX]{_QUOTED})",
            rf"(?P<prefixed>(?:_[a-zA-Z0-9][a-zA-Z0-9:.\-_]*|[nN]){_QUOTED})",
            rf"(?P<unicode>[uU]&{_QUOTED})",
            r"(?P<escaped>[eE]'(?:[^'\\]|\\.|'')*')",
            rf"(?P<string>{_QUOTED})",
            r"(?P<quoted>`(?:[^`\n\r]|``)+`)",
            r'(?P<unicode_name>[uU]&"(?:[^"\n\r]|"")+")',
            r"(?P<approximate>(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+)",
            r"(?P<decimal>[0-9]+\.[0-9]*|\.[0-9]+)",
            r"(?P<integer>[0-9]+)",
            r"(?P<end_exec>(?i:END-EXEC))",
            rf"(?P<name>{_NAME})",
            r"(?P<brace>\{ *(?:(?i:ts|fn|d|t)))",
            r"(?P<symbol>\*/|<=|>=|<>|!=|\|\||=>|\.\.|[(){}\[\];.,=<>?:+\-*/%|^$'\"])",
        ]
    ),
    re.DOTALL,
)
_KINDS = {
    "binary": BINARY,
    "prefixed": PREFIXED_STRING,
    "unicode": UNICODE_STRING,
    "escaped": ESCAPED_STRING,
    "string": STRING,
    "quoted": QUOTED_NAME,
    "unicode_name": UNICODE_NAME,
    "approximate": APPROXIMATE,
    "decimal": DECIMAL,
    "integer": INTEGER,
    "hint": SYMBOL,
    "symbol": SYMBOL,
    "end_exec": KEYWORD,
}


@dataclass(frozen=True)
class Token:
    """A word, number, string or sign of the text."""

    kind: str
    text: str
    pos: Position
    image: str  # as it was written

    def __str__(self) -> str:
        return "the end of the text" if self.kind == END else self.image


class Lexer:
    """Cuts one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line = 1
        self._line_start = 0
        self._tokens: list[Token] = []

    def tokens(self) -> list[Token]:
        """All tokens, the last of which is the end."""
        offset = 0
        while offset < len(self._text):
            offset = self._read(offset)
        here = Position(self._line, offset - self._line_start + 1, self._line, offset - self._line_start + 1)
        return [*self._tokens, Token(END, "", here, "")]

    def _read(self, offset: int) -> int:
        match = _TOKENS.match(self._text, offset)
        if match is None or match.lastgroup is None:
            raise self._unknown(offset)
        group, end = match.lastgroup, match.end()
        if group in ("name", "integer", "decimal", "approximate", "end_exec"):
            collation = _COLLATION.match(self._text, offset)
            if collation is not None and collation.end() > end:
                self._add(COLLATION, offset, collation.end())
                return collation.end()
        if group == "comment":
            end = self._end_of_comment(offset)
        if group in ("blank", "comment"):
            self._count_lines(offset, end)
        elif group == "name":
            self._add_word(offset, end)
        elif group == "brace":
            self._add(SYMBOL, offset, end, "{" + match.group()[1:].strip().upper())
        else:
            self._add(_KINDS[group], offset, end)
        return end

    def _end_of_comment(self, offset: int) -> int:
        # `/**/` is a whole comment, but what follows `/**` otherwise must not be its end.
        end = self._text.find("*/", offset + 2)
        if end < 0:
            raise syntax_error(self._text, self._position(offset, offset), "a comment that begins with /* has no */")
        return end + 2

    def _add_word(self, offset: int, end: int) -> None:
        word = self._text[offset:end].upper()
        if word == "$":
            self._add(SYMBOL, offset, end)
        elif word in KEYWORDS:
            self._add(KEYWORD, offset, end, word)
        else:
            self._add(NAME, offset, end)

    def _add(self, kind: str, offset: int, end: int, text: str | None = None) -> None:
        image = self._text[offset:end]
        start = self._position(offset, offset)
        self._count_lines(offset, end)
        pos = start.to(self._position(end - 1, end - 1))
        if kind == KEYWORD:
            text = image.upper()
        self._tokens.append(Token(kind, image if text is None else text, pos, image))

    def _count_lines(self, offset: int, end: int) -> None:
        newlines = self._text.count("\n", offset, end)
        if newlines:
            self._line += newlines
            self._line_start = self._text.rindex("\n", offset, end) + 1

    def _position(self, start: int, end: int) -> Position:
        line = self._line
        return Position(line, start - self._line_start + 1, line, end - self._line_start + 1)

    def _unknown(self, offset: int) -> Exception:
        character = self._text[offset]
        here = self._position(offset, offset)
        if character == "`":
            return syntax_error(self._text, here, "a name that begins with ` has no closing ` in its line")
        return syntax_error(self._text, here, f"{character!r} has no meaning in SQL")
