"""Numbers, strings, dates, intervals."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable

from firesteel.table.sql import lexer
from firesteel.table.sql._parsing.types import TypeParser
from firesteel.table.sql.lexer import BINARY, ESCAPED_STRING, PREFIXED_STRING, STRING, UNICODE_STRING
from firesteel.table.sql.nodes.base import Expression, Position
from firesteel.table.sql.nodes.expressions import (
    BinaryLiteral,
    BooleanLiteral,
    DateTimeLiteral,
    IntervalLiteral,
    NullLiteral,
    NumberLiteral,
    Prefix,
    StringLiteral,
)
from firesteel.table.sql.strings import (
    escaped_string,
    hexadecimal_digits,
    plain_string,
    prefixed_string,
    unescape_unicode,
    unicode_escape_character,
)

NUMBERS = (lexer.INTEGER, lexer.DECIMAL, lexer.APPROXIMATE)
STRINGS = (STRING, PREFIXED_STRING, UNICODE_STRING, ESCAPED_STRING, BINARY)
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_TIME = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.\d*)?", re.ASCII)
_BRACED = {"{D": "DATE", "{T": "TIME", "{TS": "TIMESTAMP"}


class LiteralParser(TypeParser):
    """Reads literals."""

    def literal(self) -> Expression:
        """A literal of any kind, with a sign if it is a number."""
        if self.at("INTERVAL"):
            return self.interval_literal()
        found = self.literal_or_none()
        if found is not None:
            return found
        if self.at("+", "-"):
            return self.signed_number()
        raise self.unexpected()

    def literal_or_none(self) -> Expression | None:
        """A literal that is no interval and has no sign, if there is one."""
        if self.at_kind(*NUMBERS) or (self.at("DECIMAL") and self.ahead(1).kind == STRING):
            return self.unsigned_number()
        if self.at_kind(*STRINGS):
            return self.any_string()
        start = self.token.pos
        if self.at("TRUE", "FALSE", "UNKNOWN"):
            value = {"TRUE": True, "FALSE": False, "UNKNOWN": None}[self.next().text]
            return BooleanLiteral(value, pos=start)
        if self.accept("NULL"):
            return NullLiteral(pos=start)
        return self._date_time()

    def unsigned_number(self) -> NumberLiteral:
        """A number without a sign."""
        start = self.token.pos
        if self.accept("DECIMAL"):
            text = self.string()
            if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII):
                raise self.error(f"{text!r} is not a decimal number", start)
            return NumberLiteral(text, pos=self.since(start))
        token = self.expect_kind(*NUMBERS)
        return NumberLiteral(token.text, token.kind == lexer.APPROXIMATE, pos=token.pos)

    def signed_number(self) -> Expression:
        """A number with or without a sign."""
        start = self.token.pos
        negative = self.token.text == "-"
        self.accept("+", "-")
        number = self.unsigned_number()
        return Prefix("-", number, pos=self.since(start)) if negative else number

    def any_string(self) -> Expression:
        """A string with or without a prefix; several in a row are one."""
        start = self.token.pos
        token = self.expect_kind(*STRINGS)
        return self._checked(lambda: self._string_value(token), start)

    def _string_value(self, token: lexer.Token) -> Expression:
        start = token.pos
        if token.kind == BINARY:
            digits = hexadecimal_digits(plain_string(token.text[1:]))
            while self.token.kind == STRING:
                digits += hexadecimal_digits(self.string())
            return BinaryLiteral(digits, pos=self.since(start))
        if token.kind == ESCAPED_STRING:
            return StringLiteral(escaped_string(token.text), pos=start)
        character_set, value = None, ""
        if token.kind == PREFIXED_STRING:
            character_set, value = prefixed_string(token.text)
        else:
            value = plain_string(token.text[2:] if token.kind == UNICODE_STRING else token.text)
        while self.token.kind == STRING:
            value += self.string()
        if token.kind == UNICODE_STRING:
            escape = unicode_escape_character(self.string()) if self.accept("UESCAPE") else "\\"
            value = unescape_unicode(value, escape)
        elif self.at("UESCAPE"):
            raise self.error("UESCAPE stands only behind a string that begins with U&")
        return StringLiteral(value, character_set, pos=self.since(start))

    def _date_time(self) -> Expression | None:
        start = self.token.pos
        if self.at(*_BRACED):
            kind = _BRACED[self.next().text]
            text = self.string()
            self.expect("}")
            self._checked(lambda: _check_date_time(kind, text), start)
        elif self.at("DATE", "TIME", "TIMESTAMP", "DATETIME") and self.ahead(1).kind == STRING:
            kind = self.next().text
            text = self.string()
        elif self.at_sequence("TIMESTAMP", "WITH", "LOCAL"):
            return self.local_timestamp()
        else:
            return None
        return DateTimeLiteral(kind, text, pos=self.since(start))

    def local_timestamp(self) -> DateTimeLiteral:
        """``TIMESTAMP WITH LOCAL TIME ZONE '...'``."""
        start = self.token.pos
        self.expect_sequence("TIMESTAMP", "WITH", "LOCAL", "TIME", "ZONE")
        text = self.string()
        return DateTimeLiteral("TIMESTAMP_LTZ", text, pos=self.since(start))

    def interval_literal(self) -> IntervalLiteral:
        """``INTERVAL '1' DAY``."""
        start = self.token.pos
        self.expect("INTERVAL")
        negative = self.at("-")
        self.accept("+", "-")
        return self.interval_literal_rest(start, negative)

    def interval_literal_rest(self, start: Position, negative: bool) -> IntervalLiteral:
        """What follows INTERVAL and its sign."""
        text = self.string()
        if not text:
            raise self.error("an interval needs a number", start)
        qualifier = self.interval_qualifier()
        return IntervalLiteral(text, qualifier, negative, pos=self.since(start))


# Only what stands in braces is checked here; DATE 'x' is found when the type of the literal is asked for, as in Flink.
def _check_date_time(kind: str, text: str) -> None:
    checks: dict[str, Callable[[str], bool]] = {"DATE": _is_date, "TIME": _is_time}
    if not checks.get(kind, _is_timestamp)(text):
        form = {"DATE": "yyyy-MM-dd", "TIME": "HH:mm:ss"}.get(kind, "yyyy-MM-dd HH:mm:ss")
        raise ValueError(f"{text!r} is not a {kind}: it is written {form}")


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    return 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year or 4, month)[1]


def _is_time(text: str) -> bool:
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return False
    hour, minute, second = map(int, match.groups())
    return hour < 24 and minute < 60 and second < 60


def _is_timestamp(text: str) -> bool:
    date, _, time = text.strip().partition(" ")
    return _is_date(date) and (not time or _is_time(time))
