"""Programs that are handed in over REST: run in processes of their own, and steered from the one that took them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from firesteel.events import JobEnded, find_job_log
from firesteel.rest import JobRegistry, create_app
from firesteel.rest.programs import ProgramJob, Programs

PROGRAM = """
import sys
from firesteel.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.from_data_generator(lambda n: n, count=None).key_by(lambda n: n % 3).reduce(max).add_sink(lambda _: None)
env.execute(sys.argv[1])
"""


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    taking = Programs(str(tmp_path), JobRegistry(), [sys.executable, "-m", "firesteel", "run", "--in-process"])
    yield taking
    taking.close()


@pytest.fixture
def client(programs: Programs) -> TestClient:
    return TestClient(create_app(programs.registry, programs=programs), base_url="http://localhost")


def handed_in(client: TestClient, content: str) -> str:
    answer = client.post("/jars/upload", files={"jarfile": ("job.py", content.encode())}).json()
    return Path(answer["filename"]).name


@pytest.mark.feature("OP-03")
def test_a_program_is_handed_in_run_and_stopped_with_a_savepoint(
    client: TestClient, programs: Programs, tmp_path: Path
) -> None:
    answer = client.post(f"/jars/{handed_in(client, PROGRAM)}/run", json={"programArgsList": ["endless"]})
    assert answer.status_code == 200, answer.text
    job_id = answer.json()["jobid"]
    assert client.get(f"/jobs/{job_id}").json()["name"] == "endless"
    job = programs.registry.steered(job_id)
    assert isinstance(job, ProgramJob)
    path = job.stop_with_savepoint(False, str(tmp_path)).result(60)
    assert Path(path).parent == tmp_path
    *_, last = find_job_log(str(next((tmp_path / "runs").iterdir()))).follow()
    assert isinstance(last, JobEnded)
    assert client.get(f"/jobs/{job_id}").json()["state"] == "FINISHED"


def test_a_program_that_has_no_job_says_why(client: TestClient) -> None:
    refused = client.post(f"/jars/{handed_in(client, 'raise ValueError(7)')}/run", json={})
    assert refused.status_code == 400 and "ValueError: 7" in refused.json()["errors"][0]


def test_a_log_does_not_get_in_the_way_of_logging() -> None:
    """In a fresh process: warnings of Firesteel still reach standard error, and basicConfig() still works."""
    program = (
        "import logging\nfrom firesteel.rest.driver_log import DriverLog\nkept = DriverLog()\nkept.begin()\n"
        "logging.getLogger('firesteel.x').warning('seen')\n"
        "logging.basicConfig(format='mine %(message)s')\nlogging.getLogger('firesteel.x').warning('again')\n"
        "print(kept.text().count('\\n'))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "seen\nmine again\n"
    assert done.stdout == "2\n"
