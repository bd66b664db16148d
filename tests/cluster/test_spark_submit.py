"""Programs given to spark-submit: its master counts, and so do the cluster's cores."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.standalone import StandaloneCluster
from tests.cluster.submit import LOOPBACK, assert_counted_exactly_once, assert_functions_logged, spark_submit


@pytest.mark.feature("DE-02")
@pytest.mark.parametrize("program", [(), ("session",)], ids=["no session", "a session of its own"])
def test_spark_submits_master_and_settings_are_respected(
    cluster: StandaloneCluster, tmp_path: Path, program: tuple[str, ...]
) -> None:
    limits = ["--executor-memory", "512m", "--conf", "spark.ui.enabled=true", "--conf", "spark.ui.port=0"]
    seen = spark_submit(["--master", cluster.url, *LOOPBACK, *limits], tmp_path / "seen", *program)

    assert (seen["master"], seen["ui"]) == (cluster.url, "true")
    assert seen["parallelism"] == len(cluster.running_workers())  # each has one core
    assert seen["subtasks"] == list(range(seen["parallelism"]))
    assert_counted_exactly_once(seen)
    assert_functions_logged(cluster.logs())
