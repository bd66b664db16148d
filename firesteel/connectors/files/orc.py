"""ORC files, by declared row types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, BinaryIO

from firesteel.common.formats.arrow_columns import Column, columns, row_columns
from firesteel.common.formats.fields import expect_row_type
from firesteel.common.serialization import BulkWriter, BulkWriterFactory
from firesteel.common.typeinfo import LocalTimeTypeInfo, RowTypeInfo, TimeTypeInfo
from firesteel.common.types import Row
from firesteel.connectors.files.columns import ColumnWriter, conformed, decoded, refuse_hadoop, stored_schema
from firesteel.connectors.files.formats import BulkFormat
from firesteel.errors import ConfigurationError, TypeMismatchError, UnsupportedError

__all__ = ["OrcBulkWriters", "OrcColumnarRowInputFormat"]

# ORC's own names of properties, and what pyarrow calls them.
_PROPERTIES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "orc.compress": ("compression", lambda text: "uncompressed" if text.lower() == "none" else text.lower()),
    "orc.compress.size": ("compression_block_size", int),
    "orc.stripe.size": ("stripe_size", int),
    "orc.row.index.stride": ("row_index_stride", int),
}


class OrcBulkWriters:
    """Makes writers of ORC files."""

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo, writer_properties: Mapping[str, str] | None = None, hadoop_config: Any = None
    ) -> BulkWriterFactory:
        """Writers of rows: Rows, tuples, lists, dicts, or objects with attributes of the fields' names.

        Dates and times without a zone count as UTC.

        :param row_type: Names and types of the columns. ORC has no times of day.
        :param writer_properties: ``orc.compress`` (NONE, ZLIB, SNAPPY, LZ4, ZSTD), ``orc.compress.size``,
            ``orc.stripe.size``, ``orc.row.index.stride``.
        :param hadoop_config: Not supported: there is no Hadoop here.
        """
        refuse_hadoop(hadoop_config)
        kind = _expect_orc_type(row_type, "for_row_type")
        return _OrcWriterFactory(kind, _options(writer_properties or {}))


class OrcColumnarRowInputFormat(BulkFormat):
    """Reads ORC files as Rows. PyFlink has no such reader in its DataStream API; Flink's Java API does.

    :param row_type: Names and types of the columns to read; the files may have more.
    """

    gives_away = True

    def __init__(self, row_type: RowTypeInfo) -> None:
        self._row_type = _expect_orc_type(row_type, "OrcColumnarRowInputFormat")

    def read_batches(self, stream: IO[bytes], skip: int) -> Iterator[list[Row]]:
        """The rows of a file, stripe by stripe, without those to skip."""
        wanted = row_columns(self._row_type, utc=True)
        template, converters = Row(*wanted), [back for _, _, back in wanted.values()]
        for stripe in self._stripes(stream, skip):
            yield list(map(template, *map(decoded, stripe.columns, converters)))

    @property
    def gives_columns(self) -> bool:
        """Columns of the declared types."""
        return True

    def read_columns(self, stream: IO[bytes], skip: int) -> Iterator[Any]:
        """The stripes of a file as they are stored, with the types of the row type."""
        schema = stored_schema(self._row_type, utc=True)
        for stripe in self._stripes(stream, skip):
            yield conformed(stripe, schema, "ORC")

    def _stripes(self, stream: IO[bytes], skip: int) -> Iterator[Any]:
        from pyarrow import orc

        file = orc.ORCFile(stream)
        wanted = self._row_type.get_field_names()
        if missing := [name for name in wanted if name not in file.schema.names]:
            raise TypeMismatchError(
                f"an ORC file has no column {', '.join(missing)}; its columns are {', '.join(file.schema.names)}. "
                "Change the row type, or read other files."
            )
        for stripe in range(file.nstripes):
            batch = file.read_stripe(stripe, columns=wanted)
            if skip >= len(batch):
                skip -= len(batch)
                continue
            rest, skip = batch.slice(skip).select(wanted), 0
            yield rest


def _expect_orc_type(row_type: Any, where: str) -> RowTypeInfo:
    kind = expect_row_type(row_type, where)
    columns(kind, utc=True)  # a type without a column is found here, not in the task
    for name, field in zip(kind.get_field_names(), kind.get_field_types()):
        if isinstance(field, (TimeTypeInfo, LocalTimeTypeInfo)):
            raise UnsupportedError(
                f"field {name!r} is a time of day, which ORC does not have. Map it to a text or number."
            )
    return kind


def _options(properties: Mapping[str, str]) -> dict[str, Any]:
    options = {}
    for name, value in properties.items():
        if name not in _PROPERTIES:
            raise ConfigurationError(
                f"the ORC property {name!r} has no meaning here. Those with one are {', '.join(_PROPERTIES)}."
            )
        option, convert = _PROPERTIES[name]
        options[option] = convert(str(value))
    return options


class _OrcWriterFactory(BulkWriterFactory):
    takes_columns = True

    def __init__(self, row_type: RowTypeInfo, options: dict[str, Any]) -> None:
        self._row_type = row_type
        self._options = options

    def create(self, stream: BinaryIO) -> BulkWriter:
        return _OrcWriter(stream, row_columns(self._row_type, utc=True), self._options)

    def get_row_type(self) -> RowTypeInfo:
        return self._row_type


class _OrcWriter(ColumnWriter):
    def __init__(self, stream: BinaryIO, columns: dict[str, Column], options: dict[str, Any]) -> None:
        from pyarrow import orc

        super().__init__("ORC", columns)
        self._writer = orc.ORCWriter(stream, **options)
        self._is_empty = True

    def write_table(self, table: Any) -> None:
        self._writer.write(table)
        self._is_empty = False

    def close(self) -> None:
        if self._is_empty:  # the columns are only known to the file from its first table
            self._writer.write(self._schema.empty_table())
        self._writer.close()
