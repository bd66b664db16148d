"""Patterns of Java's ``DateTimeFormatter`` and ``SimpleDateFormat``: ``yyyy-MM-dd HH:mm:ss.SSS`` and the like."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from firesteel.table.functions.dates import DAY_NANOS, civil, days, days_of_month

__all__ = ["Parsed", "PatternError", "format_time", "parse_time_text"]

_MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]
_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


class PatternError(ValueError):
    """A pattern that Java would not take, or a text that does not follow its pattern."""


@dataclass
class Parsed:
    """What was read of a text: the local time in nanoseconds, and the offset from UTC in seconds if it had one."""

    nanos: int
    offset: int | None = None


@dataclass
class _Moment:
    """A local time taken apart for writing."""

    nanos: int
    offset: int
    zone: str
    lenient: bool
    year: int = field(init=False)
    month: int = field(init=False)
    day: int = field(init=False)
    since: int = field(init=False)
    of_day: int = field(init=False)

    def __post_init__(self) -> None:
        self.since, self.of_day = divmod(self.nanos, DAY_NANOS)
        self.year, self.month, self.day = civil(self.since)

    @property
    def weekday(self) -> int:
        """0 is Monday."""
        return (self.since + 3) % 7

    @property
    def day_of_year(self) -> int:
        return self.since - days(self.year, 1, 1) + 1

    def week(self) -> tuple[int, int]:
        """Year and week as in the United States: weeks begin on Sunday, the first has January 1st in it."""
        first = days(self.year, 1, 1)
        next_first = days(self.year + 1, 1, 1)
        if self.since >= next_first - (next_first + 4) % 7:
            return self.year + 1, 1
        return self.year, (self.since - (first - (first + 4) % 7)) // 7 + 1


@lru_cache(maxsize=256)
def _tokens(pattern: str) -> tuple[tuple[str, int | str], ...]:
    """A pattern as letters with their number, and texts in between, whose letter is empty."""
    result: list[tuple[str, int | str]] = []
    position = 0
    while position < len(pattern):
        letter = pattern[position]
        if letter == "'":
            text, position = _quoted(pattern, position)
            result.append(("", text))
        elif letter.isascii() and letter.isalpha():
            end = position
            while end < len(pattern) and pattern[end] == letter:
                end += 1
            result.append((letter, end - position))
            position = end
        else:
            result.append((letter if letter in "[]" else "", letter))
            position += 1
    return tuple(result)


def _quoted(pattern: str, position: int) -> tuple[str, int]:
    if pattern.startswith("''", position):
        return "'", position + 2
    text, position = "", position + 1
    while position < len(pattern):
        if pattern.startswith("''", position):
            text, position = text + "'", position + 2
        elif pattern[position] == "'":
            return text, position + 1
        else:
            text, position = text + pattern[position], position + 1
    raise PatternError(f"the pattern {pattern!r} ends inside quotes")


def format_time(nanos: int, pattern: str, offset: int = 0, zone: str = "UTC", lenient: bool = False) -> str:
    """A local time written by a pattern; `lenient` for the letters that SimpleDateFormat means differently."""
    moment = _Moment(nanos, offset, zone, lenient)
    parts = []
    for letter, count in _tokens(pattern):
        if letter == "":
            parts.append(str(count))
        elif letter not in "[]":
            write = _WRITERS.get(letter)
            if write is None:
                raise PatternError(f"the pattern {pattern!r} has the letter {letter!r}, which means nothing")
            parts.append(write(moment, int(count)))
    return "".join(parts)


def _digits(value: int, count: int) -> str:
    return f"{value:0{count}}"


def _year(moment: _Moment, count: int) -> str:
    year = moment.year if moment.year > 0 else 1 - moment.year
    return f"{year % 100:02}" if count == 2 else _digits(year, count)


def _plain_year(moment: _Moment, count: int) -> str:
    if moment.lenient:
        return _digits(moment.weekday + 1, count)
    return f"{moment.year % 100:02}" if count == 2 else _digits(moment.year, count)


def _name(names: list[str], index: int, count: int) -> str:
    return names[index][: 1 if count == 5 else 3 if count <= 3 else None]


def _month(moment: _Moment, count: int) -> str:
    return _digits(moment.month, count) if count <= 2 else _name(_MONTHS, moment.month - 1, count)


def _fraction(moment: _Moment, count: int) -> str:
    if moment.lenient:
        return _digits(moment.of_day // 1_000_000 % 1000, count)
    return f"{moment.of_day % 1_000_000_000:09}"[:count].ljust(count, "0")


def _local_weekday(moment: _Moment, count: int) -> str:
    sunday_first = (moment.weekday + 1) % 7 + 1
    return _digits(sunday_first, count) if count <= 2 else _name(_WEEKDAYS, moment.weekday, count)


def _quarter(moment: _Moment, count: int) -> str:
    quarter = (moment.month + 2) // 3
    if count <= 2:
        return _digits(quarter, count)
    return f"Q{quarter}" if count == 3 else f"{quarter}{['st', 'nd', 'rd', 'th'][quarter - 1]} quarter"


def _offset_text(zero: str) -> Callable[[_Moment, int], str]:
    def write(moment: _Moment, count: int) -> str:
        if moment.offset == 0 and zero:
            return zero
        sign, seconds = ("-", -moment.offset) if moment.offset < 0 else ("+", moment.offset)
        hours, minutes = divmod(seconds // 60, 60)
        if count == 1:
            return f"{sign}{hours:02}" + (f"{minutes:02}" if minutes else "")
        return f"{sign}{hours:02}{':' if count in (3, 5) else ''}{minutes:02}"

    return write


def _rfc_offset(moment: _Moment, count: int) -> str:
    sign, seconds = ("-", -moment.offset) if moment.offset < 0 else ("+", moment.offset)
    hours, minutes = divmod(seconds // 60, 60)
    return f"{sign}{hours:02}{minutes:02}"


def _hour(moment: _Moment) -> int:
    return moment.of_day // 3_600_000_000_000


_WRITERS: dict[str, Callable[[_Moment, int], str]] = {
    "G": lambda m, n: "AD" if m.year > 0 else "BC",
    "y": _year,
    "u": _plain_year,
    "Y": lambda m, n: f"{m.week()[0] % 100:02}" if n == 2 else _digits(m.week()[0], n),
    "Q": _quarter,
    "q": _quarter,
    "M": _month,
    "L": _month,
    "w": lambda m, n: _digits(m.week()[1], n),
    "W": lambda m, n: _digits((m.day + (m.since - m.day + 5) % 7 - 1) // 7 + 1, n),
    "d": lambda m, n: _digits(m.day, n),
    "D": lambda m, n: _digits(m.day_of_year, n),
    "F": lambda m, n: _digits((m.day - 1) // 7 + 1 if m.lenient else (m.day - 1) % 7 + 1, n),
    "E": lambda m, n: _name(_WEEKDAYS, m.weekday, n),
    "e": _local_weekday,
    "c": _local_weekday,
    "a": lambda m, n: "AM" if _hour(m) < 12 else "PM",
    "H": lambda m, n: _digits(_hour(m), n),
    "k": lambda m, n: _digits(_hour(m) or 24, n),
    "K": lambda m, n: _digits(_hour(m) % 12, n),
    "h": lambda m, n: _digits(_hour(m) % 12 or 12, n),
    "m": lambda m, n: _digits(m.of_day // 60_000_000_000 % 60, n),
    "s": lambda m, n: _digits(m.of_day // 1_000_000_000 % 60, n),
    "S": _fraction,
    "A": lambda m, n: _digits(m.of_day // 1_000_000, n),
    "n": lambda m, n: _digits(m.of_day % 1_000_000_000, n),
    "N": lambda m, n: _digits(m.of_day, n),
    "z": lambda m, n: m.zone,
    "V": lambda m, n: m.zone,
    "X": _offset_text("Z"),
    "x": _offset_text(""),
    "Z": _rfc_offset,
}

_NAMES = {"M": _MONTHS, "L": _MONTHS, "E": _WEEKDAYS}


def _reader(letter: str, count: int, next_is_number: bool, lenient: bool) -> str:
    """The regular expression for what a letter stands for, in a group of its own."""
    if letter in _NAMES and count >= 3:
        names = [name[: 3 if count == 3 else None] for name in _NAMES[letter]]
        return f"((?i:{'|'.join(sorted(names, key=len, reverse=True))}))"
    if letter == "a":
        return "((?i:AM|PM))"
    if letter == "G":
        return "(AD|BC)"
    if letter in "XxZ":
        return "(Z|[+-]\\d{2}(?::?\\d{2})?)"
    if letter in "zV":
        return "([A-Za-z/_]+(?:[+-]\\d{1,2}(?::?\\d{2})?)?)"
    if letter not in "yuMLdDHkKhmsSAnNQqwWFec":
        raise PatternError(f"nothing can be read by the letter {letter!r} of a pattern")
    if next_is_number or (not lenient and count >= 2 and letter != "y"):
        return f"(\\d{{{count}}})"
    if letter in "yu" and not lenient and count > 2:
        return f"(\\d{{{count},}})"
    if letter == "y" and count == 2 and not lenient:
        return "(\\d{2})"
    return "([+-]?\\d+)" if lenient else "(\\d+)"


@lru_cache(maxsize=256)
def _parser(pattern: str, lenient: bool) -> tuple[re.Pattern[str], tuple[tuple[str, int], ...]]:
    tokens = _tokens(pattern)
    expression, letters = "", []
    for position, (letter, count) in enumerate(tokens):
        following = tokens[position + 1][0] if position + 1 < len(tokens) else ""
        if letter == "":
            expression += re.escape(str(count))
        elif letter == "[":
            expression += "(?:"
        elif letter == "]":
            expression += ")?"
        else:
            number = isinstance(count, int)
            assert number
            adjacent = following != "" and following in "yuMLdDHkKhmsS"
            expression += _reader(letter, int(count), adjacent, lenient)
            letters.append((letter, int(count)))
    return re.compile(expression), tuple(letters)


def parse_time_text(text: str, pattern: str, lenient: bool = False) -> Parsed:
    """Read a text by a pattern. `lenient` as SimpleDateFormat: numbers may overflow, and what follows is let go."""
    expression, letters = _parser(pattern, lenient)
    match = expression.match(text) if lenient else expression.fullmatch(text)
    if match is None:
        raise PatternError(f"{text!r} does not follow the pattern {pattern!r}")
    values: dict[str, int] = {}
    offset = None
    for (letter, count), found in zip(letters, match.groups()):
        if found is None:
            continue
        if letter in "XxZ":
            offset = _read_offset(found)
        elif letter not in "zVGE":
            values[letter] = _read_value(letter, count, found, lenient)
    return Parsed(_assemble(values, lenient, text), offset)


def _read_offset(text: str) -> int:
    if text == "Z":
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60
    return -seconds if text[0] == "-" else seconds


def _read_value(letter: str, count: int, text: str, lenient: bool) -> int:
    if letter in "ML" and count >= 3:
        return next(i for i, name in enumerate(_MONTHS, 1) if name.lower().startswith(text.lower()))
    if letter == "a":
        return int(text.upper() == "PM")
    if letter == "S" and not lenient:
        return int(text.ljust(9, "0")[:9])
    if letter == "S":
        return int(text) * 1_000_000
    value = int(text)
    if letter == "y" and count == 2 and len(text) == 2:
        # Java takes two digits as from 2000 on; SimpleDateFormat as within 80 years before and 20 after today.
        century = datetime.date.today().year + 20
        return value + 2000 if not lenient or value + 2000 <= century else value + 1900
    return value


_LIMITS = {"M": (1, 12), "L": (1, 12), "d": (1, 31), "H": (0, 23), "m": (0, 59), "s": (0, 59), "h": (1, 12)}


def _assemble(values: dict[str, int], lenient: bool, text: str) -> int:
    if not lenient:
        for letter, value in values.items():
            low, high = _LIMITS.get(letter, (0, 10**18))
            if not low <= value <= high:
                raise PatternError(f"{text!r} has {value} where {low} to {high} is possible")
    year = values.get("y", values.get("u", 1970))
    month = values.get("M", values.get("L", 1))
    day = values.get("d", 1)
    if "D" in values:
        since = days(year, 1, 1) + values["D"] - 1
    else:
        if not lenient:
            # Java's resolver takes the last of the month where there is no such day.
            day = min(day, days_of_month(year, month))
        extra, month = divmod(month - 1, 12)
        since = days(year + extra, month + 1, 1) + day - 1
    hour = values.get("H", values.get("k", 0) % 24)
    if "h" in values or "K" in values:
        hour = values.get("h", values.get("K", 0)) % 12 + 12 * values.get("a", 0)
    seconds = (hour * 60 + values.get("m", 0)) * 60 + values.get("s", 0)
    return since * DAY_NANOS + seconds * 1_000_000_000 + values.get("S", values.get("n", 0))
