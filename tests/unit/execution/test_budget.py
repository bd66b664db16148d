"""How much the sources may read: the budget that adapts from epoch to epoch."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.execution.budget import EpochBudget


def saturated(budget: EpochBudget, records_per_second: float, epochs: int) -> None:
    """Epochs that read all they may, by a job of a given speed."""
    for _ in range(epochs):
        budget.observe(budget.records, budget.records / records_per_second)


def test_the_first_epoch_is_small_and_grows_to_what_the_job_gets_done() -> None:
    budget = EpochBudget(10_000_000, 1.0, 1.0)
    assert budget.records == 2000
    saturated(budget, 100_000, 6)
    assert budget.records == pytest.approx(100_000, rel=0.01)


def test_a_slow_job_gets_less_to_read() -> None:
    budget = EpochBudget(10_000_000, 1.0, 3.0)
    saturated(budget, 100, 3)
    assert budget.records <= 250


def test_a_backlog_makes_epochs_longer_and_catching_up_makes_them_short_again() -> None:
    budget = EpochBudget(10_000_000, 1.0, 3.0)
    saturated(budget, 100_000, 8)
    assert budget.target_seconds == 3.0
    assert budget.records == pytest.approx(300_000, rel=0.01)
    budget.observe(1000, 0.1)
    assert budget.target_seconds == 1.0
    assert budget.records == pytest.approx(100_000, rel=0.01)


@pytest.mark.parametrize("fixed", [0.1, 0.9, 5.0])
def test_a_fixed_cost_beyond_the_target_does_not_starve_the_job(fixed: float) -> None:
    budget = EpochBudget(10_000_000, 1.0, 1.0)
    for _ in range(30):
        budget.observe(budget.records, fixed + budget.records / 100_000)
    assert budget.records == pytest.approx(100_000 * max(1.0 - fixed, 3 * fixed), rel=0.1)
    assert budget.reading_seconds == pytest.approx(max(1.0, 3 * fixed), rel=0.1)


def test_a_fixed_cost_that_passes_is_forgotten() -> None:
    budget = EpochBudget(10_000_000, 1.0, 1.0)
    for fixed in [3.0] * 20 + [0.05] * 60:
        budget.observe(budget.records, fixed + budget.records / 100_000)
    assert 45_000 <= budget.records <= 100_000


@st.composite
def costs(draw: st.DrawFn) -> tuple[float, float, float, float, random.Random]:
    """Fixed seconds, seconds per record, relative noise, how often an epoch takes five times its fixed cost more."""
    fixed = draw(st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0, 3.0, 20.0]))
    per_record = 10 ** draw(st.floats(-7, -3))
    noise, hiccups = draw(st.sampled_from([0.0, 0.2, 0.5])), draw(st.sampled_from([0.0, 0.05]))
    return fixed, per_record, noise, hiccups, random.Random(draw(st.integers(0, 1000)))


@settings(max_examples=200)
@given(costs=costs())
def test_throughput_is_at_least_half_of_what_is_possible_whatever_the_costs(costs: Any) -> None:
    fixed, per_record, noise, hiccups, chance = costs
    budget = EpochBudget(1 << 40, 1.0, 3.0)
    read, taken = 0, 0.0
    for epoch in range(300):
        seconds = (fixed + per_record * budget.records) * (1 + noise * chance.uniform(-1, 1))
        seconds += 5 * fixed * (chance.random() < hiccups)
        if epoch >= 30:
            read, taken = read + budget.records, taken + seconds
            assert budget.records > 1
        budget.observe(budget.records, seconds)
    assert read / taken >= 0.5 / per_record  # no constant budget gets more than one over the costs of a record


@given(costs=costs(), stall=st.integers(1, 40), length=st.integers(1, 30))
def test_the_budget_recovers_from_a_time_in_which_everything_was_slow(costs: Any, stall: int, length: int) -> None:
    """Each epoch takes some seconds longer for a while, as when a disk or the cluster is busy with something else."""
    fixed, per_record, noise, _, chance = costs
    budget = EpochBudget(1 << 40, 1.0, 3.0)
    read, taken = 0, 0.0
    for epoch in range(160):
        seconds = (fixed + per_record * budget.records) * (1 + noise * chance.uniform(-1, 1))
        if epoch >= 110:
            read, taken = read + budget.records, taken + seconds
        budget.observe(budget.records, seconds + stall * (40 <= epoch < 40 + length))
    assert read / taken >= 0.5 / per_record


def test_a_few_full_epochs_are_no_backlog() -> None:
    budget = EpochBudget(10_000_000, 1.0, 3.0)
    for _ in range(5):
        saturated(budget, 100_000, 3)
        budget.observe(10, 0.1)
        assert budget.target_seconds == 1.0


def test_the_number_of_records_is_bounded() -> None:
    budget = EpochBudget(50_000, 1.0, 3.0)
    saturated(budget, 10_000_000, 10)
    assert budget.records == 50_000


@pytest.mark.parametrize(
    ("options", "backlog"),
    [
        ({}, 3.0),
        ({"firesteel.epoch.target-duration": "100 ms"}, 0.3),
        ({"firesteel.epoch.backlog-duration": "5 s"}, 5.0),
        ({"execution.checkpointing.interval": "2 s"}, 2.0),
        ({"execution.checkpointing.interval": "10 ms"}, 1.0),
    ],
)
def test_checkpoints_are_not_kept_waiting_by_a_backlog(options: dict[str, str], backlog: float) -> None:
    budget = EpochBudget.of(Configuration.from_dict(options))
    saturated(budget, 1000, 20)
    assert budget.target_seconds == backlog


def test_an_epoch_ends_when_enough_bytes_wait_for_the_next_level() -> None:
    options = {
        "execution.target": "in-process",
        "parallelism.default": "1",
        "firesteel.chunk.max-records": "10",
        "firesteel.epoch.max-bytes": "1 mb",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    large = env.from_sequence(0, 299).map(lambda number: (number, b"x" * 20_000))
    sizes = large.key_by(lambda pair: pair[0] % 3).map(lambda pair: len(pair[1]))
    with sizes.execute_and_collect() as results:
        assert list(results) == [20_000] * 300
        epochs = results.get_job_client().get_metrics().epochs
    assert max(epoch.records for epoch in epochs) <= 90  # 50 fill a megabyte; chunks are packed for each target
    assert sum(epoch.records for epoch in epochs) == 300
