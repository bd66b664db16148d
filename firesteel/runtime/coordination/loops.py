"""The driver's half of a loop: keeps the records on their way back, and finds out when the loop has run empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from firesteel.errors import JobFailedError
from firesteel.model.coordinator import Coordinator, EpochPlan, OperatorReport
from firesteel.runtime.iteration import LoopTask


class LoopPhase(IntEnum):
    """How far the end of a loop has come. A loop goes from one phase to the next when nothing is on its way back."""

    OPEN = 0
    """Records come in, or go round."""
    RELEASED = 1
    """The input has ended: the head may send the last watermark, which may make operators in the loop emit again."""
    CLOSED = 2
    """Nothing came back after the last watermark either: the head may end."""


class LoopCoordinator(Coordinator):
    """One loop. Its head reports whether its input has ended, its tails report packed records."""

    kind = "feedback"

    def __init__(self) -> None:
        self._phase = LoopPhase.OPEN
        self._waiting: dict[int, list[bytes]] = {}
        """Subtask of the head -> packed records."""
        self._told = True
        """Whether the heads know the phase."""
        self._may_advance = False
        """Whether the input had ended in the epoch that was applied last: if no loop has records, one phase on."""

    @property
    def _busy(self) -> set[str]:
        """The loops of the job that have records: what waits in one may reach another."""
        busy: set[str] = self.context.shared.setdefault("busy loops", set())
        return busy

    def restore(self, checkpoint_id: int | None, state: dict[str, Any] | None) -> None:
        """Take the records back; another parallelism deals them out anew."""
        self._phase = LoopPhase.OPEN if state is None else LoopPhase[state["phase"]]
        self._waiting, self._told, self._may_advance = {}, True, False
        for subtask, chunks in sorted(state["waiting"].items()) if state is not None else ():
            self._waiting.setdefault(subtask % self.context.parallelism, []).extend(chunks)
        self._note_records()

    def _note_records(self) -> None:
        (self._busy.add if self._waiting else self._busy.discard)(self.context.uid)

    def _advance(self) -> None:
        """Go to the next phase if nothing came back, in this loop and in all others."""
        if self._may_advance:
            self._may_advance = False
            if not self._busy and self._phase is not LoopPhase.CLOSED:
                self._phase = LoopPhase(self._phase + 1)
                self._told = False

    def has_work(self, now: int) -> bool:
        """Whether an epoch would move the loop on though no source has data."""
        self._advance()
        return bool(self._waiting) or not self._told

    def orders(self, epoch: EpochPlan) -> Mapping[int, LoopTask]:
        """What comes back to each subtask of the head, and how far the loop's end is."""
        self._advance()
        self._told = True
        return {
            subtask: LoopTask(
                self._waiting.get(subtask, []),
                release=epoch.drain or self._phase >= LoopPhase.RELEASED,
                close=self._phase is LoopPhase.CLOSED,
            )
            for subtask in range(self.context.parallelism)
        }

    def apply(self, reports: Sequence[OperatorReport]) -> None:
        """Take what came back in an epoch."""
        self._waiting = {}
        self._may_advance = True
        for report in reports:
            if report.uid == self.context.uid:
                self._may_advance &= report.message
            else:
                self._take(report.subtask, report.message)
        self._note_records()

    def _take(self, subtask: int, chunk: bytes) -> None:
        if self._phase is LoopPhase.CLOSED:
            raise JobFailedError(
                f"records came back to {self.context.name!r} (made at {self.context.call_site}) after the loop had "
                "ended: an operator in the loop emits only when its input ends. Emit on records and timers instead"
            )
        self._waiting.setdefault(subtask, []).append(chunk)

    def snapshot(self, checkpoint_id: int) -> dict[str, Any] | None:
        """The records on their way back, and the phase."""
        self._advance()
        if not self._waiting and self._phase is LoopPhase.OPEN:
            return None
        return {"phase": self._phase.name, "waiting": dict(self._waiting)}
