"""Reading and replacing a field of a record by its name or position, whatever kind of record it is."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

from firesteel.common.types import Row
from firesteel.errors import ConfigurationError, TypeMismatchError

Getter = Callable[[Any], Any]
Replacer = Callable[[Any, Any], Any]


class Field:
    """A field of a record, by name (str) or position (int): of tuples, named tuples, Rows, dataclasses, dicts, objects.

    The way to read the field is found out once per record type; from then on a read costs a dict lookup and a
    C call, and :meth:`many` costs a C call only.

    >>> Field(1)(("a", 5))
    5
    >>> Field("n").replace({"n": 1, "m": 2}, 7)
    {'n': 7, 'm': 2}

    :param field: The name or the position, from 0.
    :param where: What the field is for, to begin error messages with: ``key_by``, ``sum``.
    """

    def __init__(self, field: str | int, where: str = "field") -> None:
        if isinstance(field, bool) or not isinstance(field, (str, int)) or field == "":
            raise ConfigurationError(f"{where}: a field is a name (str) or a position (int), got {field!r}.")
        if isinstance(field, int) and field < 0:
            raise ConfigurationError(f"{where}: field positions start at 0, got {field}.")
        self.field = field
        self.where = where
        self._getters: dict[type, Getter] = {}
        self._replacers: dict[type, Replacer] = {}

    def __call__(self, record: Any) -> Any:
        """The value of the field."""
        getter = self._getters.get(record.__class__)
        if getter is None:
            getter = self.getter_for(record)
        return getter(record)

    def getter_for(self, record: Any) -> Getter:
        """The fastest way to read the field of records of this type."""
        kind = record.__class__
        getter = self._getters.get(kind)
        if getter is None:
            getter = self._getters[kind] = self._find_getter(record)
        return getter

    def replacer_for(self, record: Any) -> Replacer:
        """The fastest way to copy records of this type with another value of the field."""
        kind = record.__class__
        replacer = self._replacers.get(kind)
        if replacer is None:
            replacer = self._replacers[kind] = self._find_replacer(record)
        return replacer

    def replace(self, record: Any, value: Any) -> Any:
        """A copy of the record with the field set to ``value``; the record stays as it is."""
        return self.replacer_for(record)(record, value)

    def __reduce__(self) -> tuple[Any, ...]:
        # The getters found so far stay behind: they are found again where the copy is used.
        return type(self), (self.field, self.where)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Field) and other.field == self.field

    def __hash__(self) -> int:
        return hash(self.field)

    def __repr__(self) -> str:
        return f"Field({self.field!r})"

    def _find_getter(self, record: Any) -> Getter:
        key = self._key_of(record)
        return itemgetter(key) if _subscripted(record) else attrgetter(key)

    def _find_replacer(self, record: Any) -> Replacer:
        key = self._key_of(record)
        if isinstance(record, tuple):
            after, kind = key + 1, type(record)
            if kind is tuple:
                return lambda record, value: (*record[:key], value, *record[after:])
            return lambda record, value: tuple.__new__(kind, (*record[:key], value, *record[after:]))
        if dataclasses.is_dataclass(record) and not isinstance(record, type):
            return lambda record, value: dataclasses.replace(record, **{key: value})
        return partial(_copy_with_item if _subscripted(record) else _copy_with_attribute, key)

    def _key_of(self, record: Any) -> Any:
        """The subscript or attribute name of the field in records of this type; raises if there is no such field."""
        names = field_names(record)
        field = self.field
        if isinstance(field, int):
            return self._key_of_position(record, field, names)
        if isinstance(record, tuple):
            if names is not None and field in names:
                return names.index(field)
            if field[:1] == "f" and field[1:].isdigit() and int(field[1:]) < len(record):
                return int(field[1:])
        elif (
            (isinstance(record, Mapping) and field in record)
            or (isinstance(record, Row) and field in (names or ()))
            or (not _subscripted(record) and hasattr(record, field))
        ):
            return field
        raise self._missing(record, names)

    def _key_of_position(self, record: Any, position: int, names: list[str] | None) -> Any:
        if isinstance(record, Mapping):
            if position in record:
                return position
        elif _subscripted(record):
            if position < len(record):
                return position
        elif names is not None and position < len(names):
            return names[position]
        raise self._missing(record, names)

    def _missing(self, record: Any, names: list[str] | None) -> TypeMismatchError:
        kind = "a position" if isinstance(self.field, int) else "a field"
        if names:
            has = f"its fields are: {', '.join(map(str, names))}"
        elif isinstance(record, Sequence) and not isinstance(record, (str, bytes)):
            has = f"it has {len(record)} fields, which are read by position"
        else:
            has = "it has no fields; give a function from the record to the value instead"
        return TypeMismatchError(
            f"{self.where}({self.field!r}): a record of type {type(record).__name__} does not have {kind} "
            f"{self.field!r}; {has}."
        )


def _copy_with_item(key: Any, record: Any, value: Any) -> Any:
    changed = copy.copy(record)
    changed[key] = value
    return changed


def _copy_with_attribute(name: str, record: Any, value: Any) -> Any:
    changed = copy.copy(record)
    setattr(changed, name, value)
    return changed


def field_names(record: Any) -> list[str] | None:
    """The names of a record's fields in order; None for records without named fields, such as plain tuples."""
    if isinstance(record, Mapping):
        return list(record)
    if isinstance(record, Row):
        return list(getattr(record, "_fields", None) or ()) or None
    if dataclasses.is_dataclass(record):
        return [field.name for field in dataclasses.fields(record)]
    if isinstance(record, tuple):
        # Named tuples have _fields, Spark's rows __fields__.
        names = getattr(record, "_fields", None) or getattr(record, "__fields__", None)
        return None if names is None else list(names)
    return list(getattr(record, "__dict__", ())) or None


def _subscripted(record: Any) -> bool:
    return isinstance(record, (Sequence, Mapping, Row)) and not isinstance(record, (str, bytes))
