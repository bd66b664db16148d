"""When a file sink begins a new file, and how its files are called."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from firesteel.errors import ConfigurationError

__all__ = ["DefaultRollingPolicy", "OnCheckpointRollingPolicy", "OutputFileConfig", "PartFileInfo", "RollingPolicy"]


@dataclass
class PartFileInfo:
    """A file that is being written.

    :param creation_time: The processing time in milliseconds of its first record.
    :param last_update_time: The processing time of its last record.
    :param size: Bytes written so far. A bulk writer may hold more in memory.
    """

    bucket_id: str
    creation_time: int
    last_update_time: int
    size: int = 0


class RollingPolicy(ABC):
    """Says when a file is closed and the next one begun, besides every checkpoint, which closes all files.

    Subclasses may decide by the record, too. Must be picklable.
    """

    @abstractmethod
    def should_roll_on_event(self, part: PartFileInfo, element: Any) -> bool:
        """Called before each record: whether it goes into a new file."""

    @abstractmethod
    def should_roll_on_processing_time(self, part: PartFileInfo, now: int) -> bool:
        """Called for each open file as often as the sink's bucket check interval says: whether to close it."""

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128, rollover_interval: int = 60 * 1000, inactivity_interval: int = 60 * 1000
    ) -> DefaultRollingPolicy:
        """By size and time.

        :param part_size: Begin a new file when this one has more than so many bytes.
        :param rollover_interval: ... or was begun so many milliseconds ago.
        :param inactivity_interval: ... or had no record for so many milliseconds.
        """
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """With every checkpoint and never else."""
        return OnCheckpointRollingPolicy()


class DefaultRollingPolicy(RollingPolicy):
    """Rolls by size and time. See :meth:`RollingPolicy.default_rolling_policy`."""

    def __init__(self, part_size: int, rollover_interval: int, inactivity_interval: int) -> None:
        for name, value in (
            ("part_size", part_size),
            ("rollover_interval", rollover_interval),
            ("inactivity_interval", inactivity_interval),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ConfigurationError(f"{name} of a rolling policy is a whole number above 0, got {value!r}")
        self._part_size = part_size
        self._rollover_interval = rollover_interval
        self._inactivity_interval = inactivity_interval

    def should_roll_on_event(self, part: PartFileInfo, element: Any) -> bool:
        """Whether the file is larger than its size."""
        return part.size > self._part_size

    def should_roll_on_processing_time(self, part: PartFileInfo, now: int) -> bool:
        """Whether the file is old, or silent for long."""
        return (
            now - part.creation_time >= self._rollover_interval
            or now - part.last_update_time >= self._inactivity_interval
        )


class OnCheckpointRollingPolicy(RollingPolicy):
    """Rolls with every checkpoint and never else: the only one for bulk formats."""

    def should_roll_on_event(self, part: PartFileInfo, element: Any) -> bool:
        """Never."""
        return False

    def should_roll_on_processing_time(self, part: PartFileInfo, now: int) -> bool:
        """Never."""
        return False


_LONGEST = 160
"""Of the 255 bytes of a name, what subtask, id, number and the hidden name do not need."""


class OutputFileConfig:
    """How the files of a sink are called: ``<prefix>-<subtask>-<id>-<number><suffix>``.

    ::

        config = OutputFileConfig.builder().with_part_prefix("orders").with_part_suffix(".csv").build()
    """

    class OutputFileConfigBuilder:
        """Builds an :class:`OutputFileConfig`."""

        def __init__(self) -> None:
            self.part_prefix = "part"
            self.part_suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """What names begin with: ``part`` unless told otherwise."""
            self.part_prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """What names end with, such as ``.csv``; nothing unless told otherwise."""
            self.part_suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """The configuration."""
            return OutputFileConfig(self.part_prefix, self.part_suffix)

    def __init__(self, part_prefix: str, part_suffix: str) -> None:
        for name, value in (("part_prefix", part_prefix), ("part_suffix", part_suffix)):
            if not isinstance(value, str) or "/" in value:
                raise ConfigurationError(
                    f"{name} is a text without '/', got {value!r}. Folders: with_bucket_assigner()."
                )
            if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
                raise ConfigurationError(
                    f"{name} {value!r} has characters that no file system takes in names. Take them out."
                )
        if len((part_prefix + part_suffix).encode()) > _LONGEST:
            raise ConfigurationError(
                f"part_prefix and part_suffix have {len((part_prefix + part_suffix).encode())} bytes together; names "
                f"of files have room for {_LONGEST} of them. Take shorter ones."
            )
        if not part_prefix or part_prefix[0] in "._":
            raise ConfigurationError(
                f"part_prefix {part_prefix!r} makes files that readers do not see: names that begin with '.' or '_' "
                "are hidden. Begin it with a letter or digit."
            )
        self._part_prefix = part_prefix
        self._part_suffix = part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """A builder."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """What names begin with."""
        return self._part_prefix

    def get_part_suffix(self) -> str:
        """What names end with."""
        return self._part_suffix
