"""One chain in one subtask, through its epochs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from firesteel.common.time import MAX_WATERMARK
from firesteel.runtime.chain.building import ChainParts
from firesteel.runtime.chain.input import ChainInput
from firesteel.runtime.chain.reporting import report_on
from firesteel.runtime.chain.settings import SubtaskSettings
from firesteel.runtime.chain.state import restore_event_time, restore_state, snapshot_of
from firesteel.runtime.emitters import ChunkRow
from firesteel.runtime.epoch import EpochRequest, SubtaskReport
from firesteel.runtime.layout import PlannedChain
from firesteel.runtime.operator import never


class ChainInstance:
    """One chain in one subtask: operators linked by plain calls, a gate before them, emitters behind them."""

    def __init__(self, layout: PlannedChain, subtask: int, settings: SubtaskSettings) -> None:
        self.layout = layout
        self._restores = settings.restores
        self._parts = ChainParts(layout, subtask, settings)
        self.links = self._parts.links
        self.emitters = self._parts.emitters
        self.head = self.links[layout.operators[0].id]
        self._input = ChainInput(layout, subtask, settings, self.head)
        self.receive: Callable[[list[ChunkRow]], None] = self._input.receive
        """Take the chunks of all channels, in the fixed order of channels."""
        self.ended = False

    def open(self) -> None:
        """Restore and open all operators, the last one first: each can emit as soon as it is open."""
        restore_event_time(self.layout, self._parts, self._input.gate, self._restores)
        for planned in reversed(self.layout.operators):
            link = self.links[planned.id]
            restore = self._restores.get(planned.info.uid)
            if restore is not None:
                restore_state(link, restore)
            backend = link.operator.context.keyed_state
            if backend is not None:
                link.call(backend.declare_key_type, planned.key_type)
            link.call(link.operator.open)

    def advance_processing_time(self, now: int) -> None:
        """Fire what is due, in order of the chain."""
        for link in self.links.values():
            if link is not self.head or not self._input.sorts:
                link.call(link.operator.advance_processing_time, now)

    def take_orders(self, orders: Mapping[str, Any]) -> None:
        """Give the operators their orders, the last one first: the head may begin to emit with its own."""
        for link in reversed(list(self.links.values())):
            uid = link.operator.context.info.uid
            if uid in orders:
                link.call(link.operator.on_order, orders[uid])

    def end_epoch(self, now: int, expired: Callable[[], bool] = never) -> None:
        """After all input of the epoch: fire timers that are due, hand on what is held back, notice the end."""
        self._input.work_off(expired)
        self.advance_processing_time(now)
        self._input.end_inputs()
        if self._input.all_ended and not self.ended:
            self._end()
        for link in self.links.values():
            link.call(link.operator.end_epoch)
            if link.operator.context.keyed_state is not None:
                link.call(link.operator.context.keyed_state.end_epoch)

    def _end(self) -> None:
        self.ended = True
        for link in self.links.values():
            if link is not self.head:
                link.call(link.operator.end_input, 0)
            link.call(link.operator.finish)
        for emitter in self.emitters:
            emitter.end()

    def settle(self) -> None:
        """All that has come so far has been processed, and more of this epoch may come: hand on what need not wait."""
        for link in self.links.values():
            link.call(link.operator.settle)

    def go_on(self) -> None:
        """Continue what the epoch before had no time for."""
        if self.head.operator.end_of_time_under_way:
            self.head.advance_watermark(MAX_WATERMARK)

    def snapshot(self, request: EpochRequest, report: SubtaskReport) -> None:
        """Have all operators prepare for a checkpoint; unless the chain has ended, add their state to the report."""
        for link in self.links.values():
            link.call(link.operator.before_snapshot, request.checkpoint_id)
            if not self.ended:
                gate = self._input.gate if link is self.head and self.layout.inputs else None
                uid = link.operator.context.info.uid
                report.snapshots[uid] = snapshot_of(link, request.snapshot, gate)

    def forget_deltas(self) -> None:
        """Nobody will ask what has changed so far."""
        for link in self.links.values():
            backend = link.operator.context.keyed_state
            if backend is not None:
                backend.forget_deltas()

    def report(self, report: SubtaskReport) -> None:
        """Add timers, what operators report to the driver, and metrics."""
        report_on(self.layout, self._parts, self._input.sorts, report)

    def close(self) -> list[Exception]:
        """Close all operators; what they raise does not keep the others from closing."""
        errors: list[Exception] = []
        self._input.close()
        for link in self.links.values():
            try:
                link.call(link.operator.close)
            except Exception as error:
                errors.append(error)
            if link.operator.context.keyed_state is not None:
                link.operator.context.keyed_state.close()
        return errors
