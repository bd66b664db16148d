"""What the API knows about fields of records: their declared types, and the field that a bare value is to itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from firesteel.common.typeinfo import PojoTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from firesteel.common.types import Row
from firesteel.errors import ConfigurationError
from firesteel.model.functions.fields import Field, field_names


class RollingField(Field):
    """The field of a rolling aggregation: a record without fields (a number, a string) is its own field 0.

    ::

        >>> RollingField(0, "sum").replace(3, 8)
        8
    """

    def _find_getter(self, record: Any) -> Callable[[Any], Any]:
        return _itself if self._is_bare(record) else super()._find_getter(record)

    def _find_replacer(self, record: Any) -> Callable[[Any, Any], Any]:
        return _other if self._is_bare(record) else super()._find_replacer(record)

    def _is_bare(self, record: Any) -> bool:
        if self.field != 0 or field_names(record) is not None:
            return False
        return isinstance(record, (str, bytes)) or not isinstance(record, (Sequence, Row))


def _itself(record: Any) -> Any:
    return record


def _other(record: Any, value: Any) -> Any:
    return value


def declared_field_type(method: str, field: str | int, record_type: TypeInformation | None) -> TypeInformation | None:
    """The declared type of a field, or None if the record's type says nothing about fields.

    Raises if the type is known and has no such field.
    """
    if isinstance(record_type, TupleTypeInfo):
        types = record_type.get_field_types()
        names = [f"f{position}" for position in range(len(types))]
    elif isinstance(record_type, (RowTypeInfo, PojoTypeInfo)):
        types = record_type.get_field_types()
        names = record_type.get_field_names()
    else:
        return None
    if isinstance(field, str):
        position = names.index(field) if field in names else len(names)
    else:
        position = field
    if not 0 <= position < len(names):
        raise ConfigurationError(
            f"{method}: the stream is declared as {record_type}, which has no field {field!r}. "
            f"Its fields are {', '.join(names) or 'none'}."
        )
    return types[position]
