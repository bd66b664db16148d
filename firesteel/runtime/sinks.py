"""The operators at the end of a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from firesteel.errors import ProgramError
from firesteel.model.functions import SinkFunction
from firesteel.model.sink import Sink, SinkWriter, WriterContext
from firesteel.runtime.batch import Batch, Format, RowBatch
from firesteel.runtime.contexts import SubtaskRuntimeContext
from firesteel.runtime.operator import Operator
from firesteel.runtime.user_function import FunctionOperator
from firesteel.state import codec
from firesteel.state.backend import KeyScope


class SinkContext(SinkFunction.Context):
    """What ``invoke`` is given besides the record."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.current_timestamp: int | None = None

    def current_processing_time(self) -> int:
        """The processing time of this epoch."""
        return self._operator.context.clock.now

    def current_watermark(self) -> int:
        """The operator's event time."""
        return self._operator.watermark

    def timestamp(self) -> int | None:
        """The record's timestamp."""
        return self.current_timestamp


class SinkFunctionOperator(FunctionOperator):
    """Calls a user's sink function for each record. At least once: an epoch that is run again calls again."""

    def __init__(self, function: SinkFunction) -> None:
        super().__init__(function)

    def process(self, batch: RowBatch) -> None:
        """Hand over each record."""
        context = SinkContext(self)
        invoke = self.function.invoke
        self.cursor = iter(batch.values)
        keyed = self.context.keyed_state
        scope = KeyScope() if keyed is None else keyed.scope
        stamps, keys = batch.timestamps or repeat(None), repeat(None) if batch.keys is None else batch.keys
        for value, context.current_timestamp, scope.key in zip(self.cursor, stamps, keys):
            invoke(value, context)


@dataclass
class Prepared:
    """What a subtask of a sink has prepared for a checkpoint."""

    checkpoint_id: int
    committables: list[Any]


class SinkWriterOperator(Operator):
    """Writes to a two-phase sink; what is prepared in a checkpointed epoch is committed by the driver."""

    takes = Format.EITHER

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._writer: SinkWriter | None = None
        self._restored: list[Any] = []
        self._prepared: Prepared | None = None

    def restore(self, states: list[Any]) -> None:
        """Keep the writers' states that are this subtask's: after rescaling, each state goes to one new subtask."""
        index, parallelism = self.context.subtask_index, self.context.parallelism
        mine = states[index::parallelism] if self.context.rescaled else states
        self._restored = [state for state in mine if state is not None]

    def open(self) -> None:
        """Open the writer."""
        self._writer = self._sink.create_writer()
        self._writer.open(SubtaskRuntimeContext(self.context), self._restored)

    def process(self, batch: Batch) -> None:
        """Write each record, or all together if they are columns."""
        if isinstance(batch, RowBatch):
            self._write_rows(batch)
        else:
            self._write_columns(batch)

    def _write_columns(self, batch: Any) -> None:
        assert self._writer is not None
        context = WriterContext(None, self.watermark, self.context.clock.now)
        self._writer.write_batch(batch.columns, batch.timestamps, batch.kinds, context)

    def _write_rows(self, batch: RowBatch) -> None:
        assert self._writer is not None
        write, context = self._writer.write, WriterContext(None, self.watermark, self.context.clock.now)
        self.cursor = iter(batch.values)
        for value, context.timestamp in zip(self.cursor, batch.timestamps or repeat(None)):
            write(value, context)

    def end_epoch(self) -> None:
        """Nothing may stay in memory only."""
        assert self._writer is not None
        self._writer.flush(end_of_input=False)

    def finish(self) -> None:
        """The last records have come."""
        assert self._writer is not None
        self._writer.flush(end_of_input=True)

    def before_snapshot(self, checkpoint_id: int) -> None:
        """Let the writer prepare what the committer has to make visible."""
        assert self._writer is not None
        committables = list(self._writer.prepare_commit(checkpoint_id))
        for committable in committables:
            _refuse_unpicklable(committable)
        if committables:
            self._prepared = Prepared(checkpoint_id, committables)

    def report(self) -> Prepared | None:
        """What was prepared in this epoch."""
        prepared, self._prepared = self._prepared, None
        return prepared

    def snapshot(self) -> Any | None:
        """The writer's state."""
        assert self._writer is not None
        return self._writer.snapshot()

    def close(self) -> None:
        """Close the writer."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _refuse_unpicklable(committable: Any) -> None:
    """What is to be committed goes into the checkpoint: it must come back from there, or nothing could be committed."""
    try:
        codec.loads(codec.dumps(committable))
    except Exception as error:
        raise ProgramError(
            f"what the sink has prepared cannot be stored in a checkpoint, and so not be committed: "
            f"{committable!r:.200}: {type(error).__name__}: {error}. What prepare_commit() and begin_transaction() "
            "return must be able to be pickled: a name or an id rather than a connection"
        ) from error


class CollectOperator(Operator):
    """Sends records to the driver, in its report of the epoch: seen once, and only if the epoch holds.

    :param convert: What to send instead of a record (for ``print`` its line). Done here and not in the driver: here an
        error names the operator and the record.
    """

    reports_records = True

    def __init__(self, convert: Callable[[Any], Any] | None = None) -> None:
        self._convert = convert
        self._values: list[Any] = []

    def process(self, batch: RowBatch) -> None:
        """Keep the records until the end of the epoch."""
        if self._convert is None:
            self._values.extend(batch.values)
        else:
            self.cursor = iter(batch.values)
            self._values.extend(map(self._convert, self.cursor))

    @property
    def holds_for_driver(self) -> bool:
        """Whether records wait for the end of the epoch."""
        return bool(self._values)

    def report(self) -> list[Any] | None:
        """What has come in this epoch."""
        values, self._values = self._values, []
        return values or None
