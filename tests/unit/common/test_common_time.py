from __future__ import annotations

import pickle
from datetime import timedelta

import pytest

from firesteel.common import Duration, Instant, Time
from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK, to_milliseconds
from firesteel.errors import ConfigurationError


@pytest.mark.parametrize(
    ("value", "milliseconds"),
    [
        (Time.milliseconds(7), 7),
        (Time.seconds(5), 5_000),
        (Time.minutes(3), 180_000),
        (Time.hours(2), 7_200_000),
        (Time.days(1), 86_400_000),
        (Duration.of_millis(7), 7),
        (Duration.of_seconds(5), 5_000),
        (Duration.of_minutes(3), 180_000),
        (Duration.of_hours(2), 7_200_000),
        (Duration.of_days(1), 86_400_000),
        (Duration.of_nanos(1_999_999), 1),
        (timedelta(seconds=1, microseconds=999), 1_000),
        (42, 42),
    ],
)
def test_every_length_of_time_becomes_milliseconds(value: object, milliseconds: int) -> None:
    assert to_milliseconds(value) == milliseconds  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [1.5, "5 s", True, None])
def test_other_lengths_of_time_are_refused(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"Time\.seconds\(5\)"):
        to_milliseconds(value)  # type: ignore[arg-type]


def test_fractions_of_a_unit_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="smaller unit"):
        Time.seconds(1.5)  # type: ignore[arg-type]


def test_lengths_compare_by_value() -> None:
    assert Time.seconds(60) == Time.minutes(1)
    assert hash(Time.seconds(60)) == hash(Time.minutes(1))
    assert Duration.of_seconds(60) == Duration.of_minutes(1)
    assert Time.seconds(1) != Duration.of_seconds(1)
    assert pickle.loads(pickle.dumps(Duration.of_nanos(5))) == Duration.of_nanos(5)


@pytest.mark.parametrize("milli", [0, 1, 999, 1_000, -1, -1_001, 1_700_000_000_123])
def test_instants_keep_epoch_milliseconds(milli: int) -> None:
    instant = Instant.of_epoch_milli(milli)
    assert instant.to_epoch_milli() == milli
    assert 0 <= instant.nanos < 10**9


def test_instants_refuse_too_many_nanoseconds() -> None:
    with pytest.raises(ConfigurationError, match="seconds"):
        Instant(0, 10**9)


def test_watermark_limits_are_those_of_64_bits() -> None:
    assert (MIN_WATERMARK, MAX_WATERMARK) == (-(2**63), 2**63 - 1)
