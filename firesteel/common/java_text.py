"""Numbers as Java writes them, where a user of Flink expects that."""

from __future__ import annotations

import math
import struct

__all__ = ["double_text", "float_text"]


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
    return _scientific_or_plain(repr(value))


def float_text(value: float) -> str:
    """A number as ``Float.toString`` writes its nearest 32-bit float.

    ::

        >>> float_text(0.1), float_text(16777217.0)
        ('0.1', '1.6777216E7')
    """
    if math.isnan(value) or math.isinf(value):
        return double_text(value)
    try:
        bits = struct.pack(">f", value)
    except OverflowError:
        return "Infinity" if value > 0 else "-Infinity"
    single = struct.unpack(">f", bits)[0]
    # The shortest decimal that is read back as the same 32 bits; nine digits always are.
    texts = (f"{single:.{digits}g}" for digits in range(1, 10))
    return _scientific_or_plain(next(text for text in texts if struct.pack(">f", float(text)) == bits))


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
