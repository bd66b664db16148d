"""The state backend for state that is larger than memory: a cache of Python objects over RocksDB on the local disk."""

from firesteel.state.rocksdb.backend import RocksDBBackend

__all__ = ["RocksDBBackend"]
