"""Schemas and encoders: how records become bytes for an outside system, and come back."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, BinaryIO

from firesteel.common.java_text import value_text
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.common.types import Row
from firesteel.errors import ConfigurationError, TypeMismatchError, UnsupportedError

__all__ = [
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowDataBulkWriterFactory",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]


class SerializationSchema(ABC):
    """Says how a sink turns a record into the bytes of one message. Must be picklable."""

    @abstractmethod
    def serialize(self, element: Any) -> bytes:
        """The bytes of one record. Called in the task, once for each record."""


class DeserializationSchema(ABC):
    """Says how a source turns the bytes of one message into a record. Must be picklable."""

    @abstractmethod
    def deserialize(self, message: bytes) -> Any:
        """The record of one message, or None to leave the message out. Called in the task."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The declared type of the records."""

    def is_end_of_stream(self, next_element: Any) -> bool:
        """Whether this record marks the end of the stream and is not emitted. Never, unless overridden."""
        return False


def _charset(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise ConfigurationError(f"unknown charset {name!r}. Use a name that Python knows, such as 'UTF-8'.") from None


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Text as the bytes of a charset, UTF-8 unless told otherwise."""

    def __init__(self, charset: str = "UTF-8") -> None:
        self._charset = _charset(charset)

    def serialize(self, element: Any) -> bytes:
        """The encoded text."""
        Types.STRING().ensure(element, "a record for SimpleStringSchema")
        return str(element).encode(self._charset)

    def deserialize(self, message: bytes) -> str:
        """The decoded text."""
        return bytes(message).decode(self._charset)

    def get_produced_type(self) -> TypeInformation:
        """The declared type of the records: STRING."""
        return Types.STRING()


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes as they are."""

    def __init__(self) -> None:
        self._type = Types.PRIMITIVE_ARRAY(Types.BYTE())

    def serialize(self, element: Any) -> bytes:
        """The bytes of the record."""
        return _require_bytes(element, "a record for ByteArraySchema")

    def deserialize(self, message: bytes) -> bytes:
        """The bytes of the message."""
        return bytes(message)

    def get_produced_type(self) -> TypeInformation:
        """The declared type of the records: an array of BYTE."""
        return self._type


def _require_bytes(value: Any, where: str) -> bytes:
    if not isinstance(value, (bytes, bytearray)):
        raise TypeMismatchError(
            f"{where} must be bytes, got {value!r} ({type(value).__name__}). Encode it in a map() before."
        )
    return bytes(value)


class RowFieldExtractorSchema(SerializationSchema):
    """Sends one field of a row: bytes as they are, other values as text; None becomes no bytes at all.

    With two of them a Kafka sink takes the key from one field of a row and the value from another.
    """

    def __init__(self, field_index: int) -> None:
        if isinstance(field_index, bool) or not isinstance(field_index, int) or field_index < 0:
            raise ConfigurationError(f"a field index counts from 0, got {field_index!r}. Pass 0, 1, 2, ...")
        self._field_index = field_index

    def serialize(self, element: Any) -> bytes:
        """The bytes in the field of the row; none for a row of None."""
        if element is None:
            return b""
        if not isinstance(element, (Row, tuple, list)) or len(element) <= self._field_index:
            raise TypeMismatchError(
                f"RowFieldExtractorSchema({self._field_index}) needs a Row with more fields than that, "
                f"got {element!r} ({type(element).__name__}). Check the index and the stream's records."
            )
        value = element[self._field_index]
        if value is None or isinstance(value, (bytes, bytearray)):
            return bytes(value or b"")
        return value_text(value).encode()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowFieldExtractorSchema) and self._field_index == other._field_index

    def __hash__(self) -> int:
        return hash((RowFieldExtractorSchema, self._field_index))


class Encoder(ABC):
    """Writes records one after the other to a file, for row-wise file formats. Must be picklable."""

    @abstractmethod
    def encode(self, element: Any, stream: BinaryIO) -> None:
        """Write one record to the open file."""

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """An encoder that writes ``str(record)`` and a line end."""
        return _SimpleStringEncoder(charset_name)


class _SimpleStringEncoder(Encoder):
    def __init__(self, charset_name: str) -> None:
        self._charset = _charset(charset_name)

    def encode(self, element: Any, stream: BinaryIO) -> None:
        stream.write(f"{element}\n".encode(self._charset))


class BulkWriter(ABC):
    """Writes records in groups to one open file, for columnar file formats."""

    @abstractmethod
    def add_element(self, element: Any) -> None:
        """Take one record; it may stay in memory for now."""

    def add_columns(self, columns: Any) -> None:
        """Take many records as a ``pyarrow.RecordBatch``. Only of factories that say ``takes_columns``."""
        raise UnsupportedError(f"{type(self).__name__} does not write columns")

    @abstractmethod
    def flush(self) -> None:
        """Write what is in memory."""

    def abandon(self) -> None:
        """The file is given up and will be deleted: let go of what is held. The stream is closed afterwards."""
        return None

    @abstractmethod
    def finish(self) -> None:
        """Write what is left and the file's end. Called once, last; the stream is closed by the caller."""


class BulkWriterFactory(ABC):
    """Opens a :class:`BulkWriter` for each new file of a sink. Must be picklable.

    :cvar takes_columns: Whether its writers have an ``add_columns``.
    """

    takes_columns: bool = False

    @abstractmethod
    def create(self, stream: BinaryIO) -> BulkWriter:
        """A writer on the open, empty file. Called in the task, once for each file."""


class RowDataBulkWriterFactory(BulkWriterFactory):
    """Opens writers for rows of one known type."""

    def __init__(self, open_writer: Callable[[BinaryIO, Any], BulkWriter], row_type: Any) -> None:
        self._open_writer = open_writer
        self._row_type = row_type

    def create(self, stream: BinaryIO) -> BulkWriter:
        """A writer of rows of that type on the open, empty file."""
        return self._open_writer(stream, self._row_type)

    def get_row_type(self) -> Any:
        """The type of the rows."""
        return self._row_type
