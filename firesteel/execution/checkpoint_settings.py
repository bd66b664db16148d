"""The checkpoint settings of a job, read from its configuration."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.common import Configuration
from firesteel.common.options import (
    CHECKPOINT_DIR,
    CHECKPOINT_INTERVAL,
    CHECKPOINT_MAX_CONCURRENT,
    CHECKPOINT_MAX_SIZE,
    CHECKPOINT_MIN_PAUSE,
    CHECKPOINT_RETAINED,
    CHECKPOINT_RETENTION,
    CHECKPOINT_TIMEOUT,
    CHECKPOINT_TOLERABLE_FAILURES,
    RECOVERY_IGNORE_UNCLAIMED,
    RECOVERY_PATH,
    SAVEPOINT_DIR,
)


@dataclass(frozen=True)
class CheckpointSettings:
    """Times are in milliseconds. ``interval`` None: checkpoints are off."""

    interval: int | None
    directory: str | None
    savepoint_directory: str | None
    retained: int
    timeout: int
    min_pause: int
    max_concurrent: int
    tolerable_failures: int
    max_size: int | None
    """How many bytes a checkpoint may write."""
    keep_when_cancelled: bool
    recovery_path: str | None
    ignore_unclaimed: bool

    @staticmethod
    def of(configuration: Configuration) -> CheckpointSettings:
        """Read the settings."""
        min_pause: int = configuration.get(CHECKPOINT_MIN_PAUSE)
        return CheckpointSettings(
            interval=configuration.get(CHECKPOINT_INTERVAL) or None,
            directory=configuration.get(CHECKPOINT_DIR),
            savepoint_directory=configuration.get(SAVEPOINT_DIR),
            retained=configuration.get(CHECKPOINT_RETAINED),
            timeout=configuration.get(CHECKPOINT_TIMEOUT),
            min_pause=min_pause,
            max_concurrent=1 if min_pause else configuration.get(CHECKPOINT_MAX_CONCURRENT),
            tolerable_failures=configuration.get(CHECKPOINT_TOLERABLE_FAILURES),
            max_size=configuration.get(CHECKPOINT_MAX_SIZE),
            keep_when_cancelled=configuration.get(CHECKPOINT_RETENTION) == "RETAIN_ON_CANCELLATION",
            recovery_path=configuration.get(RECOVERY_PATH),
            ignore_unclaimed=configuration.get(RECOVERY_IGNORE_UNCLAIMED),
        )
