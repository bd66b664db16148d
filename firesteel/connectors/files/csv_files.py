"""CSV files: a schema of columns, a reader and writers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import IO, Any, BinaryIO

from firesteel.common.formats.csv_rows import CsvDialect, cell_reader, column_writer, one_character
from firesteel.common.formats.fields import Unreadable, field_values
from firesteel.common.serialization import BulkWriter, BulkWriterFactory
from firesteel.common.typeinfo import BasicTypeInfo, RowTypeInfo, TypeInformation, Types
from firesteel.common.types import Row
from firesteel.connectors.files.formats import StreamFormat
from firesteel.errors import ConfigurationError, MalformedRecordError

__all__ = ["CsvBulkWriters", "CsvReaderFormat", "CsvSchema", "CsvSchemaBuilder"]

_NUMBERS = tuple(
    make() for make in (Types.BYTE, Types.SHORT, Types.INT, Types.LONG, Types.FLOAT, Types.DOUBLE, Types.BIG_INT,
                        Types.BIG_DEC)
)  # fmt: skip


@dataclass(frozen=True)
class _Column:
    name: str
    kind: TypeInformation
    separator: str | None = None  # between the elements of an array; None: no array, or not set


@dataclass(frozen=True)
class _Settings:
    """What a file looks like besides its columns."""

    dialect: CsvDialect = field(default_factory=CsvDialect)
    use_header: bool = False
    strict_headers: bool = False
    skip_first_data_row: bool = False
    any_property: str | None = None


class CsvSchema:
    """What the lines of CSV files hold: made by :meth:`builder`. Its length is the number of columns."""

    def __init__(self, columns: tuple[_Column, ...], settings: _Settings) -> None:
        self.columns = columns
        self.settings = settings

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Begin a schema."""
        return CsvSchemaBuilder()

    def size(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    def row_type(self) -> RowTypeInfo:
        """Names and types of the columns."""
        return Types.ROW_NAMED([column.name for column in self.columns], [column.kind for column in self.columns])

    def __len__(self) -> int:
        return self.size()

    def __repr__(self) -> str:
        return f"CsvSchema({', '.join(f'{column.name}: {column.kind}' for column in self.columns)})"


class CsvSchemaBuilder:
    """Says which columns there are, in order, and which characters the files use. Its length is the number so far."""

    def __init__(self) -> None:
        self._columns: list[_Column] = []
        self._settings = _Settings()

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """A column of text."""
        return self._add(_Column(name, Types.STRING()))

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """A column of ``true`` and ``false``."""
        return self._add(_Column(name, Types.BOOLEAN()))

    def add_number_column(self, name: str, number_type: TypeInformation | None = None) -> CsvSchemaBuilder:
        """A column of numbers.

        :param number_type: For instance ``Types.DOUBLE()``; ``Types.LONG()`` if None.
        """
        kind = Types.LONG() if number_type is None else number_type
        if kind not in _NUMBERS:
            raise ConfigurationError(
                f"column {name!r} takes a type of numbers such as Types.DOUBLE(), got {number_type!r}"
            )
        return self._add(_Column(name, kind))

    def add_array_column(
        self, name: str, separator: str = ";", element_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """A column whose cells hold several values.

        :param separator: What stands between two of them.
        :param element_type: For instance ``Types.INT()``; text if None.
        """
        element = Types.STRING() if element_type is None else element_type
        if not isinstance(element, TypeInformation):
            raise ConfigurationError(f"column {name!r} takes an element type such as Types.INT(), got {element_type!r}")
        kind = Types.BASIC_ARRAY(element) if _is_boxed(element) else Types.OBJECT_ARRAY(element)
        return self._add(_Column(name, kind, separator))

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """All columns of another schema."""
        for column in schema.columns:
            self._add(column)
        return self

    def _add(self, column: _Column) -> CsvSchemaBuilder:
        if not isinstance(column.name, str) or not column.name:
            raise ConfigurationError(f"a column has a name, got {column.name!r}")
        if any(column.name == other.name for other in self._columns):
            raise ConfigurationError(f"there is a column {column.name!r} already; every column needs its own name")
        cell_reader(column.kind, CsvDialect(), column.name)  # a type without a form in CSV is found here
        self._columns.append(column)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Forget the columns so far."""
        self._columns.clear()
        return self

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """What stands between two columns; a comma unless set."""
        return self._dialect(delimiter=one_character("set_column_separator", char))

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """What encloses values that hold separators; a double quote unless set."""
        return self._dialect(quote=one_character("set_quote_char", char))

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """No quotes."""
        return self._dialect(quote=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """What takes the meaning from the character after it; there is none unless set."""
        return self._dialect(escape=one_character("set_escape_char", char))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """No escapes."""
        return self._dialect(escape=None)

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        r"""What ends a line that is written: ``\n`` unless set, ``\r`` or ``\r\n``. All three are read."""
        if separator not in ("\n", "\r", "\r\n"):
            raise ConfigurationError(f"a line ends with \\n, \\r or \\r\\n, got {separator!r}")
        return self._dialect(line_delimiter=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """The text that stands for None; None is written as nothing unless set, and never read."""
        return self._dialect(null_literal=null_value)

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Whether lines that begin with ``#`` are left out."""
        return self._dialect(allow_comments=bool(allow))

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """What stands between two elements in columns that were added without a separator of their own."""
        return self._dialect(array_delimiter=separator)

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """No separator for columns without one of their own: their cells are arrays of one element."""
        return self._dialect(array_delimiter="")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Let a column, counted from 0, do without a separator of its own."""
        if not 0 <= index < len(self._columns):
            raise ConfigurationError(f"there is no column {index}; there are {len(self._columns)}, counted from 0")
        self._columns[index] = replace(self._columns[index], separator=None)
        return self

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Whether the first line of a file holds the names of the columns: it is written, and left out when read."""
        self._settings = replace(self._settings, use_header=bool(use))
        return self

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Whether the header that is read must have the names of the columns in their order. Needs a header."""
        self._settings = replace(self._settings, strict_headers=bool(strict))
        return self

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Whether the first line of a file, after the header if there is one, is left out when read."""
        self._settings = replace(self._settings, skip_first_data_row=bool(skip))
        return self

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Name what stands behind the last column. Such values are left out then, and are an error otherwise."""
        self._settings = replace(self._settings, any_property=name)
        return self

    def _dialect(self, **changes: Any) -> CsvSchemaBuilder:
        self._settings = replace(self._settings, dialect=replace(self._settings.dialect, **changes))
        return self

    def size(self) -> int:
        """How many columns there are so far."""
        return len(self._columns)

    def __len__(self) -> int:
        return self.size()

    def build(self) -> CsvSchema:
        """The schema."""
        if not self._columns:
            raise ConfigurationError("a CSV schema needs a column. Call add_string_column(), add_number_column(), ...")
        if self._settings.strict_headers and not self._settings.use_header:
            raise ConfigurationError("strict headers need headers. Call set_use_header() as well.")
        return CsvSchema(tuple(self._columns), self._settings)


def _is_boxed(kind: TypeInformation) -> bool:
    return isinstance(kind, BasicTypeInfo) and kind not in (Types.BIG_INT(), Types.BIG_DEC(), Types.INSTANT())


class CsvReaderFormat(StreamFormat):
    """Reads CSV files as Rows, for a :class:`FileSource`. Files in UTF-8; quoted values may hold line ends.

    :param schema: What the lines hold.
    :param ignore_parse_errors: Whether lines that cannot be read are left out; they are errors otherwise.
    """

    gives_away = True

    def __init__(self, schema: CsvSchema, ignore_parse_errors: bool = False) -> None:
        if not isinstance(schema, CsvSchema):
            raise ConfigurationError(f"CsvReaderFormat takes a CsvSchema, got {schema!r}. See CsvSchema.builder().")
        self._schema = schema
        self._ignore = ignore_parse_errors

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """A format that reads lines of a schema."""
        return CsvReaderFormat(schema)

    def with_ignore_parse_errors(self) -> CsvReaderFormat:
        """The same format, which leaves out lines that cannot be read."""
        return CsvReaderFormat(self._schema, ignore_parse_errors=True)

    def get_produced_type(self) -> TypeInformation:
        """The declared type of the rows."""
        return self._schema.row_type()

    def read_records(self, stream: IO[bytes]) -> Iterator[Row]:
        """The rows of an open file."""
        settings = self._schema.settings
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            lines: Iterator[str] = iter(text)
            if settings.dialect.allow_comments:
                lines = (line for line in text if not line.startswith("#"))
            reader = csv.reader(lines, strict=True, **settings.dialect.options())
            cells = (line for line in self._lines(reader) if line)
            if settings.use_header:
                self._check_header(next(cells, None))
            if settings.skip_first_data_row:
                next(cells, None)
            yield from self._rows(cells, reader)
        finally:
            text.detach()  # the caller closes the file

    def _lines(self, reader: Any) -> Iterator[list[str]]:
        while True:
            try:
                yield next(reader)
            except StopIteration:
                return
            except (csv.Error, UnicodeDecodeError) as error:
                if not self._ignore or isinstance(error, UnicodeDecodeError):
                    raise _malformed(reader, error) from error

    def _check_header(self, found: list[str] | None) -> None:
        wanted = [column.name for column in self._schema.columns]
        if found is not None and self._schema.settings.strict_headers and [name.strip() for name in found] != wanted:
            raise MalformedRecordError(
                f"a CSV file has the header {', '.join(found)}, expected {', '.join(wanted)}. Change the schema, or do "
                "without set_strict_headers()."
            )

    def _rows(self, lines: Iterator[list[str]], reader: Any) -> Iterator[Row]:
        readers = [
            (column.name, cell_reader(column.kind, _dialect_of(column, self._schema.settings), column.name))
            for column in self._schema.columns
        ]
        template = Row(*(name for name, _ in readers))
        may_have_more = self._schema.settings.any_property is not None
        for cells in lines:
            try:
                if len(cells) < len(readers) or (len(cells) > len(readers) and not may_have_more):
                    raise Unreadable(f"expected {len(readers)} columns, got {len(cells)}: {cells!r:.80}")
                yield template(*(_read(name, read, cell) for (name, read), cell in zip(readers, cells)))
            except Unreadable as error:
                if not self._ignore:
                    raise _malformed(reader, error) from error


def _read(name: str, read: Any, cell: str) -> Any:
    try:
        return read(cell)
    except Unreadable as error:
        raise error.inside(name) from error


def _malformed(reader: Any, error: Exception) -> MalformedRecordError:
    return MalformedRecordError(
        f"line {reader.line_num} of a CSV file cannot be read: {error}. Correct the file or the schema, or use "
        "with_ignore_parse_errors()."
    )


def _dialect_of(column: _Column, settings: _Settings) -> CsvDialect:
    if column.separator is None:
        return settings.dialect
    return replace(settings.dialect, array_delimiter=column.separator)


class CsvBulkWriters:
    """Makes writers of CSV files."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Writers of rows: Rows, tuples, lists, dicts, or objects with attributes of the columns' names."""
        if not isinstance(schema, CsvSchema):
            raise ConfigurationError(f"for_schema() takes a CsvSchema, got {schema!r}. See CsvSchema.builder().")
        return _CsvWriterFactory(schema)


class _CsvWriterFactory(BulkWriterFactory):
    def __init__(self, schema: CsvSchema) -> None:
        self._schema = schema

    def create(self, stream: BinaryIO) -> BulkWriter:
        return _CsvWriter(stream, self._schema)


class _CsvWriter(BulkWriter):
    def __init__(self, stream: BinaryIO, schema: CsvSchema) -> None:
        self._stream = stream
        settings = schema.settings
        self._dialect = settings.dialect
        self._names = [column.name for column in schema.columns]
        self._writers = [
            column_writer(column.kind, _dialect_of(column, settings), column.name) for column in schema.columns
        ]
        if settings.use_header:
            stream.write(self._dialect.line(list(map(self._dialect.quoted, self._names))).encode())

    def add_element(self, element: Any) -> None:
        values = field_values(element, self._names, "CSV")
        line = self._dialect.line([write(value) for write, value in zip(self._writers, values)])
        self._stream.write(line.encode())

    def flush(self) -> None:
        self._stream.flush()

    def finish(self) -> None:
        self.flush()
