"""The driver's half of loops: keeps the records on their way back, and finds out when a loop has run empty."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from firesteel.errors import JobFailedError
from firesteel.execution.host import LevelResult
from firesteel.plan.job_plan import PlannedIteration
from firesteel.runtime.iteration import LoopTask


class LoopPhase(IntEnum):
    """How far the end of a loop has come. A loop goes from one phase to the next when nothing is on its way back."""

    OPEN = 0
    """Records come in, or go round."""
    RELEASED = 1
    """The input has ended: the head may send the last watermark, which may make operators in the loop emit again."""
    CLOSED = 2
    """Nothing came back after the last watermark either: the head may end."""


@dataclass
class _Loop:
    planned: PlannedIteration
    phase: LoopPhase = LoopPhase.OPEN
    waiting: dict[int, list[bytes]] = field(default_factory=dict)
    """Subtask of the head -> packed records."""
    told: bool = True
    """Whether the heads know the phase."""


class FeedbackCoordinator:
    """All loops of a job."""

    def __init__(self, iterations: tuple[PlannedIteration, ...]) -> None:
        self._planned = iterations
        self._loops: dict[int, _Loop] = {}
        self.start(None)

    def start(self, restored: dict[str, Any] | None) -> None:
        """Start, or start again from what :meth:`snapshot` gave; another parallelism deals the records out anew."""
        self._loops = {planned.operator: _Loop(planned) for planned in self._planned}
        for loop in self._loops.values():
            stored = (restored or {}).get(loop.planned.uid)
            if stored is not None:
                loop.phase = LoopPhase[stored["phase"]]
                for subtask, chunks in sorted(stored["waiting"].items()):
                    loop.waiting.setdefault(subtask % loop.planned.parallelism, []).extend(chunks)

    def has_work(self) -> bool:
        """Whether an epoch would move a loop on though no source has data."""
        return any(loop.waiting or not loop.told for loop in self._loops.values())

    def tasks(self, drain: bool) -> dict[int, dict[int, LoopTask]]:
        """Head -> subtask -> what to do in the next epoch. ``drain``: the job stops, let last watermarks pass."""
        tasks = {}
        for head, loop in self._loops.items():
            loop.told = True
            tasks[head] = {
                subtask: LoopTask(
                    loop.waiting.get(subtask, []),
                    release=drain or loop.phase >= LoopPhase.RELEASED,
                    close=loop.phase is LoopPhase.CLOSED,
                )
                for subtask in range(loop.planned.parallelism)
            }
        return tasks

    def apply(self, results: list[LevelResult]) -> None:
        """Take what came back in an epoch, and see which loops have come further towards their end."""
        for loop in self._loops.values():
            loop.waiting = {}
        ended = dict.fromkeys(self._loops, True)
        for result in sorted(results, key=lambda result: (result.level, result.index)):
            assert result.report is not None
            for head, chunks in result.report.feedback.items():
                self._take(self._loops[head], result.index, chunks)
            for head, input_ended in result.report.loop_inputs_ended.items():
                ended[head] &= input_ended
        if not any(loop.waiting for loop in self._loops.values()):  # what waits in one loop may reach another
            for head, loop in self._loops.items():
                if ended[head] and loop.phase is not LoopPhase.CLOSED:
                    loop.phase = LoopPhase(loop.phase + 1)
                    loop.told = False

    @staticmethod
    def _take(loop: _Loop, subtask: int, chunks: list[bytes]) -> None:
        if loop.phase is LoopPhase.CLOSED:
            raise JobFailedError(
                f"records came back to {loop.planned.name!r} (made at {loop.planned.call_site}) after the loop had "
                "ended: an operator in the loop emits only when its input ends. Emit on records and timers instead"
            )
        loop.waiting.setdefault(subtask, []).extend(chunks)

    def snapshot(self) -> dict[str, Any]:
        """What :meth:`start` goes on from."""
        return {
            loop.planned.uid: {"phase": loop.phase.name, "waiting": dict(loop.waiting)} for loop in self._loops.values()
        }
