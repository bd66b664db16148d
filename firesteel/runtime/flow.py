"""One epoch of one subtask, taken piece by piece: what has come is processed at once, and what it makes leaves at once.

``LevelSubtask.run_epoch`` takes all input of an epoch in one go. Here the same chains are asked again and again within
an epoch: to read on, to take chunks, to look at the time; :meth:`FlowingEpoch.end` is the end of the epoch as ever.
For an operator every such pass is what a short epoch would be, but for snapshot and report. Still no clock and no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from firesteel.runtime.emitters import ChunkRow
from firesteel.runtime.epoch import EpochRequest, SubtaskReport
from firesteel.runtime.operator import ChainLink, never
from firesteel.runtime.subtask import LevelSubtask


def _at_once() -> bool:
    """For an operator that is given the rest of its order soon: a source reads one batch of each split."""
    return True


class FlowingEpoch:
    """An epoch of a subtask that is under way.

    :param orders: By the operator's uid: what its coordinator says.
    :param attempt: Goes with every chunk.
    :param new_expiry: Asked when a pass begins for what tells that it has taken long enough. Only what can be continued
        in the next epoch looks at that.
    """

    def __init__(
        self,
        subtask: LevelSubtask,
        request: EpochRequest,
        orders: Mapping[str, Any],
        attempt: str,
        new_expiry: Callable[[], Callable[[], bool]] = lambda: never,
    ) -> None:
        self._subtask = subtask
        self._request = request
        self._orders = orders
        self._attempt = attempt
        self._new_expiry = new_expiry
        self._report = SubtaskReport(subtask.level, subtask.index)
        self._rest: list[tuple[ChainLink, Any]] = []
        """The operators that have something left to do of their orders."""
        self.bytes_in: dict[int, int] = {}
        """Edge -> bytes of the chunks that came on it."""
        self.bytes_out: dict[int, int] = {}
        """Edge -> bytes of the chunks that were sent on it."""
        self._asked_at = request.now if request.previous_end is None else request.previous_end
        self._links = [link for chain in subtask.chains.values() for link in chain.links.values()]

    # ---- passes ------------------------------------------------------------------------------------------------

    def begin(self) -> list[ChunkRow]:
        """Begin: go on with what the epoch before had no time for, and give the operators their orders."""
        request, subtask = self._request, self._subtask
        self._set_clock(request.now)
        if not subtask.opened:
            subtask.open()
        for chain in subtask.chains.values():
            if chain.ended:
                continue
            if request.completed_checkpoint is not None:
                for link in chain.links.values():
                    link.call(link.operator.checkpoint_complete, request.completed_checkpoint)
            chain.go_on()
            chain.advance_processing_time(request.now)
            subtask.clock.used_up = _at_once
            chain.take_orders(self._orders)
            self._note_rests((link, self._orders.get(link.operator.context.info.uid)) for link in chain.links.values())
        return self._produced()

    def _note_rests(self, given: Iterable[tuple[ChainLink, Any]]) -> None:
        for link, order in given:
            rest = None if order is None else link.operator.rest_of(order)
            if rest is not None:
                self._rest.append((link, rest))

    @property
    def may_read(self) -> bool:
        """Whether an operator has something left to do of its orders: a source that may have something to read."""
        return bool(self._rest)

    def read(self, now: int) -> list[ChunkRow]:
        """Let every source read one more batch of each split."""
        self._set_clock(now)
        self._subtask.clock.used_up = _at_once
        given, self._rest = self._rest, []
        for link, order in given:
            link.call(link.operator.on_order, order)
        self._note_rests(given)
        return self._produced()

    @property
    def records_read(self) -> int:
        """How many records the sources have read so far."""
        return sum(link.operator.records_read for link in self._links)

    def take(self, rows: Iterable[ChunkRow], now: int) -> list[ChunkRow]:
        """Process chunks, those of one channel in the order in which they came."""
        self._set_clock(now)
        by_chain: dict[int, list[ChunkRow]] = {}
        for row in sorted(rows, key=lambda row: row[2:4]):
            by_chain.setdefault(self._subtask.chain_of_edge(row[2]).layout.id, []).append(row)
            self._report.count_received(row[2], row[3], row[5])
            self.bytes_in[row[2]] = self.bytes_in.get(row[2], 0) + len(row[6])
        for chain_id, mine in by_chain.items():
            chain = self._subtask.chains[chain_id]
            chain.receive(mine)
            chain.settle()
        return self._produced()

    def tick(self, now: int) -> list[ChunkRow]:
        """Time has passed: fire timers, ask watermark generators, notice silence."""
        self._set_clock(now)
        for chain in self._subtask.chains.values():
            if not chain.ended:
                chain.advance_processing_time(now)
                chain.settle()
        return self._produced()

    def wants_end(self, now: int) -> bool:
        """Whether the epoch should end soon: for the driver's sake, or for a source that has to be asked again."""
        if any(link.operator.holds_for_driver for link in self._links):
            return True
        reading = [link for link, _ in self._rest]
        heads = [chain.head for chain in self._subtask.chains.values() if not chain.layout.inputs and not chain.ended]
        timers = [head.operator.next_processing_timer() for head in heads if head not in reading]
        return any(timer is not None and timer <= now for timer in timers)

    # ---- the end -----------------------------------------------------------------------------------------------

    def end(self, now: int) -> tuple[list[ChunkRow], SubtaskReport]:
        """All input of the epoch has come, all sources have stopped: end it for every chain."""
        request, report, subtask = self._request, self._report, self._subtask
        self._set_clock(now)
        for chain in subtask.chains.values():
            if not chain.ended:
                chain.end_epoch(now, subtask.clock.used_up)
                if request.snapshot.takes_snapshot or chain.ended:
                    chain.snapshot(request, report)
                if request.snapshot.forgets:
                    chain.forget_deltas()
            chain.report(report)
            if chain.ended:
                report.ended_chains.append(chain.layout.id)
        produced = self._produced()
        if all(chain.ended for chain in subtask.chains.values()):
            for error in subtask.close():
                raise error
        return produced, report

    # ---- inside ------------------------------------------------------------------------------------------------

    def _set_clock(self, now: int) -> None:
        """Processing time of this pass; what had come until the pass before has been seen."""
        subtask = self._subtask
        may_pause = not (subtask.batch_mode or self._request.snapshot.drains)
        subtask.clock.begin_epoch(now, self._asked_at, self._new_expiry(), may_pause)
        self._asked_at = now

    def _produced(self) -> list[ChunkRow]:
        """What is ready for other subtasks."""
        produced = [
            row
            for chain in self._subtask.chains.values()
            for emitter in chain.emitters
            for row in emitter.take_rows(self._attempt)
        ]
        sent = self._report.sent
        for row in produced:
            sent[row[2], row[1]] = sent.get((row[2], row[1]), 0) + 1
            self.bytes_out[row[2]] = self.bytes_out.get(row[2], 0) + len(row[6])
        return produced
