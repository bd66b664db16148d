"""CheckpointConfig: how often and how a job is checkpointed."""

from __future__ import annotations

from typing import TypeVar

from firesteel.common import options
from firesteel.common.config_options import BooleanValue, ConfigOption, DurationValue
from firesteel.common.configuration import Configuration
from firesteel.common.time import Duration, TimeLength, to_milliseconds
from firesteel.datastream._internal import arguments
from firesteel.datastream.checkpoint_storage import CheckpointStorage, FileSystemCheckpointStorage
from firesteel.datastream.checkpointing_mode import CheckpointingMode
from firesteel.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from firesteel.errors import ConfigurationError

T = TypeVar("T")

_SHORTEST_MILLIS = 10
_ANY_NUMBER = 2**31 - 1
_ALIGNED_TIMEOUT = ConfigOption("execution.checkpointing.aligned-checkpoint-timeout", DurationValue(), 0)
_FORCED = ConfigOption("execution.checkpointing.unaligned.forced", BooleanValue(), False)


class CheckpointConfig:
    """The checkpoint settings of an environment; each is an option ``execution.checkpointing.*`` of its configuration.

    ::

        config = env.get_checkpoint_config()
        config.set_checkpoint_interval(10_000)
        config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)

    Times are in milliseconds. Without an interval there are no checkpoints.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def is_checkpointing_enabled(self) -> bool:
        """Whether an interval is set."""
        return self._configuration.get(options.CHECKPOINT_INTERVAL) is not None

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """What is promised after a recovery."""
        return CheckpointingMode[self._value(options.CHECKPOINT_MODE)]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Set what is promised after a recovery: EXACTLY_ONCE unless set.

        AT_LEAST_ONCE is accepted and changes nothing: what it saves in Flink, the alignment of barriers, costs nothing
        where barriers are the ends of epochs, so state stays exact in both modes.
        """
        method = "set_checkpointing_mode"
        mode = arguments.member(method, "checkpointing_mode", checkpointing_mode, CheckpointingMode)
        return self._set(options.CHECKPOINT_MODE, mode.name)

    def get_checkpoint_interval(self) -> int:
        """The time between the starts of two checkpoints, or -1 without checkpoints."""
        interval = self._configuration.get(options.CHECKPOINT_INTERVAL)
        return -1 if interval is None else interval

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Make a checkpoint every so many milliseconds, at least 10. Checkpoints are made at the ends of epochs."""
        method = "set_checkpoint_interval"
        interval = arguments.whole_number(method, "checkpoint_interval", checkpoint_interval, least=_SHORTEST_MILLIS)
        return self._set(options.CHECKPOINT_INTERVAL, interval)

    def get_checkpoint_timeout(self) -> int:
        """After how long a checkpoint is given up."""
        return self._value(options.CHECKPOINT_TIMEOUT)

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Give a checkpoint up after so many milliseconds, at least 10."""
        method = "set_checkpoint_timeout"
        timeout = arguments.whole_number(method, "checkpoint_timeout", checkpoint_timeout, least=_SHORTEST_MILLIS)
        return self._set(options.CHECKPOINT_TIMEOUT, timeout)

    def get_min_pause_between_checkpoints(self) -> int:
        """The least time between the end of a checkpoint and the start of the next."""
        return self._value(options.CHECKPOINT_MIN_PAUSE)

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        """Leave at least so many milliseconds between the end of a checkpoint and the start of the next.

        So only one is under way at a time: more than one at once, if set, is refused.
        """
        method, argument = "set_min_pause_between_checkpoints", "min_pause_between_checkpoints"
        pause = arguments.whole_number(method, argument, min_pause_between_checkpoints, least=0)
        if pause > 0:
            self._refuse_contradiction(method, self.get_max_concurrent_checkpoints(), pause)
        return self._set(options.CHECKPOINT_MIN_PAUSE, pause)

    def get_max_concurrent_checkpoints(self) -> int:
        """How many checkpoints may be under way at once."""
        return self._value(options.CHECKPOINT_MAX_CONCURRENT)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Let so many checkpoints be under way at once; with a pause between them set, only 1 makes sense."""
        method, argument = "set_max_concurrent_checkpoints", "max_concurrent_checkpoints"
        count = arguments.whole_number(method, argument, max_concurrent_checkpoints, least=1)
        self._refuse_contradiction(method, count, self.get_min_pause_between_checkpoints())
        return self._set(options.CHECKPOINT_MAX_CONCURRENT, count)

    @staticmethod
    def _refuse_contradiction(method: str, at_once: int, pause: int) -> None:
        if at_once > 1 and pause > 0:
            raise ConfigurationError(
                f"{method}: {at_once} checkpoints at once contradict the pause of {pause} ms between checkpoints. "
                "Set one or the other."
            )

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """How many checkpoints in a row may fail before the job does."""
        return self._value(options.CHECKPOINT_TOLERABLE_FAILURES)

    def set_tolerable_checkpoint_failure_number(self, tolerable_checkpoint_failure_number: int) -> CheckpointConfig:
        """Let so many checkpoints in a row fail before the job does."""
        method, argument = "set_tolerable_checkpoint_failure_number", "tolerable_checkpoint_failure_number"
        count = arguments.whole_number(method, argument, tolerable_checkpoint_failure_number, least=0)
        return self._set(options.CHECKPOINT_TOLERABLE_FAILURES, count)

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Whether the first checkpoint that fails makes the job fail."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> CheckpointConfig:
        """Whether a failed checkpoint makes the job fail; if not, any number may fail.

        :meth:`set_tolerable_checkpoint_failure_number` says it more exactly.
        """
        method = "set_fail_on_checkpointing_errors"
        fail = arguments.flag(method, "fail_on_checkpointing_errors", fail_on_checkpointing_errors)
        return self._set(options.CHECKPOINT_TOLERABLE_FAILURES, 0 if fail else _ANY_NUMBER)

    # ---- where, and for how long ---------------------------------------------------------------------------

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """What becomes of checkpoints when the job is cancelled."""
        return ExternalizedCheckpointRetention[self._value(options.CHECKPOINT_RETENTION)]

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Set what becomes of checkpoints when the job is cancelled."""
        method = "set_externalized_checkpoint_retention"
        mode = arguments.member(method, "retention_mode", retention_mode, ExternalizedCheckpointRetention)
        return self._set(options.CHECKPOINT_RETENTION, mode.name)

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Whether checkpoints may outlive the job."""
        return (
            self.get_externalized_checkpoint_retention()
            is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        )

    def set_checkpoint_storage(self, storage: CheckpointStorage) -> CheckpointConfig:
        """Set where checkpoints are kept."""
        if not isinstance(storage, CheckpointStorage):
            raise arguments.wrong_argument(
                "set_checkpoint_storage",
                "storage",
                storage,
                "a CheckpointStorage",
                "Use set_checkpoint_storage_dir() for a path.",
            )
        storage.apply_to(self._configuration)
        return self

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Keep checkpoints in a directory that the driver and all workers can reach."""
        return self.set_checkpoint_storage(FileSystemCheckpointStorage(checkpoint_path))

    # ---- what needs no setting on this engine --------------------------------------------------------------

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """What :meth:`enable_unaligned_checkpoints` was given."""
        return self._value(options.CHECKPOINT_UNALIGNED)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Kept, and true in effect whatever is set.

        Unaligned checkpoints exist to store records that are under way when a barrier overtakes them. Here barriers
        are the ends of epochs, and at the end of an epoch no record is under way: a checkpoint waits for nobody.
        """
        flag = arguments.flag("enable_unaligned_checkpoints", "enabled", enabled)
        return self._set(options.CHECKPOINT_UNALIGNED, flag)

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """The same as ``enable_unaligned_checkpoints(False)``."""
        return self.enable_unaligned_checkpoints(False)

    def is_force_unaligned_checkpoints(self) -> bool:
        """What :meth:`set_force_unaligned_checkpoints` was given."""
        return self._value(_FORCED)

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        """No effect: checkpoints need no alignment here. Warns once."""
        method = "set_force_unaligned_checkpoints"
        return self._set(_FORCED, arguments.flag(method, "force_unaligned_checkpoints", force_unaligned_checkpoints))

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """What :meth:`set_aligned_checkpoint_timeout` was given."""
        return Duration.of_millis(self._value(_ALIGNED_TIMEOUT))

    def set_aligned_checkpoint_timeout(self, alignment_timeout: TimeLength) -> CheckpointConfig:
        """No effect: checkpoints need no alignment here. Warns once."""
        millis = to_milliseconds(alignment_timeout)
        if millis < 0:
            raise arguments.wrong_argument(
                "set_aligned_checkpoint_timeout", "alignment_timeout", alignment_timeout, "a time of at least 0"
            )
        return self._set(_ALIGNED_TIMEOUT, millis)

    def get_alignment_timeout(self) -> Duration:
        """Older name of :meth:`get_aligned_checkpoint_timeout`."""
        return self.get_aligned_checkpoint_timeout()

    def set_alignment_timeout(self, alignment_timeout: TimeLength) -> CheckpointConfig:
        """Older name of :meth:`set_aligned_checkpoint_timeout`."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def _set(self, option: ConfigOption[T], value: T) -> CheckpointConfig:
        self._configuration.set(option, value)
        return self

    def _value(self, option: ConfigOption[T]) -> T:
        """The value of an option that has a default."""
        value = self._configuration.get(option)
        assert value is not None
        return value
