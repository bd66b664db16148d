"""The files of one operator subtask: a RocksDB database that is a private working copy and is deleted in the end.

Nothing has to survive the process, so there is no write-ahead log, and nothing is ever synced.

:meth:`Disk.freeze` keeps the content as it is now for a forked process: hard links to RocksDB's files, which are never
changed once they are written.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

from firesteel.errors import StateError
from firesteel.state.backend import Frozen
from firesteel.state.rocksdb.reader import FrozenSource
from firesteel.state.work_directory import WorkDirectory

_SMALLEST_BUFFER = 1 << 20


class Disk:
    """A sorted map from bytes to bytes on the local disk. The database is made when something is first written.

    :param directory: Where to put it; None means the system's temporary directory.
    :param memory: How much memory RocksDB may use for write buffers and its cache of blocks.
    """

    def __init__(self, directory: str | None, memory: int) -> None:
        self._parent = directory
        self._memory = memory
        self._directory: WorkDirectory | None = None
        self._db: Any = None
        self._frozen: FrozenSource | None = None
        """In a forked process: what is read in place of the database."""
        self._copies = 0
        self._closed = False

    @property
    def is_open(self) -> bool:
        """Whether anything has been written."""
        return self._db is not None

    def _open(self) -> Any:
        import rocksdict  # only processes that write to disk pay for loading it

        if self._closed:
            raise StateError("the RocksDB state of a closed operator is used")
        self._directory = WorkDirectory(self._parent, "rocksdb")
        settings = rocksdict.Options(raw_mode=True)
        settings.create_if_missing(True)
        buffers = max(_SMALLEST_BUFFER, self._memory // 2)
        settings.set_write_buffer_size(max(_SMALLEST_BUFFER, buffers // 3))
        settings.set_max_write_buffer_number(3)
        settings.set_max_background_jobs(2)
        settings.set_keep_log_file_num(1)
        settings.set_stats_dump_period_sec(0)
        settings.set_compression_type(rocksdict.DBCompressionType.none())
        blocks = rocksdict.BlockBasedOptions()
        blocks.set_block_cache(rocksdict.Cache(max(_SMALLEST_BUFFER, self._memory // 2)))
        blocks.set_cache_index_and_filter_blocks(True)
        blocks.set_bloom_filter(10, False)
        settings.set_block_based_table_factory(blocks)
        database = rocksdict.Rdict(os.path.join(self._directory.path, "db"), settings)
        unlogged: Any = rocksdict.WriteOptions()
        unlogged.disable_wal = True
        database.set_write_options(unlogged)
        return database

    def get(self, key: bytes) -> bytes | None:
        """The value under a key."""
        if self._db is None:
            return None
        if self._frozen is not None:
            return self._frozen.get_many([key])[0]
        found: bytes | None = self._db.get(key)
        return found

    def get_many(self, keys: list[bytes]) -> Sequence[bytes | None]:
        """The values under several keys, in their order."""
        if self._db is None or not keys:
            return [None] * len(keys)
        if self._frozen is not None:
            return self._frozen.get_many(keys)
        found: list[bytes | None] = self._db[keys]
        return found

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """All keys that begin with the prefix, in order, as they are when the scan begins."""
        if self._frozen is not None:
            yield from self._frozen.scan(prefix, after)
        elif self._db is not None:
            yield from _scan(self._db, prefix, after)

    def write(self, deletes: Sequence[bytes], puts: Sequence[tuple[bytes, bytes]]) -> None:
        """Delete keys, then put others."""
        if not puts and not deletes:
            return
        import rocksdict

        if self._db is None:
            if not puts:
                return
            self._db = self._open()
        batch = rocksdict.WriteBatch(raw_mode=True)
        for key in deletes:
            batch.delete(key)
        for key, value in puts:
            batch.put(key, value)
        self._db.write(batch)

    def compact(self) -> None:
        """Let RocksDB put its files together without what was deleted."""
        if self._db is not None:
            self._db.compact_range(None, None)

    # ---- for forked processes ------------------------------------------------------------------------------------

    def freeze(self) -> Frozen:
        """Keep everything as it is now for a process that is about to be forked: a matter of milliseconds."""
        if self._db is None or self._directory is None:
            return Frozen()
        import rocksdict

        self._copies += 1
        copy = os.path.join(self._directory.path, f"frozen-{self._copies}")
        rocksdict.Checkpoint(self._db).create_checkpoint(copy)
        return _FrozenDisk(self, copy)

    def read_from(self, source: FrozenSource) -> None:
        """Read from there, in a forked process. The database itself stays untouched, and is not even closed."""
        self._frozen = source

    def close(self) -> None:
        """Delete the files."""
        self._closed = True
        if self._db is not None:
            self._db.close()
            self._db = None
        if self._directory is not None:
            self._directory.delete()
            self._directory = None


class _FrozenDisk(Frozen):
    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory

    def enter(self) -> None:
        """Start the process that reads the copy."""
        self._disk.read_from(FrozenSource(self._directory))

    def release(self) -> None:
        """Delete the copy."""
        shutil.rmtree(self._directory, ignore_errors=True)


class FrozenDisk:
    """A copy that :meth:`Disk.freeze` has made, opened to be read.

    :param directory: Where it is.
    """

    def __init__(self, directory: str) -> None:
        import rocksdict

        settings: Any = rocksdict.Options(raw_mode=True)
        self._db: Any = rocksdict.Rdict(directory, settings, access_type=rocksdict.AccessType.read_only())

    def get_many(self, keys: list[bytes]) -> Sequence[bytes | None]:
        """The values under several keys, in their order."""
        found: list[bytes | None] = self._db[keys]
        return found

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """All keys that begin with the prefix, in order; only those after a given one."""
        return _scan(self._db, prefix, after)


def _scan(database: Any, prefix: bytes, after: bytes | None) -> Iterator[tuple[bytes, bytes]]:
    for key, value in database.items(from_key=prefix if after is None else after):
        if not key.startswith(prefix):
            return
        if key != after:
            yield key, value
