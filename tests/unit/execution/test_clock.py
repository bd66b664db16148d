"""Processing time when somebody puts the clock back, and intervals that do not care."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from firesteel.common import Configuration, RestartStrategies, WatermarkStrategy
from firesteel.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.execution import clock as clocks
from firesteel.execution.clock import SteadyClock, interval_clock, monotonic_ms
from firesteel.testing import ManualClock


class Times:
    """A wall clock that can be put back, beside one that cannot."""

    def __init__(self) -> None:
        self.wall = 1_000_000
        self.ticks = 5

    def pass_(self, milliseconds: int) -> None:
        self.wall += milliseconds
        self.ticks += milliseconds

    def clock(self) -> SteadyClock:
        return SteadyClock(lambda: self.wall, lambda: self.ticks)


def test_processing_time_is_the_wall_clock() -> None:
    times = Times()
    clock = times.clock()
    for step in (0, 1, 250, 3_600_000):
        times.pass_(step)
        assert clock() == times.wall


def test_a_clock_that_is_put_back_goes_on_and_the_wall_clock_catches_up() -> None:
    times = Times()
    clock = times.clock()
    times.wall -= 60_000
    seen = [clock()]
    for _ in range(200):
        times.pass_(50)
        seen.append(clock())
    assert all(later > earlier for earlier, later in itertools.pairwise(seen))
    assert seen[-1] - seen[0] == pytest.approx(0.99 * 200 * 50, abs=2)
    times.pass_(100 * 60_000)
    assert clock() == times.wall


def test_a_clock_that_is_put_forward_is_followed() -> None:
    times = Times()
    clock = times.clock()
    times.wall += 3_600_000
    assert clock() == times.wall


def test_a_job_that_is_started_again_does_not_go_back_in_time() -> None:
    times = Times()
    clock = times.clock()
    clock.not_before(times.wall + 5000)
    assert clock() == times.wall + 5000
    clock.not_before(times.wall + 400 * 24 * 3600 * 1000)  # that clock was wrong, not this one
    assert clock() == times.wall + 5000


def test_intervals_have_a_clock_of_their_own_unless_a_test_moves_time() -> None:
    assert interval_clock(SteadyClock()) is monotonic_ms
    manual = ManualClock()
    assert interval_clock(manual) is manual


@pytest.mark.feature("CK-02")
def test_checkpoints_and_rate_limits_go_on_when_the_clock_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a day, over and over, from the moment at which the job has started."""
    start = 1_700_000_000_000
    readings = itertools.chain(range(start, start + 3), (start - 86_400_000 * n for n in itertools.count(1)))
    monkeypatch.setattr(clocks, "wall_clock_ms", lambda: next(readings))
    monkeypatch.setattr(SteadyClock, "__init__", _with_current_clocks(SteadyClock.__init__))
    options = {"execution.target": "in-process", "execution.checkpointing.interval": "10 ms"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.set_parallelism(1)
    env.set_restart_strategy(RestartStrategies.no_restart())
    source = DataGeneratorSource(lambda index: index, 40, RateLimiterStrategy.per_second(200))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    with numbers.execute_and_collect() as results:
        assert list(results) == list(range(40))
        assert len(results.get_job_client().get_checkpoints()) >= 2  # type: ignore[attr-defined]


def _with_current_clocks(init: Any) -> Any:
    return lambda self: init(self, clocks.wall_clock_ms, clocks.monotonic_ms)
