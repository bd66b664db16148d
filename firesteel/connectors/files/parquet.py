"""Parquet files, by declared row types."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Iterator
from typing import IO, Any, BinaryIO

from firesteel.common.serialization import BulkWriter, BulkWriterFactory
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
from firesteel.connectors.files.formats import BulkFormat
from firesteel.errors import ConfigurationError, TypeMismatchError, UnsupportedError

__all__ = ["ParquetBulkWriters", "ParquetColumnarRowInputFormat"]

_GROUP_RECORDS = 10_000
"""How many records are turned into columns at a time."""

# How a value becomes what Arrow takes, or comes back from it; None: as it is.
_Convert = Callable[[Any], Any] | None


class ParquetBulkWriters:
    """Makes writers of Parquet files."""

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo, hadoop_config: Any = None, utc_timestamp: bool = False
    ) -> BulkWriterFactory:
        """Writers of rows: Rows, tuples, lists, dicts, or objects with attributes of the fields' names.

        ::

            row_type = Types.ROW_NAMED(["id", "at"], [Types.LONG(), Types.SQL_TIMESTAMP()])
            FileSink.for_bulk_format("/data/out", ParquetBulkWriters.for_row_type(row_type))

        :param row_type: Names and types of the columns.
        :param hadoop_config: Not supported: there is no Hadoop here.
        :param utc_timestamp: Whether a date and time without a zone is one of UTC, not of the machine's zone.
        """
        _refuse_hadoop(hadoop_config)
        return _ParquetWriterFactory(_expect_row_type(row_type, "for_row_type"), utc_timestamp)


class ParquetColumnarRowInputFormat(BulkFormat):
    """Reads Parquet files as Rows.

    :param row_type: Names and types of the columns to read; the files may have more.
    :param hadoop_config: Not supported: there is no Hadoop here.
    :param batch_size: How many rows are decoded at a time.
    :param is_utc_timestamp: Whether dates and times come back as those of UTC, not of the machine's zone.
    :param is_case_sensitive: Whether the names of columns have to agree in case.
    """

    def __init__(
        self,
        row_type: RowTypeInfo,
        hadoop_config: Any = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        _refuse_hadoop(hadoop_config)
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ConfigurationError(f"batch_size is a whole number above 0, got {batch_size!r}")
        self._row_type = _expect_row_type(row_type, "ParquetColumnarRowInputFormat")
        _columns(self._row_type, is_utc_timestamp)  # a type without a column is found here, not in the task
        self._batch_size = batch_size
        self._utc = is_utc_timestamp
        self._case_sensitive = is_case_sensitive

    def read_batches(self, stream: IO[bytes], skip: int) -> Iterator[list[Row]]:
        """The rows of a file in batches, without those to skip. Row groups that are skipped are not decoded."""
        import pyarrow.parquet as pq

        file = pq.ParquetFile(stream)
        names = self._names_in(file.schema_arrow.names)
        converters = [convert for _, _, convert in _columns(self._row_type, self._utc)]
        template = Row(*self._row_type.get_field_names())
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if skip >= rows:
                skip -= rows
                continue
            for batch in file.iter_batches(self._batch_size, row_groups=[group], columns=names):
                if skip >= len(batch):
                    skip -= len(batch)
                    continue
                rest, skip = batch.slice(skip), 0
                yield list(map(template, *(_decoded(rest.column(n), c) for n, c in zip(names, converters))))

    def _names_in(self, found: list[str]) -> list[str]:
        """The file's names of the columns, in the order of the row type."""
        known = {name if self._case_sensitive else name.lower(): name for name in found}
        wanted = self._row_type.get_field_names()
        missing = [name for name in wanted if (name if self._case_sensitive else name.lower()) not in known]
        if missing:
            raise TypeMismatchError(
                f"a Parquet file has no column {', '.join(missing)}; its columns are {', '.join(found)}. Change the "
                "row type, or read other files."
            )
        return [known[name if self._case_sensitive else name.lower()] for name in wanted]


def _decoded(column: Any, convert: _Convert) -> list[Any]:
    values: list[Any] = column.to_pylist()
    return values if convert is None else [None if value is None else convert(value) for value in values]


def _refuse_hadoop(hadoop_config: Any) -> None:
    if hadoop_config is not None:
        raise UnsupportedError(
            "hadoop_config has no meaning: Parquet files are written by pyarrow, without Hadoop. Leave it out; file "
            "systems are configured as pyarrow and fsspec say."
        )


def _expect_row_type(row_type: Any, where: str) -> RowTypeInfo:
    if isinstance(row_type, PojoTypeInfo):
        return RowTypeInfo(row_type.get_field_types(), row_type.get_field_names())
    if not isinstance(row_type, RowTypeInfo):
        raise ConfigurationError(
            f"{where} takes a row type, got {row_type!r} ({type(row_type).__name__}). For instance "
            "Types.ROW_NAMED(['id'], [Types.LONG()])."
        )
    return row_type


class _ParquetWriterFactory(BulkWriterFactory):
    def __init__(self, row_type: RowTypeInfo, utc: bool) -> None:
        _columns(row_type, utc)
        self._row_type = row_type
        self._utc = utc

    def create(self, stream: BinaryIO) -> BulkWriter:
        return _ParquetWriter(stream, self._row_type, self._utc)

    def get_row_type(self) -> RowTypeInfo:
        return self._row_type


class _ParquetWriter(BulkWriter):
    def __init__(self, stream: BinaryIO, row_type: RowTypeInfo, utc: bool) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._names = row_type.get_field_names()
        columns = _columns(row_type, utc)
        self._converters = [convert for _, convert, _ in columns]
        self._schema = pa.schema([pa.field(name, kind) for name, (kind, _, _) in zip(self._names, columns)])
        self._writer = pq.ParquetWriter(stream, self._schema)
        self._rows: list[list[Any]] = []

    def add_element(self, element: Any) -> None:
        values = _values(element, self._names)
        self._rows.append([v if v is None or c is None else c(v) for v, c in zip(values, self._converters)])
        if len(self._rows) >= _GROUP_RECORDS:
            self.flush()

    def flush(self) -> None:
        import pyarrow as pa

        rows, self._rows = self._rows, []
        if not rows:
            return
        try:
            columns = [pa.array(values, field.type) for values, field in zip(zip(*rows), self._schema)]
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise TypeMismatchError(
                f"a record does not fit the row type of its Parquet file: {error}. The columns are "
                f"{', '.join(f'{field.name}: {field.type}' for field in self._schema)}."
            ) from error
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def finish(self) -> None:
        self.flush()
        self._writer.close()


def _values(element: Any, names: list[str]) -> list[Any]:
    """The values of a record in the order of the columns."""
    if isinstance(element, Row):
        if element._fields is not None:
            row = element.as_dict()
            return [row.get(name) for name in names]
        values = list(element)
    elif isinstance(element, dict):
        return [element.get(name) for name in names]
    elif isinstance(element, (tuple, list)):
        values = list(element)
    elif dataclasses.is_dataclass(element) or all(hasattr(element, name) for name in names):
        return [getattr(element, name, None) for name in names]
    else:
        values = [element]
    if len(values) != len(names):
        raise TypeMismatchError(
            f"a Parquet file with the columns {', '.join(names)} was given {element!r:.80}. Map the stream to records "
            "with these fields."
        )
    return values


# --- types --------------------------------------------------------------------------------------------


def _columns(row_type: RowTypeInfo, utc: bool) -> list[tuple[Any, _Convert, _Convert]]:
    """Arrow's type of each field, and how values go there and come back."""
    return [_column(kind, utc, name) for name, kind in zip(row_type.get_field_names(), row_type.get_field_types())]


def _column(kind: TypeInformation, utc: bool, where: str) -> tuple[Any, _Convert, _Convert]:
    import pyarrow as pa

    if isinstance(kind, BasicTypeInfo) and kind == Types.INSTANT():
        return pa.timestamp("ns", "UTC"), _instant_to_nanos, _instant_from_arrow
    if isinstance(kind, TimestampTypeInfo):
        return pa.timestamp("us", "UTC"), _to_utc(utc), _from_utc(utc)
    if isinstance(kind, PrimitiveArrayTypeInfo) and kind == Types.PRIMITIVE_ARRAY(Types.BYTE()):
        return pa.binary(), bytes, None
    if isinstance(kind, (ListTypeInfo, ObjectArrayTypeInfo, BasicArrayTypeInfo, PrimitiveArrayTypeInfo)):
        element, there, back = _column(kind._element_type, utc, f"{where}[]")
        return pa.list_(element), _each(there), _each(back)
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
        f"field {where!r} is declared as {kind}, for which Parquet files have no column here. Map it to a text, "
        "number, date, time, list, map or row."
    )


def _map_column(kind: MapTypeInfo, utc: bool, where: str) -> tuple[Any, _Convert, _Convert]:
    import pyarrow as pa

    key, key_there, key_back = _column(kind.key_type, utc, f"{where} key")
    item, item_there, item_back = _column(kind.value_type, utc, f"{where}[]")

    def there(value: dict[Any, Any]) -> list[tuple[Any, Any]]:
        return [(_apply(key_there, k), _apply(item_there, v)) for k, v in value.items()]

    def back(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
        return {_apply(key_back, k): _apply(item_back, v) for k, v in pairs}

    return pa.map_(key, item), there, back


def _struct_column(kind: RowTypeInfo | PojoTypeInfo, utc: bool, where: str) -> tuple[Any, _Convert, _Convert]:
    import pyarrow as pa

    names = kind.get_field_names()
    columns = [_column(field, utc, f"{where}.{name}") for name, field in zip(names, kind.get_field_types())]
    template = Row(*names)

    def there(value: Any) -> dict[str, Any]:
        values = zip(names, _values(value, names), columns)
        return {name: _apply(convert, item) for name, item, (_, convert, _) in values}

    def back(value: dict[str, Any]) -> Row:
        return template(*(_apply(convert, value[name]) for name, (_, _, convert) in zip(names, columns)))

    return pa.struct([pa.field(name, column) for name, (column, _, _) in zip(names, columns)]), there, back


def _apply(convert: _Convert, value: Any) -> Any:
    return value if value is None or convert is None else convert(value)


def _each(convert: _Convert) -> _Convert:
    return list if convert is None else lambda values: [_apply(convert, value) for value in values]


def _to_utc(utc: bool) -> _Convert:
    def convert(value: datetime.datetime) -> datetime.datetime:
        if value.tzinfo is None and utc:
            return value.replace(tzinfo=datetime.timezone.utc)
        return value.astimezone(datetime.timezone.utc)

    return convert


def _from_utc(utc: bool) -> _Convert:
    def convert(value: datetime.datetime) -> datetime.datetime:
        aware = value.replace(tzinfo=datetime.timezone.utc) if value.tzinfo is None else value
        return aware.astimezone(datetime.timezone.utc if utc else None).replace(tzinfo=None)

    return convert


def _instant_to_nanos(value: Instant) -> int:
    return value.seconds * 1_000_000_000 + value.nanos


def _instant_from_arrow(value: Any) -> Instant:
    seconds, nanos = divmod(value.value, 1_000_000_000)
    return Instant(seconds, nanos)
