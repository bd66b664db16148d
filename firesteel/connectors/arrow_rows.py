"""Rows out of Arrow batches that Spark has written, with the Python values that Spark's own ``collect`` gives."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from firesteel.common.types import Row
from firesteel.errors import UnsupportedError

__all__ = ["column_decoder", "field_converters", "row_decoder"]


def row_decoder(schema: dict[str, Any]) -> Callable[[Any], list[Row]]:
    """What makes rows of an Arrow batch, by Spark's schema (as its JSON form)."""
    names, converters = field_converters(schema)
    template = Row(*names)

    def decode(batch: Any) -> list[Row]:
        columns = []
        for index, converter in enumerate(converters):
            values = batch.column(index).to_pylist()
            if converter is not None:
                values = [None if value is None else converter(value) for value in values]
            columns.append(values)
        return list(map(template, *columns))

    return decode


def column_decoder(schema: dict[str, Any]) -> Callable[[Any], Any]:
    """What makes an Arrow batch of the types of Spark's schema (as its JSON form) of one that was read from a file.

    A file may hold points in time without saying that they are such.
    """
    import pyarrow as pa

    def decode(batch: Any) -> Any:
        wanted = [
            pa.field(entry["name"], _arrow_type(entry["type"], column.type))
            for entry, column in zip(schema["fields"], batch.columns, strict=True)
        ]
        arrays = [
            column if column.type.equals(field.type) else column.cast(field.type)
            for column, field in zip(batch.columns, wanted)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(wanted))

    return decode


def _arrow_type(kind: Any, found: Any) -> Any:
    """Arrow's type for a type of Spark, given the one that was found."""
    import pyarrow as pa

    if isinstance(kind, str):
        base = kind.partition("(")[0]
        if base == "timestamp":
            return pa.timestamp("us", "UTC")
        return pa.timestamp("us") if base == "timestamp_ntz" else found
    if kind["type"] == "struct":
        fields = [(entry, found.field(index)) for index, entry in enumerate(kind["fields"])]
        return pa.struct([pa.field(entry["name"], _arrow_type(entry["type"], field.type)) for entry, field in fields])
    if kind["type"] == "array":
        return pa.list_(_arrow_type(kind["elementType"], found.value_type))
    if kind["type"] == "map":
        return pa.map_(_arrow_type(kind["keyType"], found.key_type), _arrow_type(kind["valueType"], found.item_type))
    return found


def field_converters(struct: dict[str, Any]) -> tuple[list[str], list[Callable[[Any], Any] | None]]:
    """The names of the fields, and how a value of each becomes what Spark's ``collect`` would give.

    :raises UnsupportedError: A type has no Python value here.
    """
    fields = struct["fields"]
    return [entry["name"] for entry in fields], [_converter(entry["type"], entry["name"]) for entry in fields]


_SAME = ("string", "char", "varchar", "binary", "boolean", "byte", "short", "integer", "long", "float", "double")
_ALSO_SAME = ("decimal", "date", "timestamp_ntz", "time")


def _converter(kind: Any, path: str) -> Callable[[Any], Any] | None:
    """How a value from Arrow becomes what ``collect`` would give; None: it is that already."""
    if isinstance(kind, str):
        base = kind.partition("(")[0].partition(" collate")[0]
        if base == "timestamp":
            return _local_datetime
        if base in _SAME or base in _ALSO_SAME:
            return None
    elif kind["type"] == "struct":
        return _struct_converter(kind)
    elif kind["type"] == "array":
        element = _converter(kind["elementType"], f"{path}[]")
        if element is None:
            return None
        return lambda values: [None if value is None else element(value) for value in values]
    elif kind["type"] == "map":
        return _map_converter(kind, path)
    shown = kind if isinstance(kind, str) else kind["type"]
    raise UnsupportedError(
        f"column {path!r} has Spark's type {shown}, which has no Python value here. Cast it, for instance to a string."
    )


def _struct_converter(kind: dict[str, Any]) -> Callable[[Any], Any]:
    names, converters = field_converters(kind)
    template = Row(*names)

    def convert(value: dict[str, Any]) -> Row:
        return template(
            *(
                item if item is None or converter is None else converter(item)
                for item, converter in zip(value.values(), converters, strict=True)
            )
        )

    return convert


def _map_converter(kind: dict[str, Any], path: str) -> Callable[[Any], Any]:
    key = _converter(kind["keyType"], f"{path} key")
    item = _converter(kind["valueType"], f"{path}[]")

    def convert(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
        return {key(k) if key else k: v if v is None or item is None else item(v) for k, v in pairs}

    return convert


def _local_datetime(value: datetime.datetime) -> datetime.datetime:
    """A point in time as PySpark gives it: the local date and time, without a zone."""
    aware = value.replace(tzinfo=datetime.timezone.utc) if value.tzinfo is None else value
    return aware.astimezone().replace(tzinfo=None)
