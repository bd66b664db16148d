"""Executors that are killed while a job runs on a real cluster: neither its output nor its state shows it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.chaos.killing import Undisturbed, on_cluster
from tests.cluster.standalone import StandaloneCluster


@pytest.mark.feature("RR-01", "DE-08")
def test_executors_and_slots_that_are_killed_leave_no_trace(cluster: StandaloneCluster, tmp_path: Path) -> None:
    (tmp_path / "undisturbed").mkdir()
    (tmp_path / "disturbed").mkdir()
    undisturbed = Undisturbed.run(tmp_path / "undisturbed")
    run, victims = on_cluster(cluster, tmp_path / "disturbed", random.Random(1))

    run.kill_while_running(3, victims)

    assert run.kills == ["executor killed", "slot process killed", "executor killed"]
    assert undisturbed.differences(run) == []
