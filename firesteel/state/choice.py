"""Which state backend a job uses, as its workers are told."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.state.backend import HashMapBackend, KeyedStateBackend


@dataclass(frozen=True)
class BackendChoice:
    """The backend of a job.

    :param kind: ``hashmap``, ``rocksdb``, or ``module:Class`` for a class of the user's own.
    :param memory: For RocksDB: how many bytes of memory the state of one operator subtask may take.
    :param directories: For RocksDB: where its files go, taken in turn; none means the system's temporary directory.
    :param incremental: Whether the user wants checkpoints to hold changes only.
    """

    kind: str = "hashmap"
    memory: int = 0
    directories: tuple[str, ...] = ()
    incremental: bool = False

    def factory(self) -> Callable[[int], KeyedStateBackend]:
        """A function that makes a backend for a number of key groups."""
        if self.kind == "hashmap":
            return HashMapBackend
        if self.kind == "rocksdb":
            from firesteel.state.rocksdb import RocksDBBackend  # other jobs need not load it

            return lambda groups: RocksDBBackend(groups, self.memory, self._next_directory(), self.incremental)
        return load_backend_class(self.kind)

    def _next_directory(self) -> str | None:
        """The directory of the next backend that is made. Slots are processes, and do not all begin with the first."""
        if not self.directories:
            return None
        return self.directories[(os.getpid() + next(_made)) % len(self.directories)]


_made = count()


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
