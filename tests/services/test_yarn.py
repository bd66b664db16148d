"""Programs given to spark-submit for YARN: the driver on this side, and inside the application master."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cluster.standalone import SPARK_HOME
from tests.cluster.submit import (
    LOOPBACK,
    ROOT,
    assert_counted_exactly_once,
    assert_functions_logged,
    spark_submit,
)
from tests.services.yarn import Yarn


def _arguments(directory: Path) -> list[str]:
    long_name = directory / ("temporary-" + "x" * 100)
    long_name.mkdir()
    settings = {
        "spark.yarn.jars": f"local:{SPARK_HOME}/jars/*",
        "spark.yarn.stagingDir": str(directory / "staging"),
        "spark.yarn.am.memory": "512m",
        "spark.executor.memoryOverhead": "384m",
        "spark.yarn.appMasterEnv.PYTHONPATH": str(ROOT),
        "spark.yarn.appMasterEnv.PYSPARK_PYTHON": sys.executable,
        "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1",
        "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1",
        # Longer than the path of a Unix socket may be, as the folders of containers are.
        "spark.executorEnv.TMPDIR": str(long_name),
    }
    given = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    return ["--master", "yarn", "--executor-memory", "512m", "--driver-memory", "512m", "--num-executors", "2", *given]


@pytest.mark.feature("DE-03")
@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_a_job_runs_on_yarn(yarn: Yarn, tmp_path: Path, mode: str) -> None:
    arguments = [*_arguments(tmp_path), "--deploy-mode", mode, *(LOOPBACK if mode == "client" else ())]
    seen = spark_submit(arguments, tmp_path / "seen", HADOOP_CONF_DIR=str(yarn.configuration))

    assert (seen["master"], seen["deploy mode"]) == ("yarn", mode)
    assert (seen["parallelism"], seen["subtasks"]) == (2, [0, 1])  # of two executors with one core each
    assert_counted_exactly_once(seen)
    assert_functions_logged(yarn.executor_logs())
