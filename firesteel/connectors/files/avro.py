"""Avro files: records of a schema, as dicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any, BinaryIO

from firesteel.common.formats.avro_rows import AvroSchema, GenericRecordAvroTypeInfo, fastavro_module
from firesteel.common.io import InputFormat
from firesteel.common.serialization import BulkWriter, BulkWriterFactory
from firesteel.common.typeinfo import TypeInformation
from firesteel.common.types import Row
from firesteel.connectors.files.formats import StreamFormat
from firesteel.connectors.files.source import find_files
from firesteel.connectors.files.storage import check_path, open_storage
from firesteel.errors import ConfigurationError, MalformedRecordError, TypeMismatchError

__all__ = ["AvroBulkWriters", "AvroInputFormat", "AvroReaderFormat"]


class AvroBulkWriters:
    """Makes writers of Avro files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Writers of records of a schema, which are dicts; Rows with names do as well."""
        return _AvroWriterFactory(_expect_schema(schema, "for_generic_record()"))


class AvroInputFormat(InputFormat):
    """Reads Avro files as dicts, for ``env.create_input()``. Each file is one split.

    :param path: A file, or a directory whose files are all read.
    :param schema: What the records shall look like; files written with another schema are converted by Avro's rules.
    """

    def __init__(self, path: str, schema: AvroSchema) -> None:
        self._path = path
        self._schema = _expect_schema(schema, "AvroInputFormat")
        check_path(path)  # a wrong path is found here, not in the job
        self._file: IO[bytes] | None = None
        self._records: Iterator[Any] = iter(())
        self._next: list[Any] = []

    def get_produced_type(self) -> TypeInformation:
        """The declared type of the records."""
        return GenericRecordAvroTypeInfo(self._schema)

    def create_input_splits(self, min_num_splits: int) -> Sequence[str]:
        """One split for each file, however many are asked for."""
        return [entry.path for entry in find_files(self._path)]

    def open(self, split: str) -> None:
        """Open a file."""
        storage, _ = open_storage(self._path)
        self._file = storage.open(split)
        self._records = _records(self._file, self._schema)
        self._next = []

    def reached_end(self) -> bool:
        """Whether the open file has no record left."""
        if not self._next:
            self._next = [record for _, record in zip(range(1), self._records)]
        return not self._next

    def next_record(self) -> dict[str, Any]:
        """The next record of the open file."""
        if self.reached_end():
            raise EOFError(f"the Avro files in {self._path!r} have no more records in this split")
        record: dict[str, Any] = self._next.pop()
        return record

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        self._file, self._records, self._next = None, iter(()), []


class AvroReaderFormat(StreamFormat):
    """Reads Avro files as dicts, for a :class:`FileSource`, which can also watch a directory.

    :param schema: What the records shall look like; None: as each file says.
    """

    gives_away = True

    def __init__(self, schema: AvroSchema | None = None) -> None:
        self._schema = None if schema is None else _expect_schema(schema, "AvroReaderFormat")

    def read_records(self, stream: IO[bytes]) -> Iterator[dict[str, Any]]:
        """The records of an open file."""
        return _records(stream, self._schema)


def _expect_schema(schema: Any, where: str) -> AvroSchema:
    if not isinstance(schema, AvroSchema):
        raise ConfigurationError(f"{where} takes an AvroSchema, got {schema!r:.80}. See AvroSchema.parse_string().")
    return schema


def _records(stream: IO[bytes], schema: AvroSchema | None) -> Iterator[Any]:
    wanted = None if schema is None else schema.parsed
    resolution = fastavro_module("fastavro.read").SchemaResolutionError
    try:
        yield from fastavro_module().reader(stream, wanted)
    except resolution as error:
        raise TypeMismatchError(
            f"an Avro file was written with a schema that does not fit {schema}: {error}. Read it with another schema."
        ) from error
    except (ValueError, EOFError, IndexError) as error:
        raise MalformedRecordError(
            f"a file cannot be read as Avro: {error}. Is it damaged, or another format?"
        ) from error


class _AvroWriterFactory(BulkWriterFactory):
    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def create(self, stream: BinaryIO) -> BulkWriter:
        return _AvroWriter(stream, self._schema)


class _AvroWriter(BulkWriter):
    def __init__(self, stream: BinaryIO, schema: AvroSchema) -> None:
        self._schema = schema
        self._writer = fastavro_module("fastavro.write").Writer(stream, schema.parsed, codec="deflate")

    def add_element(self, element: Any) -> None:
        record = element.as_dict(recursive=True) if isinstance(element, Row) else element
        try:
            self._writer.write(record)
        except (TypeError, ValueError, AttributeError, KeyError, OverflowError) as error:
            raise TypeMismatchError(
                f"a record does not fit the schema of its Avro file: {error}. Got {element!r:.120}, the schema is "
                f"{self._schema}."
            ) from error

    def flush(self) -> None:
        self._writer.flush()

    def finish(self) -> None:
        self._writer.flush()
