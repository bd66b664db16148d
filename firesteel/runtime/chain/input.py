"""What comes into a chain: chunks of its channels, what they say about event time, and the end of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from firesteel.runtime.batch import END, IDLE, RowBatch
from firesteel.runtime.chain.settings import SubtaskSettings
from firesteel.runtime.emitters import ChunkRow
from firesteel.runtime.input_gate import Channel, InputGate
from firesteel.runtime.layout import PlannedChain, PlannedEdge
from firesteel.runtime.operator import ChainLink, Receiver
from firesteel.runtime.partitioners import BROADCAST, FORWARD
from firesteel.runtime.receiving import receiver
from firesteel.runtime.sorted_input import SortedInput
from firesteel.state import codec


class ChainInput:
    """The inputs of the first operator of a chain.

    :param head: The first operator.
    """

    def __init__(self, layout: PlannedChain, subtask: int, settings: SubtaskSettings, head: ChainLink) -> None:
        self._layout = layout
        self._head = head
        self.gate = InputGate(_channels(layout, subtask), {edge.id: edge.name for edge in layout.inputs})
        self._sorted = self._sort_input(settings)
        self._receivers = {edge.id: self._receiver(edge) for edge in layout.inputs}
        self._entry_bytes = 0
        """About how many bytes a batch of the chunk in work has."""
        self._indices = sorted({edge.input_index for edge in layout.inputs})
        self._ended: set[int] = set()

    def _sort_input(self, settings: SubtaskSettings) -> SortedInput | None:
        """In BATCH mode: the sorter before a keyed operator. Records without keys (broadcast ones) do not go in."""
        planned = self._layout.operators[0]
        if not settings.sorts_for(planned, self._head.operator):
            return None
        inputs = {edge.input_index for edge in self._layout.inputs if edge.kind != BROADCAST}
        return SortedInput(self._head, settings.sorter_factory(planned.inputs), inputs)

    @property
    def sorts(self) -> bool:
        """Whether the first operator gets its records key by key: then its timers fire at the end of each key."""
        return self._sorted is not None

    def _receiver(self, edge: PlannedEdge) -> Receiver:
        """What takes the batches of an edge, in the format of the edge."""
        head, index = self._layout.operators[0], edge.input_index
        take = self._head.receiver(index)
        if self._sorted is not None and index in self._sorted.inputs:
            take = self._sorting(self._sorted, index)
        keys = edge.key_fields if head.keyed else None
        return receiver(self._head, take, edge.format, head.takes, edge.row_type, keys)

    def _sorting(self, sorter: SortedInput, index: int) -> Receiver:
        def add(batch: RowBatch) -> None:
            sorter.add(index, batch, self._entry_bytes)

        return add

    def receive(self, rows: list[ChunkRow]) -> None:
        """Take the chunks of all channels, in the fixed order of channels."""
        for _, _, edge, sender, _, _, payload in rows:
            channel, receive = (edge, sender), self._receivers[edge]
            entries = codec.loads(payload)
            self._entry_bytes = len(payload) // max(1, len(entries))
            for entry in entries:
                if entry.__class__ is tuple:
                    receive(RowBatch(*entry))
                elif entry.__class__ is bytes:
                    self._receive_columns(receive, entry)
                else:
                    self._take_mark(channel, entry)

    @staticmethod
    def _receive_columns(receive: Receiver, entry: bytes) -> None:
        from firesteel.runtime.columns.batch import from_bytes

        for batch in from_bytes(entry):
            receive(batch)

    def _take_mark(self, channel: Channel, mark: Any) -> None:
        gate = self.gate
        if mark is END:
            gate.end(channel)
            return
        if self._sorted is not None:  # records before this watermark have not been processed
            if mark.__class__ is int:
                gate.advance(channel, mark)
            return
        was_idle = gate.idle
        advanced = gate.advance(channel, mark) if mark.__class__ is int else gate.set_idle(channel, mark is IDLE)
        if was_idle and not gate.idle:
            self._head.advance_status(False)
        if advanced is not None:
            self._head.advance_watermark(advanced)
        if gate.idle and not was_idle:  # after the watermark: readers do not listen to one that is idle
            self._head.advance_status(True)

    def work_off(self, expired: Callable[[], bool]) -> None:
        """When all records have come and are sorted: give them to the operator, as far as the epoch has time."""
        if self._sorted is None or self._sorted.done or not self.gate.all_ended:
            return
        if self._sorted.work_off(expired):
            self._head.advance_watermark(self.gate.watermark)

    def end_inputs(self) -> None:
        """Tell the operator about each of its inputs that has ended."""
        for index in self._indices:
            if index not in self._ended and self.gate.has_ended(index) and not self._waits_for_its_end():
                self._ended.add(index)
                self._head.call(self._head.operator.end_input, index)

    @property
    def all_ended(self) -> bool:
        """Whether nothing comes any more, and all that has come is done."""
        return self.gate.all_ended and not self._head.operator.keeps_open and not self._waits_for_its_end()

    def _waits_for_its_end(self) -> bool:
        """Whether the operator has more to do, after all of its input has come, than one epoch has time for."""
        return self._head.operator.end_of_time_under_way or (self._sorted is not None and not self._sorted.done)

    def close(self) -> None:
        """Give back what sorting uses."""
        if self._sorted is not None:
            self._sorted.close()


def _channels(layout: PlannedChain, subtask: int) -> list[list[Channel]]:
    """The channels of each input."""
    channels: list[list[Channel]] = [[] for _ in range(layout.operators[0].inputs)]
    for edge in layout.inputs:
        senders: Iterable[int] = (subtask,) if edge.kind == FORWARD else range(edge.producers)
        channels[edge.input_index].extend((edge.id, sender) for sender in senders)
    return channels
