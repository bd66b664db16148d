"""What a type means that was read from SQL: a DataType, with Flink's defaults for what the text leaves out."""

from __future__ import annotations

from collections.abc import Callable

from firesteel.errors import ConfigurationError, ProgramError
from firesteel.table.sql._writing import unparse
from firesteel.table.sql.nodes import types as nodes
from firesteel.table.sql.nodes.base import TypeNode
from firesteel.table.sql.parser import parse_type
from firesteel.table.types import DataType, DataTypes, Resolution, RowField

_PLAIN: dict[str, Callable[[], DataType]] = {
    "BOOLEAN": DataTypes.BOOLEAN,
    "TINYINT": DataTypes.TINYINT,
    "SMALLINT": DataTypes.SMALLINT,
    "INT": DataTypes.INT,
    "BIGINT": DataTypes.BIGINT,
    "FLOAT": DataTypes.FLOAT,
    "REAL": DataTypes.FLOAT,
    "DOUBLE": DataTypes.DOUBLE,
    "STRING": DataTypes.STRING,
    "BYTES": DataTypes.BYTES,
    "DATE": DataTypes.DATE,
    "VARIANT": DataTypes.VARIANT,
    "BITMAP": DataTypes.BITMAP,
}
# Types with one number, and the number that is meant where there is none.
_WITH_NUMBER: dict[str, tuple[Callable[[int], DataType], int]] = {
    "CHAR": (DataTypes.CHAR, 1),
    "VARCHAR": (DataTypes.VARCHAR, 1),
    "BINARY": (DataTypes.BINARY, 1),
    "VARBINARY": (DataTypes.VARBINARY, 1),
    "TIME": (DataTypes.TIME, 0),
    "TIMESTAMP": (DataTypes.TIMESTAMP, 6),
    "TIMESTAMP_LTZ": (DataTypes.TIMESTAMP_LTZ, 6),
}
_UNITS: dict[str, Resolution.IntervalUnit] = {unit.name: unit for unit in Resolution.IntervalUnit}


def parse_data_type(text: str) -> DataType:
    """The DataType of a text such as ``ARRAY<INT NOT NULL>``."""
    return to_data_type(parse_type(text))


def to_data_type(node: TypeNode) -> DataType:
    """The DataType of a type that was read from SQL."""
    try:
        found = _converted(node)
    except ConfigurationError as error:
        where = f" ({node.pos})" if node.pos is not None else ""
        raise ConfigurationError(f"{unparse(node)} is no type: {error}{where}") from None
    return found if node.nullable is not False else found.not_null()


def _converted(node: TypeNode) -> DataType:
    if isinstance(node, nodes.BasicType):
        return _basic(node)
    if isinstance(node, nodes.CollectionType):
        element = to_data_type(node.element)
        return DataTypes.ARRAY(element) if node.kind == "ARRAY" else DataTypes.MULTISET(element)
    if isinstance(node, nodes.MapType):
        return DataTypes.MAP(to_data_type(node.key), to_data_type(node.value))
    if isinstance(node, nodes.RowType):
        return DataTypes.ROW(_fields(node.fields))
    if isinstance(node, nodes.StructuredType):
        return DataTypes.STRUCTURED(node.class_name, _fields(node.fields))
    if isinstance(node, nodes.RawType):
        return DataTypes.RAW(node.class_name)
    if isinstance(node, nodes.IntervalType):
        return _interval(node.qualifier)
    raise _unknown(node)


def _fields(fields: tuple[nodes.Field, ...]) -> list[RowField]:
    return [DataTypes.FIELD(field.name, to_data_type(field.type), field.comment) for field in fields]


def _basic(node: nodes.BasicType) -> DataType:
    if node.name in _PLAIN:
        return _PLAIN[node.name]()
    if node.name in _WITH_NUMBER:
        make, default = _WITH_NUMBER[node.name]
        return make(default if node.precision is None else node.precision)
    if node.name == "DECIMAL":
        return DataTypes.DECIMAL(10 if node.precision is None else node.precision, node.scale or 0)
    raise _unknown(node)


def _interval(qualifier: nodes.IntervalQualifier) -> DataType:
    if qualifier.start not in _UNITS:
        raise ConfigurationError(f"an INTERVAL of {qualifier.start} is not of months or seconds")
    start = _resolution(qualifier.start, qualifier.precision)
    if qualifier.start == "SECOND":
        start = _resolution("SECOND", qualifier.fraction)
    end = None if qualifier.end is None else _resolution(qualifier.end, qualifier.fraction)
    return DataTypes.INTERVAL(start, end)


def _resolution(unit: str, precision: int | None) -> Resolution:
    makers: dict[str, Callable[..., Resolution]] = {
        "YEAR": DataTypes.YEAR,
        "MONTH": DataTypes.MONTH,
        "DAY": DataTypes.DAY,
        "HOUR": DataTypes.HOUR,
        "MINUTE": DataTypes.MINUTE,
        "SECOND": DataTypes.SECOND,
    }
    numbered = precision is not None and unit in ("YEAR", "DAY", "SECOND")
    return makers[unit](precision) if numbered else makers[unit]()


def _unknown(node: TypeNode) -> ProgramError:
    where = f" ({node.pos})" if node.pos is not None else ""
    return ProgramError(
        f"{unparse(node)} is not a type that Firesteel knows{where}. Types are named as in Flink's SQL."
    )
