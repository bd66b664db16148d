"""Parquet files, by declared row types or Avro schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, BinaryIO

from firesteel.common.formats.arrow_columns import Column, columns, row_columns
from firesteel.common.formats.avro_rows import AvroSchema
from firesteel.common.formats.fields import expect_row_type
from firesteel.common.serialization import BulkWriter, BulkWriterFactory
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.common.types import Row
from firesteel.connectors.files.avro_columns import record_columns
from firesteel.connectors.files.columns import ColumnWriter, conformed, decoded, refuse_hadoop, stored_schema
from firesteel.connectors.files.formats import BulkFormat, StreamFormat
from firesteel.errors import ConfigurationError, TypeMismatchError

_COLUMN_ROWS = 65_536
"""How many rows a batch of columns has: what is done per batch should not be felt."""

__all__ = ["AvroParquetReaders", "AvroParquetWriters", "ParquetBulkWriters", "ParquetColumnarRowInputFormat"]


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
        refuse_hadoop(hadoop_config)
        return _RowWriterFactory(expect_row_type(row_type, "for_row_type"), utc_timestamp)


class ParquetColumnarRowInputFormat(BulkFormat):
    """Reads Parquet files as Rows.

    :param row_type: Names and types of the columns to read; the files may have more.
    :param hadoop_config: Not supported: there is no Hadoop here.
    :param batch_size: How many rows are decoded at a time.
    :param is_utc_timestamp: Whether dates and times come back as those of UTC, not of the machine's zone.
    :param is_case_sensitive: Whether the names of columns have to agree in case.
    """

    gives_away = True

    def __init__(
        self,
        row_type: RowTypeInfo,
        hadoop_config: Any = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        refuse_hadoop(hadoop_config)
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ConfigurationError(f"batch_size is a whole number above 0, got {batch_size!r}")
        self._row_type = expect_row_type(row_type, "ParquetColumnarRowInputFormat")
        columns(self._row_type, is_utc_timestamp)  # a type without a column is found here, not in the task
        self._batch_size = batch_size
        self._utc = is_utc_timestamp
        self._case_sensitive = is_case_sensitive

    def read_batches(self, stream: IO[bytes], skip: int) -> Iterator[list[Row]]:
        """The rows of a file in batches, without those to skip. Row groups that are skipped are not decoded."""
        converters = [convert for _, _, convert in columns(self._row_type, self._utc)]
        template = Row(*self._row_type.get_field_names())
        for batch in self._batches(stream, skip, self._batch_size):
            yield list(map(template, *map(decoded, batch.columns, converters)))

    @property
    def gives_columns(self) -> bool:
        """Columns of the declared types."""
        return True

    def read_columns(self, stream: IO[bytes], skip: int) -> Iterator[Any]:
        """The batches of a file as they are stored, with the names and types of the row type."""
        schema = stored_schema(self._row_type, self._utc)
        for batch in self._batches(stream, skip, max(self._batch_size, _COLUMN_ROWS)):
            yield conformed(batch, schema, "Parquet")

    def _batches(self, stream: IO[bytes], skip: int, size: int) -> Iterator[Any]:
        import pyarrow.parquet as pq

        file = pq.ParquetFile(stream)
        names = self._names_in(file.schema_arrow.names)
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if skip >= rows:
                skip -= rows
                continue
            for batch in file.iter_batches(size, row_groups=[group], columns=names):
                if skip >= len(batch):
                    skip -= len(batch)
                    continue
                rest, skip = batch.slice(skip).select(names), 0
                yield rest

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


class AvroParquetWriters:
    """Makes writers of Parquet files out of records of an Avro schema."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Writers of records as dicts (Rows do as well). The file carries the Avro schema, as Avro's tools expect."""
        return _AvroWriterFactory(_expect_schema(schema, "for_generic_record"))


class AvroParquetReaders:
    """Makes readers of Parquet files that give records of an Avro schema."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat:
        """Records as dicts with the fields of the schema; the files may have more columns."""
        return _AvroParquetFormat(_expect_schema(schema, "for_generic_record"))


def _expect_schema(schema: Any, method: str) -> AvroSchema:
    if not isinstance(schema, AvroSchema):
        raise ConfigurationError(f"{method}() takes an AvroSchema, got {schema!r:.80}. See AvroSchema.parse_string().")
    record_columns(schema)  # a type without a column is found here, not in the task
    return schema


class _AvroParquetFormat(StreamFormat):
    gives_away = True

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def read_records(self, stream: IO[bytes]) -> Iterator[dict[str, Any]]:
        import pyarrow.parquet as pq

        columns = record_columns(self._schema)
        file = pq.ParquetFile(stream)
        # Avro's own writer leaves out fields that are always null.
        absent = {name for name in columns if name not in file.schema_arrow.names}
        if missing := [name for name in absent if str(columns[name][0]) != "null"]:
            raise TypeMismatchError(
                f"a Parquet file has no column {', '.join(missing)}; its columns are "
                f"{', '.join(file.schema_arrow.names)}. Change the Avro schema, or read other files."
            )
        wanted = {name: back for name, (_, _, back) in columns.items() if name not in absent}
        for batch in file.iter_batches(columns=list(wanted)):
            parts = [decoded(batch.column(name), back) for name, back in wanted.items()]
            for values in zip(*parts):
                record = dict(zip(wanted, values))
                yield record if not absent else {name: record.get(name) for name in columns}


class _RowWriterFactory(BulkWriterFactory):
    takes_columns = True

    def __init__(self, row_type: RowTypeInfo, utc: bool) -> None:
        columns(row_type, utc)
        self._row_type = row_type
        self._utc = utc

    def create(self, stream: BinaryIO) -> BulkWriter:
        return _ParquetWriter(stream, row_columns(self._row_type, self._utc), None)

    def get_row_type(self) -> RowTypeInfo:
        return self._row_type


class _AvroWriterFactory(BulkWriterFactory):
    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def create(self, stream: BinaryIO) -> BulkWriter:
        return _ParquetWriter(stream, record_columns(self._schema), {"parquet.avro.schema": str(self._schema)})


class _ParquetWriter(ColumnWriter):
    def __init__(self, stream: BinaryIO, columns: dict[str, Column], metadata: dict[str, str] | None) -> None:
        import pyarrow.parquet as pq

        super().__init__("Parquet", columns, metadata)
        self._writer = pq.ParquetWriter(stream, self._schema)

    def write_table(self, table: Any) -> None:
        self._writer.write_table(table)

    def close(self) -> None:
        self._writer.close()
