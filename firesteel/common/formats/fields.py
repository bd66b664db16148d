"""What all record formats share: the declared row type, and the values of a record in its order."""

from __future__ import annotations

import dataclasses
from typing import Any

from firesteel.common.typeinfo import PojoTypeInfo, RowTypeInfo
from firesteel.common.types import Row
from firesteel.errors import ConfigurationError, MalformedRecordError, TypeMismatchError

__all__ = ["Unreadable", "excerpt", "expect_row_type", "field_values", "malformed"]


def expect_row_type(type_info: Any, where: str) -> RowTypeInfo:
    """The row type that a format was given; a class with fields counts as one.

    :raises ConfigurationError: It is no row type.
    """
    if isinstance(type_info, PojoTypeInfo):
        return RowTypeInfo(type_info.get_field_types(), type_info.get_field_names())
    if not isinstance(type_info, RowTypeInfo):
        raise ConfigurationError(
            f"{where} takes a row type, got {type_info!r} ({type(type_info).__name__}). For instance "
            "Types.ROW_NAMED(['id'], [Types.LONG()])."
        )
    return type_info


def field_values(element: Any, names: list[str], format_name: str) -> list[Any]:
    """The values of a record in the order of the named fields.

    Rows with names, dicts and objects are read by name, Rows without names, tuples and lists by position.

    :raises TypeMismatchError: The record does not have these fields.
    """
    if isinstance(element, Row) and element._fields is not None:
        element = element.as_dict()
    if isinstance(element, dict):
        if unknown := [name for name in element if name not in names]:
            raise _unfit(element, names, format_name, f"it has no field {unknown[0]!r}")
        return [element.get(name) for name in names]
    if isinstance(element, (Row, tuple, list)):
        if len(element) != len(names):
            raise _unfit(element, names, format_name, f"it has {len(names)} fields, the record {len(element)}")
        return list(element)
    if dataclasses.is_dataclass(element) or all(hasattr(element, name) for name in names):
        return [getattr(element, name, None) for name in names]
    raise _unfit(element, names, format_name, "that is no record with fields")


def _unfit(element: Any, names: list[str], format_name: str, reason: str) -> TypeMismatchError:
    return TypeMismatchError(
        f"{format_name}: a row of the fields {', '.join(names)} was given {element!r:.80}: {reason}. Map the stream to "
        "Rows with these fields."
    )


class Unreadable(Exception):
    """A value inside a message cannot be read; becomes a MalformedRecordError where the message is known."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path

    def inside(self, place: str) -> Unreadable:
        """The same, seen from the value that holds the unreadable one at ``place``."""
        joint = "" if not self.path or self.path.startswith("[") else "."
        return Unreadable(self.reason, f"{place}{joint}{self.path}")


def malformed(format_name: str, message: bytes | str, error: Exception) -> MalformedRecordError:
    """The error about a whole message."""
    return MalformedRecordError(
        f"a message cannot be read as {format_name}: {error}. It is {excerpt(message)}. Correct what writes it, ignore "
        "parse errors, or set such messages aside with ParseRecords."
    )


def excerpt(message: bytes | str) -> str:
    """The beginning of a message, for an error."""
    text = message if isinstance(message, str) else message.decode("utf-8", errors="replace")
    return repr(text if len(text) <= 120 else text[:117] + "...")
