"""The files of one operator subtask: a RocksDB database that is a private working copy and is deleted in the end.

Nothing has to survive the process, so there is no write-ahead log, and nothing is ever synced.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from firesteel.errors import StateError

_SMALLEST_BUFFER = 1 << 20


class Disk:
    """A sorted map from bytes to bytes on the local disk. The database is made when something is first written.

    :param directory: Where to put it; None means the system's temporary directory.
    :param memory: How much memory RocksDB may use for write buffers and its cache of blocks.
    """

    def __init__(self, directory: str | None, memory: int) -> None:
        self._parent = directory
        self._memory = memory
        self._directory: str | None = None
        self._db: Any = None
        self._closed = False

    @property
    def is_open(self) -> bool:
        """Whether anything has been written."""
        return self._db is not None

    def _open(self) -> Any:
        import rocksdict  # only processes that write to disk pay for loading it

        if self._closed:
            raise StateError("the RocksDB state of a closed operator is used")
        if self._parent is not None:
            os.makedirs(self._parent, exist_ok=True)
        self._directory = tempfile.mkdtemp(prefix="firesteel-rocksdb-", dir=self._parent)
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
        database = rocksdict.Rdict(self._directory, settings)
        unlogged: Any = rocksdict.WriteOptions()
        unlogged.disable_wal = True
        database.set_write_options(unlogged)
        return database

    def get(self, key: bytes) -> bytes | None:
        """The value under a key."""
        if self._db is None:
            return None
        found: bytes | None = self._db.get(key)
        return found

    def get_many(self, keys: list[bytes]) -> Sequence[bytes | None]:
        """The values under several keys, in their order."""
        if self._db is None or not keys:
            return [None] * len(keys)
        found: list[bytes | None] = self._db[keys]
        return found

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """All keys that begin with the prefix, in order, as they are when the scan begins."""
        if self._db is None:
            return
        for key, value in self._db.items(from_key=prefix if after is None else after):
            if not key.startswith(prefix):
                return
            if key != after:
                yield key, value

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

    def close(self) -> None:
        """Delete the files."""
        self._closed = True
        if self._db is not None:
            self._db.close()
            self._db = None
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
