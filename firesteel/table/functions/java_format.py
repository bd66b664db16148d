"""Java's ``String.format``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from firesteel.common.java_text import value_text

__all__ = ["java_format"]

_FIELD = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


def java_format(pattern: str, values: Sequence[Any]) -> str | None:
    """The pattern with the values put in; None where Java would raise."""
    out, at, number = [], 0, 0
    for field in _FIELD.finditer(pattern):
        between = pattern[at : field.start()]
        if "%" in between:
            return None
        index, flags, width, precision, kind = field.groups()
        at = field.end()
        if kind in "%n":
            out.append(between + _padded("%" if kind == "%" else "\n", flags, width))
            continue
        position = int(index) - 1 if index else number
        number += 0 if index else 1
        if not 0 <= position < len(values):
            return None
        text = _written(values[position], flags, precision, kind, int(width or 0))
        if text is None:
            return None
        out.append(between + _padded(text, flags, width))
    return None if "%" in pattern[at:] else "".join(out) + pattern[at:]


def _padded(text: str, flags: str, width: str | None) -> str:
    size = int(width or 0)
    return text.ljust(size) if "-" in flags else text.rjust(size)


def _written(value: Any, flags: str, precision: str | None, kind: str, width: int) -> str | None:
    if kind in "sS":
        text = value_text(value)
        text = text if precision is None else text[: int(precision)]
    elif kind in "bB":
        text = "true" if value is not None and value is not False else "false"
    elif value is None:
        text = "null"
    elif kind in "cC":
        text = chr(value) if isinstance(value, int) else str(value) if len(str(value)) == 1 else ""
        if not text:
            return None
    else:
        written = _number(value, flags, precision, kind, width)
        if written is None:
            return None
        text = written
    return text.upper() if kind.isupper() else text


def _number(value: Any, flags: str, precision: str | None, kind: str, width: int) -> str | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind in "dxXo":
        if not whole:
            return None
        text = {
            "d": lambda: str(abs(value)),
            "x": lambda: _hex(value),
            "X": lambda: _hex(value),
            "o": lambda: _oct(value),
        }[kind]()
        sign = "-" if value < 0 and kind == "d" else ""
        text = f"{int(text):,}" if "," in flags and kind == "d" else text
    elif kind in "feEgG" and isinstance(value, (float, Decimal)):
        digits = 6 if precision is None else int(precision)
        code = kind.lower()
        text = format(abs(value), f"{',' if ',' in flags else ''}.{digits}{code}")
        sign = "-" if value < 0 else ""
    else:
        return None
    sign = sign or ("+" if "+" in flags else " " if " " in flags else "")
    if "(" in flags and sign == "-":
        return f"({text})"
    return sign + (text.rjust(width - len(sign), "0") if "0" in flags else text)


def _hex(value: int) -> str:
    return format(value & (0xFFFFFFFF if -(1 << 31) <= value < 1 << 31 else 0xFFFFFFFFFFFFFFFF), "x")


def _oct(value: int) -> str:
    return format(value & (0xFFFFFFFF if -(1 << 31) <= value < 1 << 31 else 0xFFFFFFFFFFFFFFFF), "o")
