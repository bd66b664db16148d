"""The short form of the chaos test; ``make chaos`` runs the long one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.chaos.killing import ChaosRun
from tests.chaos.program import CRASH_POINTS, KEYS, RULES


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the job writes when nothing happens to it."""
    run = ChaosRun(tmp_path_factory.mktemp("undisturbed"))
    run.run_to_end()
    output = run.output()
    assert sum(line.startswith("final") for line in output) == KEYS
    assert all(line.endswith(f" {RULES}") for line in output if line.startswith("final"))
    return output


@pytest.mark.feature("RR-04", "EO-01", "EO-02")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("point", sorted(CRASH_POINTS))
def test_a_driver_that_dies_around_a_commit_leaves_no_trace(
    point: str, when: str, tmp_path: Path, undisturbed: list[str]
) -> None:
    run = ChaosRun(tmp_path)

    run.run_to_end("--crash", f"{point}:{when}:7")
    assert run.kills and not run.finished
    run.run_to_end()

    assert run.finished
    assert run.output() == undisturbed


@pytest.mark.feature("RR-05")
def test_a_driver_that_is_killed_again_and_again_leaves_no_trace(tmp_path: Path, undisturbed: list[str]) -> None:
    moments = random.Random(4)
    run = ChaosRun(tmp_path, ["--rate", "1000"])

    while len(run.kills) < 4 and not run.finished:
        run.kill_driver_after(moments.uniform(0.6, 1.6))
    if not run.finished:
        run.run_to_end()

    assert run.finished
    assert run.kills
    assert run.output() == undisturbed


@pytest.mark.feature("RR-01", "RR-03", "DE-08")
def test_slot_processes_and_workers_that_are_killed_leave_no_trace(tmp_path: Path, undisturbed: list[str]) -> None:
    run = ChaosRun(tmp_path, ["--target", "spark", "--epoch-records", "500"])

    run.kill_slots_while_running(times=2)

    assert len(run.kills) == 2
    assert run.output() == undisturbed
