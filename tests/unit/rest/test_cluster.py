"""What the REST API tells of the driver and its processes; archives, programs that are handed in, the description."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from firesteel.cli import main
from firesteel.common import CompletableFuture, Configuration
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.errors import CheckpointError
from firesteel.events import (
    EpochEnded,
    JobDescribed,
    JobHistory,
    JobView,
    StatusChanged,
    SubtaskNumbers,
    VertexDescription,
    find_job_log,
)
from firesteel.rest import JobRegistry, create_app, threads
from firesteel.rest.archive import archive
from firesteel.rest.driver_log import DriverLog
from firesteel.rest.openapi import shapes
from firesteel.rest.processes import Process
from firesteel.rest.programs import Programs, file_in
from firesteel.rest.requests import RestError
from tests.unit.rest.test_answers import concrete, differences, run
from tests.unit.rest.test_steering import ID, PlayedJob, outcome

HERE = f"{socket.gethostname()}-{os.getpid()}"
VERTEX = "c" * 32
DESCRIPTION = Path(__file__).parent / "openapi.json"


def formed(value: Any, shape: str) -> Any:
    assert list(differences(value, shapes()[shape])) == []
    return value


@pytest.fixture
def job() -> PlayedJob:
    """A job with one subtask in this process and one on another machine."""
    played = PlayedJob()
    here = SubtaskNumbers(VERTEX, 0, socket.gethostname(), os.getpid())
    there = SubtaskNumbers(VERTEX, 1, "elsewhere", 7)
    vertex = VertexDescription(VERTEX, "map", 0, 2, 128)
    described = JobDescribed(5, job_id=ID, name="played", vertices=(vertex,), configuration={"a": "b"})
    played.history = JobHistory([described, StatusChanged(7, "RUNNING"), EpochEnded(9, subtasks=(here, there))])
    return played


@pytest.fixture
def log() -> Iterator[DriverLog]:
    kept = DriverLog(lines=3)
    kept.begin()
    yield kept
    kept.end()


@pytest.fixture
def client(job: PlayedJob, log: DriverLog) -> TestClient:
    registry = JobRegistry(clock=lambda: 17)
    registry.add(job)
    return TestClient(create_app(registry, log=log), base_url="http://localhost")


# ---- processes and the driver ---------------------------------------------------------------------------------------


def test_processes_are_listed_with_their_tasks(client: TestClient) -> None:
    listed = formed(client.get("/taskmanagers").json(), "/taskmanagers")["taskmanagers"]
    assert [each["id"] for each in listed] == sorted([HERE, "elsewhere-7"])
    one = formed(client.get(f"/v1/taskmanagers/{HERE}").json(), "/taskmanagers/:tmid")
    assert (one["slotsNumber"], one["assignedTasks"], one["allocatedSlots"][0]["jobId"]) == (1, 1, ID)
    assert one["metrics"]["heapUsed"] > 1 << 20, "what the process takes"
    other = client.get("/taskmanagers/elsewhere-7").json()
    assert (other["hardware"]["physicalMemory"], other["timeSinceLastHeartbeat"]) == (0, 9)
    assert client.get("/taskmanagers/nobody").status_code == 404


def test_metrics_of_processes_and_of_the_driver(client: TestClient) -> None:
    name = "Status.Process.Memory.Resident"
    assert {"id": name} in formed(client.get("/taskmanagers/metrics").json(), "/taskmanagers/metrics")
    (one,) = client.get(f"/taskmanagers/{HERE}/metrics?get={name}").json()
    assert int(one["value"]) > 1 << 20
    (tasks,) = client.get("/taskmanagers/metrics?get=Status.Process.Tasks&agg=sum").json()
    assert tasks["sum"] == 2
    names = formed(client.get("/jobmanager/metrics").json(), "/jobmanager/metrics")
    assert {"id": "numRunningJobs"} in names
    wanted = client.get("/jobmanager/metrics?get=numRunningJobs,taskSlotsTotal,numRegisteredTaskManagers").json()
    assert [each["value"] for each in wanted] == ["1", "2", "2"]


def test_settings_and_environment_of_the_driver(client: TestClient) -> None:
    assert formed(client.get("/jobmanager/config").json(), "/jobmanager/config") == [{"key": "a", "value": "b"}]
    for path in ("/jobmanager/environment", f"/jobs/{ID}/jobmanager/environment"):
        answer = formed(client.get(path).json(), "/jobmanager/environment")
        assert answer["jvm"]["version"].startswith("Python 3.") and answer["classpath"]
    for path in ("/jobmanager/profiler", f"/taskmanagers/{HERE}/profiler"):
        assert client.get(path).json() == {"profilingList": []}


def test_the_drivers_log_is_kept_and_read(client: TestClient, log: DriverLog) -> None:
    for number in range(5):
        logging.getLogger("firesteel.driver").warning("line %d", number)
    text = client.get("/jobmanager/log").text
    assert "line 1" not in text and text.splitlines()[-1].endswith("WARNING firesteel.driver: line 4")
    (listed,) = formed(client.get("/jobmanager/logs").json(), "/jobmanager/logs")["logs"][:1]
    assert listed["name"] == "driver.log" and listed["size"] == len(text.encode())
    assert client.get("/jobmanager/logs/driver.log").text == client.get(f"/taskmanagers/{HERE}/log").text == text
    assert formed(client.get(f"/taskmanagers/{HERE}/logs").json(), "/taskmanagers/:tmid/logs")["logs"]
    assert client.get("/taskmanagers/elsewhere-7/logs").json() == {"logs": []}
    missing = client.get("/taskmanagers/elsewhere-7/log")
    assert missing.status_code == 404 and "process 7 on elsewhere" in missing.json()["errors"][0]
    assert client.get("/jobmanager/stdout").status_code == 404


def test_files_of_the_programs_own_handlers_are_logs_too(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("no log")
    handler = logging.FileHandler(tmp_path / "mine.log")
    logger = logging.getLogger("some.program")
    logger.addHandler(handler)
    try:
        logger.warning("kept in a file")
        assert "mine.log" in [each["name"] for each in client.get("/jobmanager/logs").json()["logs"]]
        assert client.get("/jobmanager/logs/mine.log").text == "kept in a file\n"
        assert client.get("/jobmanager/logs/secret.txt").status_code == 404
        assert client.get("/jobmanager/logs/..%2Fsecret.txt").status_code == 404
    finally:
        logger.removeHandler(handler)
        handler.close()


# ---- threads --------------------------------------------------------------------------------------------------------


@pytest.fixture
def waiting() -> Iterator[threading.Thread]:
    """A thread that waits in a function of this file."""
    there, go_on = threading.Event(), threading.Event()

    def wait_in_the_garden() -> None:
        there.set()
        go_on.wait(60)

    thread = threading.Thread(target=wait_in_the_garden, name="gardener")
    thread.start()
    assert there.wait(60)
    yield thread
    go_on.set()
    thread.join()


def test_threads_of_the_driver(client: TestClient, waiting: threading.Thread) -> None:
    for path in ("/jobmanager/thread-dump", f"/taskmanagers/{HERE}/thread-dump"):
        dumped = formed(client.get(path).json(), "/taskmanagers/:tmid/thread-dump")["threadInfos"]
        (gardener,) = [each for each in dumped if each["threadName"] == "gardener"]
        assert "wait_in_the_garden" in gardener["stringifiedThreadInfo"]
    other = client.get("/taskmanagers/elsewhere-7/thread-dump")
    assert other.status_code == 404 and "another machine" in other.json()["errors"][0]


def test_samples_become_a_flame(waiting: threading.Thread) -> None:
    stacks = threads.sample("full", samples=3, pause=lambda: None)
    (stack,) = [each for each in stacks if each[0] == "gardener"]
    assert stacks[stack] == 3 and any("wait_in_the_garden" in frame for frame in stack)
    flame = formed(threads.flame({("a", "b"): 2, ("a", "c"): 1, ("d",): 4}, 17), _FLAME)
    a, d = flame["data"]["children"]
    assert (flame["endTimestamp"], flame["data"]["value"], a["value"], d["value"]) == (17, 7, 3, 4)
    assert [(each["name"], each["value"]) for each in a["children"]] == [("b", 2), ("c", 1)]


_FLAME = "/jobs/:jobid/vertices/:vertexid/flamegraph"


def test_a_flame_graph_of_a_vertex(
    client: TestClient, job: PlayedJob, monkeypatch: pytest.MonkeyPatch, waiting: threading.Thread
) -> None:
    monkeypatch.setattr(threads, "SAMPLES", 1)
    monkeypatch.setattr(Process, "is_driver", property(lambda _: True))
    sampled = threads.sample
    monkeypatch.setattr(threads, "sample", lambda kind: sampled(kind, 1))
    path = f"/jobs/{ID}/vertices/{VERTEX}/flamegraph"
    for kind in ("full", "off_cpu"):
        flame = formed(client.get(f"{path}?type={kind}").json(), _FLAME)
        assert "gardener" in [each["name"] for each in flame["data"]["children"]]
    assert client.get(f"{path}?type=sideways").status_code == 400
    job.history.apply(StatusChanged(20, "FINISHED"))
    assert client.get(path).json()["data"] == {"name": "root", "value": 0, "children": []}


def test_other_processes_are_looked_at_with_py_spy(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {
        "dump": json.dumps([{"thread_id": 1, "thread_name": None, "os_thread_id": 9, "frames": [_frame("inner")]}]),
        "record": "main;work 3\nmain;wait 2\n\n",
    }

    def played(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 0, said[command[1]], "")

    process = Process(socket.gethostname(), 1)
    monkeypatch.setattr(threads.shutil, "which", lambda _: "/bin/py-spy")
    monkeypatch.setattr(threads.subprocess, "run", played)
    (info,) = threads.dump(process)["threadInfos"]
    assert info["threadName"] == "Thread 1" and "inner (x.py:3)" in info["stringifiedThreadInfo"]
    assert threads.stacks_of([process], "full") == {("main", "work"): 3, ("main", "wait"): 2}
    monkeypatch.setattr(threads.shutil, "which", lambda _: None)
    with pytest.raises(RestError, match="pip install py-spy"):
        threads.dump(process)


def _frame(name: str) -> dict[str, Any]:
    return {"name": name, "filename": "x.py", "line": 3}


# ---- checkpoints on demand, disposal --------------------------------------------------------------------------------


def test_a_checkpoint_is_triggered_and_asked_for(client: TestClient, job: PlayedJob) -> None:
    answer = client.post(f"/v1/jobs/{ID}/checkpoints", json={"checkpointType": "FULL", "triggerId": None})
    assert answer.status_code == 202
    path = f"/jobs/{ID}/checkpoints/{formed(answer.json(), 'POST /jobs/:jobid/checkpoints')['request-id']}"
    formed(client.get(path).json(), "/jobs/:jobid/checkpoints/:triggerid (in progress)")
    job.checkpoints[0].set_result(4)
    done = formed(client.get(path).json(), "/jobs/:jobid/checkpoints/:triggerid (completed)")
    assert done["operation"] == {"checkpointId": 4} and job.told == [("checkpoint", True)]
    failing = client.post(f"/jobs/{ID}/checkpoints", json={}).json()["request-id"]
    job.checkpoints[1].set_exception(CheckpointError("no room"))
    formed(client.get(f"/jobs/{ID}/checkpoints/{failing}").json(), "/jobs/:jobid/checkpoints/:triggerid (failed)")
    wrong = client.post(f"/jobs/{ID}/checkpoints", json={"checkpointType": "SOME"})
    assert wrong.status_code == 400 and "CONFIGURED, FULL" in wrong.json()["errors"][0]


def savepoint(tmp_path: Path) -> str:
    """A savepoint of a job that runs in this process; a checkpoint is taken before it."""
    settings = {
        "execution.target": "in-process",
        "execution.checkpointing.interval": "1 h",
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.from_data_generator(lambda n: n, count=None).key_by(lambda n: n % 3).reduce(max).add_sink(lambda _: None)
    job: Any = env.execute_async("endless")
    assert [job.trigger_checkpoint().result(60), job.trigger_checkpoint(full=True).result(60)] == [1, 2]
    first, second = job.get_checkpoints()
    assert second.full and first.checkpoint_id == 1
    path: str = job.stop_with_savepoint(False, str(tmp_path)).result(60)
    job.get_job_execution_result().result(60)
    with pytest.raises(CheckpointError, match="has ended"):
        job.trigger_checkpoint().result(0)
    return path


def test_checkpoints_are_taken_on_demand_and_savepoints_disposed_of(client: TestClient, tmp_path: Path) -> None:
    path = savepoint(tmp_path)
    answer = client.post("/v1/savepoint-disposal", json={"savepoint-path": path})
    assert answer.status_code == 200
    trigger_id = formed(answer.json(), "POST /savepoint-disposal")["request-id"]
    deleting = [each for each in threading.enumerate() if each.name == "firesteel-rest-disposal"]
    for each in deleting:
        each.join()
    formed(client.get(f"/savepoint-disposal/{trigger_id}").json(), "/savepoint-disposal/:triggerid (completed)")
    assert not Path(path).exists()
    assert client.post("/savepoint-disposal", json={}).status_code == 400
    assert client.get(f"/savepoint-disposal/{'0' * 32}").status_code == 404
    readers = TestClient(create_app(JobRegistry(), steers=False), base_url="http://localhost")
    assert readers.post("/savepoint-disposal", json={"savepoint-path": path}).status_code == 403


def test_a_job_without_checkpoints_says_so() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.target": "in-process"})
    )
    env.from_data_generator(lambda n: n, count=None).add_sink(lambda _: None)
    job: Any = env.execute_async("unsaved")
    with pytest.raises(CheckpointError, match=r"'unsaved' takes no checkpoints: execution\.checkpointing\.interval"):
        job.trigger_checkpoint().result(60)
    job.cancel().result(60)


# ---- archives -------------------------------------------------------------------------------------------------------


@pytest.mark.feature("OP-05")
def test_ended_jobs_are_archived_in_flinks_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, "finished", tmp_path / "marker")
    history = find_job_log(str(tmp_path)).history()
    assert history.job is not None
    assert main(["history", str(tmp_path), "--export", str(tmp_path / "archives")]) == 0
    written = capsys.readouterr().out.strip()
    assert written == str(tmp_path / "archives" / history.job.job_id)
    kept = json.loads(Path(written).read_text(encoding="utf-8"))
    answers = {each["path"]: json.loads(each["json"]) for each in kept["archive"]}
    assert len(answers) == len(kept["archive"]), "each path is there once"
    job_id = history.job.job_id
    for path in (
        "/jobs/:jobid",
        "/jobs/overview",
        "/jobs/:jobid/checkpoints",
        "/jobs/:jobid/vertices/:vertexid",
        "/jobs/:jobid/vertices/:vertexid/subtasks/:subtask/attempts/:attempt",
        "/jobs/:jobid/vertices/:vertexid/subtasks/:subtask/attempts/:attempt/accumulators",
        "/jobs/:jobid/checkpoints/details/:checkpointid/subtasks/:vertexid",
        "/jobs/:jobid/jobmanager/environment",
    ):
        formed(answers[concrete(path, job_id, history)], path)
    assert answers[f"/jobs/{job_id}"]["state"] == "FINISHED"
    assert archive(JobView(history, 17))["archive"]


def test_a_job_is_archived_when_it_ends(tmp_path: Path) -> None:
    settings = {"execution.target": "in-process", "jobmanager.archive.fs.dir": str(tmp_path)}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.from_collection([1]).add_sink(lambda _: None)
    job = env.execute_async("short")
    job.get_job_execution_result().result(60)
    assert json.loads((tmp_path / str(job.get_job_id())).read_text(encoding="utf-8"))["archive"]


# ---- programs -------------------------------------------------------------------------------------------------------

PROGRAM = """
from firesteel.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 2, 3]).add_sink(lambda _: None)
env.execute("handed in")
"""


class PlayedPrograms(Programs):
    """Runs nothing."""

    def run(self, program_id: str, wanted: Any) -> dict[str, str]:
        self._find(program_id)
        return {"jobid": ID}


def test_programs_are_taken_only_where_that_is_switched_on(client: TestClient, tmp_path: Path) -> None:
    refused = client.post("/jars/upload", files={"jarfile": ("job.py", b"")})
    assert refused.status_code == 403 and "web.submit.enable" in refused.json()["errors"][0]
    assert client.get("/config").json()["features"]["web-submit"] is False
    registry = JobRegistry()
    taking = TestClient(
        create_app(registry, programs=PlayedPrograms(str(tmp_path), registry)), base_url="http://localhost"
    )
    assert taking.get("/config").json()["features"]["web-submit"] is True
    answer = taking.post("/v1/jars/upload", files={"jarfile": ("job.py", PROGRAM.encode())}).json()
    formed(answer, "POST /jars/upload")
    assert Path(answer["filename"]).read_text() == PROGRAM
    (listed,) = formed(taking.get("/jars").json(), "/jars")["files"]
    assert (listed["id"], listed["name"]) == (Path(answer["filename"]).name, "job.py")
    started = taking.post(f"/jars/{listed['id']}/run", json={})
    assert formed(started.json(), "POST /jars/:jarid/run") == {"jobid": ID}
    assert taking.delete(f"/jars/{listed['id']}").json() == {} and taking.get("/jars").json()["files"] == []
    assert taking.post(f"/jars/{listed['id']}/run", json={}).status_code == 404


@pytest.mark.parametrize("name", ["job.exe", "../../etc/passwd", "a b.py", ".py\n"])
def test_only_programs_are_taken(tmp_path: Path, name: str) -> None:
    with pytest.raises(RestError, match=r"\.py or \.zip"):
        Programs(str(tmp_path), JobRegistry()).take(name, b"")


def test_a_name_with_a_path_is_no_path(tmp_path: Path) -> None:
    taken = Programs(str(tmp_path), JobRegistry()).take("..\\..\\up.py", b"x")["filename"]
    assert Path(taken).parent == tmp_path / "programs"


@pytest.mark.parametrize(
    ("content_type", "body", "told"),
    [
        ("application/json", b"{}", "multipart/form-data"),
        ("multipart/form-data", b"", "multipart/form-data"),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n',
            "no file",
        ),
    ],
)
def test_a_request_without_a_file_is_refused(content_type: str, body: bytes, told: str) -> None:
    with pytest.raises(RestError, match=told):
        file_in(content_type, body)


@pytest.mark.parametrize("wanted", [{"parallelism": 0}, {"parallelism": "2"}, {"programArgsList": "a b"}])
def test_wrong_wishes_of_a_run_are_refused(tmp_path: Path, wanted: dict[str, Any]) -> None:
    programs = Programs(str(tmp_path), JobRegistry(), ["false"])
    taken = Path(programs.take("job.py", b"")["filename"]).name
    with pytest.raises(RestError, match=next(iter(wanted))):
        programs.run(taken, wanted)


# ---- the description ------------------------------------------------------------------------------------------------


def test_the_description_is_pinned(client: TestClient) -> None:
    """What changes here changes for clients. If that is meant: write the new one to openapi.json beside this file."""
    served = client.get("/openapi.json").json()
    served["info"]["version"] = "any"
    assert served == json.loads(DESCRIPTION.read_text(encoding="utf-8"))


def test_every_path_is_described_with_the_form_of_its_answer(client: TestClient) -> None:
    paths = client.get("/v1/openapi.json").json()["paths"]
    for path, methods in paths.items():
        for method, described in methods.items():
            (status,) = set(described["responses"]) - {"default"}
            content = described["responses"][status]["content"]
            assert "text/plain" in content or content["application/json"]["schema"] or path == "/openapi.json", path
            assert described["summary"].endswith("."), f"{method} {path}"
    described = {re_flink(path, method) for path, methods in paths.items() for method in methods}
    known = {name.partition("?")[0].partition(" (")[0] for name in shapes() if name not in ("_about", "errors")}
    assert known <= described, "whatever has a form has a path"


def re_flink(path: str, method: str) -> str:
    flinks = path.replace("{", ":").replace("}", "")
    return flinks if method == "get" else f"{method.upper()} {flinks}"


def test_an_outcome_is_that_of_its_own_kind(client: TestClient, job: PlayedJob) -> None:
    future: CompletableFuture[str] = CompletableFuture()
    job.savepoints.append(future)
    answer = client.post(f"/jobs/{ID}/savepoints", json={"target-directory": "/s"}).json()["request-id"]
    job.savepoints[-1].set_result("/s/1")
    assert outcome(client, answer, "completed")["operation"] == {"location": "/s/1"}
