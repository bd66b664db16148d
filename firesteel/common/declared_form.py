"""Values in the form that their declared type gives them, as functions behind a PyFlink source see them.

Rows are :class:`Row` objects with the names of their fields, whatever they were written as; tuples are tuples; a whole
number that is too large for its type begins again from below, and a float has 32 bits, as in Java.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from firesteel.common.typeinfo import (
    BasicTypeInfo,
    ExternalTypeInfo,
    MapTypeInfo,
    NullableTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
    element_type_of,
)
from firesteel.common.types import Row

__all__ = ["declared_form"]

Form = Callable[[Any], Any]


def declared_form(type_info: TypeInformation | None) -> Form | None:
    """A function that gives values of this type their form, or None if they have it already.

    ::

        >>> declared_form(Types.ROW([Types.SHORT(), Types.STRING()]))((43878, "a"))
        Row(f0=-21658, f1='a')

    A value that does not fit the type, or a number of more than 64 bits, is left as it is.
    """
    if isinstance(type_info, BasicTypeInfo):
        if type_info == Types.FLOAT():
            return _single
        return None if type_info.bounds is None else _number(*type_info.bounds)
    if isinstance(type_info, (NullableTypeInfo, ExternalTypeInfo)):
        return declared_form(type_info.get_type_info())
    if isinstance(type_info, RowTypeInfo):
        return _row(type_info)
    if isinstance(type_info, TupleTypeInfo):
        return _tuple(type_info)
    if isinstance(type_info, MapTypeInfo):
        return _pairs(declared_form(type_info.key_type), declared_form(type_info.value_type))
    element = element_type_of(type_info)
    return None if element is None else _items(declared_form(element))


def _single(value: Any) -> Any:
    """A number with the 32 bits of a float."""
    if type(value) not in (float, int) or math.isnan(value):
        return value
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


_LONGS = range(-(2**63), 2**63)


def _number(low: int, high: int) -> Form | None:
    if high == _LONGS.stop:
        return None  # Java's largest number: Flink refuses what is larger, and so does the check of the type
    size = high - low

    def form(value: Any) -> Any:
        if type(value) is not int or low <= value < high or value not in _LONGS:
            return value
        return (value - low) % size + low

    return form


def _row(type_info: RowTypeInfo) -> Form:
    names = type_info.get_field_names()
    forms = [declared_form(field_type) for field_type in type_info.get_field_types()]

    def form(value: Any) -> Any:
        if type_info.find_mismatch(value) is not None and not _has_fields(value, names):
            return value
        row = Row(**dict(zip(names, map(_apply, forms, _fields(value, names)))))
        if isinstance(value, Row):
            row.set_row_kind(value.get_row_kind())
        return row

    return form


def _has_fields(value: Any, names: Sequence[str]) -> bool:
    """Whether a value has just these fields, be their values too large or not."""
    if isinstance(value, dict) or (isinstance(value, Row) and value._fields is not None):
        return set(value if isinstance(value, dict) else value._fields or ()) <= set(names)
    return isinstance(value, (Row, tuple, list)) and len(value) == len(names)


def _fields(value: Any, names: Sequence[str]) -> Sequence[Any]:
    if isinstance(value, Row) and value._fields is not None:
        value = value.as_dict()
    return [value.get(name) for name in names] if isinstance(value, dict) else list(value)


def _tuple(type_info: TupleTypeInfo) -> Form:
    forms = [declared_form(field_type) for field_type in type_info.get_field_types()]

    def form(value: Any) -> Any:
        if not isinstance(value, (tuple, list, Row)) or len(value) != len(forms):
            return value
        changed = tuple(map(_apply, forms, value))
        return value if type(value) is not list and changed == tuple(value) else changed

    return form


def _pairs(of_key: Form | None, of_value: Form | None) -> Form | None:
    if of_key is None and of_value is None:
        return None

    def form(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {_apply(of_key, key): _apply(of_value, item) for key, item in value.items()}

    return form


def _items(of_item: Form | None) -> Form | None:
    if of_item is None:
        return None
    return lambda value: type(value)(map(of_item, value)) if type(value) in (list, tuple) else value


def _apply(form: Form | None, value: Any) -> Any:
    return value if form is None or value is None else form(value)
