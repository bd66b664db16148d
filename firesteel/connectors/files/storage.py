"""Where files are: the local disk, or any file system that pyarrow or fsspec reaches."""

from __future__ import annotations

import contextlib
import errno
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import IO, Any, cast

from firesteel.errors import ConfigurationError
from firesteel.state.file_systems import arrow_file_system, local_path
from firesteel.state.filesystem import make_directories, sync_directory

__all__ = ["ArrowStorage", "FileEntry", "LocalStorage", "Storage", "check_path", "open_storage"]

_LONGEST_NAME = 255
_LONGEST_PATH = 4096
"""In bytes, on Linux and all its file systems."""
_LONGEST_KEY = 1024
_LONGEST_KEY_PART = 255
"""In bytes: S3, GCS and Azure take keys up to this length, and HDFS no longer names."""


@dataclass(frozen=True)
class FileEntry:
    """A file or directory that was found.

    :param path: Where it is, as its storage writes it.
    :param size: Bytes of a file; 0 for a directory.
    """

    path: str
    size: int
    is_directory: bool

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


class Storage(ABC):
    """What file sources and sinks need of a file system. Paths have ``/`` between their parts."""

    @abstractmethod
    def create(self, path: str) -> IO[bytes]:
        """Open a new file for writing; the directories above it are made."""

    @abstractmethod
    def finish(self, stream: IO[bytes]) -> None:
        """Close a written file so that it survives a crash of the machine."""

    @abstractmethod
    def open(self, path: str) -> IO[bytes]:
        """Open a file for reading from any place."""

    @abstractmethod
    def size(self, path: str) -> int | None:
        """How many bytes a file has; None if there is no such file."""

    @abstractmethod
    def move(self, source: str, target: str) -> None:
        """Give a file its final name; the directories above it are made. A reader sees the whole file or none."""

    @abstractmethod
    def prepare(self, path: str, source_folder: str) -> None:
        """Make sure that a file can be moved to this path later: from a folder that is there already.

        :raises OSError: It could not; also ValueError for a path that no file system takes.
        """

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file, if it is there."""

    @abstractmethod
    def find(self, path: str) -> FileEntry | None:
        """The file or directory of that path, or None."""

    @abstractmethod
    def entries(self, directory: str) -> list[FileEntry]:
        """What is directly in a directory, by name; nothing if it is not there."""

    @abstractmethod
    def prune(self, directory: str) -> None:
        """Delete a directory if nothing is in it."""


class LocalStorage(Storage):
    """The local disk, or one that is mounted."""

    def create(self, path: str) -> IO[bytes]:
        """Open a new file for writing."""
        try:
            make_directories(os.path.dirname(path))
            return open(path, "wb")
        except FileNotFoundError:  # somebody has just tidied up a directory above
            make_directories(os.path.dirname(path))
            return open(path, "wb")

    def finish(self, stream: IO[bytes]) -> None:
        """Force the file to the disk and close it."""
        stream.flush()
        os.fsync(stream.fileno())
        stream.close()

    def open(self, path: str) -> IO[bytes]:
        """Open a file for reading."""
        return open(path, "rb")

    def size(self, path: str) -> int | None:
        """How many bytes a file has."""
        try:
            return os.path.getsize(path)
        except FileNotFoundError:
            return None

    def move(self, source: str, target: str) -> None:
        """Rename."""
        folder = os.path.dirname(target)
        try:
            make_directories(folder)
            os.replace(source, target)
        except FileNotFoundError:
            if not os.path.lexists(source):
                raise
            make_directories(folder)  # somebody has just tidied it up
            os.replace(source, target)
        sync_directory(folder)

    def prepare(self, path: str, source_folder: str) -> None:
        """Make the folder: nothing else tells whether it can be made."""
        folder, name = os.path.split(path)
        if len(os.fsencode(name)) > _LONGEST_NAME:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), name)
        if len(os.fsencode(path)) >= _LONGEST_PATH:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path)
        os.makedirs(folder, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)
        if os.stat(folder).st_dev != os.stat(source_folder).st_dev:
            raise OSError(errno.EXDEV, "it is on another file system than the base path", folder)

    def delete(self, path: str) -> None:
        """Delete a file."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def find(self, path: str) -> FileEntry | None:
        """The file or directory of that path."""
        if os.path.isdir(path):
            return FileEntry(path, 0, True)
        size = self.size(path)
        return None if size is None else FileEntry(path, size, False)

    def entries(self, directory: str) -> list[FileEntry]:
        """What is directly in a directory."""
        try:
            names = sorted(os.listdir(directory))
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = [self.find(os.path.join(directory, name)) for name in names]
        return [entry for entry in found if entry is not None]  # a file may be gone by now

    def prune(self, directory: str) -> None:
        """Delete an empty directory."""
        with contextlib.suppress(OSError):  # something is in it, or somebody was quicker: both are fine
            os.rmdir(directory)


class ArrowStorage(Storage):
    """Another file system: S3, GCS, HDFS and Azure through pyarrow, all others through fsspec."""

    def __init__(self, file_system: Any) -> None:
        self._fs = file_system

    def create(self, path: str) -> IO[bytes]:
        """Open a new file for writing."""
        self._fs.create_dir(path.rpartition("/")[0], recursive=True)
        return cast(IO[bytes], self._fs.open_output_stream(path))

    def finish(self, stream: IO[bytes]) -> None:
        """Close the file: these file systems keep what is closed."""
        stream.close()

    def open(self, path: str) -> IO[bytes]:
        """Open a file for reading."""
        return cast(IO[bytes], self._fs.open_input_file(path))

    def size(self, path: str) -> int | None:
        """How many bytes a file has."""
        entry = self.find(path)
        return None if entry is None or entry.is_directory else entry.size

    def move(self, source: str, target: str) -> None:
        """Move: a rename where the file system has one, a copy and delete on object stores."""
        self._fs.create_dir(target.rpartition("/")[0], recursive=True)
        self._fs.move(source, target)

    def prepare(self, path: str, source_folder: str) -> None:
        """Object stores have no folders, but a longest name; elsewhere the folder is made."""
        encoded = path.encode()  # a UnicodeEncodeError is a ValueError
        if b"\0" in encoded:
            raise ValueError("there is a null character in it")
        if len(encoded) > _LONGEST_KEY or max(map(len, encoded.split(b"/"))) > _LONGEST_KEY_PART:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path)
        if self._fs.type_name not in ("s3", "gcs", "abfs"):
            self._fs.create_dir(path.rpartition("/")[0], recursive=True)

    def delete(self, path: str) -> None:
        """Delete a file."""
        if self.find(path) is not None:
            with contextlib.suppress(FileNotFoundError):  # somebody was quicker
                self._fs.delete_file(path)

    def find(self, path: str) -> FileEntry | None:
        """The file or directory of that path."""
        info = self._fs.get_file_info([path])[0]
        return None if info.type.name == "NotFound" else _entry(info)

    def entries(self, directory: str) -> list[FileEntry]:
        """What is directly in a directory."""
        from pyarrow.fs import FileSelector

        found = self._fs.get_file_info(FileSelector(directory, allow_not_found=True))
        return sorted((_entry(info) for info in found), key=lambda entry: entry.path)

    def prune(self, directory: str) -> None:
        """Delete an empty directory."""
        if self.find(directory) is not None and not self.entries(directory):
            with contextlib.suppress(FileNotFoundError):  # somebody was quicker
                self._fs.delete_dir(directory)


def _entry(info: Any) -> FileEntry:
    is_directory = info.type.name == "Directory"
    return FileEntry(info.path, 0 if is_directory else info.size, is_directory)


def open_storage(uri: str) -> tuple[Storage, str]:
    """The storage of a path or URI, and the path in it.

    :raises ConfigurationError: There is no such file system.
    """
    if not isinstance(uri, (str, os.PathLike)) or not os.fspath(uri):
        raise ConfigurationError(f"a path is a text that is not empty, got {uri!r}. For instance '/data/events'.")
    text = os.fspath(uri)
    local = local_path(text)
    if local is not None:
        return LocalStorage(), local
    system, path = arrow_file_system(text)
    return ArrowStorage(system), path


def check_path(uri: str) -> None:
    """Raise :class:`ConfigurationError` if there is no such file system, while the program is being put together.

    S3 is not asked: how it is reached is a matter of the job's configuration, known when the job starts.
    """
    if not str(uri).startswith("s3://"):
        open_storage(uri)
    elif not str(uri).removeprefix("s3://").strip("/"):
        raise ConfigurationError(f"{uri!r} names no bucket. For instance 's3://bucket/events'.")
