"""Where a key lives: a hash that is the same in every process, key groups, and which subtask owns which group."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import uuid
import zlib
from collections.abc import Iterable
from typing import Any

from firesteel.common import Row
from firesteel.errors import KeyError_

DEFAULT_MAX_PARALLELISM = 128
_MASK = 0xFFFFFFFFFFFFFFFF
_NUMBERS = (int, float, complex, decimal.Decimal, fractions.Fraction)


def stable_hash(key: Any) -> int:
    """A 64-bit hash that is equal for equal keys in every process, on every machine and Python version.

    Python's own ``hash()`` is not: it is salted for strings. Raises :class:`KeyError_` for keys without a value of
    their own (lists, arrays, enums, objects with identity hashing).
    """
    if isinstance(key, enum.Enum):
        raise KeyError_(
            f"an Enum cannot be a key: {key!r}; its hash differs between processes. Use its .name or .value"
        )
    if isinstance(key, str):
        return _mix(zlib.crc32(key.encode("utf-8", "surrogatepass")) | len(key) << 32)
    if isinstance(key, _NUMBERS):
        if key != key:
            raise KeyError_("NaN cannot be a key: it is not equal to itself. Replace it before key_by")
        return _mix(hash(key) & _MASK)  # hash() of numbers is defined by the language: not salted, equal across types
    if key is None:
        return 0x9E3779B97F4A7C15
    if isinstance(key, bytes):
        return _mix(zlib.crc32(key) | len(key) << 32 | 1 << 62)
    if isinstance(key, tuple):
        return _combine(stable_hash(part) for part in key)
    if isinstance(key, Row):
        return _combine(stable_hash(part) for part in key)
    if isinstance(key, frozenset):
        return _mix(sum(stable_hash(part) for part in key) & _MASK)
    return _hash_other(key)


def _hash_other(key: Any) -> int:
    if isinstance(key, datetime.datetime):
        moment = key.timestamp() if key.tzinfo else key.isoformat()
        return stable_hash(("datetime", moment))
    if isinstance(key, (datetime.date, datetime.time, datetime.timedelta)):
        return stable_hash((type(key).__name__, str(key)))
    if isinstance(key, uuid.UUID):
        return _mix(key.int & _MASK ^ key.int >> 64)
    if dataclasses.is_dataclass(key) and not isinstance(key, type):
        return _hash_dataclass(key)
    raise KeyError_(_refusal(key))


def _hash_dataclass(key: Any) -> int:
    if type(key).__hash__ is None or not type(key).__dataclass_params__.frozen:
        raise KeyError_(
            f"a {type(key).__name__} cannot be a key: the dataclass can be changed. "
            "Declare it with @dataclass(frozen=True), or use a tuple of its fields"
        )
    fields = (getattr(key, field.name) for field in dataclasses.fields(key) if field.compare)
    return _combine((stable_hash(type(key).__qualname__), *map(stable_hash, fields)))


def _refusal(key: Any) -> str:
    name = type(key).__name__
    if isinstance(key, (list, dict, set, bytearray)) or hasattr(key, "__array__"):
        return f"a {name} cannot be a key: it can be changed. Use a tuple of its values instead; got {key!r:.100}"
    return (
        f"a {name} cannot be a key: its hash is not known to be the same in every process. "
        "Use a number, a string, a tuple of those, or a frozen dataclass"
    )


def _combine(hashes: Iterable[int]) -> int:
    combined = 0x345678
    for part in hashes:
        combined = _mix(combined * 31 + part & _MASK)
    return combined


def _mix(value: int) -> int:
    """Spread the bits: neighbouring numbers must not land in neighbouring groups only."""
    value &= _MASK
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33


def key_group(key: Any, max_parallelism: int) -> int:
    """The key group of a key."""
    return stable_hash(key) % max_parallelism


def subtask_of_group(group: int, parallelism: int, max_parallelism: int) -> int:
    """The subtask that owns a group."""
    return group * parallelism // max_parallelism


def subtask_of_key(key: Any, parallelism: int, max_parallelism: int) -> int:
    """The subtask that owns a key."""
    return subtask_of_group(key_group(key, max_parallelism), parallelism, max_parallelism)


def group_range(subtask: int, parallelism: int, max_parallelism: int) -> range:
    """The groups that a subtask owns: contiguous, together covering all groups exactly once."""
    first = (subtask * max_parallelism + parallelism - 1) // parallelism
    last = ((subtask + 1) * max_parallelism - 1) // parallelism
    return range(first, last + 1)
