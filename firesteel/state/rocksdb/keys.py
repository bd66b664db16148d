"""Keys as bytes, so that equal keys have equal bytes and no key's bytes are the beginning of another's.

Pickle does not serve: it writes 1 and 1.0 differently, though they are one key, and a string that is twice in a tuple
differently from two equal strings. Keys of the types that ``key_by`` takes are written by rules of our own; any other
object (keys of map state may be anything) gets a number when it is first seen. The bytes are used within one process
only.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import fractions
import struct
import uuid
from typing import Any

from firesteel.common import Row

_LENGTH = struct.Struct(">I")
_NUMBERS = (int, float, complex, decimal.Decimal, fractions.Fraction)
_SMALL_INT = struct.Struct(">Bq")
_TUPLE, _STRING, _BYTES, _INT, _LARGE_INT, _NONE, _NUMBERED, _RATIO, _OBJECT, _SET = b"tsbin0?rxS"


class KeyCodec:
    """Writes keys as bytes, and reads those of the plain types back."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._numbered: list[Any] = []

    def encode(self, key: Any) -> bytes:
        """The bytes of a key."""
        kind = key.__class__
        if kind is str:
            text: bytes = key.encode("utf-8", "surrogatepass")
            return b"s" + _LENGTH.pack(len(text)) + text
        if kind is int:
            return _int(key)
        if kind is tuple:
            return b"t" + _LENGTH.pack(len(key)) + b"".join(map(self.encode, key))
        if key is None:
            return b"0"
        return self._encode_other(key)

    def _encode_other(self, key: Any) -> bytes:
        if isinstance(key, str):
            return self.encode(str(key))
        if isinstance(key, bytes):
            return b"b" + _LENGTH.pack(len(key)) + key
        if isinstance(key, _NUMBERS):
            return _number(key)
        if isinstance(key, tuple):
            return self.encode(tuple(key))
        if isinstance(key, frozenset):
            return b"S" + _LENGTH.pack(len(key)) + b"".join(sorted(map(self.encode, key)))
        parts = _parts(key)
        return self._encode_numbered(key) if parts is None else b"x" + self.encode(parts)

    def _encode_numbered(self, key: Any) -> bytes:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbered)
            self._numbered.append(key)
        return b"?" + _LENGTH.pack(number)

    def is_plain(self, key: Any) -> bool:
        """Whether :meth:`decode` gives the key itself, not only an equal one."""
        kind = key.__class__
        if kind is str or kind is int or kind is bytes or key is None:
            return True
        if kind is tuple:
            return all(map(self.is_plain, key))
        return key in self._numbers if kind.__hash__ is not None else False

    def decode(self, data: bytes, start: int = 0) -> tuple[Any, int]:
        """The key that begins at ``start``, and where it ends. What is not plain comes back as None."""
        tag = data[start]
        start += 1
        if tag == _RATIO:
            return None, self.decode(data, self.decode(data, start)[1])[1]
        if tag == _OBJECT:
            return None, self.decode(data, start)[1]
        if tag == _INT:
            return _SMALL_INT.unpack_from(data, start - 1)[1], start + 8
        if tag == _NONE:
            return None, start
        (length,) = _LENGTH.unpack_from(data, start)
        start += 4
        if tag == _STRING:
            return data[start : start + length].decode("utf-8", "surrogatepass"), start + length
        if tag == _BYTES:
            return data[start : start + length], start + length
        if tag == _TUPLE:
            parts = []
            for _ in range(length):
                part, start = self.decode(data, start)
                parts.append(part)
            return tuple(parts), start
        if tag == _NUMBERED:
            return self._numbered[length], start
        if tag == _LARGE_INT:
            return int(data[start : start + length], 16), start + length
        if tag == _SET:
            for _ in range(length):
                start = self.decode(data, start)[1]
            return None, start
        return None, start + length


def _int(key: int) -> bytes:
    if -(1 << 63) <= key < 1 << 63:
        return _SMALL_INT.pack(_INT, key)
    digits = b"%x" % key
    return b"n" + _LENGTH.pack(len(digits)) + digits


def _number(key: Any) -> bytes:
    """Numbers of all types: equal ones have equal bytes."""
    if isinstance(key, complex):
        if key.imag:
            text = repr((key.real + 0.0, key.imag + 0.0)).encode()
            return b"c" + _LENGTH.pack(len(text)) + text
        key = key.real
    try:
        numerator, denominator = key.as_integer_ratio()
    except (OverflowError, ValueError):  # infinite, or not a number
        text = repr(float(key)).encode()
        return b"f" + _LENGTH.pack(len(text)) + text
    if denominator == 1:
        return _int(numerator)
    return b"r" + _int(numerator) + _int(denominator)


def _parts(key: Any) -> tuple[Any, ...] | None:
    """What makes keys of this type equal, or None for types we do not know."""
    if isinstance(key, Row):
        names = key._fields
        values = list(key) if names is None else sorted(zip(names, key), key=lambda pair: pair[0])
        return ("row", key.get_row_kind().value, *values)
    if isinstance(key, datetime.datetime):
        if key.tzinfo is None:
            return ("datetime", key.isoformat())
        since = key - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        return ("instant", since // datetime.timedelta(microseconds=1))
    if isinstance(key, (datetime.date, datetime.time, datetime.timedelta)):
        return (type(key).__name__, str(key))
    if isinstance(key, uuid.UUID):
        return ("uuid", key.int)
    settings = getattr(key, "__dataclass_params__", None)
    if settings is not None and settings.frozen and settings.eq:
        return (type(key).__qualname__, *(getattr(key, part.name) for part in dataclasses.fields(key) if part.compare))
    return None
