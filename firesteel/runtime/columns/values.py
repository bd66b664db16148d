"""What a value of an Arrow column is in Python: the same that Spark's ``collect`` gives, and Flink's rows have.

A point in time (a timestamp with a zone) is the local date and time, without a zone; one in nanoseconds is an
:class:`~firesteel.common.time.Instant`, which loses nothing. A struct is a :class:`~firesteel.common.types.Row`, a map
a dict.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyarrow import types

from firesteel.common.time import Instant
from firesteel.common.types import Row
from firesteel.errors import TypeMismatchError

Convert = Callable[[Any], Any]


def python_values(column: Any) -> list[Any]:
    """The values of an Arrow array."""
    kind = column.type
    if types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if (types.is_integer(kind) or types.is_floating(kind)) and not column.null_count:
        plain: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
        return plain
    if types.is_timestamp(kind):
        return _moments(column)
    values: list[Any] = column.to_pylist()
    convert = _converter(kind)
    return values if convert is None else [None if value is None else convert(value) for value in values]


def _moments(column: Any) -> list[Any]:
    kind = column.type
    if kind.unit == "ns" and kind.tz is not None:
        return [None if nanos is None else _instant(nanos) for nanos in column.cast(pa.int64()).to_pylist()]
    micros = column.cast(pa.timestamp("us"), safe=False)
    values: list[Any] = micros.to_numpy(zero_copy_only=False).tolist()
    if int in set(map(type, values)):  # what numpy gives where there is no such datetime
        raise TypeMismatchError(f"a column of type {kind} has a date that Python's datetime has not: years 1 to 9999")
    return values if kind.tz is None else [None if value is None else local_datetime(value) for value in values]


def local_datetime(value: datetime.datetime) -> datetime.datetime:
    """A point in time, of UTC if it says nothing else: the local date and time, without a zone."""
    aware = value.replace(tzinfo=datetime.timezone.utc) if value.tzinfo is None else value
    return aware.astimezone().replace(tzinfo=None)


def _instant(nanos: int) -> Instant:
    return Instant(*divmod(nanos, 1_000_000_000))


@lru_cache(maxsize=256)
def _converter(kind: Any) -> Convert | None:
    """How a value as Arrow gives it, nested in others or not, becomes what it is here; None: it is that already."""
    if types.is_timestamp(kind):
        if kind.unit == "ns":
            return (
                (lambda value: _instant(value.value)) if kind.tz is not None else (lambda value: value.to_pydatetime())
            )
        return local_datetime if kind.tz is not None else None
    if types.is_struct(kind):
        return _row_maker(kind)
    if types.is_map(kind):
        return _dict_maker(_converter(kind.key_type), _converter(kind.item_type))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        element = _converter(kind.value_type)
        return None if element is None else lambda values: [None if each is None else element(each) for each in values]
    return None


def _row_maker(kind: Any) -> Convert:
    fields = [kind.field(index) for index in range(kind.num_fields)]
    template = Row(*(field.name for field in fields))
    converters = [_converter(field.type) for field in fields]

    def convert(value: dict[str, Any]) -> Row:
        values = zip(value.values(), converters, strict=True)
        return template(*(item if item is None or change is None else change(item) for item, change in values))

    return convert


def _dict_maker(key: Convert | None, item: Convert | None) -> Convert:
    def convert(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
        return {key(k) if key else k: v if v is None or item is None else item(v) for k, v in pairs}

    return convert
