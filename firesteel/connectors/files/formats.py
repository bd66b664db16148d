"""How the records of a file are read."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import IO, Any, Protocol

from firesteel.connectors.files.lines import LineEncoding, LineSplit, check_charset, decompressed, is_compressed
from firesteel.errors import UnsupportedError
from firesteel.model.source import ReadResult
from firesteel.runtime.records import copied, same

__all__ = ["BulkFormat", "FileFormat", "SplitReader", "StreamFormat"]


class SplitReader(Protocol):
    """An open part of a file."""

    def read(self, position: Any, max_records: int) -> ReadResult:
        """Read on from a position that an earlier read has returned; None is the beginning."""

    def close(self) -> None:
        """Close the file."""


class FileFormat(ABC):
    """What both kinds of format have in common. Must be picklable.

    :cvar gives_away: See :class:`SourceReader`.
    """

    gives_away: bool = False

    def splittable(self, path: str) -> bool:
        """Whether a file of that name can be read in several parts."""
        return False

    @property
    def gives_columns(self) -> bool:
        """Whether :meth:`open_columns` opens a file."""
        return False

    def open_columns(self, path: str, file: IO[bytes], start: int, end: int | None) -> SplitReader:
        """The same as :meth:`open_split`, for a reader whose results hold Arrow batches. Positions mean the same."""
        raise UnsupportedError(f"{type(self).__name__} does not read columns")

    @abstractmethod
    def open_split(self, path: str, file: IO[bytes], start: int, end: int | None) -> SplitReader:
        """Open a part of a file, or all of it if ``end`` is None. The reader closes the file."""


class StreamFormat(FileFormat):
    """Reads a file record by record. To read a format of your own, write :meth:`read_records`::

        class Lines(StreamFormat):
            def read_records(self, stream):
                for line in stream:
                    yield json.loads(line)

    After a failure the records that were read before the checkpoint are read again and skipped. Files whose names end
    in ``.gz`` or ``.bz2`` are decompressed.
    """

    @abstractmethod
    def read_records(self, stream: IO[bytes]) -> Iterator[Any]:
        """The records of an open file, from its beginning. Called in the task. The file is closed by the caller."""

    def open_split(self, path: str, file: IO[bytes], start: int, end: int | None) -> SplitReader:
        """The whole file."""
        stream = decompressed(path, file)
        return _CountingReader(stream, lambda: self._from_beginning(stream), same if self.gives_away else copied)

    def _from_beginning(self, stream: IO[bytes]) -> Iterator[Any]:
        stream.seek(0)
        return iter(self.read_records(stream))

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        r"""The lines of text files, without the ``\n`` or ``\r\n`` at their end. Large files are read in parts."""
        return _TextLineFormat(charset_name)


class BulkFormat(FileFormat):
    """Reads a file in batches of records, for columnar formats."""

    @abstractmethod
    def read_batches(self, stream: IO[bytes], skip: int) -> Iterator[list[Any]]:
        """The records of an open file in batches, without the first ``skip`` ones. Called in the task.

        The file is closed by the caller.
        """

    def read_columns(self, stream: IO[bytes], skip: int) -> Iterator[Any]:
        """The same as :meth:`read_batches`, in batches of Arrow. Only for formats that say ``gives_columns``."""
        raise UnsupportedError(f"{type(self).__name__} does not read columns")

    def open_split(self, path: str, file: IO[bytes], start: int, end: int | None) -> SplitReader:
        """The whole file."""
        return _BatchReader(file, self.read_batches)

    def open_columns(self, path: str, file: IO[bytes], start: int, end: int | None) -> SplitReader:
        """The whole file, as columns."""
        return _BatchReader(file, self.read_columns)


class _TextLineFormat(StreamFormat):
    gives_away = True

    def __init__(self, charset: str) -> None:
        check_charset(charset, "text_line_format")
        self._charset = charset

    def splittable(self, path: str) -> bool:
        return not is_compressed(path) and LineEncoding.of(self._charset, b"").splittable

    def open_split(self, path: str, file: IO[bytes], start: int, end: int | None) -> SplitReader:
        return LineSplit.of(path, decompressed(path, file), start, end, self._charset)

    def read_records(self, stream: IO[bytes]) -> Iterator[str]:
        lines = LineSplit.of("a stream", stream, 0, None, self._charset)
        finished, position = False, None
        while not finished:
            result = lines.read(position, 1000)
            finished, position = result.finished, result.position
            yield from result.values


class _CountingReader:
    """The position is the number of records that have been read."""

    def __init__(self, stream: IO[bytes], begin: Callable[[], Iterator[Any]], own: Callable[[Any], Any]) -> None:
        self._own = own
        self._stream = stream
        self._begin = begin
        self._records: Iterator[Any] | None = None
        self._position = 0

    def read(self, position: int | None, max_records: int) -> ReadResult:
        wanted = position or 0
        if self._records is None or wanted != self._position:
            self._records = itertools.islice(self._begin(), wanted, None)
        values = list(map(self._own, itertools.islice(self._records, max_records)))
        self._position = wanted + len(values)
        return ReadResult(values, self._position, finished=len(values) < max_records)

    def close(self) -> None:
        self._stream.close()


class _BatchReader:
    """The position is the number of records that have been handed out. Batches are lists, or of Arrow."""

    def __init__(self, stream: IO[bytes], read_batches: Callable[[IO[bytes], int], Iterator[Any]]) -> None:
        self._stream = stream
        self._read_batches = read_batches
        self._batches: Iterator[Any] | None = None
        self._left: Any = []
        self._position = 0

    def read(self, position: int | None, max_records: int) -> ReadResult:
        wanted = position or 0
        if self._batches is None or wanted != self._position:
            self._stream.seek(0)
            self._batches, self._left, self._position = self._read_batches(self._stream, wanted), [], wanted
        while not len(self._left):
            batch = next(self._batches, None)
            if batch is None:
                return ReadResult([], self._position, finished=True)
            self._left = batch
        values, self._left = self._left[:max_records], self._left[max_records:]
        self._position += len(values)
        return ReadResult(values, self._position)

    def close(self) -> None:
        self._stream.close()
