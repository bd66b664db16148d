"""Columns of Arrow for declared row types: what Parquet and ORC files are made of."""

from __future__ import annotations

import datetime
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from firesteel.common.formats.fields import field_values
from firesteel.common.serialization import BulkWriter
from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PojoTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.common.types import Row
from firesteel.errors import TypeMismatchError, UnsupportedError

__all__ = ["Column", "ColumnWriter", "Convert", "apply", "columns", "decoded", "each", "refuse_hadoop", "row_columns"]

_GROUP_RECORDS = 10_000
"""How many records are turned into columns at a time."""

# How a value becomes what Arrow takes, or comes back from it; None: as it is.
Convert = Callable[[Any], Any] | None
# Arrow's type, and the way there and back.
Column = tuple[Any, Convert, Convert]


def refuse_hadoop(hadoop_config: Any) -> None:
    """:raises UnsupportedError: A Hadoop configuration was passed."""
    if hadoop_config is not None:
        raise UnsupportedError(
            "hadoop_config has no meaning: files are written by pyarrow, without Hadoop. Leave it out; file systems "
            "are configured as pyarrow and fsspec say."
        )


def decoded(column: Any, convert: Convert) -> list[Any]:
    """The values of an Arrow column."""
    values: list[Any] = column.to_pylist()
    return values if convert is None else [None if value is None else convert(value) for value in values]


class ColumnWriter(BulkWriter):
    """Collects records as columns, and hands them on in tables.

    :param format_name: For errors.
    :param columns: The names of the columns with their types.
    :param metadata: Text that the file shall carry.
    """

    def __init__(self, format_name: str, columns: dict[str, Column], metadata: dict[str, str] | None = None) -> None:
        import pyarrow as pa

        self._format_name = format_name
        self._names = list(columns)
        self._converters = [convert for _, convert, _ in columns.values()]
        self._schema = pa.schema([pa.field(name, kind) for name, (kind, _, _) in columns.items()], metadata=metadata)
        self._rows: list[list[Any]] = []

    @abstractmethod
    def write_table(self, table: Any) -> None:
        """Write a table to the file."""

    @abstractmethod
    def close(self) -> None:
        """Write the end of the file."""

    def add_element(self, element: Any) -> None:
        """Take one record: a Row, tuple, list, dict, or object with attributes of the columns' names."""
        values = field_values(element, self._names, self._format_name)
        self._rows.append([apply(convert, value) for value, convert in zip(values, self._converters)])
        if len(self._rows) >= _GROUP_RECORDS:
            self.flush()

    def flush(self) -> None:
        """Turn what is in memory into columns and write them."""
        import pyarrow as pa

        rows, self._rows = self._rows, []
        if not rows:
            return
        try:
            columns = [pa.array(values, field.type) for values, field in zip(zip(*rows), self._schema)]
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise TypeMismatchError(
                f"a record does not fit the columns of its {self._format_name} file: {error}. The columns are "
                f"{', '.join(f'{field.name}: {field.type}' for field in self._schema)}."
            ) from error
        self.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def finish(self) -> None:
        """Write what is left and the file's end."""
        self.flush()
        self.close()


def row_columns(row_type: RowTypeInfo, utc: bool) -> dict[str, Column]:
    """The columns of a row type by name.

    :param utc: Whether a date and time without a zone is one of UTC, not of the machine's zone.
    """
    return dict(zip(row_type.get_field_names(), columns(row_type, utc)))


def columns(row_type: RowTypeInfo, utc: bool) -> list[Column]:
    """Arrow's type of each field, and how values go there and come back.

    :raises UnsupportedError: A type has no column.
    """
    return [_column(kind, utc, name) for name, kind in zip(row_type.get_field_names(), row_type.get_field_types())]


def _column(kind: TypeInformation, utc: bool, where: str) -> Column:
    import pyarrow as pa

    if isinstance(kind, BasicTypeInfo) and kind == Types.INSTANT():
        return pa.timestamp("ns", "UTC"), _instant_to_nanos, _instant_from_arrow
    if isinstance(kind, TimestampTypeInfo):
        return pa.timestamp("us", "UTC"), _to_utc(utc), _from_utc(utc)
    if isinstance(kind, PrimitiveArrayTypeInfo) and kind == Types.PRIMITIVE_ARRAY(Types.BYTE()):
        return pa.binary(), bytes, None
    if isinstance(kind, (ListTypeInfo, ObjectArrayTypeInfo, BasicArrayTypeInfo, PrimitiveArrayTypeInfo)):
        element, there, back = _column(kind._element_type, utc, f"{where}[]")
        return pa.list_(element), each(there), each(back)
    if isinstance(kind, MapTypeInfo):
        return _map_column(kind, utc, where)
    if isinstance(kind, (RowTypeInfo, PojoTypeInfo)):
        return _struct_column(kind, utc, where)
    return _plain_type(kind, where), None, None


def _plain_type(kind: TypeInformation, where: str) -> Any:
    import pyarrow as pa

    for known, arrow in (
        (Types.STRING(), pa.string()),
        (BasicTypeInfo(BasicType.CHAR), pa.string()),
        (Types.BOOLEAN(), pa.bool_()),
        (Types.BYTE(), pa.int8()),
        (Types.SHORT(), pa.int16()),
        (Types.INT(), pa.int32()),
        (Types.LONG(), pa.int64()),
        (Types.FLOAT(), pa.float32()),
        (Types.DOUBLE(), pa.float64()),
        (Types.BIG_DEC(), pa.decimal128(38, 18)),
        (DateTypeInfo(), pa.date32()),
        (TimeTypeInfo(), pa.time64("us")),
    ):
        if kind == known:
            return arrow
    raise UnsupportedError(
        f"field {where!r} is declared as {kind}, for which files in columns have none here. Map it to a text, "
        "number, date, time, list, map or row."
    )


def _map_column(kind: MapTypeInfo, utc: bool, where: str) -> Column:
    import pyarrow as pa

    key, key_there, key_back = _column(kind.key_type, utc, f"{where} key")
    item, item_there, item_back = _column(kind.value_type, utc, f"{where}[]")

    def there(value: dict[Any, Any]) -> list[tuple[Any, Any]]:
        return [(apply(key_there, k), apply(item_there, v)) for k, v in value.items()]

    def back(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
        return {apply(key_back, k): apply(item_back, v) for k, v in pairs}

    return pa.map_(key, item), there, back


def _struct_column(kind: RowTypeInfo | PojoTypeInfo, utc: bool, where: str) -> Column:
    import pyarrow as pa

    names = kind.get_field_names()
    parts = [_column(field, utc, f"{where}.{name}") for name, field in zip(names, kind.get_field_types())]
    template = Row(*names)

    def there(value: Any) -> dict[str, Any]:
        values = zip(names, field_values(value, names, "nested"), parts)
        return {name: apply(convert, item) for name, item, (_, convert, _) in values}

    def back(value: dict[str, Any]) -> Row:
        return template(*(apply(convert, value[name]) for name, (_, _, convert) in zip(names, parts)))

    return pa.struct([pa.field(name, column) for name, (column, _, _) in zip(names, parts)]), there, back


def apply(convert: Convert, value: Any) -> Any:
    """A value converted, unless it is None."""
    return value if value is None or convert is None else convert(value)


def each(convert: Convert) -> Convert:
    """The conversion of a list whose elements are converted."""
    return list if convert is None else lambda values: [apply(convert, value) for value in values]


def _to_utc(utc: bool) -> Convert:
    def convert(value: datetime.datetime) -> datetime.datetime:
        if value.tzinfo is None and utc:
            return value.replace(tzinfo=datetime.timezone.utc)
        return value.astimezone(datetime.timezone.utc)

    return convert


def _from_utc(utc: bool) -> Convert:
    def convert(value: datetime.datetime) -> datetime.datetime:
        aware = value.replace(tzinfo=datetime.timezone.utc) if value.tzinfo is None else value
        return aware.astimezone(datetime.timezone.utc if utc else None).replace(tzinfo=None)

    return convert


def _instant_to_nanos(value: Instant) -> int:
    return value.seconds * 1_000_000_000 + value.nanos


def _instant_from_arrow(value: Any) -> Instant:
    seconds, nanos = divmod(value.value, 1_000_000_000)
    return Instant(seconds, nanos)
