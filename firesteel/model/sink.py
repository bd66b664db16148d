"""Two-phase sinks: written in the tasks, committed by the driver when the epoch's manifest is safe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from firesteel.errors import UnsupportedError
from firesteel.model.functions import RuntimeContext


@dataclass(slots=True)
class WriterContext:
    """What a record comes with when it is written: its timestamp (or None), the watermark and processing time.

    Holds during the call only: the engine uses one object for all records.
    """

    timestamp: int | None
    current_watermark: int
    current_processing_time: int


class SinkWriter(ABC):
    """Takes the records of one subtask. Kept for the life of the job."""

    def open(self, context: RuntimeContext, restored: Sequence[Any]) -> None:
        """Called once before the first record, with the states that :meth:`snapshot` returned in the checkpoint."""
        return None

    @abstractmethod
    def write(self, value: Any, context: WriterContext) -> None:
        """Take one record."""

    def write_batch(self, columns: Any, timestamps: Any | None, kinds: Any | None, context: WriterContext) -> None:
        """Take many records as columns; called in place of :meth:`write` if the sink says ``takes_columns``.

        :param columns: The records, as a ``pyarrow.RecordBatch``.
        :param timestamps: Their timestamps as an Arrow array of int64, or None; ``context`` has none.
        :param kinds: Their row kinds as an Arrow array of int8 (values of ``RowKind``); None: all are insertions.
        """
        raise UnsupportedError(f"{type(self).__name__} does not write columns")

    def flush(self, end_of_input: bool) -> None:
        """Called at the end of every epoch, before :meth:`prepare_commit`: nothing may stay in memory only."""
        return None

    def prepare_commit(self, checkpoint_id: int) -> Sequence[Any]:
        """Called when an epoch is checkpointed: what the committer has to make visible. Picklable values.

        :param checkpoint_id: The checkpoint that will hold them; the committer is told the same. After a failure the
            number may come again, with other records. A checkpoint may be given up: then its output is committed with
            that of a later one, still under its own number.
        """
        return ()

    def snapshot(self) -> Any | None:
        """Writer state to restore from (open files and the like), after :meth:`prepare_commit`."""
        return None

    def close(self) -> None:
        """Called once, when the job ends."""
        return None


@dataclass
class CommitRequest:
    """Something to make visible, and what the committer says to it. Without an answer it counts as committed.

    :param committable: What :meth:`SinkWriter.prepare_commit` returned.
    :param checkpoint_id: The checkpoint that it was prepared for.
    :param recovered: It comes out of a checkpoint that the job goes on from: it may have been committed before.
    :param retries: How often it was put off.
    """

    committable: Any
    checkpoint_id: int
    recovered: bool = False
    retries: int = 0
    was_committed: bool = False
    later: bool = False

    def already_committed(self) -> None:
        """Say that it was visible before: a crash has come between the commit and its note. Counted, nothing else."""
        self.was_committed = True

    def retry_later(self, committable: Any | None = None) -> None:
        """Say that it cannot be committed now, but later: a server is away for a moment.

        It is offered again after a second, and after each checkpoint; a job does not end before. Until then it is part
        of every checkpoint. After ``sink.committer.retries`` times the job fails.

        :param committable: What to offer then, if that has changed.
        """
        self.later = True
        if committable is not None:
            self.committable = committable


class Committer(ABC):
    """Makes prepared output visible, in the driver, after the manifest that names it has been written.

    The same output may come twice (a crash between commit and its note): committing must be idempotent.
    """

    @abstractmethod
    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Make these visible, oldest first. Raising fails the job, which commits them again after its restart."""

    def abort(self, committables: Sequence[Any]) -> None:
        """Called for what was prepared in an epoch that failed, if it is known: clean up. It may never be called."""
        return None

    def close(self) -> None:
        """Called once, when the job ends."""
        return None


class Sink(ABC):
    """A sink made of a writer per subtask and, for exactly-once, a committer in the driver.

    :cvar guarantee: What the sink promises: ``exactly-once`` needs a committer.
    """

    guarantee: str = "at-least-once"

    @property
    def takes_columns(self) -> bool:
        """Whether its writers have a :meth:`SinkWriter.write_batch`: records that are columns are left so."""
        return False

    def for_operator(self) -> Sink:
        """Called once for each use of the sink in a program, when the program is built.

        A sink that has to tell its uses apart (to know which leftovers are its own) returns a copy that can.
        """
        return self

    @abstractmethod
    def create_writer(self) -> SinkWriter:
        """Make the writer of one subtask."""

    def create_committer(self) -> Committer | None:
        """Make the committer, or None if records are visible as soon as they are flushed."""
        return None


class DriverSink(Protocol):
    """Takes the records of a sink that ends in the driver (``print``, ``execute_and_collect``).

    Called from the driver's loop, once per subtask and epoch that has records, in order of subtasks, after the
    epoch is complete. Records of an epoch that fails are never seen here.
    """

    exactly_once: bool
    """With checkpoints on, records wait for the checkpoint after which they cannot come again. Otherwise they are seen
    at once, and once more if the job goes back to a checkpoint before them."""

    def accept(self, subtask: int, values: list[Any]) -> None:
        """Take the records of one subtask."""

    def finished(self, error: BaseException | None) -> None:
        """The job has ended; ``error`` says why if it did not end well."""
