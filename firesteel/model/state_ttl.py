"""How long state lives: time-to-live and the clean-up of what has expired."""

from __future__ import annotations

from enum import Enum
from typing import Any

from firesteel.common.time import Duration, Time, TimeLength, to_milliseconds
from firesteel.errors import ConfigurationError, UnsupportedError


class StateTtlConfig:
    """Time-to-live of keyed state. Made with :meth:`new_builder`, given to ``descriptor.enable_time_to_live``.

    >>> config = StateTtlConfig.new_builder(Time.seconds(1)).update_ttl_on_read_and_write().build()
    >>> config.get_ttl()
    Time(1000 ms)
    """

    class UpdateType(Enum):
        """What prolongs the life of a value."""

        Disabled = 0
        """There is no TTL; state does not expire."""
        OnCreateAndWrite = 1
        """Writing does (the default)."""
        OnReadAndWrite = 2
        """Reading does too."""

    class StateVisibility(Enum):
        """Whether a value that has expired but is still stored may be returned."""

        ReturnExpiredIfNotCleanedUp = 0
        """It is returned until a clean-up removes it."""
        NeverReturnExpired = 1
        """It is never returned (the default)."""

    class TtlTimeCharacteristic(Enum):
        """The clock by which state expires. There is only processing time, as in Flink."""

        ProcessingTime = 0

    class CleanupStrategies:
        """When expired state is removed, other than on reading it.

        :param strategies: The strategies that were asked for, each with its settings.
        :param is_cleanup_in_background: Whether the default background clean-up of the state backend runs.
        """

        class Strategies(Enum):
            """The kinds of clean-up."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy:
            """Base of the settings of a strategy."""

            def __eq__(self, other: object) -> bool:
                return type(other) is type(self) and vars(other) == vars(self)

            def __hash__(self) -> int:
                return hash((type(self), *vars(self).values()))

        class EmptyCleanupStrategy(CleanupStrategy):
            """A strategy without settings."""

        class IncrementalCleanupStrategy(CleanupStrategy):
            """Looks at some entries whenever state is used. Works with the hashmap backend.

            :param cleanup_size: How many entries to look at each time; 0 switches it off.
            :param run_cleanup_for_every_record: Look at entries for each record too, even if no state is
                used.
            """

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
                if cleanup_size < 0:
                    raise ConfigurationError(
                        f"cleanup_incrementally: cleanup_size must not be negative, got {cleanup_size}."
                    )
                self._cleanup_size = cleanup_size
                self._run_cleanup_for_every_record = run_cleanup_for_every_record

            def get_cleanup_size(self) -> int:
                """How many entries are looked at each time."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """Whether entries are looked at for each record too."""
                return self._run_cleanup_for_every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """Drops expired entries when the disk backend compacts its files.

            :param query_time_after_num_entries: After how many entries the clock is read again.
            :param periodic_compaction_time: After which time files are compacted anyway; 30 days unless set.
            """

            def __init__(
                self, query_time_after_num_entries: int, periodic_compaction_time: TimeLength | None = None
            ) -> None:
                if query_time_after_num_entries < 0:
                    raise ConfigurationError(
                        "cleanup_in_rocksdb_compact_filter: query_time_after_num_entries must not be "
                        f"negative, got {query_time_after_num_entries}."
                    )
                if periodic_compaction_time is None:
                    periodic_compaction_time = Duration.of_days(30)
                if not isinstance(periodic_compaction_time, Duration):
                    periodic_compaction_time = Duration.of_millis(to_milliseconds(periodic_compaction_time))
                self._query_time_after_num_entries = query_time_after_num_entries
                self._periodic_compaction_time: Duration = periodic_compaction_time

            def get_query_time_after_num_entries(self) -> int:
                """After how many entries the clock is read again."""
                return self._query_time_after_num_entries

            def get_periodic_compaction_time(self) -> Duration:
                """After which time files are compacted anyway."""
                return self._periodic_compaction_time

        EMPTY_STRATEGY = EmptyCleanupStrategy()
        """The settings of strategies that have none."""

        def __init__(
            self,
            strategies: dict[
                StateTtlConfig.CleanupStrategies.Strategies, StateTtlConfig.CleanupStrategies.CleanupStrategy
            ],
            is_cleanup_in_background: bool,
        ) -> None:
            self._strategies = dict(strategies)
            self._is_cleanup_in_background = is_cleanup_in_background

        def is_cleanup_in_background(self) -> bool:
            """Whether the default background clean-up runs."""
            return self._is_cleanup_in_background

        def in_full_snapshot(self) -> bool:
            """Whether expired entries are left out of full snapshots."""
            return self.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

        def get_incremental_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy | None:
            """The incremental clean-up to run: the one asked for, the background default (5, False), or None."""
            kinds = StateTtlConfig.CleanupStrategies
            chosen = self._strategies.get(self.Strategies.INCREMENTAL_CLEANUP)
            if isinstance(chosen, kinds.IncrementalCleanupStrategy):
                return chosen
            return kinds.IncrementalCleanupStrategy(5, False) if self._is_cleanup_in_background else None

        def get_rocksdb_compact_filter_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.RocksdbCompactFilterCleanupStrategy | None:
            """The compaction filter to run: the one asked for, the background default (1000), or None."""
            kinds = StateTtlConfig.CleanupStrategies
            chosen = self._strategies.get(self.Strategies.ROCKSDB_COMPACTION_FILTER)
            if isinstance(chosen, kinds.RocksdbCompactFilterCleanupStrategy):
                return chosen
            return kinds.RocksdbCompactFilterCleanupStrategy(1000) if self._is_cleanup_in_background else None

        def __eq__(self, other: object) -> bool:
            return type(other) is type(self) and vars(other) == vars(self)

        def __hash__(self) -> int:
            return hash((frozenset(self._strategies.items()), self._is_cleanup_in_background))

    class Builder:
        """Collects the settings of a :class:`StateTtlConfig`.

        :param ttl: How long state lives; more than 0.
        """

        def __init__(self, ttl: TimeLength) -> None:
            kinds = StateTtlConfig
            self._ttl = ttl
            self._update_type = kinds.UpdateType.OnCreateAndWrite
            self._state_visibility = kinds.StateVisibility.NeverReturnExpired
            self._ttl_time_characteristic = kinds.TtlTimeCharacteristic.ProcessingTime
            self._strategies: dict[
                StateTtlConfig.CleanupStrategies.Strategies, StateTtlConfig.CleanupStrategies.CleanupStrategy
            ] = {}
            self._is_cleanup_in_background = True

        def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfig.Builder:
            """What prolongs the life of a value."""
            self._update_type = _member(StateTtlConfig.UpdateType, update_type, "update_type")
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """Writing a value prolongs its life; the default."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """Reading a value prolongs its life too."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(self, state_visibility: StateTtlConfig.StateVisibility) -> StateTtlConfig.Builder:
            """Whether expired values that are still stored may be returned."""
            self._state_visibility = _member(StateTtlConfig.StateVisibility, state_visibility, "state_visibility")
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """Return expired values until a clean-up removes them."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """Never return expired values; the default."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """The clock by which state expires; anything but processing time raises."""
            if not isinstance(ttl_time_characteristic, StateTtlConfig.TtlTimeCharacteristic):
                raise UnsupportedError(
                    f"State TTL: {ttl_time_characteristic!r} is not supported; state expires by processing "
                    "time only, as in Flink. To drop state by event time, clear it in an event-time timer."
                )
            self._ttl_time_characteristic = ttl_time_characteristic
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """Let state expire by processing time; the default, and all there is."""
            return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.ProcessingTime)

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Leave expired entries out of full snapshots; local state stays as it is until restored."""
            kinds = StateTtlConfig.CleanupStrategies
            self._strategies[kinds.Strategies.FULL_STATE_SCAN_SNAPSHOT] = kinds.EMPTY_STRATEGY
            return self

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            """Look at ``cleanup_size`` entries whenever state is used. Works with the hashmap backend."""
            kinds = StateTtlConfig.CleanupStrategies
            self._strategies[kinds.Strategies.INCREMENTAL_CLEANUP] = kinds.IncrementalCleanupStrategy(
                cleanup_size, run_cleanup_for_every_record
            )
            return self

        def cleanup_in_rocksdb_compact_filter(
            self, query_time_after_num_entries: int, periodic_compaction_time: TimeLength | None = None
        ) -> StateTtlConfig.Builder:
            """Drop expired entries when the disk backend compacts its files."""
            kinds = StateTtlConfig.CleanupStrategies
            self._strategies[kinds.Strategies.ROCKSDB_COMPACTION_FILTER] = kinds.RocksdbCompactFilterCleanupStrategy(
                query_time_after_num_entries, periodic_compaction_time
            )
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Do not run the default background clean-up; strategies that were asked for still run."""
            self._is_cleanup_in_background = False
            return self

        def set_ttl(self, ttl: TimeLength) -> StateTtlConfig.Builder:
            """How long state lives; more than 0."""
            self._ttl = ttl
            return self

        def build(self) -> StateTtlConfig:
            """The settings; raises if the time-to-live is not positive."""
            return StateTtlConfig(
                self._update_type,
                self._state_visibility,
                self._ttl_time_characteristic,
                self._ttl,
                StateTtlConfig.CleanupStrategies(self._strategies, self._is_cleanup_in_background),
            )

    DISABLED: StateTtlConfig
    """State that does not expire."""

    def __init__(
        self,
        update_type: StateTtlConfig.UpdateType,
        state_visibility: StateTtlConfig.StateVisibility,
        ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic,
        ttl: TimeLength,
        cleanup_strategies: StateTtlConfig.CleanupStrategies,
    ) -> None:
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl_millis = to_milliseconds(ttl)
        self._cleanup_strategies = cleanup_strategies
        if self._ttl_millis <= 0:
            raise ConfigurationError(
                f"State TTL: ttl must be at least 1 ms, got {self._ttl_millis} ms. "
                "For state that does not expire leave enable_time_to_live() out."
            )

    @staticmethod
    def new_builder(ttl: TimeLength) -> StateTtlConfig.Builder:
        """Start settings with this time-to-live; more than 0."""
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> StateTtlConfig.UpdateType:
        """What prolongs the life of a value."""
        return self._update_type

    def get_state_visibility(self) -> StateTtlConfig.StateVisibility:
        """Whether expired values that are still stored may be returned."""
        return self._state_visibility

    def get_ttl(self) -> Time:
        """How long state lives."""
        return Time.milliseconds(self._ttl_millis)

    def get_ttl_time_characteristic(self) -> StateTtlConfig.TtlTimeCharacteristic:
        """The clock by which state expires."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Whether state expires at all."""
        return self._update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> StateTtlConfig.CleanupStrategies:
        """When expired state is removed."""
        return self._cleanup_strategies

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StateTtlConfig) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((self._update_type, self._state_visibility, self._ttl_millis))

    def __repr__(self) -> str:
        if not self.is_enabled():
            return "StateTtlConfig.DISABLED"
        return f"StateTtlConfig({self._ttl_millis} ms, {self._update_type.name}, {self._state_visibility.name})"


def _member(kind: type[Any], value: Any, argument: str) -> Any:
    if not isinstance(value, kind):
        members = ", ".join(f"StateTtlConfig.{kind.__name__}.{member.name}" for member in kind)
        raise ConfigurationError(f"State TTL: {argument} must be one of {members}; got {value!r}.")
    return value


StateTtlConfig.DISABLED = (
    StateTtlConfig.new_builder(Time.milliseconds(2**63 - 1))
    .set_update_type(StateTtlConfig.UpdateType.Disabled)
    .disable_cleanup_in_background()
    .build()
)
