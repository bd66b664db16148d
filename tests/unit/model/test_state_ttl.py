from __future__ import annotations

import pickle
from datetime import timedelta

import pytest

from firesteel.common.time import Duration, Time
from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.model.state import StateTtlConfig
from firesteel.model.timers import TimeDomain

Strategies = StateTtlConfig.CleanupStrategies


def builder():
    return StateTtlConfig.new_builder(Time.seconds(1))


@pytest.mark.feature("TT-02")
@pytest.mark.parametrize("ttl", [Time.seconds(0), Time.milliseconds(-1), Duration.of_nanos(10), timedelta(0), 0])
def test_ttl_must_be_positive(ttl):
    with pytest.raises(ConfigurationError, match="at least 1 ms"):
        StateTtlConfig.new_builder(ttl).build()
    with pytest.raises(ConfigurationError, match="at least 1 ms"):
        builder().set_ttl(ttl).build()


@pytest.mark.feature("TT-02")
def test_ttl_is_mandatory():
    with pytest.raises(TypeError):
        StateTtlConfig.new_builder()


def test_defaults_are_those_of_flink():
    config = builder().build()
    assert config.get_ttl() == Time.seconds(1)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    assert config.is_enabled()
    cleanup = config.get_cleanup_strategies()
    assert cleanup.is_cleanup_in_background()
    assert not cleanup.in_full_snapshot()
    incremental = cleanup.get_incremental_cleanup_strategy()
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record()) == (5, False)
    compaction = cleanup.get_rocksdb_compact_filter_cleanup_strategy()
    assert compaction.get_query_time_after_num_entries() == 1000
    assert compaction.get_periodic_compaction_time() == Duration.of_days(30)


def test_builder_methods_set_what_they_name():
    config = (
        builder()
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .set_ttl(Duration.of_minutes(2))
        .build()
    )
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    assert config.get_ttl() == Time.minutes(2)
    back = builder().update_ttl_on_read_and_write().update_ttl_on_create_and_write()
    back = back.return_expired_if_not_cleaned_up().never_return_expired()
    assert back.build() == builder().build()


def test_cleanup_strategies_that_were_asked_for_are_used():
    cleanup = (
        builder()
        .cleanup_full_snapshot()
        .cleanup_incrementally(10, True)
        .cleanup_in_rocksdb_compact_filter(7, Time.hours(1))
        .disable_cleanup_in_background()
        .build()
        .get_cleanup_strategies()
    )
    assert cleanup.in_full_snapshot()
    assert cleanup.get_incremental_cleanup_strategy() == Strategies.IncrementalCleanupStrategy(10, True)
    compaction = cleanup.get_rocksdb_compact_filter_cleanup_strategy()
    assert compaction.get_query_time_after_num_entries() == 7
    assert compaction.get_periodic_compaction_time() == Duration.of_hours(1)
    assert not cleanup.is_cleanup_in_background()


def test_without_background_cleanup_there_are_no_defaults():
    cleanup = builder().disable_cleanup_in_background().build().get_cleanup_strategies()
    assert cleanup.get_incremental_cleanup_strategy() is None
    assert cleanup.get_rocksdb_compact_filter_cleanup_strategy() is None


@pytest.mark.parametrize("asked", [TimeDomain.EVENT_TIME, "EventTime", None])
def test_event_time_ttl_raises(asked):
    with pytest.raises(UnsupportedError, match="processing time only"):
        builder().set_ttl_time_characteristic(asked)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: builder().set_update_type("OnReadAndWrite"), "UpdateType.OnReadAndWrite"),
        (lambda: builder().set_state_visibility(1), "StateVisibility.NeverReturnExpired"),
        (lambda: builder().cleanup_incrementally(-1, False), "cleanup_size"),
        (lambda: builder().cleanup_in_rocksdb_compact_filter(-1), "query_time_after_num_entries"),
    ],
)
def test_wrong_settings_are_named(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()


def test_disabled_means_no_ttl():
    assert not StateTtlConfig.DISABLED.is_enabled()
    assert not builder().set_update_type(StateTtlConfig.UpdateType.Disabled).build().is_enabled()


def test_configs_compare_by_content_and_pickle():
    config = builder().cleanup_incrementally(3, True).build()
    assert pickle.loads(pickle.dumps(config)) == config
    assert hash(pickle.loads(pickle.dumps(config))) == hash(config)
    assert config != builder().cleanup_incrementally(4, True).build()
    assert config != builder().build()
    assert len({config.get_cleanup_strategies(), builder().build().get_cleanup_strategies()}) == 2
