"""Which state backend a job uses, as its workers are told."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.state.backend import HashMapBackend, KeyedStateBackend


@dataclass(frozen=True)
class BackendChoice:
    """The backend of a job.

    :param kind: ``hashmap``, ``rocksdb``, or ``module:Class`` for a class of the user's own.
    :param memory: For RocksDB: how many bytes of memory the state of one operator subtask may take.
    :param directory: For RocksDB: where its files go; None means the system's temporary directory.
    :param incremental: Whether the user wants checkpoints to hold changes only.
    """

    kind: str = "hashmap"
    memory: int = 0
    directory: str | None = None
    incremental: bool = False

    def factory(self) -> Callable[[int], KeyedStateBackend]:
        """A function that makes a backend for a number of key groups."""
        if self.kind == "hashmap":
            return HashMapBackend
        if self.kind == "rocksdb":
            from firesteel.state.rocksdb import RocksDBBackend  # other jobs need not load it

            return partial(RocksDBBackend, memory=self.memory, directory=self.directory, incremental=self.incremental)
        return load_backend_class(self.kind)


def load_backend_class(name: str) -> type[KeyedStateBackend]:
    """The class that ``module:Class`` names; a clear error if it is none."""
    module_name, _, class_name = name.partition(":")
    try:
        found: Any = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"state.backend.type: cannot load {name!r}: {error}. The module has to be importable here and in the "
            "workers (env.add_python_file)"
        ) from error
    if not (isinstance(found, type) and issubclass(found, KeyedStateBackend)):
        raise ConfigurationError(
            f"state.backend.type: {name!r} is not a state backend: it must be a subclass of "
            "firesteel.state.backend.KeyedStateBackend"
        )
    return found
