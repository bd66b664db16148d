"""Where checkpoints are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod

from firesteel.common import options
from firesteel.common.configuration import Configuration
from firesteel.common.warnings import warn_once
from firesteel.datastream._internal import arguments
from firesteel.errors import UnsupportedError


class CheckpointStorage(ABC):
    """Says where checkpoints are kept."""

    @abstractmethod
    def apply_to(self, configuration: Configuration) -> None:
        """Write this choice into a configuration."""


class JobManagerCheckpointStorage(CheckpointStorage):
    """Checkpoints stay with the driver and are gone with it: for trying things out. The default.

    :param checkpoint_path: Write them to this directory after all; the driver finds them there when it is started
        again.
    :param max_state_size: A checkpoint that writes more bytes than this fails; no limit unless set.
    """

    DEFAULT_MAX_STATE_SIZE: int = 5 * 1024 * 1024

    def __init__(self, checkpoint_path: str | None = None, max_state_size: int | None = None) -> None:
        self._path = _checked_path("JobManagerCheckpointStorage", checkpoint_path)
        if max_state_size is not None:
            arguments.whole_number("JobManagerCheckpointStorage", "max_state_size", max_state_size, least=1)
        self._limited = max_state_size is not None
        self._max_state_size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size

    def get_checkpoint_path(self) -> str | None:
        """The directory of checkpoints, or None if they stay with the driver."""
        return self._path

    def get_savepoint_path(self) -> str | None:
        """The directory of savepoints: always None, ``env.set_default_savepoint_directory`` sets it."""
        return None

    def get_max_state_size(self) -> int:
        """What was given as ``max_state_size``, in bytes."""
        return self._max_state_size

    def apply_to(self, configuration: Configuration) -> None:
        """Write this choice into a configuration."""
        if self._limited:
            configuration.set(options.CHECKPOINT_MAX_SIZE, self._max_state_size)
        if self._path is None:
            configuration.remove_config(options.CHECKPOINT_DIR.key)
        else:
            configuration.set(options.CHECKPOINT_DIR, self._path)


class CustomCheckpointStorage(CheckpointStorage):
    """A storage of one's own: in Flink a Java object, here any directory-like place that a function chooses.

    ::

        class Dated(CustomCheckpointStorage):
            def apply_to(self, configuration):
                configuration.set(options.CHECKPOINT_DIR, f"s3://bucket/{datetime.date.today()}")

    A Java object of Flink's cannot be given: there is no Flink beside the job.
    """

    def __init__(self, j_custom_checkpoint_storage: object | None = None) -> None:
        if j_custom_checkpoint_storage is not None:
            raise UnsupportedError(
                "CustomCheckpointStorage: a storage written in Java cannot be used, there is no Flink beside the job. "
                "Subclass it and override apply_to(), or use FileSystemCheckpointStorage."
            )

    def apply_to(self, configuration: Configuration) -> None:
        """Write this choice into a configuration: override this."""
        raise UnsupportedError(
            f"{type(self).__name__} does not say where checkpoints are kept. Override apply_to(), or use "
            "FileSystemCheckpointStorage."
        )


class FileSystemCheckpointStorage(CheckpointStorage):
    """Checkpoints in a directory that the driver and all workers can reach.

    ::

        env.get_checkpoint_config().set_checkpoint_storage(FileSystemCheckpointStorage("file:///data/checkpoints"))

    :param checkpoint_path: The directory.
    :param file_state_size_threshold: No effect: state files have one layout whatever their size. Warns once.
    :param write_buffer_size: No effect: files are written whole. Warns once.
    """

    MAX_FILE_STATE_THRESHOLD: int = 1024 * 1024
    DEFAULT_FILE_STATE_THRESHOLD: int = 20 * 1024
    DEFAULT_WRITE_BUFFER_SIZE: int = 4096

    def __init__(
        self,
        checkpoint_path: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        name = "FileSystemCheckpointStorage"
        if checkpoint_path is None:
            raise arguments.wrong_argument(name, "checkpoint_path", checkpoint_path, "the path of a directory")
        self._path = _plain(arguments.text(name, "checkpoint_path", checkpoint_path))
        if file_state_size_threshold is not None:
            _no_effect(
                name,
                "file_state_size_threshold",
                file_state_size_threshold,
                least=0,
                most=self.MAX_FILE_STATE_THRESHOLD,
            )
        if write_buffer_size != -1:
            _no_effect(name, "write_buffer_size", write_buffer_size, least=-1)
        threshold = file_state_size_threshold
        self._threshold = self.DEFAULT_FILE_STATE_THRESHOLD if threshold is None else threshold
        self._write_buffer_size = self.DEFAULT_WRITE_BUFFER_SIZE if write_buffer_size == -1 else write_buffer_size

    def get_checkpoint_path(self) -> str:
        """The directory of checkpoints."""
        return self._path

    def get_savepoint_path(self) -> str | None:
        """The directory of savepoints: always None, ``env.set_default_savepoint_directory`` sets it."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """What was given as ``file_state_size_threshold``, in bytes, or Flink's default."""
        return self._threshold

    def get_write_buffer_size(self) -> int:
        """What was given as ``write_buffer_size``, in bytes, or Flink's default."""
        return self._write_buffer_size

    def apply_to(self, configuration: Configuration) -> None:
        """Write this choice into a configuration."""
        configuration.set(options.CHECKPOINT_DIR, self._path)
        configuration.remove_config(options.CHECKPOINT_MAX_SIZE.key)


def _checked_path(name: str, path: str | None) -> str | None:
    return None if path is None else _plain(arguments.text(name, "checkpoint_path", path))


def _plain(path: str) -> str:
    """The path without slashes at its end."""
    return path.rstrip("/") or path


def _no_effect(name: str, argument: str, value: int, *, least: int, most: int | None = None) -> None:
    arguments.whole_number(name, argument, value, least=least, most=most)
    warn_once(
        f"{name}.{argument}", f"{name}: {argument} has no effect, state is always written to files of one layout here."
    )
