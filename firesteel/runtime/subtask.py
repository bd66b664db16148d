"""One subtask of one level: the operators of all chains of that level, alive from the first epoch to the last.

``run_epoch`` is the whole data plane: chunk rows in, chunk rows and a report out. No Spark, no clock, no files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from firesteel.runtime.chain import ChainInstance, SubtaskSettings
from firesteel.runtime.emitters import ChunkRow
from firesteel.runtime.epoch import EpochRequest, SubtaskReport
from firesteel.runtime.layout import PlannedChain
from firesteel.state.backend import KeyedStateBackend


class LevelSubtask:
    """Subtask ``index`` of one level."""

    def __init__(self, level: int, index: int, layouts: Iterable[PlannedChain], settings: SubtaskSettings) -> None:
        self.level = level
        self.index = index
        self.clock = settings.clock
        self.batch_mode = settings.worker.batch_mode
        self.chains = {layout.id: ChainInstance(layout, index, settings) for layout in layouts}
        self._chain_of_edge = {edge.id: chain for chain in self.chains.values() for edge in chain.layout.inputs}
        self.opened = False
        self._closed = False

    def chain_of_edge(self, edge: int) -> ChainInstance:
        """The chain that reads from an edge."""
        return self._chain_of_edge[edge]

    @property
    def backends(self) -> list[KeyedStateBackend]:
        """The keyed state of all operators."""
        found = [link.operator.context.keyed_state for chain in self.chains.values() for link in chain.links.values()]
        return [backend for backend in found if backend is not None]

    @property
    def bytes_ready(self) -> int:
        """The size of the chunks that wait for the end of the epoch."""
        emitters = [emitter for chain in self.chains.values() for emitter in chain.emitters]
        return sum(writer.size for emitter in emitters for writer in emitter.writers)

    def open(self) -> None:
        """Open all operators, once, before the first epoch."""
        self.opened = True
        for chain in self.chains.values():
            chain.open()

    def run_epoch(
        self,
        request: EpochRequest,
        rows: Iterable[ChunkRow],
        orders: Mapping[str, Any],
        attempt: str,
        expired: Callable[[], bool],
    ) -> tuple[list[ChunkRow], SubtaskReport]:
        """Run one epoch: all input of this subtask in, everything that leaves it out.

        :param orders: Operator uid -> what its coordinator says.
        """
        may_pause = not (self.batch_mode or request.snapshot.drains)  # a drain fires everything before the savepoint
        self.clock.begin_epoch(request.now, request.previous_end, expired, may_pause)
        report = SubtaskReport(self.level, self.index)
        by_chain = self._sort(rows, report)
        if not self.opened:
            self.open()
        produced: list[ChunkRow] = []
        for chain in self.chains.values():
            if request.completed_checkpoint is not None and not chain.ended:
                for link in chain.links.values():
                    link.call(link.operator.checkpoint_complete, request.completed_checkpoint)
            self._run_chain(chain, request, by_chain[chain.layout.id], orders, report)
            for emitter in chain.emitters:
                produced.extend(emitter.take_rows(attempt))
        for row in produced:
            sent_to = (row[2], row[1])
            report.sent[sent_to] = report.sent.get(sent_to, 0) + 1
        if all(chain.ended for chain in self.chains.values()):
            for error in self.close():
                raise error
        return produced, report

    def _run_chain(
        self,
        chain: ChainInstance,
        request: EpochRequest,
        rows: list[ChunkRow],
        orders: Mapping[str, Any],
        report: SubtaskReport,
    ) -> None:
        if not chain.ended:
            self._run_open_chain(chain, request, rows, orders, report)
        chain.report(report)
        if chain.ended:
            report.ended_chains.append(chain.layout.id)

    def _run_open_chain(
        self,
        chain: ChainInstance,
        request: EpochRequest,
        rows: list[ChunkRow],
        orders: Mapping[str, Any],
        report: SubtaskReport,
    ) -> None:
        chain.go_on()
        chain.advance_processing_time(request.now)
        chain.take_orders(orders)
        chain.receive(rows)
        chain.end_epoch(request.now, self.clock.used_up)
        if request.snapshot.takes_snapshot or chain.ended:
            chain.snapshot(request, report)
        if request.snapshot.forgets:
            chain.forget_deltas()

    def _sort(self, rows: Iterable[ChunkRow], report: SubtaskReport) -> dict[int, list[ChunkRow]]:
        """Chunks by chain, in the fixed order (edge, sender, sequence), whatever order the shuffle brought them in."""
        by_chain: dict[int, list[ChunkRow]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: row[2:5]):
            by_chain[self._chain_of_edge[row[2]].layout.id].append(row)
            report.count_received(row[2], row[3], row[5])
        return by_chain

    def close(self) -> list[Exception]:
        """Close all operators, once."""
        if self._closed or not self.opened:
            return []
        self._closed = True
        return [error for chain in self.chains.values() for error in chain.close()]
