"""Where working state lives: in memory, or in RocksDB on the local disk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum

from firesteel.common import options
from firesteel.common.configuration import Configuration
from firesteel.common.warnings import warn_once
from firesteel.datastream._internal import arguments
from firesteel.datastream.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from firesteel.errors import UnsupportedError


class StateBackend(ABC):
    """Says where keyed state is kept while a job runs. What is written to checkpoints does not depend on it."""

    @abstractmethod
    def apply_to(self, configuration: Configuration) -> None:
        """Write this choice into a configuration."""


class HashMapStateBackend(StateBackend):
    """State as Python objects in memory. The default: fastest, and limited by memory.

    ::

        env.set_state_backend(HashMapStateBackend())
    """

    def apply_to(self, configuration: Configuration) -> None:
        """Write this choice into a configuration."""
        configuration.set(options.STATE_BACKEND, "hashmap")


class MemoryStateBackend(HashMapStateBackend):
    """An older name of Flink's: state in memory, checkpoints kept with the driver.

    :param max_state_size: A checkpoint that writes more bytes than this fails; 5 MiB unless set, as in Flink.
    """

    DEFAULT_MAX_STATE_SIZE: int = 5 * 1024 * 1024

    def __init__(self, max_state_size: int | None = None) -> None:
        size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size
        self._storage = JobManagerCheckpointStorage(max_state_size=size)

    def get_max_state_size(self) -> int:
        """How many bytes a checkpoint may write."""
        return self._storage.get_max_state_size()

    def apply_to(self, configuration: Configuration) -> None:
        """Write this choice into a configuration."""
        super().apply_to(configuration)
        self._storage.apply_to(configuration)


class FsStateBackend(HashMapStateBackend):
    """An older name of Flink's: state in memory, checkpoints in a directory.

    :param checkpoint_directory_uri: The directory of checkpoints, which the driver and all workers can reach.
    """

    def __init__(self, checkpoint_directory_uri: str) -> None:
        self._storage = FileSystemCheckpointStorage(checkpoint_directory_uri)

    def get_checkpoint_path(self) -> str:
        """The directory of checkpoints."""
        return self._storage.get_checkpoint_path()

    def apply_to(self, configuration: Configuration) -> None:
        """Write this choice into a configuration."""
        super().apply_to(configuration)
        self._storage.apply_to(configuration)


class CustomStateBackend(StateBackend):
    """State in a backend of one's own: a subclass of ``firesteel.state.backend.KeyedStateBackend``.

    ::

        env.set_state_backend(CustomStateBackend("my_module:MyBackend"))

    :param backend_class: The class, or ``module:Class``. The module must be importable in the workers too.
    """

    def __init__(self, backend_class: str | type) -> None:
        if isinstance(backend_class, type):
            backend_class = f"{backend_class.__module__}:{backend_class.__qualname__}"
        self._backend_class = arguments.text("CustomStateBackend", "backend_class", backend_class)

    def apply_to(self, configuration: Configuration) -> None:
        """Write this choice into a configuration."""
        configuration.set(options.STATE_BACKEND, self._backend_class)


class PredefinedOptions(Enum):
    """Bundles of RocksDB settings for kinds of disks. RocksDB keeps its own defaults here: they have no effect."""

    DEFAULT = "DEFAULT"
    SPINNING_DISK_OPTIMIZED = "SPINNING_DISK_OPTIMIZED"
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = "SPINNING_DISK_OPTIMIZED_HIGH_MEM"
    FLASH_SSD_OPTIMIZED = "FLASH_SSD_OPTIMIZED"


class EmbeddedRocksDBStateBackend(StateBackend):
    """State in memory as far as it fits, the rest in RocksDB on the local disk: for state larger than memory.

    ``state.backend.rocksdb.memory.fixed-per-slot`` says how much memory that is.

    :param enable_incremental_checkpointing: Write only what changed since the last checkpoint; None leaves the
        setting of the environment.
    """

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        if enable_incremental_checkpointing is not None:
            arguments.flag(
                "EmbeddedRocksDBStateBackend", "enable_incremental_checkpointing", enable_incremental_checkpointing
            )
        self._incremental = enable_incremental_checkpointing
        self._paths: list[str] | None = None
        self._predefined = PredefinedOptions.DEFAULT
        self._transfer_threads = 4

    def set_db_storage_paths(self, *paths: str) -> None:
        """Keep the local files under these directories, such as one per disk: operators take them in turn.

        Paths are absolute and local, and exist or can be made on every host. None at all takes the setting back.
        """
        for path in paths:
            arguments.text("set_db_storage_paths", "paths", path)
        self._paths = options.ROCKSDB_LOCAL_DIRS.parse(list(paths)) if paths else None

    def get_db_storage_paths(self) -> list[str] | None:
        """The directories for local files, or None if none were set."""
        return None if self._paths is None else list(self._paths)

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Whether only changes are written to checkpoints."""
        return bool(self._incremental)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """No effect: RocksDB keeps its own defaults here. Warns once unless it is DEFAULT."""
        arguments.member("set_predefined_options", "options", options, PredefinedOptions)
        if options is not PredefinedOptions.DEFAULT:
            _no_effect("set_predefined_options", "RocksDB keeps its own defaults on this engine")
        self._predefined = options

    def get_predefined_options(self) -> PredefinedOptions:
        """What :meth:`set_predefined_options` was given."""
        return self._predefined

    def set_options(self, options_factory_class_name: str) -> None:
        """Not supported: a factory of RocksDB options is a Java class. Raises an error."""
        raise UnsupportedError(
            f"set_options({options_factory_class_name!r}): an options factory is a Java class, and there is no Java "
            "in the workers. The options state.backend.rocksdb.* list what can be set."
        )

    def get_options(self) -> str | None:
        """The factory of RocksDB options: always None, see :meth:`set_options`."""
        return None

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """No effect: each subtask writes its own changes itself. Warns once."""
        method = "set_number_of_transfer_threads"
        arguments.whole_number(method, "number_of_transfering_threads", number_of_transfering_threads, least=1)
        _no_effect(method, "each subtask writes its own changes on this engine")
        self._transfer_threads = number_of_transfering_threads

    def get_number_of_transfer_threads(self) -> int:
        """What :meth:`set_number_of_transfer_threads` was given."""
        return self._transfer_threads

    def apply_to(self, configuration: Configuration) -> None:
        """Write this choice into a configuration."""
        configuration.set(options.STATE_BACKEND, "rocksdb")
        if self._incremental is not None:
            configuration.set(options.CHECKPOINT_INCREMENTAL, self._incremental)
        if self._paths is not None:
            configuration.set(options.ROCKSDB_LOCAL_DIRS, self._paths)


def _no_effect(method: str, reason: str) -> None:
    warn_once(f"EmbeddedRocksDBStateBackend.{method}", f"{method}() has no effect: {reason}.")
