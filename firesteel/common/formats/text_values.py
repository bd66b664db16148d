"""How single values are written as text in JSON and CSV, and read back, by declared type."""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
from collections.abc import Callable
from typing import Any

from firesteel.common.formats.fields import Unreadable
from firesteel.common.java_text import double_text, float_text
from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    LocalTimeTypeInfo,
    PrimitiveArrayTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)

__all__ = ["BYTES", "read_text", "text_reader", "text_writer"]

BYTES = PrimitiveArrayTypeInfo(BasicTypeInfo(BasicType.BYTE))

_LOCAL = LocalTimeTypeInfo.TimeType


def read_text(kind: TypeInformation, text: str, read: Callable[[str], Any]) -> Any:
    """Read a text, and say what was expected if that fails."""
    try:
        return read(text)
    except (ValueError, ArithmeticError) as error:
        raise Unreadable(f"expected {kind}, got {text!r:.60}") from error


def text_reader(kind: TypeInformation) -> Callable[[str], Any] | None:
    """How a value of a type is read from text, with ValueError for what is none; None for a type with parts."""
    if isinstance(kind, BasicTypeInfo):
        return _whole_number(kind) if kind.bounds is not None else _BASIC_READERS[kind.basic_type]
    if isinstance(kind, DateTypeInfo) or kind == LocalTimeTypeInfo(_LOCAL.LOCAL_DATE):
        return datetime.date.fromisoformat
    if isinstance(kind, TimeTypeInfo) or kind == LocalTimeTypeInfo(_LOCAL.LOCAL_TIME):
        return _read_time
    if isinstance(kind, TimestampTypeInfo) or kind == LocalTimeTypeInfo(_LOCAL.LOCAL_DATE_TIME):
        return _read_timestamp
    return _read_base64 if kind == BYTES else None


def text_writer(kind: TypeInformation, *, rfc3339: bool) -> Callable[[Any], str] | None:
    """How a value of a type is written as text; None for a type with parts.

    :param rfc3339: Whether dates and times have the form of RFC 3339, with ``T`` and ``Z``.
    """
    if isinstance(kind, BasicTypeInfo):
        return _BASIC_WRITERS.get(kind.basic_type, str)
    if isinstance(kind, DateTypeInfo) or kind == LocalTimeTypeInfo(_LOCAL.LOCAL_DATE):
        return datetime.date.isoformat
    if isinstance(kind, TimeTypeInfo) or kind == LocalTimeTypeInfo(_LOCAL.LOCAL_TIME):
        return (lambda value: f"{value.isoformat()}Z") if rfc3339 else datetime.time.isoformat
    if isinstance(kind, TimestampTypeInfo) or kind == LocalTimeTypeInfo(_LOCAL.LOCAL_DATE_TIME):
        separator, end = ("T", "Z") if rfc3339 else (" ", "")
        return lambda value: f"{_without_zone(value).isoformat(separator)}{end}"
    return (lambda value: base64.b64encode(bytes(value)).decode("ascii")) if kind == BYTES else None


# --- reading ------------------------------------------------------------------------------------------


def _whole_number(kind: BasicTypeInfo) -> Callable[[str], int]:
    lowest, too_large = kind.bounds or (0, 0)

    def read(text: str) -> int:
        value = int(text)
        if not lowest <= value < too_large:
            raise ValueError(f"{value} is out of range")
        return value

    return read


def _read_boolean(text: str) -> bool:
    lower = text.strip().lower()
    if lower not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return lower == "true"


def _read_character(text: str) -> str:
    if len(text) != 1:
        raise ValueError(f"{text!r} is not one character")
    return text


def _read_time(text: str) -> datetime.time:
    return datetime.time.fromisoformat(_python_form(text)).replace(tzinfo=None)


def _read_timestamp(text: str) -> datetime.datetime:
    return _without_zone(datetime.datetime.fromisoformat(_python_form(text)))


def _python_form(text: str) -> str:
    text = text.strip()
    return f"{text[:-1]}+00:00" if text.endswith(("Z", "z")) else text


def _without_zone(value: datetime.datetime) -> datetime.datetime:
    """The date and time in UTC, as a value without a zone; one without a zone stays as it is."""
    return value if value.tzinfo is None else value.astimezone(datetime.timezone.utc).replace(tzinfo=None)


_EPOCH = datetime.datetime(1970, 1, 1)


def _read_instant(text: str) -> Instant:
    since = _read_timestamp(text) - _EPOCH
    return Instant(since.days * 86_400 + since.seconds, since.microseconds * 1000)


def _read_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


_BASIC_READERS: dict[BasicType, Callable[[str], Any]] = {
    BasicType.STRING: str,
    BasicType.BOOLEAN: _read_boolean,
    BasicType.FLOAT: float,
    BasicType.DOUBLE: float,
    BasicType.CHAR: _read_character,
    BasicType.BIG_INT: int,
    BasicType.BIG_DEC: decimal.Decimal,
    BasicType.INSTANT: _read_instant,
}


# --- writing ------------------------------------------------------------------------------------------


def _write_instant(value: Instant) -> str:
    moment = _EPOCH + datetime.timedelta(seconds=value.seconds)
    fraction = f".{value.nanos:09d}".rstrip("0") if value.nanos else ""
    return f"{moment.isoformat()}{fraction}Z"


_BASIC_WRITERS: dict[BasicType, Callable[[Any], str]] = {
    BasicType.BOOLEAN: lambda value: "true" if value else "false",
    BasicType.FLOAT: float_text,
    BasicType.DOUBLE: lambda value: double_text(float(value)),
    BasicType.BIG_DEC: lambda value: format(value, "f"),
    BasicType.INSTANT: _write_instant,
}
