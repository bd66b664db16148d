"""The lines of one file, or of a part of it, from any line border on."""

from __future__ import annotations

import bz2
import codecs
import gzip
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, cast

from firesteel.errors import ConfigurationError, FiresteelError
from firesteel.model.source import ReadResult

__all__ = ["LineEncoding", "LineSplit", "check_charset", "decompressed", "is_compressed"]

_CHUNK_BYTES = 1 << 20


def _gunzip(file: IO[bytes]) -> IO[bytes]:
    return cast(IO[bytes], gzip.GzipFile(fileobj=file, mode="rb"))


def _bunzip(file: IO[bytes]) -> IO[bytes]:
    return cast(IO[bytes], bz2.BZ2File(file, "rb"))


_DECOMPRESSORS: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {".gz": _gunzip, ".gzip": _gunzip, ".bz2": _bunzip}


def is_compressed(path: str) -> bool:
    """Whether the name says that the file is compressed: such a file is read in one part."""
    return os.path.splitext(path)[1].lower() in _DECOMPRESSORS


class _Chained:
    """A decompressor that closes the file below it, too: those of the standard library leave it open."""

    def __init__(self, file: IO[bytes], below: IO[bytes]) -> None:
        self.read, self.seek, self.tell = file.read, file.seek, file.tell
        self._file, self._below = file, below

    def close(self) -> None:
        self._file.close()
        self._below.close()


def decompressed(path: str, file: IO[bytes]) -> IO[bytes]:
    """The file as it is to be read: decompressed if its name says so."""
    decompressor = _DECOMPRESSORS.get(os.path.splitext(path)[1].lower())
    return file if decompressor is None else cast(IO[bytes], _Chained(decompressor(file), file))


def check_charset(charset: str, where: str) -> None:
    """Raise if there is no such encoding."""
    try:
        codecs.lookup(charset)
    except (LookupError, TypeError) as error:
        raise ConfigurationError(f"unknown charset {charset!r} for {where}. For instance 'UTF-8'.") from error


@dataclass(frozen=True)
class LineEncoding:
    """How the bytes of one file become lines.

    :param codec: Python's name of the encoding, with its byte order.
    :param mark: How many bytes at the beginning of the file are a byte order mark.
    :param line_end: The bytes of a line end.
    """

    codec: str
    mark: int
    line_end: bytes

    @staticmethod
    def of(charset: str, beginning: bytes) -> LineEncoding:
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
        return LineEncoding(codec, len(mark) if beginning.startswith(mark) else 0, "\n".encode(codec))

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
class LineSplit:
    """A split in work: ``buffer`` holds the bytes from ``offset`` on that have been read but not handed out."""

    path: str
    file: IO[bytes]
    encoding: LineEncoding
    charset: str
    first: int
    end: int | None
    offset: int = -1
    buffer: bytes = b""
    at_end: bool = False

    @staticmethod
    def of(path: str, file: IO[bytes], start: int, end: int | None, charset: str) -> LineSplit:
        """The lines that begin between two places of an open, decompressed file."""
        try:
            encoding = LineEncoding.of(charset, _read(file, path, 0, 4))
            first = encoding.mark if start == 0 else _line_border(file, encoding, start)
            end = None if end is None else _line_border(file, encoding, end)
        except BaseException:
            file.close()
            raise
        return LineSplit(path, file, encoding, charset, first, end)

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def read(self, position: Any, max_records: int) -> ReadResult:
        """The next lines from a position that was given before, or from the beginning if it is None."""
        position = self.first if position is None else position
        if position != self.offset:
            self.seek(position)
        data, lines = self.take_lines(max_records)
        values = self._decode(data, lines)
        return ReadResult(values, self.offset, finished=self.at_end and not self.buffer)

    def _decode(self, data: bytes, lines: int) -> list[str]:
        try:
            text = data.decode(self.encoding.codec)
        except UnicodeDecodeError as error:
            at = self.offset - len(data) + error.start
            raise FiresteelError(
                f"{self.path!r} is not valid {self.charset} at byte {at}: {error.reason}. "
                "Name the encoding of the file: charset_name= of read_text_file(), charset= of other sources."
            ) from error
        values = text.split("\n")[:lines]
        if "\r" in text:
            values = [value[:-1] if value.endswith("\r") else value for value in values]
        return values

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


def _line_border(file: IO[bytes], encoding: LineEncoding, offset: int) -> int:
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
