"""The settings of an environment."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, TypeVar

from firesteel.common import options
from firesteel.common.config_options import BooleanValue, ConfigOption, DurationValue
from firesteel.common.configuration import Configuration
from firesteel.common.execution_config import ExecutionConfig
from firesteel.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from firesteel.datastream._internal import arguments
from firesteel.datastream.checkpoint_config import CheckpointConfig
from firesteel.datastream.checkpointing_mode import CheckpointingMode
from firesteel.datastream.execution_mode import RuntimeExecutionMode
from firesteel.datastream.slot_sharing_group import SlotSharingGroup
from firesteel.datastream.state_backend import StateBackend
from firesteel.datastream.time_characteristic import TimeCharacteristic
from firesteel.errors import ConfigurationError
from firesteel.plan.executor import executor_for

T = TypeVar("T")
_S = TypeVar("_S", bound="EnvironmentSettings")

_BUFFER_TIMEOUT = ConfigOption("execution.buffer-timeout.interval", DurationValue(), 100)
_BUFFER_TIMEOUT_ENABLED = ConfigOption("execution.buffer-timeout.enabled", BooleanValue(), True)
_CHANGELOG = ConfigOption[bool | None]("state.changelog.enabled", BooleanValue(), None)

_CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def _usable_cores() -> int:
    """The cores that this process may use, counted as Java does for ``local[*]``: a container may be given fewer."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _CPU_QUOTA.read_text().split()
    except (OSError, ValueError):
        return cores
    return cores if quota == "max" else max(1, min(cores, math.ceil(int(quota) / int(period))))


class EnvironmentSettings:
    """The part of an environment that is set. Everything ends in its :class:`Configuration`."""

    def __init__(self, configuration: Configuration | None, session: Any | None) -> None:
        self._cached_files: dict[str, str] = {}
        self._configuration = Configuration() if configuration is None else configuration.clone()
        self._session = session
        self._config = ExecutionConfig(self._configuration)
        self._checkpoint_config = CheckpointConfig(self._configuration)
        self._default_local_parallelism = _usable_cores()
        self._time_characteristic = TimeCharacteristic.EventTime
        self._slot_sharing_groups: dict[str, SlotSharingGroup] = {}

    # ---- as a whole ----------------------------------------------------------------------------------------

    def get_config(self) -> ExecutionConfig:
        """The execution settings; changing them changes the environment."""
        return self._config

    def get_configuration(self) -> Configuration:
        """All settings by their keys; changing them changes the environment."""
        return self._configuration

    def configure(self, configuration: Configuration) -> None:
        """Take over all settings of a configuration."""
        if not isinstance(configuration, Configuration):
            raise arguments.wrong_argument("configure", "configuration", configuration, "a Configuration")
        self._configuration.add_all(configuration)

    def get_spark_session(self) -> Any | None:
        """The SparkSession that the environment was made with, or None."""
        return self._session

    # ---- how it runs ---------------------------------------------------------------------------------------

    def set_parallelism(self: _S, parallelism: int) -> _S:
        """Run operators that set no parallelism of their own in this many subtasks."""
        self._configuration.set(options.PARALLELISM, arguments.parallelism("set_parallelism", parallelism))
        return self

    def get_parallelism(self) -> int:
        """The parallelism of operators that set none: as set, else the cores that Spark has.

        A cluster is asked for its cores, and for that a SparkSession is started if there is none.
        """
        parallelism = self._configuration.get(options.PARALLELISM)
        if parallelism is not None:
            return parallelism
        known = executor_for(self._configuration, self._session).default_parallelism(self._configuration)
        return self._default_local_parallelism if known is None else known

    def set_max_parallelism(self: _S, max_parallelism: int) -> _S:
        """Set the number of key groups, which is the highest parallelism a job can ever be rescaled to."""
        count = arguments.max_parallelism("set_max_parallelism", max_parallelism)
        self._configuration.set(options.MAX_PARALLELISM, count)
        return self

    def get_max_parallelism(self) -> int:
        """The number of key groups as set, or -1."""
        return self._value(options.MAX_PARALLELISM)

    def get_default_local_parallelism(self) -> int:
        """The parallelism where neither :meth:`set_parallelism` nor Spark says one: the cores of this machine."""
        return self._default_local_parallelism

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set the parallelism where neither :meth:`set_parallelism` nor Spark says one."""
        self._default_local_parallelism = arguments.parallelism("set_default_local_parallelism", parallelism)

    def set_runtime_mode(self: _S, execution_mode: RuntimeExecutionMode) -> _S:
        """Emit results as they arise (STREAMING, the default) or only final ones (BATCH)."""
        mode = arguments.member("set_runtime_mode", "execution_mode", execution_mode, RuntimeExecutionMode)
        self._configuration.set(options.RUNTIME_MODE, mode.name)
        return self

    def disable_operator_chaining(self: _S) -> _S:
        """Run each operator in a pass of its own: slower, but each is measured alone."""
        self._configuration.set(options.OPERATOR_CHAINING, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Whether operators that are joined by forward edges run as one."""
        return self._value(options.OPERATOR_CHAINING)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Whether operators with different max parallelism run as one: they do, key groups concern shuffles only."""
        return True

    def set_stream_time_characteristic(self, characteristic: TimeCharacteristic) -> None:
        """Choose the clock of windows where the program does not say: those of ``time_window()``.

        Timers are always registered for one clock or the other. With IngestionTime, sources that have no watermark
        strategy of their own stamp each record with the time at which they read it. EventTime unless set.
        """
        method = "set_stream_time_characteristic"
        self._time_characteristic = arguments.member(method, "characteristic", characteristic, TimeCharacteristic)

    def get_stream_time_characteristic(self) -> TimeCharacteristic:
        """The clock of windows where the program does not say."""
        return self._time_characteristic

    def set_buffer_timeout(self: _S, timeout_millis: int) -> _S:
        """No effect: records travel in epochs, not in network buffers. Warns once."""
        timeout = arguments.whole_number("set_buffer_timeout", "timeout_millis", timeout_millis, least=-1)
        self._configuration.set(_BUFFER_TIMEOUT_ENABLED, timeout >= 0)
        if timeout >= 0:
            self._configuration.set(_BUFFER_TIMEOUT, timeout)
        return self

    def get_buffer_timeout(self) -> int:
        """What :meth:`set_buffer_timeout` was given, in milliseconds; -1 says that buffers wait until they are full."""
        return self._value(_BUFFER_TIMEOUT) if self._value(_BUFFER_TIMEOUT_ENABLED) else -1

    def register_slot_sharing_group(self: _S, slot_sharing_group: SlotSharingGroup) -> _S:
        """Make a slot sharing group known by its name. Groups reserve nothing here."""
        if not isinstance(slot_sharing_group, SlotSharingGroup):
            raise arguments.wrong_argument(
                "register_slot_sharing_group", "slot_sharing_group", slot_sharing_group, "a SlotSharingGroup"
            )
        name = slot_sharing_group.get_name()
        if self._slot_sharing_groups.setdefault(name, slot_sharing_group) != slot_sharing_group:
            raise ConfigurationError(
                f"register_slot_sharing_group: there is a group {name!r} with other resources already. "
                "Give the new group another name."
            )
        return self

    # ---- checkpoints and state -----------------------------------------------------------------------------

    def enable_checkpointing(self: _S, interval: int, mode: CheckpointingMode | None = None) -> _S:
        """Make a checkpoint every ``interval`` milliseconds.

        ::

            env.enable_checkpointing(10_000, CheckpointingMode.EXACTLY_ONCE)
        """
        if mode is not None:
            self._checkpoint_config.set_checkpointing_mode(mode)
        self._checkpoint_config.set_checkpoint_interval(interval)
        return self

    def get_checkpoint_config(self) -> CheckpointConfig:
        """The checkpoint settings; changing them changes the environment."""
        return self._checkpoint_config

    def get_checkpoint_interval(self) -> int:
        """The time between checkpoints in milliseconds, or -1 without checkpoints."""
        return self._checkpoint_config.get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """What is promised after a recovery."""
        return self._checkpoint_config.get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """What is promised after a recovery; the same as :meth:`get_checkpointing_mode`."""
        return self._checkpoint_config.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """What ``CheckpointConfig.enable_unaligned_checkpoints`` was given."""
        return self._checkpoint_config.is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """What ``CheckpointConfig.set_force_unaligned_checkpoints`` was given."""
        return self._checkpoint_config.is_force_unaligned_checkpoints()

    def set_default_savepoint_directory(self: _S, directory: str) -> _S:
        """Write savepoints that name no place to this directory."""
        path = arguments.text("set_default_savepoint_directory", "directory", directory)
        self._configuration.set(options.SAVEPOINT_DIR, path)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """The directory of savepoints that name no place, or None."""
        return self._configuration.get(options.SAVEPOINT_DIR)

    def set_state_backend(self: _S, state_backend: StateBackend) -> _S:
        """Choose where working state lives: :class:`HashMapStateBackend` or :class:`EmbeddedRocksDBStateBackend`."""
        if not isinstance(state_backend, StateBackend):
            raise arguments.wrong_argument(
                "set_state_backend",
                "state_backend",
                state_backend,
                "a StateBackend",
                "For instance HashMapStateBackend().",
            )
        state_backend.apply_to(self._configuration)
        return self

    def enable_changelog_state_backend(self: _S, enabled: bool) -> _S:
        """No effect: every checkpoint writes only what changed. Warns once."""
        flag = arguments.flag("enable_changelog_state_backend", "enabled", enabled)
        self._configuration.set(_CHANGELOG, flag)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """What :meth:`enable_changelog_state_backend` was given; None if it was not called."""
        return self._configuration.get(_CHANGELOG)

    def set_restart_strategy(self, restart_strategy_configuration: RestartStrategyConfiguration) -> None:
        """Choose what happens when the job fails.

        ::

            env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 1000))
        """
        strategy = restart_strategy_configuration
        if not isinstance(strategy, RestartStrategyConfiguration):
            raise arguments.wrong_argument(
                "set_restart_strategy",
                "restart_strategy_configuration",
                strategy,
                "a restart strategy",
                "For instance RestartStrategies.fixed_delay_restart(3, 1000).",
            )
        for option, value in _restart_options(strategy):
            if value is None:
                self._configuration.remove_config(option.key)
            else:
                self._configuration.set(option, value)

    # ---- dependencies --------------------------------------------------------------------------------------

    def add_python_file(self, file_path: str) -> None:
        """Put a Python file, a package, a directory of modules or a zip on the path of all workers.

        ::

            env.add_python_file("lib/geo.py")   # functions of the job can ``import geo``
        """
        self._append(options.PYTHON_FILES, _existing_path("add_python_file", "file_path", file_path))

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive on all workers, below their working directory.

        :param target_dir: The name of the directory to unpack to; the archive's own name if None.
        """
        path = _existing_path("add_python_archive", "archive_path", archive_path)
        if target_dir is not None:
            path = f"{path}#{arguments.text('add_python_archive', 'target_dir', target_dir)}"
        self._append(options.PYTHON_ARCHIVES, path)

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Give every worker a copy of a file.

        Functions find it with ``runtime_context.get_distributed_cache().get_file(name)``.

        :param executable: Make the file executable on this host before it is sent.
        """
        path = _existing_path("register_cached_file", "file_path", file_path)
        if executable:
            os.chmod(path, os.stat(path).st_mode | 0o111)
        self._cached_files[arguments.text("register_cached_file", "name", name)] = path

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Install the packages of a ``requirements.txt`` on all workers.

        :param requirements_cache_dir: A directory of downloaded packages to install from, for workers that are offline.
        """
        method = "set_python_requirements"
        value = _existing_path(method, "requirements_file_path", requirements_file_path)
        if requirements_cache_dir is not None:
            value += "#" + _existing_path(method, "requirements_cache_dir", requirements_cache_dir)
        self._configuration.set(options.PYTHON_REQUIREMENTS, value)

    def set_python_executable(self, python_exec: str) -> None:
        """Run the workers with this Python, a path that is valid on every host."""
        executable = arguments.text("set_python_executable", "python_exec", python_exec)
        self._configuration.set(options.PYTHON_EXECUTABLE, executable)

    def add_jars(self, *jars_path: str) -> None:
        """No effect: connectors are Python here, there are no JARs of Flink to load. Warns once.

        JARs for Spark itself go into the option ``spark.jars``.
        """
        self._add_to_list("add_jars", "pipeline.jars", jars_path)

    def add_classpaths(self, *classpaths: str) -> None:
        """No effect: user code is Python here. Warns once."""
        self._add_to_list("add_classpaths", "pipeline.classpaths", classpaths)

    def _add_to_list(self, method: str, key: str, paths: tuple[str, ...]) -> None:
        before = Configuration.parse_list_value(self._configuration.get_string(key, ""))
        added = [arguments.text(method, "paths", path) for path in paths]
        self._configuration.set_string(key, ";".join([*map(str, before), *added]))

    def _append(self, option: ConfigOption[Any], value: str) -> None:
        self._configuration.set(option, [*(self._configuration.get(option) or []), value])

    def _value(self, option: ConfigOption[T]) -> T:
        """The value of an option that has a default."""
        value = self._configuration.get(option)
        assert value is not None
        return value


def _existing_path(method: str, argument: str, path: Any) -> str:
    """An absolute path that exists; URLs are left to whoever reads them."""
    path = os.fspath(path) if isinstance(path, os.PathLike) else path
    text = arguments.text(method, argument, path)
    if "://" in text:
        return text
    if not os.path.exists(text):
        raise ConfigurationError(
            f"{method}: {argument} must be an existing path, got {text!r}, which is not there. "
            f"Relative paths start from {os.getcwd()}."
        )
    return os.path.abspath(text)


def _restart_options(strategy: RestartStrategyConfiguration) -> list[tuple[ConfigOption[Any], Any]]:
    """The options that say the same as a restart strategy; None takes an option back."""
    kinds = RestartStrategies
    if isinstance(strategy, kinds.FixedDelayRestartStrategyConfiguration):
        return [
            (options.RESTART_STRATEGY, "fixed-delay"),
            (options.FIXED_DELAY_ATTEMPTS, strategy.get_restart_attempts()),
            (options.FIXED_DELAY_DELAY, strategy.get_delay_between_attempts_interval()),
        ]
    if isinstance(strategy, kinds.FailureRateRestartStrategyConfiguration):
        return [
            (options.RESTART_STRATEGY, "failure-rate"),
            (options.FAILURE_RATE_MAX, strategy.get_max_failure_rate()),
            (options.FAILURE_RATE_INTERVAL, strategy.get_failure_interval()),
            (options.FAILURE_RATE_DELAY, strategy.get_delay_between_attempts_interval()),
        ]
    if isinstance(strategy, kinds.ExponentialDelayRestartStrategyConfiguration):
        return [
            (options.RESTART_STRATEGY, "exponential-delay"),
            (options.EXPONENTIAL_INITIAL, strategy.initial_backoff_ms),
            (options.EXPONENTIAL_MAX, strategy.max_backoff_ms),
            (options.EXPONENTIAL_MULTIPLIER, strategy.backoff_multiplier),
            (options.EXPONENTIAL_RESET, strategy.reset_backoff_threshold_ms),
            (options.EXPONENTIAL_JITTER, strategy.jitter_factor),
            (options.EXPONENTIAL_ATTEMPTS, strategy.attempts),
        ]
    if isinstance(strategy, kinds.FallbackRestartStrategyConfiguration):
        return [(options.RESTART_STRATEGY, None)]
    return [(options.RESTART_STRATEGY, "none")]
