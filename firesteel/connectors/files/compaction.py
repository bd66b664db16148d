"""Small files into larger ones, before anybody sees them."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import IO

from firesteel.errors import ConfigurationError

__all__ = ["ConcatFileCompactor", "FileCompactStrategy", "FileCompactor", "IdenticalFileCompactor"]


class FileCompactStrategy:
    """When the files that a subtask has written into a folder are joined: by size or by number of checkpoints.

    ::

        strategy = FileCompactStrategy.builder().set_size_threshold(64 << 20).build()

    Until then they stay hidden; the sink shows them at the latest when the job ends.
    """

    class Builder:
        """Builds a :class:`FileCompactStrategy`: at least one of the two conditions has to be set."""

        def __init__(self) -> None:
            self._size_threshold = -1
            self._checkpoints = -1
            self._threads = 1

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Join files when together they have so many bytes."""
            self._size_threshold = _at_least_one("size_threshold", size_threshold)
            return self

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Join files after so many checkpoints."""
            self._checkpoints = _at_least_one("num_checkpoints_before_compaction", num_checkpoints_before_compaction)
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """How many folders one subtask joins at a time; one unless told otherwise."""
            self._threads = _at_least_one("num_compact_threads", num_compact_threads)
            return self

        def build(self) -> FileCompactStrategy:
            """The strategy."""
            if self._size_threshold < 0 and self._checkpoints < 0:
                raise ConfigurationError(
                    "a compaction strategy without a condition would never join files. Call set_size_threshold() or "
                    "enable_compaction_on_checkpoint()."
                )
            return FileCompactStrategy(self._size_threshold, self._checkpoints, self._threads)

    def __init__(self, size_threshold: int, num_checkpoints: int, num_threads: int) -> None:
        self.size_threshold = size_threshold
        self.num_checkpoints = num_checkpoints
        self.num_threads = num_threads

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """A builder."""
        return FileCompactStrategy.Builder()

    def is_due(self, size: int, checkpoints: int) -> bool:
        """Whether files of that size together, the oldest so many checkpoints old, are to be joined."""
        return 0 <= self.size_threshold <= size or 0 <= self.num_checkpoints <= checkpoints


def _at_least_one(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{name} of a compaction strategy is a whole number above 0, got {value!r}")
    return value


class FileCompactor(ABC):
    """Makes one file of several. Must be picklable. Users may write their own."""

    @abstractmethod
    def compact(self, inputs: Sequence[IO[bytes]], output: IO[bytes]) -> None:
        """Write the content of all inputs, in order, to the output. Called in the task, while a checkpoint is taken."""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Joins the bytes of files, with a delimiter between two files if one is given. For row formats."""
        return ConcatFileCompactor(file_delimiter)

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Leaves files as they are: they are held back as the strategy says and then shown one by one."""
        return IdenticalFileCompactor()


class ConcatFileCompactor(FileCompactor):
    """Joins the bytes of files."""

    def __init__(self, file_delimiter: bytes | None = None) -> None:
        if file_delimiter is not None and not isinstance(file_delimiter, bytes):
            raise ConfigurationError(f"file_delimiter is bytes or None, got {file_delimiter!r}")
        self._file_delimiter = file_delimiter

    def compact(self, inputs: Sequence[IO[bytes]], output: IO[bytes]) -> None:
        """One after the other."""
        for number, stream in enumerate(inputs):
            if number and self._file_delimiter:
                output.write(self._file_delimiter)
            shutil.copyfileobj(stream, output, 1 << 20)


class IdenticalFileCompactor(FileCompactor):
    """Leaves files as they are."""

    def compact(self, inputs: Sequence[IO[bytes]], output: IO[bytes]) -> None:
        """Copy the only input."""
        if len(inputs) != 1:
            raise ConfigurationError(
                f"the identical file compactor takes one file at a time, got {len(inputs)}. "
                "Use concat_file_compactor()."
            )
        shutil.copyfileobj(inputs[0], output, 1 << 20)
