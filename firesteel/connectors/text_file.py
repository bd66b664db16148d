"""A source of the lines of text files."""

from __future__ import annotations

import bz2
import codecs
import glob
import gzip
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, cast
from urllib.parse import unquote, urlsplit

from firesteel.connectors.open_splits import OpenSplits
from firesteel.connectors.single_pass import SinglePassEnumerator
from firesteel.errors import ConfigurationError, FiresteelError, UnsupportedError
from firesteel.model.source import Boundedness, ReadResult, Source, SourceReader, SourceSplit, SplitEnumerator

__all__ = ["TextFileSource"]

_CHUNK_BYTES = 1 << 20


def _open_plain(path: str) -> IO[bytes]:
    return open(path, "rb")


def _open_gzip(path: str) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb"))


def _open_bzip2(path: str) -> IO[bytes]:
    return cast(IO[bytes], bz2.open(path, "rb"))


_OPENERS = {".gz": _open_gzip, ".gzip": _open_gzip, ".bz2": _open_bzip2}


class TextFileSource(Source):
    r"""The lines of a file, of the files in a directory, or of the files that a pattern names; it ends with the last.

    Lines end with ``\n`` or ``\r\n``, which are not part of the record; a last line without an end counts. Files
    are found when the job starts, in the order of their names; those whose name begins with ``.`` or ``_`` are left
    out when a directory is read. Workers read the files themselves: on a cluster the path must be visible to all of
    them. Large files are read in parallel, in parts that begin and end at line borders. Files that end in ``.gz`` or
    ``.bz2`` are decompressed, each in one part. The position of a split is the byte offset of the next line, after
    decompression.

    :param path: A path or ``file://`` URL of a file or directory, or a pattern with ``*``, ``?`` or ``[...]``.
    :param charset: The encoding of the files.
    :param recursive: Read directories inside a directory too.
    :param split_size: Files larger than this many bytes are read in several parts.
    """

    def __init__(
        self, path: str, charset: str = "UTF-8", *, recursive: bool = False, split_size: int = 64 * 1024 * 1024
    ) -> None:
        try:
            codecs.lookup(charset)
        except LookupError as error:
            raise ConfigurationError(f"unknown charset {charset!r} for {path!r}. For instance 'UTF-8'.") from error
        if split_size < 1:
            raise ConfigurationError(f"split_size must be at least 1 byte, got {split_size}")
        self._path = _local_path(path)
        self._charset = charset
        self._recursive = recursive
        self._split_size = split_size

    @property
    def boundedness(self) -> Boundedness:
        """Bounded: it ends with the last line of the last file."""
        return Boundedness.BOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """Finds the files when it is started; a path without any is an error."""
        return SinglePassEnumerator(lambda: list(self._find_splits()))

    def create_reader(self) -> SourceReader:
        """A reader of lines."""
        return _LineReader(self._charset)

    def _find_splits(self) -> Iterator[SourceSplit]:
        splittable = _Encoding.of(self._charset, b"").splittable
        for path in _find_files(self._path, self._recursive):
            if not splittable or _suffix(path) in _OPENERS:
                yield SourceSplit(f"{path}:0", {"path": path, "start": 0, "end": None})
                continue
            size = os.path.getsize(path)
            for start in range(0, size, self._split_size):
                end = min(start + self._split_size, size)
                yield SourceSplit(f"{path}:{start}", {"path": path, "start": start, "end": end})


def _local_path(path: str) -> str:
    """The path in the local file system, without a ``file`` scheme."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise ConfigurationError(f"a path is a text that is not empty, got {path!r}")
    text = os.fspath(path)
    if "://" not in text and not text.startswith("file:"):
        return os.path.abspath(text)
    url = urlsplit(text)
    if url.scheme != "file" or url.netloc not in ("", "localhost"):
        raise UnsupportedError(
            f"text files are read from the local file system or a mounted one, got {text!r}. "
            "For other storage let Spark read: env.from_dataframe(spark.read.text(path))."
        )
    # What urlsplit takes for a query or fragment is part of a file's name (and '?' may be part of a pattern).
    tail = text[text.index(url.path) :] if url.path else ""
    return os.path.abspath(unquote(tail))


def _find_files(path: str, recursive: bool) -> list[str]:
    if os.path.isfile(path):
        return [path]
    if os.path.isdir(path):
        return _files_in(path, recursive)
    if not glob.has_magic(path):
        raise ConfigurationError(
            f"no file or directory {path!r} to read text from, on the machine of the driver. Check the path."
        )
    found = sorted(glob.glob(path, recursive=recursive))
    if not found:
        raise ConfigurationError(f"no file matches the pattern {path!r}, on the machine of the driver")
    return [file for match in found for file in _find_files(match, recursive)]


def _files_in(directory: str, recursive: bool) -> list[str]:
    files = []
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_file():
            files.append(entry.path)
        elif recursive and entry.is_dir():
            files.extend(_files_in(entry.path, recursive))
    return files


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


@dataclass(frozen=True)
class _Encoding:
    """How the bytes of one file become lines.

    :param codec: Python's name of the encoding, with its byte order.
    :param mark: How many bytes at the beginning of the file are a byte order mark.
    :param line_end: The bytes of a line end.
    """

    codec: str
    mark: int
    line_end: bytes

    @staticmethod
    def of(charset: str, beginning: bytes) -> _Encoding:
        """The encoding of a file that begins with these bytes."""
        name = codecs.lookup(charset).name
        codec, mark = name, b""
        if name in ("utf-8", "utf-8-sig"):
            codec, mark = "utf-8", codecs.BOM_UTF8
        elif name.startswith(("utf-16", "utf-32")):
            orders = [name] if name.endswith(("-be", "-le")) else [f"{name}-be", f"{name}-le"]
            codec = orders[0]  # without a mark big-endian, as the Unicode standard and Java have it
            for order in orders:
                if beginning.startswith("\ufeff".encode(order)):
                    codec, mark = order, "\ufeff".encode(order)
        return _Encoding(codec, len(mark) if beginning.startswith(mark) else 0, "\n".encode(codec))

    @property
    def splittable(self) -> bool:
        """Whether line ends can be found from anywhere in the file: not if characters have several bytes at least."""
        return len(self.line_end) == 1

    def whole_lines(self, data: bytes, limit: int) -> tuple[int, int]:
        """How many lines with an end stand at the beginning of ``data``, at most ``limit``, and their size."""
        if not self.splittable:
            return self._whole_wide_lines(data, limit)
        lines = data.count(self.line_end)
        if lines <= limit:
            return lines, data.rfind(self.line_end) + 1
        return limit, len(data) - len(data.split(self.line_end, limit)[-1])

    def _whole_wide_lines(self, data: bytes, limit: int) -> tuple[int, int]:
        width = len(self.line_end)
        lines = size = found = 0
        while lines < limit and (found := data.find(self.line_end, found)) >= 0:
            if found % width:  # the end of one character and the beginning of the next
                found += 1
                continue
            found += width
            lines, size = lines + 1, found
        return lines, size


@dataclass
class _OpenSplit:
    """A split in work: ``buffer`` holds the bytes from ``offset`` on that have been read but not handed out."""

    path: str
    file: IO[bytes]
    encoding: _Encoding
    first: int
    end: int | None
    offset: int = -1
    buffer: bytes = b""
    at_end: bool = False

    @staticmethod
    def of(split: SourceSplit, charset: str) -> _OpenSplit:
        path, start, end = split.payload["path"], split.payload["start"], split.payload["end"]
        file = _OPENERS.get(_suffix(path), _open_plain)(path)
        try:
            encoding = _Encoding.of(charset, _read(file, path, 0, 4))
            first = encoding.mark if start == 0 else _line_border(file, encoding, start)
            end = None if end is None else _line_border(file, encoding, end)
        except BaseException:
            file.close()
            raise
        return _OpenSplit(path, file, encoding, first, end)

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def seek(self, offset: int) -> None:
        """Go to a line border."""
        self.file.seek(offset)
        self.offset, self.buffer, self.at_end = offset, b"", False

    def take_lines(self, limit: int) -> tuple[bytes, int]:
        """The bytes of the next lines, and how many lines these are: none only at the end."""
        lines, size = self.encoding.whole_lines(self.buffer, limit)
        while not lines and not self.at_end:
            self._fill()
            lines, size = self.encoding.whole_lines(self.buffer, limit)
        if self.at_end and lines < limit and size < len(self.buffer):
            lines, size = lines + 1, len(self.buffer)  # a last line without an end
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        self.offset += size
        if not self.buffer and not self.at_end:
            self._fill()  # finds out whether this was the end
        return data, lines

    def _fill(self) -> None:
        # As much again as there is: a line longer than a chunk then costs time in proportion to its length.
        wanted = max(_CHUNK_BYTES, len(self.buffer))
        if self.end is not None:
            wanted = min(wanted, self.end - self.offset - len(self.buffer))
        data = _read(self.file, self.path, self.offset + len(self.buffer), wanted) if wanted > 0 else b""
        if not data and wanted > 0 and self.end is not None:
            raise FiresteelError(
                f"{self.path!r} ends at byte {self.offset + len(self.buffer)} but had {self.end} bytes when the job "
                "started. Files must not be changed while a job reads them."
            )
        self.at_end = not data
        self.buffer += data


def _read(file: IO[bytes], path: str, offset: int, size: int) -> bytes:
    try:
        return file.read(size)
    except (OSError, EOFError, zlib.error) as error:
        raise FiresteelError(
            f"{path!r} cannot be read on from byte {offset}: {error}. Is it damaged, or not what its name says?"
        ) from error


def _line_border(file: IO[bytes], encoding: _Encoding, offset: int) -> int:
    """The first line border at ``offset`` or after it.

    A part of a file owns the lines that begin in it. Both its borders are moved on like this, in the same way for
    the part before and the part after.
    """
    if offset == 0:
        return 0
    file.seek(offset - 1)
    position = offset - 1
    while chunk := file.read(64 * 1024):
        found = chunk.find(encoding.line_end)
        if found >= 0:
            return position + found + 1
        position += len(chunk)
    return position


class _LineReader(SourceReader):
    """Reads lines; position None means the beginning of the split."""

    def __init__(self, charset: str) -> None:
        self._charset = charset
        self._parts = OpenSplits(lambda split: _OpenSplit.of(split, charset))

    def read(self, split: SourceSplit, position: int | None, max_records: int, now: int) -> ReadResult:
        part = self._parts.get(split)
        position = part.first if position is None else position
        if position != part.offset:
            part.seek(position)
        data, lines = part.take_lines(max_records)
        values = self._decode(part, data, lines)
        finished = part.at_end and not part.buffer
        if finished:
            self._parts.close(split)
        return ReadResult(values, part.offset, finished=finished)

    def _decode(self, part: _OpenSplit, data: bytes, lines: int) -> list[str]:
        try:
            text = data.decode(part.encoding.codec)
        except UnicodeDecodeError as error:
            at = part.offset - len(data) + error.start
            raise FiresteelError(
                f"{part.path!r} is not valid {self._charset} at byte {at}: {error.reason}. "
                "Name the encoding of the file with charset=."
            ) from error
        values = text.split("\n")[:lines]
        if "\r" in text:
            values = [value[:-1] if value.endswith("\r") else value for value in values]
        return values

    def close(self) -> None:
        self._parts.close_all()
