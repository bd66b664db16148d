"""Files of checkpoints and savepoints: on the local disk, or on any file system that pyarrow or fsspec reaches.

``write`` is atomic everywhere: a reader finds the whole file or none.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from firesteel.errors import CheckpointError, ConfigurationError
from firesteel.state.file_systems import arrow_file_system, local_path

_PIECE = 1 << 20
_REMOTE_ERRORS = (OSError, RuntimeError)
"""The drivers of fsspec raise the one or the other."""


class FileStore(ABC):
    """A directory and what is below it. Names are relative paths with ``/`` between their parts."""

    def __init__(self, uri: str) -> None:
        self.uri = uri.rstrip("/")

    @abstractmethod
    def write(self, name: str, data: bytes | Iterable[bytes], durable: bool = True) -> None:
        """Write a whole file, given at once or in pieces; one of that name is replaced.

        :param durable: Whether it must outlive a machine that loses its power from the moment this returns.
        """

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Read a whole file; a missing one is a :class:`CheckpointError`."""

    def view(self, name: str) -> memoryview:
        """A whole file, of which only what is looked at is read where the file system can do that."""
        return memoryview(self.read(name))

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Whether there is a file or directory of that name."""

    @abstractmethod
    def size(self, name: str) -> int:
        """The size of a file in bytes."""

    @abstractmethod
    def names(self, folder: str = "") -> list[str]:
        """The names of files and directories directly in a folder, sorted; none if it is not there."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete a file, or a directory with everything in it, if it is there."""


def _pieces(data: bytes | Iterable[bytes]) -> Iterable[bytes]:
    return (data,) if isinstance(data, bytes) else data


def sync_directory(path: str) -> None:
    """Force the names in a local directory to the disk: only then does a renamed file outlive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):  # some mounted file systems cannot
            raise
    finally:
        os.close(descriptor)


def make_directories(path: str) -> None:
    """Make a local directory and those above it, so that their names outlive a loss of power, too."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent and parent != path:
        make_directories(parent)
    os.makedirs(path, exist_ok=True)
    sync_directory(parent or ".")


class LocalFileStore(FileStore):
    """A directory of the local disk (or one that is mounted)."""

    def __init__(self, path: str) -> None:
        super().__init__(os.path.abspath(path))

    def _path(self, name: str) -> str:
        return os.path.join(self.uri, *name.split("/")) if name else self.uri

    def write(self, name: str, data: bytes | Iterable[bytes], durable: bool = True) -> None:
        """Write under another name, force it to the disk if it is to be durable, rename."""
        path = self._path(name)
        folder = os.path.dirname(path)
        temporary = f"{path}.{os.getpid()}.part"
        try:
            make_directories(folder)
            with open(temporary, "wb") as file:
                file.writelines(_pieces(data))
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            os.replace(temporary, path)
            if durable:
                sync_directory(folder)
        except OSError as error:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise CheckpointError(f"{path} cannot be written: {error}") from error

    def read(self, name: str) -> bytes:
        """Read a whole file."""
        path = self._path(name)
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise CheckpointError(f"{path} cannot be read: {error.strerror or error}") from error

    def view(self, name: str) -> memoryview:
        """A whole file, mapped into memory."""
        path = self._path(name)
        try:
            with open(path, "rb") as file:
                if os.fstat(file.fileno()).st_size == 0:
                    return memoryview(b"")
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except OSError as error:
            raise CheckpointError(f"{path} cannot be read: {error.strerror or error}") from error

    def exists(self, name: str) -> bool:
        """Whether there is a file or directory of that name."""
        return os.path.exists(self._path(name))

    def size(self, name: str) -> int:
        """The size of a file in bytes."""
        return os.path.getsize(self._path(name))

    def names(self, folder: str = "") -> list[str]:
        """The names in a folder."""
        try:
            return sorted(os.listdir(self._path(folder)))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def delete(self, name: str) -> None:
        """Delete a file or directory."""
        path = self._path(name)
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        elif os.path.exists(path):
            os.unlink(path)


class ArrowFileStore(FileStore):
    """A directory of another file system, through pyarrow (S3, GCS, HDFS, ...) or fsspec."""

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        try:
            self._fs, self._root = arrow_file_system(uri)
        except ConfigurationError as error:
            raise CheckpointError(str(error)) from error

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}".rstrip("/")

    def write(self, name: str, data: bytes | Iterable[bytes], durable: bool = True) -> None:
        """Write a whole file, which these file systems keep once they have taken it.

        Object stores show an object only when it is complete. Elsewhere the file is written under another name and
        moved, which these file systems do atomically.
        """
        path = self._path(name)
        try:
            if self._fs.type_name in ("s3", "gcs", "abfs") or self._fs.type_name.startswith("py::fsspec+memory"):
                self._put_object(path, data)
            else:
                self._fs.create_dir(path.rpartition("/")[0], recursive=True)
                self._put(f"{path}.part", data)
                self._move(f"{path}.part", path)
        except _REMOTE_ERRORS as error:
            raise CheckpointError(f"{self.uri}/{name} cannot be written: {error}") from error

    def _put_object(self, path: str, data: bytes | Iterable[bytes]) -> None:
        """Make all pieces before the first is sent.

        Were one to fail on the way, the stream would be closed, and closing is what completes an object.
        """
        if isinstance(data, bytes):
            self._put(path, data)
            return
        with tempfile.TemporaryFile(prefix="firesteel-upload-") as spool:
            spool.writelines(data)
            spool.seek(0)
            self._put(path, iter(lambda: spool.read(_PIECE), b""))

    def _put(self, path: str, data: bytes | Iterable[bytes]) -> None:
        with self._fs.open_output_stream(path) as stream:
            for piece in _pieces(data):
                stream.write(piece)

    def _move(self, source: str, target: str) -> None:
        """Give a complete file its name. HDFS replaces nothing, and says so in an answer that its client drops."""
        if self._kind(target) != "NotFound":
            self._fs.delete_file(target)
        self._fs.move(source, target)
        if self._kind(target) == "NotFound":
            raise OSError(f"{source} could not be renamed")

    def read(self, name: str) -> bytes:
        """Read a whole file."""
        try:
            with self._fs.open_input_stream(self._path(name)) as stream:
                data: bytes = stream.read()
                return data
        except _REMOTE_ERRORS as error:
            raise CheckpointError(f"{self.uri}/{name} cannot be read: {error}") from error

    def _info(self, name: str) -> Any:
        return self._fs.get_file_info([self._path(name)])[0]

    def _kind(self, path: str) -> str:
        kind: str = self._fs.get_file_info([path])[0].type.name
        return kind

    def exists(self, name: str) -> bool:
        """Whether there is a file or directory of that name."""
        return bool(self._info(name).type.name != "NotFound")

    def size(self, name: str) -> int:
        """The size of a file in bytes."""
        return int(self._info(name).size)

    def names(self, folder: str = "") -> list[str]:
        """The names in a folder."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(self._path(folder), allow_not_found=True)
        return sorted(info.base_name for info in self._fs.get_file_info(selector))

    def delete(self, name: str) -> None:
        """Delete a file or directory."""
        kind = self._info(name).type.name
        if kind == "Directory":
            self._fs.delete_dir(self._path(name))
        elif kind == "File":
            self._fs.delete_file(self._path(name))


def file_store(uri: str) -> FileStore:
    """The file store for a path or URI."""
    local = local_path(uri)
    return ArrowFileStore(uri) if local is None else LocalFileStore(local)
