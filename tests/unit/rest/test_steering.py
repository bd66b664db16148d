"""Cancelling and savepoints over the REST API, on jobs that are played and on one that runs."""

from __future__ import annotations

import base64
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from firesteel.common import CompletableFuture, Configuration, JobID, JobStatus
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.errors import CheckpointError, ConfigurationError
from firesteel.events import JobDescribed, JobHistory, StatusChanged
from firesteel.execution.driver import JobDriver
from firesteel.rest import JobRegistry, RestServer, create_app, server
from firesteel.rest.operations import Operations, failed
from tests.unit.rest.test_answers import SHAPES, differences

ID = "a" * 32
TRIGGER = "b" * 32
JOB = f"/jobs/{ID}"


class PlayedJob:
    """Remembers what it was told to do."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.savepoints: list[CompletableFuture[str]] = []
        self.checkpoints: list[CompletableFuture[int]] = []
        self.history = JobHistory([JobDescribed(5, job_id=ID, name="played"), StatusChanged(7, "RUNNING")])

    def get_job_id(self) -> JobID:
        return JobID(ID)

    def get_history(self) -> JobHistory:
        return self.history

    def cancel(self) -> CompletableFuture[None]:
        self.told.append("cancel")
        return CompletableFuture()

    def _save(self, *told: Any) -> CompletableFuture[str]:
        self.told.append(told)
        if told[-1] is None:
            raise ConfigurationError("a savepoint needs a directory")
        self.savepoints.append(CompletableFuture())
        return self.savepoints[-1]

    def trigger_checkpoint(self, full: bool = False) -> CompletableFuture[int]:
        self.told.append(("checkpoint", full))
        self.checkpoints.append(CompletableFuture())
        return self.checkpoints[-1]

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        return self._save("savepoint", savepoint_directory)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        return self._save("stop", advance_to_end_of_event_time, savepoint_directory)


@pytest.fixture
def job() -> PlayedJob:
    return PlayedJob()


@pytest.fixture
def client(job: PlayedJob) -> TestClient:
    registry = JobRegistry(clock=lambda: 17)
    registry.add(job)
    return TestClient(create_app(registry), base_url="http://localhost")


def formed(value: Any, shape: str) -> Any:
    assert list(differences(value, SHAPES[shape])) == []
    return value


def outcome(client: TestClient, trigger_id: str, kind: str) -> Any:
    answer = client.get(f"{JOB}/savepoints/{trigger_id}")
    assert answer.status_code == 200
    return formed(answer.json(), f"/jobs/:jobid/savepoints/:triggerid ({kind})")


def test_a_running_job_has_no_end_yet(client: TestClient) -> None:
    details = formed(client.get(JOB).json(), "/jobs/:jobid")
    assert (details["state"], details["start-time"], details["end-time"], details["duration"]) == ("RUNNING", 5, -1, 12)
    formed(client.get(f"{JOB}/execution-result").json(), "/jobs/:jobid/execution-result (running)")
    assert client.get(f"{JOB}/metrics?get=uptime").json() == [{"id": "uptime", "value": "10"}]
    nothing = formed(client.get(f"{JOB}/checkpoints").json(), "/jobs/:jobid/checkpoints")
    assert nothing["summary"]["state_size"]["p50"] == "NaN"


@pytest.mark.feature("OP-04")
@pytest.mark.parametrize("path", [JOB, f"/v1{JOB}?mode=cancel"])
def test_a_job_is_cancelled(client: TestClient, job: PlayedJob, path: str) -> None:
    answer = client.patch(path)
    assert (answer.status_code, answer.json(), job.told) == (202, {}, ["cancel"])


def test_only_jobs_that_are_there_are_cancelled(client: TestClient, job: PlayedJob) -> None:
    assert client.patch(f"/jobs/{'0' * 32}").status_code == 404
    assert client.patch(f"{JOB}?mode=stop").status_code == 400
    assert job.told == []


@pytest.mark.feature("OP-04")
def test_a_savepoint_is_triggered_and_asked_for(client: TestClient, job: PlayedJob) -> None:
    body = {"target-directory": "/s", "cancel-job": False, "formatType": "CANONICAL", "triggerId": None}
    answer = client.post(f"{JOB}/savepoints", json=body)
    assert answer.status_code == 202
    trigger_id = formed(answer.json(), "POST /jobs/:jobid/savepoints")["request-id"]
    assert outcome(client, trigger_id, "in progress")["status"]["id"] == "IN_PROGRESS"
    job.savepoints[0].set_result("/s/savepoint-1")
    assert outcome(client, trigger_id, "completed")["operation"] == {"location": "/s/savepoint-1"}
    assert job.told == [("savepoint", "/s")]


def test_a_savepoint_that_fails_says_why_to_java_too(client: TestClient, job: PlayedJob) -> None:
    body = {"target-directory": "/s", "triggerId": TRIGGER, "cancel-job": True}
    assert client.post(f"{JOB}/savepoints", json=body).json() == {"request-id": TRIGGER}
    job.savepoints[0].set_exception(CheckpointError("no room \N{SNOWMAN}"))
    cause = outcome(client, TRIGGER, "failed")["operation"]["failure-cause"]
    assert cause["class"] == "CheckpointError" and "no room" in cause["stack-trace"]
    serialized = base64.b64decode(cause["serialized-throwable"])
    assert serialized.startswith(b"\xac\xed\x00\x05sr\x00\x29org.apache.flink.util.SerializedThrowable")
    assert "CheckpointError: no room \N{SNOWMAN}".encode() in serialized
    assert job.told == [("savepoint", "/s")], "a job without its savepoint is not cancelled"


def test_a_job_is_cancelled_with_its_savepoint(client: TestClient, job: PlayedJob) -> None:
    client.post(f"{JOB}/savepoints", json={"target-directory": "/s", "cancel-job": True})
    job.savepoints[0].set_result("/s/1")
    assert job.told == [("savepoint", "/s"), "cancel"]


def test_what_is_asked_for_twice_is_done_once(client: TestClient, job: PlayedJob) -> None:
    for _ in range(2):
        answer = client.post(f"{JOB}/stop", json={"targetDirectory": "/s", "drain": True, "triggerId": TRIGGER})
        assert formed(answer.json(), "POST /jobs/:jobid/stop") == {"request-id": TRIGGER}
    assert job.told == [("stop", True, "/s")]


def test_a_savepoint_of_no_job_fails_as_an_operation(client: TestClient) -> None:
    other = f"/jobs/{'0' * 32}/savepoints"
    trigger_id = client.post(other, json={}).json()["request-id"]
    answer = client.get(f"{other}/{trigger_id}").json()
    assert (
        "no job"
        in formed(answer, "/jobs/:jobid/savepoints/:triggerid (failed)")["operation"]["failure-cause"]["stack-trace"]
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"notjson", "no JSON"),
        (b"[]", "JSON object"),
        (b'{"target-directory": 7}', "target-directory"),
        (b'{"cancel-job": "yes"}', "cancel-job"),
        (b'{"triggerId": "short"}', "triggerId"),
        (b'{"formatType": "JSON"}', "formatType"),
        (b"", "needs a directory"),
    ],
)
def test_a_wrong_request_is_refused(client: TestClient, job: PlayedJob, body: bytes, told: str) -> None:
    answer = client.post(f"{JOB}/savepoints", content=body)
    assert answer.status_code == 400
    assert told in formed(answer.json(), "errors")["errors"][0]
    assert job.savepoints == []


def test_a_body_is_not_read_for_ever(client: TestClient) -> None:
    assert client.post(f"{JOB}/savepoints", content=b" " * (1 << 21)).status_code == 413


def test_outcomes_are_forgotten_after_a_while() -> None:
    now = [0.0]
    operations = Operations(clock=lambda: now[0])
    future: CompletableFuture[str] = CompletableFuture()
    operations.begin(ID, TRIGGER, lambda: future)
    now[0] = 1000.0
    assert operations.outcome(ID, TRIGGER) is not None, "it is not done"
    future.set_result("/s")
    now[0] = 1299.0
    assert operations.outcome(ID, TRIGGER) is not None
    now[0] = 1301.0
    assert operations.outcome(ID, TRIGGER) is None


def test_a_program_that_ends_waits_for_those_who_will_ask() -> None:
    now = [0.0]
    operations = Operations(clock=lambda: now[0])
    operations.wait_until_told()  # nobody has asked for anything
    future: CompletableFuture[str] = CompletableFuture()
    operations.begin(ID, TRIGGER, lambda: future)
    future.set_result("/s")
    asking = threading.Thread(target=lambda: operations.outcome(ID, TRIGGER))
    asking.start()
    operations.wait_until_told()
    asking.join()
    operations.begin(ID, "c" * 32, lambda: failed("it is gone"))
    now[0] = 11.0
    operations.wait_until_told()  # who has not asked by now does not want to know


# ---- a job that runs -----------------------------------------------------------------------------------------------


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[Any, RestServer]]:
    """Servers that jobs of the test start; they end with it."""
    started: dict[Any, RestServer] = {}
    monkeypatch.setattr(server, "_servers", started)
    yield started
    for each in started.values():
        each.stop()


def ask(url: str, method: str = "GET", body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=30) as answer:
        return json.load(answer)


@pytest.mark.feature("OP-04", "OP-05")
def test_a_running_job_is_watched_saved_and_stopped(
    servers: dict[Any, RestServer], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configuration = Configuration.from_dict({"execution.target": "in-process", "rest.port": "0"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_data_generator(lambda n: n, count=None).key_by(lambda n: n % 3).reduce(max).add_sink(lambda _: None)
    job = env.execute_async("endless")
    (running,) = servers.values()
    assert f"the REST API of this program is at {running.url}" in capsys.readouterr().err
    path = f"{running.url}v1/jobs/{job.get_job_id()}"
    trigger_id = ask(f"{path}/stop", "POST", {"targetDirectory": str(tmp_path), "drain": False})["request-id"]
    job.get_job_execution_result().result(60)
    answer = formed(ask(f"{path}/savepoints/{trigger_id}"), "/jobs/:jobid/savepoints/:triggerid (completed)")
    assert Path(answer["operation"]["location"]).parent == tmp_path
    assert ask(path)["state"] == "FINISHED"
    latest = formed(ask(f"{path}/checkpoints"), "/jobs/:jobid/checkpoints")["latest"]["savepoint"]
    assert latest["external_path"] == answer["operation"]["location"] and not latest["discarded"]


def test_the_last_answer_goes_out_before_the_server_ends(job: PlayedJob) -> None:
    registry = JobRegistry()
    registry.add(job)
    running = RestServer(registry, 0)
    running.start()
    body = {"targetDirectory": "/s", "triggerId": TRIGGER}
    assert ask(f"{running.url}jobs/{ID}/stop", "POST", body) == {"request-id": TRIGGER}
    job.savepoints[0].set_result("/s/1")
    ending = threading.Thread(target=running.end)
    ending.start()
    assert ask(f"{running.url}jobs/{ID}/savepoints/{TRIGGER}")["operation"] == {"location": "/s/1"}
    ending.join()
    with pytest.raises(urllib.error.URLError):
        ask(running.url)


def test_jobs_of_a_program_share_a_server(servers: dict[Any, RestServer]) -> None:
    configuration = Configuration.from_dict({"execution.target": "in-process", "rest.port": "0"})
    for name in ("first", "second"):
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.from_data_generator(lambda n: n, count=None).add_sink(lambda _: None)
        job = env.execute_async(name)
        ask(f"{next(iter(servers.values())).url}jobs/{job.get_job_id()}?mode=cancel", "PATCH")
        with pytest.raises(Exception, match="cancelled"):
            job.get_job_execution_result().result(60)
        assert job.get_job_status().result() is JobStatus.CANCELED
    (running,) = servers.values()
    listed = ask(f"{running.url}jobs/overview")["jobs"]
    assert [(each["name"], each["state"]) for each in listed] == [("second", "CANCELED"), ("first", "CANCELED")]


def test_a_job_is_shown_before_it_begins(servers: dict[Any, RestServer], monkeypatch: pytest.MonkeyPatch) -> None:
    begin, run = threading.Event(), JobDriver.run
    monkeypatch.setattr(JobDriver, "run", lambda driver: (begin.wait(60), run(driver))[1])
    configuration = Configuration.from_dict({"execution.target": "in-process", "rest.port": "0"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_data_generator(lambda n: n, count=None).add_sink(lambda _: None)
    job = env.execute_async("not yet")
    path = f"{next(iter(servers.values())).url}jobs/{job.get_job_id()}"
    assert ask(path)["state"] == "CREATED"
    ask(f"{path}?mode=cancel", "PATCH")
    begin.set()
    with pytest.raises(Exception, match="cancelled"):
        job.get_job_execution_result().result(60)


def test_without_the_option_there_is_no_server(servers: dict[Any, RestServer]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.target": "in-process"})
    )
    env.from_collection([1]).add_sink(lambda _: None)
    env.execute("quiet")
    assert servers == {}


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"127.0.0.1:{port}.*rest.port"):
            RestServer(JobRegistry(), port)
    with pytest.raises(ConfigurationError, match=r"127\.0\.0\.1:99999"):
        RestServer(JobRegistry(), 99999)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.1.2.3", "example.org"])
def test_an_open_address_needs_a_token(address: str) -> None:
    with pytest.raises(ConfigurationError, match=r"firesteel\.rest\.token"):
        RestServer(JobRegistry(), 0, address)
