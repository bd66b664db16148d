"""Jobs on a real cluster of several hosts: state stays where it is, and moves when its host is gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.cluster.programs import KEYS
from tests.cluster.standalone import HOSTS, StandaloneCluster

PROGRAM = Path(__file__).parent / "programs.py"
ROOT = PROGRAM.parent.parent.parent


def start(cluster: StandaloneCluster, directory: Path, records: int, rate: int) -> subprocess.Popen[str]:
    arguments = [cluster.url, str(directory), str(records), str(rate)]
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), *arguments], cwd=ROOT, stderr=subprocess.PIPE, text=True, env=_environment()
    )


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def results(directory: Path) -> list[tuple[int, int, int, str]]:
    lines = (directory / "results.jsonl").read_text().rpartition("\n")[0].splitlines()
    return [tuple(json.loads(line)) for line in lines]


def assert_counted_exactly_once(rows: list[tuple[int, int, int, str]], records: int) -> None:
    counts = defaultdict(list)
    for key, count, _, _ in rows:
        counts[key].append(count)
    assert len(rows) == records
    for key in range(KEYS):
        assert counts[key] == list(range(1, records // KEYS + 1))


@pytest.mark.feature("DE-02", "DE-08", "RT-08")
def test_a_subtask_stays_on_its_host_and_moves_with_its_state_when_the_host_is_gone(
    cluster: StandaloneCluster, tmp_path: Path
) -> None:
    records = 8_000
    job = start(cluster, tmp_path, records, 1_000)
    _wait_for_results(tmp_path / "results.jsonl", job, lines=2_000)
    hosts = defaultdict(set)
    for _, _, subtask, host in results(tmp_path):
        hosts[subtask].add(host)
    assert all(len(places) == 1 for places in hosts.values()), hosts
    assert set().union(*hosts.values()) == set(HOSTS)

    cluster.workers[HOSTS[1]].kill()
    _, errors = job.communicate(timeout=240)

    assert job.returncode == 0, errors
    rows = results(tmp_path)
    assert_counted_exactly_once(rows, records)
    assert {host for _, _, _, host in rows[-100:]} == {HOSTS[0]}


def _wait_for_results(path: Path, job: subprocess.Popen[str], lines: int) -> None:
    """Until the job has written so many results. The file is the only sign of life: it is looked at again and again."""
    while job.poll() is None:
        if path.exists() and path.read_bytes().count(b"\n") >= lines:
            return
        try:
            job.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError(job.communicate()[1])
