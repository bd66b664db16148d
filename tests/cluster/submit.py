"""Running the submitted program by spark-submit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cluster.standalone import SPARK_HOME
from tests.cluster.submitted import KEYS, RECORDS

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "cluster" / "submitted.py"
LOOPBACK = ("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1")


def spark_submit(arguments: list[str], result: Path, *program: str, **variables: str) -> dict[str, Any]:
    """Run the program to its end; gives what it has seen, with what spark-submit said under ``log``."""
    environment = {**os.environ, "SPARK_HOME": str(SPARK_HOME), "PYSPARK_PYTHON": sys.executable}
    environment |= {"PYTHONPATH": str(ROOT), **variables}
    run = subprocess.run(
        [str(SPARK_HOME / "bin" / "spark-submit"), *arguments, str(PROGRAM), str(result), *program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, f"{run.stdout[-1000:]}\n{run.stderr[-4000:]}"
    seen: dict[str, Any] = json.loads(result.read_text())
    return {**seen, "log": run.stderr}


def assert_counted_exactly_once(seen: dict[str, Any]) -> None:
    assert seen["rows"] == RECORDS
    assert seen["counts"] == {str(key): RECORDS // KEYS for key in range(KEYS)}


def assert_functions_logged(executor_log: str) -> None:
    """INFO logs of functions arrive in the executors' standard error, with time, level, logger and process."""
    line = re.compile(
        r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO submitted \[pid \d+\]: subtask 0 opened in \d+$", re.M
    )
    assert line.search(executor_log), executor_log[-3000:]
