"""A place in the tokens of a text, and the questions that a parser asks about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from firesteel.errors import SqlParserError
from firesteel.table.sql import lexer
from firesteel.table.sql.diagnosis import nearest, syntax_error
from firesteel.table.sql.keywords import KEYWORDS, NON_RESERVED
from firesteel.table.sql.lexer import END, KEYWORD, NAME, QUOTED_NAME, STRING, SYMBOL, UNICODE_NAME, Lexer, Token
from firesteel.table.sql.nodes.base import Identifier, Position
from firesteel.table.sql.strings import plain_string, quoted_name, unescape_unicode, unicode_escape_character

T = TypeVar("T")
MAX_NAME_LENGTH = 256  # as Flink's
_CLAUSES = (
    *("FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "FETCH", "UNION", "EXCEPT"),
    *("INTERSECT", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "USING", "MATCH_RECOGNIZE", "PIVOT"),
)


class Cursor:
    """Reads tokens one after the other and remembers what would have been right where it could not go on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = Lexer(text).tokens()
        self._index = 0
        self._asked_at = 0
        self._asked: set[str] = set()

    # --- looking ---

    @property
    def token(self) -> Token:
        """The token that is next."""
        return self._tokens[self._index]

    def ahead(self, count: int) -> Token:
        """The token after so many others."""
        return self._tokens[min(self._index + count, len(self._tokens) - 1)]

    def at(self, *words: str) -> bool:
        """Whether the next token is one of these keywords or symbols."""
        self._ask(*words)
        token = self.token
        return token.kind in (KEYWORD, SYMBOL) and token.text in words

    def at_sequence(self, *words: str) -> bool:
        """Whether the next tokens are these keywords or symbols, one after the other."""
        self._ask(words[0])
        return all(self.is_word(self.ahead(offset), word) for offset, word in enumerate(words))

    def at_kind(self, *kinds: str) -> bool:
        """Whether the next token is of one of these kinds."""
        self._ask(*(f"a {kind}" for kind in kinds))
        return self.token.kind in kinds

    @staticmethod
    def is_word(token: Token, *words: str) -> bool:
        """Whether a token is one of these keywords or symbols."""
        return token.kind in (KEYWORD, SYMBOL) and token.text in words

    @staticmethod
    def is_name(token: Token) -> bool:
        """Whether a token can be a part of a name."""
        if token.kind == KEYWORD:
            return token.text in NON_RESERVED
        return token.kind in (NAME, QUOTED_NAME, UNICODE_NAME)

    def at_name(self) -> bool:
        """Whether a name is next."""
        self._ask("a name")
        return self.is_name(self.token)

    # --- reading ---

    def next(self) -> Token:
        """Read the next token, whatever it is."""
        token = self.token
        if token.kind != END:
            self._index += 1
        return token

    def accept(self, *words: str) -> bool:
        """Read the next token if it is one of these."""
        if self.at(*words):
            self.next()
            return True
        return False

    def accept_sequence(self, *words: str) -> bool:
        """Read these tokens, one after the other, if they are all there."""
        if not self.at_sequence(*words):
            return False
        for _ in words:
            self.next()
        return True

    def expect(self, *words: str) -> Token:
        """Read one of these, or say that it is missing."""
        if not self.at(*words):
            raise self.unexpected()
        return self.next()

    def expect_sequence(self, *words: str) -> None:
        """Read these, one after the other."""
        for word in words:
            self.expect(word)

    def expect_kind(self, *kinds: str) -> Token:
        """Read a token of one of these kinds."""
        if not self.at_kind(*kinds):
            raise self.unexpected()
        return self.next()

    def expect_end(self) -> None:
        """There must be nothing more."""
        self._ask("the end")
        if self.token.kind != END:
            raise self.unexpected()

    def one_of(self, *words: str) -> str:
        """Read one of these keywords and say which."""
        return self.expect(*words).text

    def comma_separated(self, read: Callable[[], T]) -> tuple[T, ...]:
        """One or more of something."""
        found = [read()]
        while self.accept(","):
            found.append(read())
        return tuple(found)

    def in_parentheses(self, read: Callable[[], T]) -> T:
        """Something in parentheses."""
        self.expect("(")
        found = read()
        self.expect(")")
        return found

    # --- names and simple literals ---

    def name(self) -> str:
        """A name of one part."""
        if not self.at_name():
            raise self.unexpected()
        token = self.next()
        if token.kind == QUOTED_NAME:
            found = quoted_name(token.text)
        elif token.kind == UNICODE_NAME:
            found = self._unicode_name(token)
        else:
            found = token.image
        if len(found) > MAX_NAME_LENGTH:
            raise self.error(f"a name is longer than {MAX_NAME_LENGTH} characters", token.pos)
        return found

    def _unicode_name(self, token: Token) -> str:
        body = token.text[3:-1].replace('""', '"')
        escape = "\\"
        if self.accept("UESCAPE"):
            escape = self._checked(lambda: unicode_escape_character(self.string()), token.pos)
        return self._checked(lambda: unescape_unicode(body, escape), token.pos)

    def identifier(self) -> Identifier:
        """A name of one or more parts."""
        start = self.token.pos
        parts = [self.name()]
        while self.is_word(self.token, ".") and self.is_name(self.ahead(1)):
            self.next()
            parts.append(self.name())
        return Identifier(tuple(parts), pos=self.since(start))

    def simple_identifier(self) -> Identifier:
        """A name of one part, as an identifier."""
        start = self.token.pos
        return Identifier((self.name(),), pos=self.since(start))

    def names_in_parentheses(self) -> tuple[str, ...]:
        """``(a, b)``."""
        return self.in_parentheses(lambda: self.comma_separated(self.name))

    def name_or_names(self) -> tuple[str, ...]:
        """``a`` or ``(a, b)``."""
        return self.names_in_parentheses() if self.at("(") else (self.name(),)

    def string(self) -> str:
        """A plain string between single quotes, without any prefix."""
        return plain_string(self.expect_kind(STRING).text)

    def unsigned_integer(self) -> int:
        """An integer that fits 32 bits, without a sign."""
        token = self.expect_kind(lexer.INTEGER)
        value = int(token.text) if len(token.text) < 20 else 1 << 40
        if value >= 1 << 31:
            raise self.error(f"{token.text} is too large here", token.pos)
        return value

    # --- positions and errors ---

    def since(self, start: Position) -> Position:
        """From a position to the end of what was read last."""
        return start.to(self._tokens[max(self._index - 1, 0)].pos)

    def error(self, what: str, pos: Position | None = None) -> SqlParserError:
        """An error about something that was read."""
        return syntax_error(self.text, pos or self.token.pos, what)

    def unexpected(self) -> SqlParserError:
        """The next token does not fit: say what would."""
        token = self.token
        expected = set(self._asked) if self._asked_at == self._index else set()
        words = {word for word in expected if word in KEYWORDS}
        meant = nearest(token.text, words) if token.kind in (NAME, KEYWORD) else None
        if token.kind == END:
            what = "the statement ends too early"
        elif token.kind == KEYWORD and token.text not in NON_RESERVED and "a name" in expected:
            what = f"{token.image} is a reserved word: as a name it is written `{token.image}`"
        else:
            what = f"{token} is not expected here"
        if meant is not None and meant != token.text:
            what += f"; did you mean {meant}?"
        elif self._index:
            what += self._doubt_about(self._tokens[self._index - 1])
        return syntax_error(self.text, token.pos, what, expected)

    @staticmethod
    def _doubt_about(before: Token) -> str:
        """A clause's keyword with a slip in it was perhaps read as a name."""
        meant = nearest(before.text, _CLAUSES) if before.kind == NAME else None
        return "" if meant is None else f"; did you mean {meant} where {before.image} stands before it?"

    def _ask(self, *what: str) -> None:
        if self._asked_at != self._index:
            self._asked_at = self._index
            self._asked.clear()
        self._asked.update(what)

    def _checked(self, read: Callable[[], T], pos: Position) -> T:
        try:
            return read()
        except ValueError as error:
            if isinstance(error, SqlParserError):
                raise
            raise self.error(str(error), pos) from None
