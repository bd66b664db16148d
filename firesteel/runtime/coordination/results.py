"""The driver's half of a sink whose records go to the program: printed, collected, cached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from firesteel.model.coordinator import Coordinator, EpochPlan, OperatorReport


class ResultCoordinator(Coordinator):
    """Hands records to an object of the program: at once, or when they cannot come again.

    :param collector_id: Which object.
    :param exactly_once: Whether it wants to see no record twice, and waits for that.
    """

    kind = "results"
    first = True

    def __init__(self, collector_id: str, exactly_once: bool) -> None:
        self._collector_id = collector_id
        self._exactly_once = exactly_once
        self._checkpoint_id = 0
        self._held: dict[int, list[tuple[int, list[Any]]]] = {}
        """Checkpoint -> subtask and records that wait for it."""

    def restore(self, checkpoint_id: int | None, state: Any | None) -> None:
        """What is held belongs to the checkpoint that the job goes on from, if :meth:`roll_back` has left any."""
        if checkpoint_id is not None:
            self.committed(checkpoint_id)
        self._held = {}

    def orders(self, epoch: EpochPlan) -> Mapping[int, Any]:
        """Remember which checkpoint the records of the epoch belong to."""
        self._checkpoint_id = epoch.checkpoint_id
        return {}

    def apply(self, reports: Sequence[OperatorReport]) -> None:
        """Take the records of an epoch."""
        records = [(report.subtask, report.message) for report in reports]
        if self._exactly_once and self.context.replays:
            self._held.setdefault(self._checkpoint_id, []).extend(records)
        else:
            self._hand_out(records)

    def committed(self, checkpoint_id: int) -> None:
        """Hand out what has waited for this checkpoint, or for one before it that was given up."""
        for number in sorted(self._held):
            if number <= checkpoint_id:
                self._hand_out(self._held.pop(number))

    def _hand_out(self, records: list[tuple[int, list[Any]]]) -> None:
        for subtask, values in records:
            self.context.hand_out(self._collector_id, subtask, values)

    def roll_back(self, checkpoint_id: int | None) -> None:
        """Forget what comes again."""
        self._held = {number: each for number, each in self._held.items() if number <= (checkpoint_id or 0)}
