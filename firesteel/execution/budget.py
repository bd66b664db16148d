"""How much sources may read in the next epoch: as much as the job gets done in the target time."""

from __future__ import annotations

from collections import deque
from statistics import median

from firesteel.common import Configuration
from firesteel.common.options import (
    CHECKPOINT_INTERVAL,
    EPOCH_BACKLOG_DURATION,
    EPOCH_MAX_RECORDS,
    EPOCH_TARGET_DURATION,
)

_FIRST_EPOCH = 2_000
_STEP = 8.0
"""The budget grows and shrinks by no more than this from one epoch to the next."""
_BLIND_STEP = 2.0
"""The same where records seem to cost nothing though the epoch took too long: that may be a mistake."""
_BACKLOG_EPOCHS = 4
"""After so many full epochs in a row there is more to read than the job has been waiting for: a backlog."""
_READING_SHARE = 3.0
"""Sources read for at least so many times the fixed cost, so that three quarters of the time go into records."""


class EpochCosts:
    """What an epoch costs: something whatever it reads, and something for each record.

    Epochs of about the same size (up to a factor of two) are looked at together, and of the last ones the median
    counts: one that took long for another reason changes nothing. Through these medians goes a line. Old epochs are
    forgotten, because costs change.
    """

    REMEMBERED = 24
    """How many epochs back."""
    ALIKE = 5
    """How many epochs of one size."""

    def __init__(self) -> None:
        self._epochs = 0
        self._by_size: dict[int, deque[tuple[int, int, float]]] = {}
        self.fixed_seconds = 0.0
        self.seconds_per_record = 0.0

    def add(self, records: int, seconds: float) -> None:
        """Learn from an epoch."""
        self._epochs += 1
        alike = self._by_size.setdefault(records.bit_length(), deque(maxlen=self.ALIKE))
        alike.append((self._epochs, records, seconds))
        for size in [size for size, epochs in self._by_size.items() if epochs[-1][0] <= self._epochs - self.REMEMBERED]:
            del self._by_size[size]
        self._fit()

    def _fit(self) -> None:
        """The line with the least relative errors: what is off by a tenth counts the same for short and long epochs."""
        points = [
            (sum(records for _, records, _ in epochs) / len(epochs), median(seconds for _, _, seconds in epochs))
            for epochs in self._by_size.values()
        ]
        weights = [1 / max(seconds, 1e-3) ** 2 for _, seconds in points]
        total = sum(weights)
        mean_records = sum(weight * records for weight, (records, _) in zip(weights, points)) / total
        mean_seconds = sum(weight * seconds for weight, (_, seconds) in zip(weights, points)) / total
        spread = sum(weight * (records - mean_records) ** 2 for weight, (records, _) in zip(weights, points))
        if len(points) == 1 or spread <= 0:
            self._fit_one_size(mean_records, mean_seconds)
            return
        together = sum(
            weight * (records - mean_records) * (seconds - mean_seconds)
            for weight, (records, seconds) in zip(weights, points)
        )
        self.seconds_per_record = max(together / spread, 0.0)
        self.fixed_seconds = max(mean_seconds - self.seconds_per_record * mean_records, 0.0)
        if self.fixed_seconds == 0.0:
            self.seconds_per_record = mean_seconds / max(mean_records, 1.0)

    def _fit_one_size(self, records: float, seconds: float) -> None:
        """All epochs had about the same size: the fixed cost is what it was, unless it cannot be any more."""
        if self.fixed_seconds >= seconds:
            self.fixed_seconds = 0.0
        self.seconds_per_record = (seconds - self.fixed_seconds) / max(records, 1.0)


class EpochBudget:
    """Adapts the number of records per source subtask to the speed that the job really has.

    This is the engine's back pressure: sources are read no faster than epochs finish. A job starts with a small
    epoch and grows quickly, so that a slow function is noticed before much has piled up before it.

    An epoch has a fixed cost, whatever it reads; it is learned from epochs of different sizes. Reading less does not
    make it smaller: where it uses up most of the target time by itself, epochs become longer than the target, so that
    records get three quarters of the time. Throughput is therefore never far from the best that is possible,
    whatever the costs are.

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
        self._costs = EpochCosts()
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

    @property
    def reading_seconds(self) -> float:
        """How long the sources may read in the next epoch at the most, however few records that gives."""
        return max(self.target_seconds, _READING_SHARE * self._costs.fixed_seconds)

    def observe(self, most_read: int, seconds: float) -> None:
        """Learn from an epoch: the records that the busiest source subtask read, and how long the epoch took."""
        before = self.target_seconds
        self.saturated = most_read >= int(self._records)
        self._full_in_a_row = self._full_in_a_row + 1 if self.saturated else 0
        if not self._started:
            self._started = True
            return  # the first epoch starts processes, loads modules and opens functions: it says nothing about records
        self._costs.add(most_read, seconds)
        if not self.saturated and seconds < before:
            # Nothing was held back: the epoch says nothing about how much more would have been possible.
            self._records *= self.target_seconds / before
            return
        self._records = min(max(self._next_records(seconds), 1.0), float(self._max_records))

    def _next_records(self, seconds: float) -> float:
        fixed, per_record = self._costs.fixed_seconds, self._costs.seconds_per_record
        most = _STEP if per_record or seconds < self.target_seconds else _BLIND_STEP
        wanted = max(self.target_seconds - fixed, _READING_SHARE * fixed)
        factor = most if per_record == 0 else wanted / per_record / self._records
        return self._records * min(max(factor, 1 / _STEP), most)
