"""How much sources may read in the next epoch: as much as the job gets done in the target time."""

from __future__ import annotations

_FIRST_EPOCH = 2_000
_GROWTH = 8.0


class EpochBudget:
    """Adapts the number of records per source subtask to the speed that the job really has.

    This is the engine's back pressure: sources are read no faster than epochs finish. A job starts with a small
    epoch and grows quickly, so that a slow function is noticed before much has piled up before it.
    """

    def __init__(self, max_records: int, target_seconds: float) -> None:
        self._max_records = max_records
        self._target_seconds = target_seconds
        self._records = float(min(_FIRST_EPOCH, max_records))
        self._started = False
        self.saturated = False
        """Whether the last epoch used its budget up: there was more to read than the job could take."""

    @property
    def records(self) -> int:
        """Records per source subtask in the next epoch."""
        return int(self._records)

    def observe(self, most_read: int, seconds: float) -> None:
        """Learn from an epoch: the records that the busiest source subtask read, and how long the epoch took."""
        self.saturated = most_read >= int(self._records)
        if not self._started:
            self._started = True
            return  # the first epoch starts processes, loads modules and opens functions: it says nothing about records
        if not self.saturated and seconds < self._target_seconds:
            return  # nothing was held back: the epoch says nothing about how much more would have been possible
        factor = self._target_seconds / max(seconds, 1e-3)
        grown = self._records * min(max(factor, 1 / _GROWTH), _GROWTH)
        self._records = min(max(grown, 1.0), float(self._max_records))
