"""The declared types of state as plain data, stored with it, so that a program that declares another type is noticed.

A schema is text for a simple type, ``[kind, [parts]]`` for a type made of others, ``[class, {field: schema}]`` for a
class with known fields, and None for what was not declared: that fits everything.
"""

from __future__ import annotations

from typing import Any

from firesteel.common import TypeInformation
from firesteel.common.typeinfo import (
    ListTypeInfo,
    MapTypeInfo,
    NullableTypeInfo,
    PickledBytesTypeInfo,
    PojoTypeInfo,
    TupleTypeInfo,
)

Schema = Any


def schema_of(type_info: TypeInformation | None) -> Schema:
    """The schema of a declared type."""
    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        return None
    if isinstance(type_info, PojoTypeInfo):
        cls = type_info.get_type_class()
        fields = zip(type_info.get_field_names(), type_info.get_field_types())
        return [f"{cls.__module__}.{cls.__qualname__}", {name: schema_of(each) for name, each in fields}]
    if isinstance(type_info, ListTypeInfo):
        return ["List", [schema_of(type_info.elem_type)]]
    if isinstance(type_info, MapTypeInfo):
        return ["Map", [schema_of(type_info.key_type), schema_of(type_info.value_type)]]
    if isinstance(type_info, TupleTypeInfo):
        return ["Tuple", [schema_of(each) for each in type_info.get_field_types()]]
    if isinstance(type_info, NullableTypeInfo):
        return ["Nullable", [schema_of(type_info.value_type_info)]]
    return str(type_info)


def difference(stored: Schema, declared: Schema) -> str | None:
    """Why what is stored does not fit what is declared, or None if it fits.

    Fields of a class may be added and removed: those that are added get their defaults (see ``state.evolution``).
    """
    if stored is None or declared is None or stored == declared:
        return None
    if isinstance(stored, str) or isinstance(declared, str) or stored[0] != declared[0]:
        return f"{text_of(stored)} cannot become {text_of(declared)}"
    before, after = stored[1], declared[1]
    if isinstance(before, dict) and isinstance(after, dict):
        pairs = [(f"field {name!r}: ", before[name], after[name]) for name in before if name in after]
    elif len(before) != len(after):
        return f"{text_of(stored)} cannot become {text_of(declared)}"
    else:
        pairs = [("", one, other) for one, other in zip(before, after)]
    problems = (f"{where}{problem}" for where, one, other in pairs if (problem := difference(one, other)) is not None)
    return next(problems, None)


def text_of(schema: Schema) -> str:
    """The schema for a message."""
    if schema is None:
        return "any"
    if isinstance(schema, str):
        return schema
    name, parts = schema
    if isinstance(parts, dict):
        return f"{name}({', '.join(f'{field}: {text_of(part)}' for field, part in parts.items())})"
    return f"{name}<{', '.join(map(text_of, parts))}>"
