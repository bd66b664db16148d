"""Columns of Arrow for Avro schemas: generic records, which are dicts, in Parquet files."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

from firesteel.common.formats.arrow_columns import Column, apply, each
from firesteel.common.formats.avro_rows import AvroSchema
from firesteel.common.types import Row
from firesteel.errors import ConfigurationError, TypeMismatchError, UnsupportedError

__all__ = ["record_columns"]


def record_columns(schema: AvroSchema) -> dict[str, Column]:
    """The columns of the fields of a record.

    :raises ConfigurationError: The schema is not that of a record.
    :raises UnsupportedError: A field has no column.
    """
    definition = schema.definition
    if not isinstance(definition, dict) or definition.get("type") != "record":
        raise ConfigurationError(f"a file in columns is made of Avro records, got the schema {schema}")
    return _Columns().fields(definition, ())


def _arrow_types() -> dict[str, Any]:
    import pyarrow as pa

    return {
        "null": pa.null(),
        "boolean": pa.bool_(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "enum": pa.string(),
        "bytes": pa.binary(),
        "date": pa.date32(),
        "time-millis": pa.time32("ms"),
        "time-micros": pa.time64("us"),
        "timestamp-millis": pa.timestamp("ms", "UTC"),
        "timestamp-micros": pa.timestamp("us", "UTC"),
        "local-timestamp-millis": pa.timestamp("ms"),
        "local-timestamp-micros": pa.timestamp("us"),
    }


class _Columns:
    def __init__(self) -> None:
        self._named: dict[str, Any] = {}
        self._types = _arrow_types()

    def fields(self, record: dict[str, Any], above: tuple[int, ...]) -> dict[str, Column]:
        """The columns of a record."""
        if id(record) in above:
            raise UnsupportedError(f"the Avro record {record['name']!r} holds itself, which columns cannot.")
        self._remember(record)
        return {
            field["name"]: self._column(field["type"], field["name"], (*above, id(record)))
            for field in record["fields"]
        }

    def _remember(self, definition: dict[str, Any]) -> None:
        self._named[definition["name"].rpartition(".")[2]] = definition

    def _column(self, definition: Any, where: str, above: tuple[int, ...]) -> Column:
        import pyarrow as pa

        definition = self._resolved(definition)
        if isinstance(definition, list):
            some = [part for part in definition if part != "null"]
            if len(some) == 1:
                return self._column(some[0], where, above)
            members = [self._column(part, where, above) for part in some]
            return _choice([self._resolved(part) for part in some], members, where) if some else self._null()
        kind = definition["type"]
        if isinstance(kind, (dict, list)):
            return self._column(kind, where, above)
        if kind == "record":
            return _struct(self.fields(definition, above))
        if kind == "array":
            element, there, back = self._column(definition["items"], f"{where}[]", above)
            return pa.list_(element), each(there), each(back)
        if kind == "map":
            return _map(self._column(definition["values"], f"{where}[]", above))
        if "name" in definition:
            self._remember(definition)
        return self._simple(definition, kind, where), None, None

    def _resolved(self, definition: Any) -> Any:
        """The definition of a type that may be given by its name."""
        if isinstance(definition, str):
            return self._named.get(definition.rpartition(".")[2], {"type": definition})
        return definition

    def _null(self) -> Column:
        return self._types["null"], None, None

    def _simple(self, definition: dict[str, Any], kind: str, where: str) -> Any:
        import pyarrow as pa

        logical = definition.get("logicalType", "")
        if logical == "decimal":
            return pa.decimal128(definition["precision"], definition.get("scale", 0))
        if kind == "fixed":
            return pa.binary(definition["size"])
        found = self._types.get(logical, self._types.get(kind))
        if found is None:
            raise UnsupportedError(f"field {where!r} has the Avro type {kind!r}, which has no column here.")
        return found


def _struct(fields: dict[str, Column]) -> Column:
    import pyarrow as pa

    def converted(value: Any, way: int) -> dict[str, Any]:
        return {name: apply(column[way], value.get(name)) for name, column in fields.items()}

    kind = pa.struct([pa.field(name, column[0]) for name, column in fields.items()])
    return kind, lambda value: converted(value, 1), lambda value: converted(value, 2)


def _map(item: Column) -> Column:
    import pyarrow as pa

    kind, there, back = item
    return (
        pa.map_(pa.string(), kind),
        lambda value: [(key, apply(there, held)) for key, held in value.items()],
        lambda pairs: {key: apply(back, held) for key, held in pairs},
    )


def _choice(definitions: list[dict[str, Any]], members: list[Column], where: str) -> Column:
    """A choice of several types, in the form that Avro's own writer of Parquet gives it: a group with one member."""
    import pyarrow as pa

    names = [f"member{index}" for index in range(len(members))]

    def there(value: Any) -> dict[str, Any]:
        for name, definition, member in zip(names, definitions, members):
            if _fits(value, definition):
                return {name: apply(member[1], value)}
        kinds = ", ".join(str(definition["type"]) for definition in definitions)
        raise TypeMismatchError(f"field {where!r} is one of {kinds}, got {value!r:.80} ({type(value).__name__}).")

    def back(group: dict[str, Any]) -> Any:
        held = ((group.get(name), member) for name, member in zip(names, members))
        return next((apply(member[2], value) for value, member in held if value is not None), None)

    return pa.struct([pa.field(name, member[0]) for name, member in zip(names, members)]), there, back


_CLASSES: dict[str, Any] = {
    "boolean": bool,
    "int": int,
    "long": int,
    "float": (float, int),
    "double": (float, int),
    "string": str,
    "enum": str,
    "bytes": (bytes, bytearray),
    "fixed": (bytes, bytearray),
    "array": (list, tuple),
    "map": dict,
    "record": (dict, Row),
}
_OF_LOGICAL_TYPES: dict[str, Any] = {
    "date": datetime.date,
    "time-millis": datetime.time,
    "time-micros": datetime.time,
    "decimal": decimal.Decimal,
}


def _fits(value: Any, definition: dict[str, Any]) -> bool:
    """Whether a value is one of a member of a choice. The first that fits is taken, as the schema lists them."""
    kind, logical = definition["type"], definition.get("logicalType", "")
    expected: Any = _OF_LOGICAL_TYPES.get(logical, _CLASSES.get(kind))
    if "timestamp" in logical:
        expected = datetime.datetime
    of_class = expected is not None and isinstance(value, expected)
    if not of_class or (isinstance(value, bool) and expected is not bool):
        return False
    return logical in _OF_LOGICAL_TYPES or _fits_closely(value, kind, definition)


def _fits_closely(value: Any, kind: str, definition: dict[str, Any]) -> bool:
    if kind == "int":
        return bool(-(2**31) <= value < 2**31)
    if kind == "enum":
        return value in list(definition["symbols"])
    if kind == "fixed":
        return len(value) == int(definition["size"])
    if kind == "record" and isinstance(value, dict):
        return set(value) <= {field["name"] for field in definition["fields"]}
    return True
