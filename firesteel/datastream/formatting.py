"""How ``print`` shows a record: ``str()``, or Flink's notation for records that are declared as rows or tuples."""

from __future__ import annotations

from typing import Any

from firesteel.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation
from firesteel.common.types import Row


class LineFormat:
    """From record to text. A record that does not fit the declared type is an error.

    ::

        >>> LineFormat(None, "print")((1, "a"))
        "(1, 'a')"
        >>> LineFormat(Types.TUPLE([Types.INT(), Types.STRING()]), "print")((1, "a"))
        '(1,a)'
    """

    def __init__(self, type_info: TypeInformation | None, where: str) -> None:
        self._type = type_info
        self._where = where

    def __call__(self, record: Any) -> str:
        if self._type is None:
            return str(record)
        self._type.ensure(record, f"a record of {self._where}")
        if isinstance(self._type, RowTypeInfo):
            return _row_text(record, self._type)
        return _field_text(record) if isinstance(self._type, TupleTypeInfo) else str(record)


def _row_text(record: Any, row_type: RowTypeInfo) -> str:
    names = row_type.get_field_names()
    if isinstance(record, dict):
        fields = [record.get(name) for name in names]
    elif isinstance(record, Row):
        fields = record.get_fields_by_names(names)
    else:
        fields = list(record)
    kind = record.get_row_kind() if isinstance(record, Row) else "+I"
    return f"{kind}[{', '.join(map(_field_text, fields))}]"


def _field_text(value: Any) -> str:
    """A field inside a declared row or tuple."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"({','.join(map(_field_text, value))})"
    if isinstance(value, list):
        return f"[{', '.join(map(_field_text, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_field_text(k)}={_field_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Row):
        return f"{value.get_row_kind()}[{', '.join(map(_field_text, value))}]"
    return str(value)
