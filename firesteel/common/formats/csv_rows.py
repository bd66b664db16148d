"""Comma-separated values as Rows, one line per message."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from firesteel.common.formats.fields import Unreadable, expect_row_type, field_values, malformed
from firesteel.common.formats.text_values import BYTES, read_text, text_reader, text_writer
from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import (
    NullableTypeInfo,
    PojoTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
    _ArrayTypeInfo,
)
from firesteel.common.types import Row
from firesteel.errors import ConfigurationError, TypeMismatchError, UnsupportedError

__all__ = ["CsvDialect", "CsvRowDeserializationSchema", "CsvRowSerializationSchema", "cell_reader", "column_writer"]


@dataclass(frozen=True)
class CsvDialect:
    """The characters of a kind of CSV.

    :param null_literal: The text that stands for None; there is none if None, and None is written as nothing.
    :param array_delimiter: What stands between the elements of an array, or the fields of a row inside a row.
    """

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    line_delimiter: str = "\n"
    null_literal: str | None = None
    array_delimiter: str = ";"
    allow_comments: bool = False

    def options(self) -> dict[str, Any]:
        """The same for Python's csv module."""
        return {
            "delimiter": self.delimiter,
            "quotechar": self.quote,
            "escapechar": self.escape,
            "quoting": csv.QUOTE_NONE if self.quote is None else csv.QUOTE_MINIMAL,
        }

    def line(self, cells: Sequence[str]) -> str:
        """One line of cells that are quoted already where they need it, with its end."""
        return self.delimiter.join(cells) + self.line_delimiter

    def quoted(self, text: str) -> str:
        """The text as Flink's CSV writer quotes it.

        It does not look closely: whatever is long, or holds a character that sorts before the delimiter or the quote,
        stands in quotes. Readers do not mind.
        """
        if self.quote is None:
            return self._escaped(text)
        if not self._may_need_quotes(text):
            return text
        if self.escape is not None and self.escape != self.quote:
            text = text.replace(self.escape, self.escape * 2)
        return self.quote + text.replace(self.quote, self.quote * 2) + self.quote

    def _escaped(self, text: str) -> str:
        if self.escape is None:
            return text
        special = (self.escape, self.delimiter, "\r", "\n")
        return "".join(self.escape + character if character in special else character for character in text)

    def _may_need_quotes(self, text: str) -> bool:
        if len(text) > _LOOKED_AT:
            return True
        last_unsafe = max(self.delimiter, self.quote or "", *self.line_delimiter, "\r")
        return any(character <= last_unsafe or character in ("\\", self.escape) for character in text)


_LOOKED_AT = 24


def one_character(method: str, value: Any) -> str:
    """Check a delimiter, quote or escape character."""
    if not isinstance(value, str) or len(value) != 1:
        raise ConfigurationError(f"{method}() takes one character, got {value!r}")
    return value


class CsvRowDeserializationSchema(DeserializationSchema):
    """Reads one line of comma-separated values per message, as a Row of a declared type.

    ::

        >>> from firesteel.common import Types
        >>> row_type = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
        >>> CsvRowDeserializationSchema.Builder(row_type).build().deserialize(b"7,Fred")
        Row(id=7, name='Fred')

    :param type_info: Names and types of the columns.
    :param dialect: The characters that mark columns, quotes and so on.
    :param ignore_parse_errors: Whether a message that is no line of CSV is left out, and a value that cannot be read
        or is missing is None; all of these are errors otherwise.
    """

    def __init__(
        self, type_info: RowTypeInfo, dialect: CsvDialect | None = None, ignore_parse_errors: bool = False
    ) -> None:
        self._type_info = expect_row_type(type_info, "CsvRowDeserializationSchema")
        self._dialect = dialect or CsvDialect()
        self._ignore = ignore_parse_errors
        self._names = self._type_info.get_field_names()
        self._readers = [
            cell_reader(kind, self._dialect, name) for name, kind in zip(self._names, self._type_info.get_field_types())
        ]
        self._template = Row(*self._names)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._type_info, self._dialect, self._ignore)

    def deserialize(self, message: bytes) -> Row | None:
        """The row of one message; None if it is a comment, or malformed and parse errors are ignored.

        :raises MalformedRecordError: The message cannot be read.
        """
        try:
            text = bytes(message).decode("utf-8").rstrip("\r\n")
            if self._dialect.allow_comments and text.startswith("#"):
                return None
            lines = list(csv.reader(io.StringIO(text, newline=""), strict=True, **self._dialect.options()))
            if len(lines) != 1:
                raise Unreadable(f"expected one line, got {len(lines)}")
            return self._row(lines[0])
        except (Unreadable, ValueError, csv.Error) as error:
            if self._ignore:
                return None
            raise malformed("CSV", message, error) from error

    def _row(self, cells: list[str]) -> Row:
        if len(cells) != len(self._names) and not self._ignore:
            raise Unreadable(f"expected {len(self._names)} columns ({', '.join(self._names)}), got {len(cells)}")
        values: list[Any] = []
        for name, reader, cell in zip(self._names, self._readers, cells):
            try:
                values.append(reader(cell))
            except Unreadable as error:
                if not self._ignore:
                    raise error.inside(name) from error
                values.append(None)
        return self._template(*values, *[None] * (len(self._names) - len(values)))

    def get_produced_type(self) -> TypeInformation:
        """The declared row type."""
        return self._type_info

    class Builder:
        """Says what the lines hold, and which characters they use.

        :param type_info: Names and types of the columns.
        """

        def __init__(self, type_info: TypeInformation) -> None:
            self._type_info = expect_row_type(type_info, "CsvRowDeserializationSchema.Builder")
            self._dialect = CsvDialect()
            self._ignore_parse_errors = False

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """What stands between two columns; a comma unless set."""
            self._dialect = replace(self._dialect, delimiter=one_character("set_field_delimiter", delimiter))
            return self

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Whether lines that begin with ``#`` are left out; they are not unless set."""
            self._dialect = replace(self._dialect, allow_comments=bool(allow_comments))
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """What stands between the elements of an array; a semicolon unless set."""
            self._dialect = replace(self._dialect, array_delimiter=_not_empty("set_array_element_delimiter", delimiter))
            return self

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """What encloses values that hold delimiters; a double quote unless set."""
            self._dialect = replace(self._dialect, quote=one_character("set_quote_character", c))
            return self

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """What takes the meaning from the character after it; there is none unless set."""
            self._dialect = replace(self._dialect, escape=one_character("set_escape_character", c))
            return self

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """The text that stands for None; there is none unless set."""
            self._dialect = replace(self._dialect, null_literal=_text("set_null_literal", null_literal))
            return self

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> CsvRowDeserializationSchema.Builder:
            """Whether malformed lines are left out, and unreadable or missing values None."""
            self._ignore_parse_errors = bool(ignore_parse_errors)
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """The schema."""
            return CsvRowDeserializationSchema(self._type_info, self._dialect, self._ignore_parse_errors)


class CsvRowSerializationSchema(SerializationSchema):
    r"""Writes Rows of a declared type as lines of comma-separated values, one per message.

    ::

        >>> from firesteel.common import Row, Types
        >>> row_type = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
        >>> CsvRowSerializationSchema.Builder(row_type).build().serialize(Row(7, "Fred"))
        b'7,Fred\n'

    :param type_info: Names and types of the columns.
    :param dialect: The characters that mark columns, quotes and so on.
    """

    def __init__(self, type_info: RowTypeInfo, dialect: CsvDialect | None = None) -> None:
        self._type_info = expect_row_type(type_info, "CsvRowSerializationSchema")
        self._dialect = dialect or CsvDialect()
        self._names = self._type_info.get_field_names()
        self._writers = [
            column_writer(kind, self._dialect, name)
            for name, kind in zip(self._names, self._type_info.get_field_types())
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._type_info, self._dialect)

    def serialize(self, element: Any) -> bytes:
        """The line of one record with its end, in UTF-8.

        :raises TypeMismatchError: The record is not of the declared type.
        """
        values = field_values(element, self._names, "CSV")
        return self._dialect.line([write(value) for write, value in zip(self._writers, values)]).encode()

    class Builder:
        """Says what the rows hold, and which characters the lines use.

        :param type_info: Names and types of the columns.
        """

        def __init__(self, type_info: TypeInformation) -> None:
            self._type_info = expect_row_type(type_info, "CsvRowSerializationSchema.Builder")
            self._dialect = CsvDialect()

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """What stands between two columns; a comma unless set."""
            self._dialect = replace(self._dialect, delimiter=one_character("set_field_delimiter", c))
            return self

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            r"""What ends a line: ``\n`` unless set, ``\r``, ``\r\n``, or nothing."""
            if delimiter not in ("\n", "\r", "\r\n", ""):
                raise ConfigurationError(f"a line ends with \\n, \\r, \\r\\n or nothing, got {delimiter!r}")
            self._dialect = replace(self._dialect, line_delimiter=delimiter)
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """What stands between the elements of an array; a semicolon unless set."""
            self._dialect = replace(self._dialect, array_delimiter=_not_empty("set_array_element_delimiter", delimiter))
            return self

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Never quote: a value that holds a delimiter is written as it is, and read as two."""
            self._dialect = replace(self._dialect, quote=None)
            return self

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """What encloses values that hold delimiters; a double quote unless set."""
            self._dialect = replace(self._dialect, quote=one_character("set_quote_character", c))
            return self

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """What takes the meaning from the character after it; there is none unless set."""
            self._dialect = replace(self._dialect, escape=one_character("set_escape_character", c))
            return self

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """How None is written; as nothing unless set."""
            self._dialect = replace(self._dialect, null_literal=_text("set_null_literal", s))
            return self

        def build(self) -> CsvRowSerializationSchema:
            """The schema."""
            return CsvRowSerializationSchema(self._type_info, self._dialect)


def _text(method: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ConfigurationError(f"{method}() takes a text, got {value!r}")
    return value


def _not_empty(method: str, value: Any) -> str:
    if not _text(method, value):
        raise ConfigurationError(f"{method}() takes a text that is not empty, got {value!r}")
    return str(value)


# --- cells --------------------------------------------------------------------------------------------


def cell_reader(kind: TypeInformation, dialect: CsvDialect, where: str) -> Callable[[str], Any]:
    """How the text of a cell becomes a value of a type.

    :raises UnsupportedError: The type has no form in CSV.
    """
    read = _part_reader(kind, dialect, where)
    if dialect.null_literal is None:
        return read
    return lambda cell: None if cell == dialect.null_literal else read(cell)


def _part_reader(kind: TypeInformation, dialect: CsvDialect, where: str) -> Callable[[str], Any]:
    if isinstance(kind, NullableTypeInfo):
        return _part_reader(kind.value_type_info, dialect, where)
    simple = text_reader(kind)
    if simple is not None:
        return lambda cell: read_text(kind, cell, simple)
    delimiter = dialect.array_delimiter
    if isinstance(kind, _ArrayTypeInfo):
        element = _element(cell_reader, kind.element_type, dialect, where)
        if not delimiter:
            return lambda cell: [element(cell)] if cell else []
        return lambda cell: [element(part) for part in cell.split(delimiter)] if cell else []
    parts = [_element(cell_reader, part, dialect, where) for part in _parts(kind, where)]
    names = kind.get_field_names() if isinstance(kind, (RowTypeInfo, PojoTypeInfo)) else None

    def read(cell: str) -> Any:
        texts = cell.split(delimiter) if delimiter else [cell]
        if len(texts) != len(parts):
            raise Unreadable(f"expected {len(parts)} values between {delimiter!r}, got {cell!r:.60}")
        values = [part(text) for part, text in zip(parts, texts)]
        return tuple(values) if names is None else Row(*names)(*values)

    return read


def column_writer(kind: TypeInformation, dialect: CsvDialect, where: str) -> Callable[[Any], str]:
    """How a value of a type becomes a cell of a line: as its text, in quotes where that may be needed.

    :raises UnsupportedError: The type has no form in CSV.
    """
    write = cell_writer(kind, dialect, where)
    inner = kind.value_type_info if isinstance(kind, NullableTypeInfo) else kind
    if inner in _NEVER_QUOTED:
        return write
    return lambda value: write(None) if value is None else dialect.quoted(write(value))


_NEVER_QUOTED = tuple(
    make()
    for make in (
        Types.BOOLEAN,
        Types.BYTE,
        Types.SHORT,
        Types.INT,
        Types.LONG,
        Types.FLOAT,
        Types.DOUBLE,
        Types.BIG_INT,
        Types.BIG_DEC,
    )
)


def cell_writer(kind: TypeInformation, dialect: CsvDialect, where: str) -> Callable[[Any], str]:
    """How a value of a type becomes the text of a cell.

    :raises UnsupportedError: The type has no form in CSV.
    """
    write = _part_writer(kind, dialect, where)
    null = dialect.null_literal or ""

    def checked(value: Any) -> str:
        if value is None:
            return null
        wrong = kind.check(value)
        if wrong is not None:
            raise TypeMismatchError(f"column {where!r} is declared as {kind}: {wrong}. Pass a fitting value.")
        return write(value)

    return checked


def _part_writer(kind: TypeInformation, dialect: CsvDialect, where: str) -> Callable[[Any], str]:
    if isinstance(kind, NullableTypeInfo):
        return _part_writer(kind.value_type_info, dialect, where)
    simple = text_writer(kind, rfc3339=False)
    if simple is not None:
        return simple
    delimiter = dialect.array_delimiter
    if isinstance(kind, _ArrayTypeInfo):
        element = _element(cell_writer, kind.element_type, dialect, where)
        return lambda values: delimiter.join(map(element, values))
    parts = [_element(cell_writer, part, dialect, where) for part in _parts(kind, where)]
    names = kind.get_field_names() if isinstance(kind, (RowTypeInfo, PojoTypeInfo)) else None

    def write(value: Any) -> str:
        values = list(value) if names is None else field_values(value, names, "CSV")
        return delimiter.join(part(item) for part, item in zip(parts, values))

    return write


def _element(make: Callable[..., Any], kind: TypeInformation, dialect: CsvDialect, where: str) -> Any:
    """What reads or writes a part of a cell. Such a part has no parts of its own: there is one array delimiter."""
    inner = kind.value_type_info if isinstance(kind, NullableTypeInfo) else kind
    if isinstance(inner, (RowTypeInfo, PojoTypeInfo, TupleTypeInfo)) or (
        isinstance(inner, _ArrayTypeInfo) and inner != BYTES
    ):
        raise UnsupportedError(f"column {where!r} holds {kind} inside another array or row, which CSV has no form for.")
    return make(kind, dialect, where)


def _parts(kind: TypeInformation, where: str) -> list[TypeInformation]:
    if not isinstance(kind, (RowTypeInfo, PojoTypeInfo, TupleTypeInfo)):
        raise UnsupportedError(
            f"column {where!r} is declared as {kind}, which CSV has no form for. Use basic types, dates and times, or "
            "arrays and rows of these."
        )
    return kind.get_field_types()
