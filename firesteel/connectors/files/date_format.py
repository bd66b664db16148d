"""Dates and times as text, by the patterns of Java's ``DateTimeFormatter``."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from firesteel.errors import ConfigurationError

__all__ = ["date_formatter"]

# Not calendar.month_name: names of folders must not depend on the locale of the process.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "y": lambda at: at.year,
    "u": lambda at: at.year,
    "M": lambda at: at.month,
    "L": lambda at: at.month,
    "d": lambda at: at.day,
    "D": lambda at: at.timetuple().tm_yday,
    "H": lambda at: at.hour,
    "h": lambda at: (at.hour - 1) % 12 + 1,
    "m": lambda at: at.minute,
    "s": lambda at: at.second,
}
_TOKENS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'")


def date_formatter(pattern: str) -> Callable[[datetime], str]:
    """What writes a date by a pattern such as ``yyyy-MM-dd--HH``. The texts of months and days are English.

    :raises ConfigurationError: The pattern has a letter that is not known, or an open quote.
    """
    if not isinstance(pattern, str) or not pattern:
        raise ConfigurationError(f"a date pattern is a text such as 'yyyy-MM-dd--HH', got {pattern!r}")
    parts = [_part(match, pattern) for match in _TOKENS.finditer(pattern)]
    return lambda at: "".join([part(at) for part in parts])


def _part(match: re.Match[str], pattern: str) -> Callable[[datetime], str]:
    token = match.group()
    if token == "''" or match.group(1) is not None:
        text = (match.group(1) or "'").replace("''", "'")
        return lambda at: text
    letter, width = match.group(2), len(token)
    if letter is None and token != "'":
        return lambda at: token
    part = _letter(letter, width)
    if part is None:
        raise ConfigurationError(
            f"the date pattern {pattern!r} has {token!r}, which is not known here. Known are the letters "
            "y u M L d D E H h m s S a, texts in single quotes, and all that is not a letter."
        )
    return part


def _letter(letter: str | None, width: int) -> Callable[[datetime], str] | None:
    if letter in ("M", "L") and width in (3, 4):
        return lambda at: _MONTHS[at.month - 1][: 3 if width == 3 else None]
    if letter == "E" and width <= 4:
        return lambda at: _DAYS[at.weekday()][: None if width == 4 else 3]
    if letter in ("y", "u") and width == 2:
        return lambda at: f"{at.year % 100:02d}"
    if letter == "a" and width == 1:
        return lambda at: "AM" if at.hour < 12 else "PM"
    if letter == "S" and width <= 9:
        return lambda at: f"{at.microsecond:06d}000"[:width]
    number = _NUMBERS.get(letter or "")
    return None if number is None or width > 4 else lambda at: f"{number(at):0{width}d}"
