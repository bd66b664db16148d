"""Values as Java and Flink write them, where a user of Flink expects that."""

from __future__ import annotations

import datetime
import math
import struct
from array import array
from collections.abc import Iterable
from typing import Any

from firesteel.common.time import Instant
from firesteel.common.types import Row, RowKind

__all__ = [
    "double_text",
    "float_text",
    "instant_text",
    "list_text",
    "map_text",
    "row_text",
    "signed_byte_text",
    "time_text",
    "timestamp_text",
    "value_text",
]


def double_text(value: float) -> str:
    """A 64-bit float as ``Double.toString`` writes it.

    ::

        >>> double_text(1e10), double_text(100.0), double_text(0.0001)
        ('1.0E10', '100.0', '1.0E-4')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    # Java's decimals have two digits or more: of those, the nearest.
    nearest = f"{value:.1e}"
    return _scientific_or_plain(nearest if float(nearest) == value else repr(value))


def float_text(value: float) -> str:
    """A number as ``Float.toString`` writes its nearest 32-bit float.

    ::

        >>> float_text(0.1), float_text(16777217.0)
        ('0.1', '1.6777216E7')
    """
    if math.isnan(value) or math.isinf(value):
        return double_text(value)
    bits = _bits(value)
    if bits is None:
        return "Infinity" if value > 0 else "-Infinity"
    single = struct.unpack(">f", bits)[0]
    # The shortest decimal of two digits or more that is read back as the same 32 bits; nine digits always are.
    texts = (f"{single:.{digits}e}" for digits in range(1, 9))
    return _scientific_or_plain(next(text for text in texts if _bits(float(text)) == bits))


def _bits(value: float) -> bytes | None:
    """The 32 bits of a float, or None if it is too large for them."""
    try:
        return struct.pack(">f", value)
    except OverflowError:
        return None


def _scientific_or_plain(text: str) -> str:
    """A decimal in Java's form: plain from 0.001 up to 10 million, else with an exponent; always with a fraction."""
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return f"{sign}0.0"
    leading_zeros = len(whole + fraction) - len(digits)
    point = len(whole) - leading_zeros + int(exponent or 0)  # where the point stands, counted in digits
    digits = digits.rstrip("0")
    if -2 <= point <= 7:
        padded = digits.rjust(len(digits) - min(point, 0), "0").ljust(max(point, 0), "0")
        at = max(point, 0)
        return f"{sign}{padded[:at] or '0'}.{padded[at:] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def value_text(value: Any) -> str:
    """A value whose type nobody declared, as Flink's ``toString`` writes values of its kind inside a row.

    ::

        >>> value_text([True, None, 1e10, b"ab", {"k": ("x", 1)}])
        '[true, null, 1.0E10, [97, 98], {k=(x,1)}]'
    """
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, (bytes, bytearray)):
        return list_text(map(signed_byte_text, value))
    if isinstance(value, tuple):
        return f"({','.join(map(value_text, value))})"
    if isinstance(value, (list, array)):
        return list_text(map(value_text, value))
    if isinstance(value, dict):
        return map_text((value_text(key), value_text(item)) for key, item in value.items())
    return _object_text(value)


def _object_text(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        return timestamp_text(value)
    if isinstance(value, datetime.time):
        return time_text(value)
    if isinstance(value, Instant):
        return instant_text(value)
    if isinstance(value, Row):
        return row_text(value.get_row_kind(), map(value_text, value))
    return str(value)


def list_text(items: Iterable[str]) -> str:
    """A list or an array of items that are texts already."""
    return f"[{', '.join(items)}]"


def map_text(pairs: Iterable[tuple[str, str]]) -> str:
    """A map of keys and values that are texts already."""
    return "{" + ", ".join(f"{key}={item}" for key, item in pairs) + "}"


def row_text(kind: RowKind, fields: Iterable[str]) -> str:
    """A row of fields that are texts already."""
    return f"{kind}[{', '.join(fields)}]"


def signed_byte_text(value: int) -> str:
    """A byte, which is a number from -128 to 127 in Java."""
    return str(value - 256 if value > 127 else value)


def timestamp_text(value: datetime.datetime) -> str:
    """A ``java.sql.Timestamp``: a fraction of a second is always there, without zeros at its end."""
    fraction = f"{value.microsecond:06}".rstrip("0") or "0"
    return f"{value:%Y-%m-%d %H:%M:%S}.{fraction}".rjust(19 + 1 + len(fraction), "0")


def time_text(value: datetime.time) -> str:
    """A ``java.sql.Time``: whole seconds."""
    return value.strftime("%H:%M:%S")


def instant_text(value: Instant) -> str:
    """A ``java.time.Instant``: in UTC, with as many groups of three digits of the second as it needs."""
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value.seconds)
    nanos = f"{value.nanos:09}"
    while nanos.endswith("000"):
        nanos = nanos[:-3]
    return f"{moment.isoformat()}{'.' if nanos else ''}{nanos}Z"
