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
    RECOVERY_CLAIM_MODE,
    RECOVERY_IGNORE_UNCLAIMED,
    RECOVERY_PATH,
    SAVEPOINT_DIR,
)
from firesteel.errors import ConfigurationError


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
    claim: bool
    """Delete what the job was started from, once it has a checkpoint of its own."""

    @staticmethod
    def of(configuration: Configuration, batch_mode: bool = False) -> CheckpointSettings:
        """Read the settings. In BATCH mode there are no checkpoints: a restart reads everything anew."""
        min_pause: int = configuration.get(CHECKPOINT_MIN_PAUSE)
        max_concurrent: int = configuration.get(CHECKPOINT_MAX_CONCURRENT)
        if min_pause and max_concurrent > 1:
            raise ConfigurationError(
                f"{CHECKPOINT_MAX_CONCURRENT.key} is {max_concurrent} and {CHECKPOINT_MIN_PAUSE.key} is {min_pause} "
                "ms: checkpoints with a pause between them are never under way at once. Set one or the other"
            )
        return CheckpointSettings(
            interval=None if batch_mode else configuration.get(CHECKPOINT_INTERVAL) or None,
            directory=configuration.get(CHECKPOINT_DIR),
            savepoint_directory=configuration.get(SAVEPOINT_DIR),
            retained=configuration.get(CHECKPOINT_RETAINED),
            timeout=configuration.get(CHECKPOINT_TIMEOUT),
            min_pause=min_pause,
            max_concurrent=max_concurrent,
            tolerable_failures=configuration.get(CHECKPOINT_TOLERABLE_FAILURES),
            max_size=configuration.get(CHECKPOINT_MAX_SIZE),
            keep_when_cancelled=configuration.get(CHECKPOINT_RETENTION) == "RETAIN_ON_CANCELLATION",
            recovery_path=configuration.get(RECOVERY_PATH),
            ignore_unclaimed=configuration.get(RECOVERY_IGNORE_UNCLAIMED),
            claim=configuration.get(RECOVERY_CLAIM_MODE) == "CLAIM",
        )
