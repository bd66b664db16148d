"""Jobs that are saved and started again: what tests of checkpoints, savepoints and operator state share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from firesteel.common import WatermarkStrategy
from firesteel.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.model.source import Boundedness, DriverReader, DriverSource, SourceEvents
from firesteel.state.store import CheckpointStore
from firesteel.testing import use_clock
from tests.features.scripts import checkpoint_each_epoch

NO_RESTART = {"restart-strategy.type": "none"}
WAIT = 30


class Handed(DriverSource):
    """A source whose records the test hands over while the job runs; it goes back to a position if it has to.

    They are read by its first subtask; all others have nothing and end at once.
    """

    replayable = True
    guarantee = "exactly-once"

    def __init__(self, *records: Any, ended: bool = False) -> None:
        self.records = list(records)
        self.ended = ended
        self.wake: Callable[[], None] = lambda: None

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_driver_reader(self, subtask_index: int, parallelism: int) -> DriverReader:
        return _HandedReader(self if subtask_index == 0 else Handed(ended=True))

    def give(self, *records: Any) -> None:
        self.records.extend(records)
        self.wake()

    def end(self) -> None:
        self.ended = True
        self.wake()

    def stream(self, env: StreamExecutionEnvironment, uid: str = "handed") -> DataStream:
        return env.from_source(self, WatermarkStrategy.no_watermarks(), "handed").set_parallelism(1).uid(uid)


class _HandedReader(DriverReader):
    def __init__(self, source: Handed) -> None:
        self._source = source
        self._position = 0

    def open(self, context: RuntimeContext, restored: list[Any] | None, wake: Callable[[], None]) -> None:
        self._position = (restored[0] if restored else None) or 0
        self._source.wake = wake

    def has_data(self) -> bool:
        return self._position < len(self._source.records)

    def take(self, max_records: int) -> tuple[SourceEvents, Any]:
        taken = self._source.records[self._position : self._position + max_records]
        self._position += len(taken)
        return SourceEvents([("records", taken, None)] if taken else []), self._position

    def is_finished(self) -> bool:
        return self._source.ended and not self.has_data()

    def close(self) -> None:
        return None


class Counts(KeyedProcessFunction):
    """(key, how many so far)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


def identity(value: Any) -> Any:
    return value


def counts(stream: DataStream) -> DataStream:
    """Running counts of each word."""
    return stream.key_by(identity).process(Counts()).uid("counts")


def save(stream: DataStream, directory: Path, drain: bool = False) -> tuple[str, list[Any]]:
    """Run a job over what its source has been handed so far, stop it with a savepoint; the path, and the output."""
    with stream.execute_and_collect() as results:
        path = results.get_job_client().stop_with_savepoint(drain, str(directory)).result(WAIT)
        return path, list(results)


def from_savepoint(path: str, **options: Any) -> dict[str, Any]:
    """Options of a job that starts from a savepoint or checkpoint."""
    return {"execution.state-recovery.path": path, **options}


def checkpointing(directory: Path, **options: Any) -> dict[str, Any]:
    """Options of a job that leaves its checkpoints behind when a script says CRASH."""
    return {
        "execution.checkpointing.interval": "10 ms",
        "execution.checkpointing.dir": str(directory),
        **NO_RESTART,
        **options,
    }


def run_with_checkpoints(stream: DataStream) -> list[Any]:
    """Run a job with a checkpoint after every epoch but the first; its output."""
    with use_clock(checkpoint_each_epoch()), stream.execute_and_collect() as results:
        return list(results)


def files_below(directory: Path) -> dict[str, bytes]:
    """All files with their content; without the lock, and without event logs, which outlive their jobs."""
    files = [path for path in directory.rglob("*") if path.is_file() and path.name != "_lock"]
    found = sorted(path for path in files if path.suffix != ".jsonl")
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


def checkpoint_ids(directory: Path) -> list[int]:
    return CheckpointStore(str(directory)).checkpoint_ids()
