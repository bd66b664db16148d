"""Where a program writes: text, CSV, or a format of one's own. Writing is done by the tasks, each its own part."""

from __future__ import annotations

import csv
import io
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any

from firesteel.common.types import Row
from firesteel.connectors.files.storage import Storage, open_storage
from firesteel.errors import ConfigurationError, ProgramError
from firesteel.model.functions.fields import field_names

__all__ = ["OutputFormat", "WriteMode"]


class WriteMode(Enum):
    """What to do if there is something already where a program is to write."""

    NO_OVERWRITE = "no overwrite"
    """Fail, before anything runs."""
    OVERWRITE = "overwrite"
    """Delete it first."""


class OutputFormat(ABC):
    """Writes records. Each task works on its own copy: ``open``, ``write_record`` for each record, ``close``.

    A task that fails is repeated by Spark: what an attempt writes must not be seen twice. Write under another name and
    rename in :meth:`close`, or make writes that can be repeated.
    """

    def initialize_global(self, parallelism: int) -> None:
        """Called once, in the driver, before any task."""
        return None

    def finalize_global(self, parallelism: int) -> None:
        """Called once, in the driver, after all tasks have succeeded."""
        return None

    @abstractmethod
    def open(self, task_number: int, num_tasks: int) -> None:
        """Called once per task, before its records; tasks are numbered from 0."""

    @abstractmethod
    def write_record(self, record: Any) -> None:
        """Called once per record."""

    def close(self) -> None:
        """Called once per task, after its records or a failure."""
        return None


class Target(ABC):
    """Where a sink writes, as the runner sees it."""

    def prepare(self, tasks: int) -> None:
        """Called in the driver before anything runs."""
        return None

    @abstractmethod
    def write(self, task: int, tasks: int, records: Iterable[Any]) -> None:
        """Called in a task."""

    def finish(self, tasks: int) -> None:
        """Called in the driver when all tasks have written."""
        return None


class PrintTarget(Target):
    """Standard output of the workers."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def write(self, task: int, tasks: int, records: Iterable[Any]) -> None:
        """Print each record."""
        for record in records:
            sys.stdout.write(f"{self._prefix}> {record}\n")


class FormatTarget(Target):
    """The user's own format."""

    def __init__(self, output_format: OutputFormat) -> None:
        self._format = output_format

    def prepare(self, tasks: int) -> None:
        """Let the format prepare."""
        self._format.initialize_global(tasks)

    def write(self, task: int, tasks: int, records: Iterable[Any]) -> None:
        """Hand it the records."""
        try:
            self._format.open(task, tasks)
            for record in records:
                self._format.write_record(record)
        finally:
            self._format.close()

    def finish(self, tasks: int) -> None:
        """Let the format finish."""
        self._format.finalize_global(tasks)


class _FileTarget(Target):
    """One file, or a folder with a file per task: written under hidden names that are given up at the end."""

    def __init__(self, path: str, write_mode: WriteMode) -> None:
        if not isinstance(write_mode, WriteMode):
            raise ConfigurationError(f"expected WriteMode.OVERWRITE or WriteMode.NO_OVERWRITE, got {write_mode!r}")
        self.path = path
        self._mode = write_mode

    def prepare(self, tasks: int) -> None:
        """Look whether there is something already."""
        storage, path = open_storage(self.path)
        found = storage.find(path)
        if found is None:
            return
        if self._mode is WriteMode.NO_OVERWRITE:
            raise ProgramError(f"{self.path} exists already. Write elsewhere, delete it, or pass WriteMode.OVERWRITE")
        _delete(storage, path)

    def write(self, task: int, tasks: int, records: Iterable[Any]) -> None:
        """Write a part under another name, and rename it: a repeated task replaces its own part."""
        storage, path = open_storage(self.path)
        final = path if tasks == 1 else f"{path}/{task + 1}"
        folder, _, name = final.rpartition("/")
        hidden = f"{folder}/.{name}.part"
        stream = storage.create(hidden)
        for piece in self.encode(records):
            stream.write(piece)
        storage.finish(stream)
        storage.move(hidden, final)

    @abstractmethod
    def encode(self, records: Iterable[Any]) -> Iterator[bytes]:
        """The records as bytes, in pieces."""


class TextTarget(_FileTarget):
    """A line per record."""

    def __init__(self, path: str, write_mode: WriteMode, formatter: Callable[[Any], str]) -> None:
        super().__init__(path, write_mode)
        self._formatter = formatter

    def encode(self, records: Iterable[Any]) -> Iterator[bytes]:
        """Each record as a line."""
        for record in records:
            yield f"{self._formatter(record)}\n".encode()


class CsvTarget(_FileTarget):
    """A line of fields per tuple."""

    def __init__(
        self, path: str, write_mode: WriteMode, row_delimiter: str, field_delimiter: str, quote_strings: bool
    ) -> None:
        super().__init__(path, write_mode)
        self._row, self._field, self._quote = row_delimiter, field_delimiter, quote_strings

    def encode(self, records: Iterable[Any]) -> Iterator[bytes]:
        """Each tuple as a line."""
        for record in records:
            yield (self._field.join(map(self._text, _fields(record))) + self._row).encode()

    def _text(self, value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, str) and self._quote:
            return '"' + value.replace('"', '""') + '"'
        return str(value)


def _fields(record: Any) -> Iterable[Any]:
    if isinstance(record, (tuple, list, Row)):
        return record
    names = field_names(record)
    if names is None:
        raise ProgramError(f"write_as_csv: a record must have fields, got {record!r:.100}. Use write_as_text")
    return [getattr(record, name) for name in names]


def _delete(storage: Storage, path: str) -> None:
    found = storage.find(path)
    if found is not None and found.is_directory:
        for entry in storage.entries(path):
            _delete(storage, entry.path)
        storage.prune(path)
    elif found is not None:
        storage.delete(path)


def parse_csv(lines: Iterable[str], delimiter: str, quote: str | None) -> Iterator[list[str]]:
    """The fields of lines; a quoted field does not go over the end of a line."""
    for line in lines:
        if quote is None or quote not in line:
            yield line.split(delimiter)
        else:
            yield from csv.reader(io.StringIO(line), delimiter=delimiter, quotechar=quote)
