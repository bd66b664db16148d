"""What a source is: splits found in the driver, records read in the tasks (or, where that cannot be, in the driver).

A :class:`Source` has two halves. Its :class:`SplitEnumerator` lives in the driver and says which splits there are and
whether they have data; its :class:`SourceReader` lives in the tasks and reads one split from a position. Positions
are kept by the engine, in the checkpoint: a source holds none of its own.

A :class:`DriverSource` is for what cannot be read from a task: sockets, callbacks, a user's ``SourceFunction``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from firesteel.errors import UnsupportedError
from firesteel.model.coordinator import CoordinatorContext
from firesteel.model.functions import RuntimeContext


class Boundedness(Enum):
    """Whether a source ends by itself."""

    BOUNDED = "BOUNDED"
    CONTINUOUS_UNBOUNDED = "CONTINUOUS_UNBOUNDED"


@dataclass(frozen=True)
class SourceSplit:
    """A part of a source that is read by one subtask at a time.

    :param split_id: Unique within the source and stable between runs: positions are stored under it.
    :param payload: Whatever the reader needs to find the data (a path, a partition number, a range).
    """

    split_id: str
    payload: Any = None


@dataclass
class ReadResult:
    """What one call of :meth:`SourceReader.read` returned.

    :param values: The records, in order: a list, or of a reader of columns a ``pyarrow.RecordBatch``.
    :param position: Where the next read of the split goes on. Any picklable value.
    :param finished: The split has no more records and never will.
    :param timestamps: A timestamp in milliseconds for each record, or None if the records carry none: a list, or of
        a reader of columns an Arrow array of int64.
    """

    values: Any
    position: Any
    finished: bool = False
    timestamps: Any | None = None


@dataclass
class ReaderContext:
    """What a reader is told when it is opened."""

    subtask_index: int
    parallelism: int
    runtime_context: RuntimeContext | None = None


class SourceReader(ABC):
    """Reads splits, in a task. One reader per subtask, kept open for the life of the job.

    :cvar gives_away: Every record is an object of its own that the reader keeps nowhere. Where that is not said,
        records that can change are copied.
    """

    gives_away: bool = False

    def open(self, context: ReaderContext) -> None:
        """Called once, before the first read."""
        return None

    @abstractmethod
    def read(self, split: SourceSplit, position: Any, max_records: int, now: int) -> ReadResult:
        """Read on from ``position``, at most ``max_records`` records.

        Called again and again within an epoch until the epoch's budget is used or nothing new comes. Must not
        block for data that is not there: return an empty result instead. After a failure the engine calls with an
        older position, and the same records must come again if the source says it is replayable.

        :param now: The epoch's processing time in milliseconds.
        """

    def close(self) -> None:
        """Called once, when the job ends."""
        return None


class SplitEnumerator(ABC):
    """Finds splits, in the driver. Called between epochs, never while one runs."""

    def open(self, context: CoordinatorContext) -> None:
        """Called once before anything else.

        :param context: For what takes long (``context.call_async``: ask a server for its partitions), for metrics, and
            to have the driver look again (``context.wake``).
        """
        return None

    def start(self, restored: Any | None) -> None:
        """Called once after :meth:`open`, with what :meth:`snapshot` returned in the checkpoint, or None."""
        return None

    @abstractmethod
    def discover_splits(self, now: int) -> Iterable[SourceSplit]:
        """Splits that have not been returned before (since the snapshot that was restored)."""

    def no_more_splits(self) -> bool:
        """Whether :meth:`discover_splits` will never return anything again."""
        return True

    def has_data(self, split: SourceSplit, position: Any, now: int) -> bool:
        """Whether reading on from there would give something (records, or the end). Cheap; a guess of True is fine."""
        return True

    def split_finished(self, split: SourceSplit) -> None:
        """Called once when a split has been read to its end, before the next :meth:`snapshot`.

        After a failure it is called again for splits that had not ended in the checkpoint.
        """
        return None

    def next_data_time(self, now: int) -> int | None:
        """When to ask again, in milliseconds, if the source knows (a rate limit, a poll interval)."""
        return None

    def snapshot(self) -> Any:
        """What :meth:`start` needs to go on from here. Picklable."""
        return None

    def committed(self, positions: dict[str, Any]) -> None:
        """Called after a checkpoint is complete with the position of each split: older data is not asked for again."""
        return None

    def close(self) -> None:
        """Called once, when the job ends."""
        return None


class Source(ABC):
    """A source read in the tasks.

    :cvar replayable: Whether the same records come again when read from an older position. Exactly-once needs it.
    :cvar guarantee: The strongest guarantee a job can give with this source.
    """

    replayable: bool = True
    guarantee: str = "exactly-once"

    @property
    @abstractmethod
    def boundedness(self) -> Boundedness:
        """Whether the source ends by itself."""

    @property
    def gives_columns(self) -> bool:
        """Whether :meth:`create_column_reader` makes a reader. It is asked for if an operator behind takes columns."""
        return False

    def create_column_reader(self) -> SourceReader:
        """Make a tasks' half whose results hold a ``pyarrow.RecordBatch``. Positions mean the same in both."""
        raise UnsupportedError(f"{type(self).__name__} does not read columns")

    @abstractmethod
    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """Make the driver's half. ``parallelism`` is that of the source operator."""

    @abstractmethod
    def create_reader(self) -> SourceReader:
        """Make the tasks' half."""

    def initial_position(self, split: SourceSplit) -> Any:
        """Where reading a new split starts."""
        return None


@dataclass
class SourceEvents:
    """Records and watermarks taken from a driver reader, in order.

    ``entries`` holds ``("records", values, timestamps or None)``, ``("watermark", milliseconds)``, ``("idle",)``
    and ``("active",)``.
    """

    entries: list[tuple[Any, ...]] = field(default_factory=list)


class DriverReader(ABC):
    """One subtask of a :class:`DriverSource`, in the driver process. May use threads of its own."""

    @abstractmethod
    def open(self, context: RuntimeContext, restored: list[Any] | None, wake: Callable[[], None]) -> None:
        """Start.

        :param restored: What :meth:`take` returned as state in the checkpoint, for each former subtask; the number of
            subtasks may have changed since. None if the job starts from nothing.
        :param wake: May be called from any thread when data has come, to start an epoch soon.
        """

    @abstractmethod
    def has_data(self) -> bool:
        """Whether :meth:`take` would return something."""

    @abstractmethod
    def take(self, max_records: int) -> tuple[SourceEvents, Any]:
        """Hand over what has come, and the state that stands exactly after it (for the snapshot)."""

    @abstractmethod
    def is_finished(self) -> bool:
        """Whether everything has been taken and nothing more will come. Raises the error of a reader that failed."""

    def checkpoint_complete(self, checkpoint_id: int) -> None:
        """Called after a checkpoint that contains the state last returned by :meth:`take` is complete."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Stop: called once at the end, on failure and on cancellation."""


class DriverSource(ABC):
    """A source read in the driver process."""

    replayable: bool = False
    guarantee: str = "at-most-once"

    @property
    @abstractmethod
    def boundedness(self) -> Boundedness:
        """Whether the source ends by itself."""

    @abstractmethod
    def create_driver_reader(self, subtask_index: int, parallelism: int) -> DriverReader:
        """Make the reader of one subtask."""
