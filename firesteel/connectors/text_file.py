"""A source of the lines of text files."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from firesteel.connectors.files.lines import LineEncoding, LineSplit, check_charset, decompressed, is_compressed
from firesteel.connectors.files.storage import LocalStorage
from firesteel.connectors.open_splits import OpenSplits
from firesteel.connectors.single_pass import SinglePassEnumerator
from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.model.source import Boundedness, ReadResult, Source, SourceReader, SourceSplit, SplitEnumerator

__all__ = ["TextFileSource"]


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
        check_charset(charset, repr(path))
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
        splittable = LineEncoding.of(self._charset, b"").splittable
        for path in _find_files(self._path, self._recursive):
            if not splittable or is_compressed(path):
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
            "For others: FileSource.for_record_stream_format(StreamFormat.text_line_format(), path)."
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


class _LineReader(SourceReader):
    """Reads lines; position None means the beginning of the split."""

    gives_away = True

    def __init__(self, charset: str) -> None:
        self._charset = charset
        self._parts = OpenSplits(self._open_part)

    def _open_part(self, split: SourceSplit) -> LineSplit:
        path = split.payload["path"]
        file = decompressed(path, LocalStorage().open(path))
        return LineSplit.of(path, file, split.payload["start"], split.payload["end"], self._charset)

    def read(self, split: SourceSplit, position: int | None, max_records: int, now: int) -> ReadResult:
        result = self._parts.get(split).read(position, max_records)
        if result.finished:
            self._parts.close(split)
        return result

    def close(self) -> None:
        self._parts.close_all()
