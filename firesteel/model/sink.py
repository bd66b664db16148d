"""Two-phase sinks: written in the tasks, committed by the driver when the epoch's manifest is safe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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

    def flush(self, end_of_input: bool) -> None:
        """Called at the end of every epoch, before :meth:`prepare_commit`: nothing may stay in memory only."""
        return None

    def prepare_commit(self) -> Sequence[Any]:
        """Called when an epoch is checkpointed: what the committer has to make visible. Picklable values."""
        return ()

    def snapshot(self) -> Any | None:
        """Writer state to restore from (open files and the like), after :meth:`prepare_commit`."""
        return None

    def close(self) -> None:
        """Called once, when the job ends."""
        return None


class Committer(ABC):
    """Makes prepared output visible, in the driver, after the manifest that names it has been written.

    The same committables may come twice (a crash between commit and its note): committing must be idempotent.
    """

    @abstractmethod
    def commit(self, committables: Sequence[Any]) -> None:
        """Make these visible. Raising fails the job, which commits them again after its restart."""

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
