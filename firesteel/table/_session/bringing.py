"""Rows of the program as tables: Python values and streams, with the types that they have or are said to have."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from firesteel.common import TypeInformation, Types
from firesteel.common.typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from firesteel.common.types import Row, RowKind
from firesteel.errors import ProgramError, TypeMismatchError
from firesteel.table.changelog import INSERT, INSERT_ONLY, ChangelogMode
from firesteel.table.logical.catalogs import schema_fields
from firesteel.table.physical.given import GivenRows
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.planner import Planner
from firesteel.table.physical.scan import stored_fields, with_schema
from firesteel.table.schema import Schema
from firesteel.table.types import DataType, DataTypes, RowField, RowType, common_type
from firesteel.table.values import from_stored, to_stored

__all__ = ["ToChange", "ToRow", "given_rows", "given_stream", "row_fields", "stream_fields"]


# ---- collections -----------------------------------------------------------------------------------------------------


def row_fields(rows: Sequence[Any], schema: Any) -> tuple[RowField, ...]:
    """The columns of rows: of a type, or of names with types as the values have them."""
    if isinstance(schema, RowType):
        return tuple(schema.fields)
    if isinstance(schema, DataType):
        return (RowField("_1", schema),)
    names = list(schema) if isinstance(schema, (list, tuple)) else None
    if not rows:
        raise ProgramError("the types of no rows are not known: give a schema with DataTypes.ROW([...]).")
    columns = [_inferred(column) for column in zip(*(_values(row) for row in rows), strict=True)]
    first = rows[0]
    if names is None:
        names = getattr(first, "_fields", None) or (list(first) if isinstance(first, dict) else None)
    names = names or [f"_{at + 1}" for at in range(len(columns))]
    if len(names) != len(columns):
        raise ProgramError(f"there are {len(names)} names for rows with {len(columns)} values: {names}.")
    return tuple(RowField(str(name), kind) for name, kind in zip(names, columns))


def _values(row: Any) -> Sequence[Any]:
    if isinstance(row, dict):
        return list(row.values())
    return list(row) if isinstance(row, (tuple, list, Row)) else [row]


_PYTHON_TYPES: tuple[tuple[type, DataType], ...] = (
    (bool, DataTypes.BOOLEAN()),
    (int, DataTypes.BIGINT()),
    (float, DataTypes.DOUBLE()),
    (str, DataTypes.STRING()),
    (bytes, DataTypes.BYTES()),
    (bytearray, DataTypes.BYTES()),
    (Decimal, DataTypes.DECIMAL(38, 18)),
    (datetime.datetime, DataTypes.TIMESTAMP(3)),
    (datetime.date, DataTypes.DATE()),
    (datetime.time, DataTypes.TIME(3)),
)


def _inferred(values: Iterable[Any]) -> DataType:
    found: DataType | None = None
    for value in values:
        if value is None:
            continue
        kind = _type_of(value)
        found = kind if found is None else common_type([found, kind])
        if found is None:
            raise TypeMismatchError(f"a column has values of different types; {value!r} is {kind}. Give a schema.")
    return DataTypes.STRING() if found is None else found


def _type_of(value: Any) -> DataType:
    for kind, data_type in _PYTHON_TYPES:
        if isinstance(value, kind):
            return data_type
    if isinstance(value, Row):
        names = value._fields or [f"f{at}" for at in range(len(value))]
        return DataTypes.ROW([DataTypes.FIELD(name, _type_of(each)) for name, each in zip(names, value)])
    if isinstance(value, (list, tuple)):
        return DataTypes.ARRAY(_inferred(value))
    if isinstance(value, dict):
        return DataTypes.MAP(_inferred(value.keys()), _inferred(value.values()))
    raise TypeMismatchError(f"{value!r}: no type of SQL has such values ({type(value).__name__}). Give a schema.")


def given_rows(rows: Sequence[Any], fields: tuple[RowField, ...], time_zone: str) -> GivenRows:
    """Rows of a collection as a table; every value is checked now."""
    converters = [to_stored(field.data_type, time_zone) for field in fields]
    changes = []
    for row in rows:
        values = _values(row)
        if len(values) != len(fields):
            raise TypeMismatchError(f"{row!r} has {len(values)} values, the table {len(fields)} columns.")
        kind = row.get_row_kind().value if isinstance(row, Row) else INSERT
        changes.append((kind, tuple(convert(value) for convert, value in zip(converters, values))))

    def node(planner: Planner) -> PhysicalNode:
        names = ", ".join(field.name for field in fields)
        return PhysicalNode(
            "Values",
            f"{len(changes)} rows, select=[{names}]",
            fields,
            INSERT_ONLY,
            lambda streams: planner.environment.from_collection(changes),
        )

    return GivenRows(fields, "rows", node)


# ---- streams ---------------------------------------------------------------------------------------------------------

_BASIC_TYPES: dict[str, DataType] = {
    "STRING": DataTypes.STRING(),
    "BYTE": DataTypes.TINYINT(),
    "BOOLEAN": DataTypes.BOOLEAN(),
    "SHORT": DataTypes.SMALLINT(),
    "INT": DataTypes.INT(),
    "LONG": DataTypes.BIGINT(),
    "FLOAT": DataTypes.FLOAT(),
    "DOUBLE": DataTypes.DOUBLE(),
    "CHAR": DataTypes.CHAR(1),
    "BIG_INT": DataTypes.DECIMAL(38, 0),
    "BIG_DEC": DataTypes.DECIMAL(38, 18),
    "INSTANT": DataTypes.TIMESTAMP_LTZ(9),
}


def data_type_of(info: TypeInformation | None) -> DataType:
    """The type of SQL for a declared type of a stream."""
    if isinstance(info, RowTypeInfo):
        pairs = zip(info.get_field_names(), info.get_field_types())
        return DataTypes.ROW([DataTypes.FIELD(name, data_type_of(kind)) for name, kind in pairs])
    if isinstance(info, TupleTypeInfo):
        kinds = enumerate(info.get_field_types())
        return DataTypes.ROW([DataTypes.FIELD(f"f{at}", data_type_of(kind)) for at, kind in kinds])
    if isinstance(info, MapTypeInfo):
        return DataTypes.MAP(data_type_of(info.key_type), data_type_of(info.value_type))
    if isinstance(info, (ListTypeInfo, ObjectArrayTypeInfo, BasicArrayTypeInfo)):
        return DataTypes.ARRAY(data_type_of(info.element_type))
    for name, data_type in _BASIC_TYPES.items():
        if info == getattr(Types, name)():
            return data_type
    known = (
        (Types.SQL_DATE(), DataTypes.DATE()),
        (Types.SQL_TIME(), DataTypes.TIME(0)),
        (Types.SQL_TIMESTAMP(), DataTypes.TIMESTAMP(3)),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), DataTypes.BYTES()),
    )
    for each, data_type in known:
        if info == each:
            return data_type
    raise ProgramError(
        f"a stream of {info or 'records of no declared type'} has no columns that are known. Declare its type: "
        "stream.map(..., output_type=Types.ROW_NAMED([...], [...]))."
    )


def stream_fields(stream: Any) -> tuple[RowField, ...]:
    """The columns of a stream of rows; one column f0 for other records."""
    kind = data_type_of(stream.get_type())
    return tuple(kind.fields) if isinstance(kind, RowType) else (RowField("f0", kind),)


class ToChange:
    """A record of a stream as a change."""

    def __init__(self, fields: tuple[RowField, ...], time_zone: str, kinds: bool, single: bool) -> None:
        self._arguments = (fields, time_zone, kinds, single)
        self._names = [field.name for field in fields]
        self._converters = [to_stored(field.data_type, time_zone) for field in fields]
        self._kinds, self._single = kinds, single

    def __call__(self, record: Any) -> tuple[int, tuple[Any, ...]]:
        kind = record.get_row_kind().value if self._kinds and isinstance(record, Row) else INSERT
        if self._single:
            return (kind, (self._converters[0](record),))
        values = _values(record)
        if isinstance(record, Row) and record._fields and set(record._fields) >= set(self._names):
            values = record.get_fields_by_names(self._names)
        return (kind, tuple([convert(value) for convert, value in zip(self._converters, values)]))

    def __reduce__(self) -> tuple[Any, ...]:
        return (ToChange, self._arguments)


def given_stream(
    stream: Any, schema: Schema | None, time_zone: str, mode: ChangelogMode = INSERT_ONLY, kinds: bool = False
) -> GivenRows:
    """The records of a stream as a table; timestamps and watermarks stay, unless the schema says other ones."""
    stored = stream_fields(stream)
    single = not isinstance(data_type_of(stream.get_type()), RowType)
    declared = schema if schema is not None and schema.columns else _physical(stored, schema)
    physical = [each for each in declared.columns if each.expression is None and not each.is_metadata]
    wanted = stored_fields(Schema(tuple(physical)))
    fields = schema_fields(declared)
    positions = _positions(stored, wanted)
    chosen = tuple(RowField(stored[at].name, field.data_type) for at, field in zip(positions, wanted))
    convert = ToChange(chosen if not single else wanted, time_zone, kinds, single)

    def node(planner: Planner) -> PhysicalNode:
        names = ", ".join(field.name for field in wanted)
        source = PhysicalNode("DataStreamScan", f"fields=[{names}]", wanted, mode, lambda streams: stream.map(convert))
        return with_schema(source, declared, planner)

    return GivenRows(fields, "stream", node)


def _physical(fields: tuple[RowField, ...], schema: Schema | None) -> Schema:
    builder = Schema.new_builder()
    for field in fields:
        builder.column(field.name, field.data_type)
    return builder.from_schema(schema).build() if schema is not None else builder.build()


def _positions(stored: tuple[RowField, ...], wanted: tuple[RowField, ...]) -> list[int]:
    """Columns are found by their names, or, if none is, by their places."""
    names = [field.name for field in stored]
    if all(field.name in names for field in wanted):
        return [names.index(field.name) for field in wanted]
    if len(wanted) == len(stored):
        return list(range(len(stored)))
    raise ProgramError(
        f"the schema has the columns {', '.join(field.name for field in wanted)}, the stream {', '.join(names)}."
    )


class ToRow:
    """A change as a record of a stream: a row with the names of its columns, and its kind."""

    def __init__(self, fields: tuple[RowField, ...]) -> None:
        self._fields = fields
        self._names = [field.name for field in fields]
        self._converters = [from_stored(field.data_type) for field in fields]

    def __call__(self, record: Any) -> Row:
        kind, values = record
        row = Row(**{name: convert(value) for name, convert, value in zip(self._names, self._converters, values)})
        row.set_row_kind(RowKind(kind))
        return row

    def __reduce__(self) -> tuple[Any, ...]:
        return (ToRow, (self._fields,))
