"""The command line with Spark behind it: the doctor's checks, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from firesteel.cli.doctor import examine
from firesteel.common import Configuration

ROOT = Path(__file__).resolve().parents[2]
ENDLESS = """
from firesteel.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_data_generator(lambda n: n, count=None).filter(lambda n: n % 1_000_000 == 0).print()
env.execute("endless")
"""


def test_the_doctor_finds_spark_its_workers_and_slots_in_order(spark: Any) -> None:
    findings = {finding.subject: finding for finding in examine(Configuration())}
    assert all(finding.ok for finding in findings.values()), findings
    assert findings["Spark"].text.startswith(f"{spark.version} on local[2]; Python of workers: {sys.version_info[0]}.")
    assert "ran on" in findings["a Firesteel job"].text


def test_control_c_ends_a_job_on_spark_in_good_order(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    command = [sys.executable, "-m", "firesteel", "run", "--master", "local[1]", "-p", "1", "endless.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "0\n"  # it runs
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=180)
    assert process.returncode == 130
    assert errors.endswith("firesteel: interrupted\n")
    assert "Traceback" not in errors
