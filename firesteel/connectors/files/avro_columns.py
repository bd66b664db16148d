"""Columns of Arrow for Avro schemas: generic records, which are dicts, in Parquet files."""

from __future__ import annotations

from typing import Any

from firesteel.common.formats.avro_rows import AvroSchema
from firesteel.connectors.files.columns import Column, apply, each
from firesteel.errors import ConfigurationError, UnsupportedError

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

        if isinstance(definition, str):
            definition = self._named.get(definition.rpartition(".")[2], {"type": definition})
        if isinstance(definition, list):
            some = [part for part in definition if part != "null"]
            if len(some) != 1:
                raise UnsupportedError(
                    f"field {where!r} has a choice of types, which has no column: only null and one."
                )
            return self._column(some[0], where, above)
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
