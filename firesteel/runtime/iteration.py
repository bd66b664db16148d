"""The two ends of a loop: what reaches the tail in one epoch comes out of the head in the next.

The plan stays a straight line of levels. The records on their way back are with the driver between two epochs, and so
in every checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from firesteel.common.time import MAX_WATERMARK
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.operator import Operator
from firesteel.state import codec


@dataclass
class LoopTask:
    """What the driver tells one subtask of a loop's head in an epoch.

    :param chunks: The records that came back, as :meth:`IterationTail.report` packed them.
    :param release: No record of the loop's input is on its way any more: the last watermark may pass.
    :param close: Nothing goes round any more: the head may end.
    """

    chunks: list[bytes] = field(default_factory=list)
    release: bool = False
    close: bool = False


class IterationHead(Operator):
    """The entrance of a loop: passes on what comes in, and what comes back.

    Watermarks are those of the input: what comes back does not hold them up. The last one alone waits until the loop is
    empty, so that "the end of all time" does not overtake records that are still going round.
    """

    def __init__(self) -> None:
        self.keeps_open = True
        self._input_ended = False
        self._released = False
        self._holds_last_watermark = False

    def restore(self, states: list[Any]) -> None:
        """Whether the last watermark had come already."""
        self._holds_last_watermark = any(states)

    def process(self, batch: RowBatch) -> None:
        """Pass records on; keys end here, as behind every operator."""
        self.output.emit(RowBatch(batch.values, batch.timestamps))

    def on_order(self, order: LoopTask) -> None:
        """Take what came back, before new input, and what the driver has found out about the loop as a whole."""
        for chunk in order.chunks:
            for batch in unpack(chunk):
                self.records_read += len(batch)
                self.process(batch)
        self.keeps_open = not order.close
        self._released = order.release
        if self._released and self._holds_last_watermark:
            self._holds_last_watermark = False
            super().advance_watermark(MAX_WATERMARK)

    def advance_watermark(self, watermark: int) -> None:
        """Pass a watermark on, unless it is the last one and records are going round."""
        if watermark == MAX_WATERMARK and not self._released:
            self._holds_last_watermark = True
        else:
            super().advance_watermark(watermark)

    def end_input(self, input_index: int) -> None:
        """From now on, records only come back."""
        self._input_ended = True

    def report(self) -> bool:
        """Whether the input has ended."""
        return self._input_ended

    def snapshot(self) -> Any | None:
        """Whether the last watermark waits."""
        return self._holds_last_watermark


class IterationTail(Operator):
    """The way back of a loop: gathers the records of an epoch for the head's next one."""

    def __init__(self) -> None:
        self._entries: list[tuple[list[Any], list[int] | None]] = []

    def process(self, batch: RowBatch) -> None:
        """Keep the records until the end of the epoch."""
        self._entries.append((batch.values, batch.timestamps))

    @property
    def holds_for_driver(self) -> bool:
        """Whether records wait for the end of the epoch."""
        return bool(self._entries)

    def report(self) -> bytes | None:
        """What has come in this epoch, packed; None if nothing has."""
        entries, self._entries = self._entries, []
        return codec.dumps(entries) if entries else None


def unpack(chunk: bytes) -> list[RowBatch]:
    """The records of a chunk that :meth:`IterationTail.report` made."""
    return [RowBatch(values, timestamps) for values, timestamps in codec.loads(chunk)]
