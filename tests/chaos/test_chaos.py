"""The short form of the chaos test; ``make chaos`` runs the long one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.chaos.damage import DAMAGES
from tests.chaos.faults import all_faults
from tests.chaos.killing import ChaosRun, Undisturbed, slots_and_workers
from tests.chaos.program import KEYS, RULES

MANY_EPOCHS = ["--epoch-records", "20"]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """What the job leaves when nothing happens to it."""
    undisturbed = Undisturbed.run(tmp_path_factory.mktemp("undisturbed"))
    final = [line for line in undisturbed.output if line.startswith("final")]
    assert len(final) == KEYS and all(line.endswith(f" {RULES}") for line in final)
    assert {name for name, stored in undisturbed.state.items() if stored} >= {
        "events: positions",
        "tally: split tally",
        "windows",
        "timers: list stamps",
        "timers: timers",
        "final: value count",
        "final: map amounts",
        "final: broadcast rules",
    }
    return undisturbed


@pytest.mark.feature("RR-04", "EO-01", "EO-02")
@pytest.mark.parametrize("moment", ["before", "within", "after"])
def test_a_driver_that_dies_at_any_step_of_a_checkpoint_leaves_no_trace(
    moment: str, tmp_path: Path, undisturbed: Undisturbed
) -> None:
    run = ChaosRun(tmp_path, MANY_EPOCHS)
    faults = [fault for fault in all_faults("kill") if f":{moment}:" in fault]

    for fault in faults:
        assert run.run_with_faults(fault) == [fault]
    if not run.finished:
        run.run_to_end()

    assert len(run.kills) == len(faults)
    assert undisturbed.differences(run) == []


@pytest.mark.feature("RR-04", "EO-02")
def test_tasks_that_fail_at_any_step_of_a_checkpoint_leave_no_trace(tmp_path: Path, undisturbed: Undisturbed) -> None:
    run = ChaosRun(tmp_path, MANY_EPOCHS)
    faults = all_faults("raise")

    assert run.run_with_faults(*faults) == faults

    assert undisturbed.differences(run) == []


@pytest.mark.feature("RR-05")
def test_a_driver_that_is_killed_again_and_again_leaves_no_trace(tmp_path: Path, undisturbed: Undisturbed) -> None:
    moments = random.Random(4)
    run = ChaosRun(tmp_path, ["--rate", "2000", "--backend", "rocksdb"])

    while len(run.kills) < 8 and not run.finished:
        run.kill_driver_after(moments.uniform(0.1, 0.6))
    if not run.finished:
        run.run_to_end()

    assert run.kills
    assert undisturbed.differences(run) == []


@pytest.mark.feature("RR-04")
@pytest.mark.parametrize("how", DAMAGES)
def test_files_of_checkpoints_are_damaged_and_put_back(how: str, tmp_path: Path, undisturbed: Undisturbed) -> None:
    choice = random.Random(how)
    run = ChaosRun(tmp_path, MANY_EPOCHS)

    run.run_with_faults("manifest:before:9:kill")
    run.damage_what_was_not_complete(how, choice)
    for manifest in (True, False):
        run.damage_last_checkpoint(manifest, how, choice)
    run.run_to_end()

    assert len(run.kills) == 4
    assert undisturbed.differences(run) == []


@pytest.mark.feature("RR-01", "RR-03", "DE-08")
def test_slot_processes_and_workers_that_are_killed_leave_no_trace(tmp_path: Path, undisturbed: Undisturbed) -> None:
    run = ChaosRun(tmp_path, ["--target", "spark", "--epoch-records", "500"])

    run.kill_while_running(2, slots_and_workers)

    assert len(run.kills) == 2
    assert undisturbed.differences(run) == []
