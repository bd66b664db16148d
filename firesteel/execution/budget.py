"""How much sources may read in the next epoch: as much as the job gets done in the target time."""

from __future__ import annotations

from firesteel.common import Configuration
from firesteel.common.options import (
    CHECKPOINT_INTERVAL,
    EPOCH_BACKLOG_DURATION,
    EPOCH_MAX_RECORDS,
    EPOCH_TARGET_DURATION,
)

_FIRST_EPOCH = 2_000
_GROWTH = 8.0
_CAREFUL_GROWTH = 1.5
"""When an epoch took too long, but all of it seems to be fixed cost: it may be a mistake."""
_BACKLOG_EPOCHS = 4
"""After so many full epochs in a row there is more to read than the job has been waiting for: a backlog."""

_TELLING = 1.5
"""How many times as much one epoch must read as another for their difference to say what a record costs."""


class EpochBudget:
    """Adapts the number of records per source subtask to the speed that the job really has.

    This is the engine's back pressure: sources are read no faster than epochs finish. A job starts with a small
    epoch and grows quickly, so that a slow function is noticed before much has piled up before it.

    An epoch has a fixed cost, whatever it reads; it is learned from epochs of different sizes. Reading less does not
    make it smaller: where it uses up the target time by itself, sources still read for half of that.

    A job with a backlog is late in any case: it takes longer epochs, to pay the fixed cost less often, until it has
    caught up.

    :param target_seconds: How long an epoch should take.
    :param backlog_seconds: The same while there is a backlog.
    """

    def __init__(self, max_records: int, target_seconds: float, backlog_seconds: float) -> None:
        self._max_records = max_records
        self._usual_seconds = target_seconds
        self._backlog_seconds = max(target_seconds, backlog_seconds)
        self._records = float(min(_FIRST_EPOCH, max_records))
        self._started = False
        self._full_in_a_row = 0
        self._known: tuple[int, float] | None = None
        self._fixed_seconds = 0.0
        self.saturated = False
        """Whether the last epoch used its budget up: there was more to read than the job could take."""

    @staticmethod
    def of(configuration: Configuration) -> EpochBudget:
        """The budget that a job's configuration asks for. Checkpoints are taken between epochs, and must not wait."""
        target: int = configuration.get(EPOCH_TARGET_DURATION)
        backlog: int = configuration.get(EPOCH_BACKLOG_DURATION) or 3 * target
        checkpoints: int = configuration.get(CHECKPOINT_INTERVAL) or backlog
        return EpochBudget(configuration.get(EPOCH_MAX_RECORDS), target / 1000, min(backlog, checkpoints) / 1000)

    @property
    def records(self) -> int:
        """Records per source subtask in the next epoch."""
        return int(self._records)

    @property
    def target_seconds(self) -> float:
        """How long the next epoch should take."""
        return self._backlog_seconds if self._full_in_a_row >= _BACKLOG_EPOCHS else self._usual_seconds

    def observe(self, most_read: int, seconds: float) -> None:
        """Learn from an epoch: the records that the busiest source subtask read, and how long the epoch took."""
        self._learn_fixed_cost(most_read, seconds)
        before = self.target_seconds
        self.saturated = most_read >= int(self._records)
        self._full_in_a_row = self._full_in_a_row + 1 if self.saturated else 0
        if not self._started:
            self._started = True
            return  # the first epoch starts processes, loads modules and opens functions: it says nothing about records
        if not self.saturated and seconds < before:
            # Nothing was held back: the epoch says nothing about how much more would have been possible.
            self._records *= self.target_seconds / before
            return
        wanted = max(self.target_seconds - self._fixed_seconds, self.target_seconds / 2)
        factor = wanted / max(seconds - self._fixed_seconds, 1e-3)
        most = _GROWTH if seconds < self.target_seconds else _CAREFUL_GROWTH
        grown = self._records * min(max(factor, 1 / _GROWTH), most)
        self._records = min(max(grown, 1.0), float(self._max_records))

    def _learn_fixed_cost(self, read: int, seconds: float) -> None:
        """What an epoch would take without records, by this one and an earlier one that differs enough to tell."""
        if not self._started:
            return
        known, known_seconds = self._known or (read, seconds)
        if self._known is None or seconds <= self._fixed_seconds:
            self._known, self._fixed_seconds = (read, seconds), 0.0  # nothing is known, or it is not so any more
        elif max(read, known) >= _TELLING * max(min(read, known), 1):
            per_record = max((seconds - known_seconds) / (read - known), 0.0)
            self._fixed_seconds = max(seconds - per_record * read, 0.0) if per_record else min(seconds, known_seconds)
            self._known = (read, seconds)
