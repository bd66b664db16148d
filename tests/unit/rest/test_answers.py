"""Answers of the REST API over recorded jobs: the form is Flink's, the figures are the log's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from firesteel.common import Configuration
from firesteel.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.errors import JobFailedError
from firesteel.events import JobHistory, find_job_log, operator_id
from firesteel.execution.clock import use_clock
from firesteel.rest import JobRegistry, create_app
from firesteel.rest.openapi import shapes

SHAPES = shapes()
TYPES = {"int": int, "float": float, "str": str, "bool": bool, "null": type(None)}
SUMS = operator_id("sums")
FRAME = {"name": "str", "value": "int", "children": "frames"}
OF_PROCESSES = ("/taskmanagers/:tmid", "/jobmanager/logs", "/jars")
"""What only a driver has: see test_cluster.py."""


def differences(value: Any, shape: Any, at: str = "$") -> Iterator[str]:
    """Where an answer is not of a shape; see ``_about`` in the file of shapes."""
    if shape == "frames":
        for number, each in enumerate(value):
            yield from differences(each, FRAME, f"{at}[{number}]")
    elif isinstance(shape, str):
        if type(value) not in [TYPES[each] for each in shape.split("|")]:
            yield f"{at}: {value!r} is no {shape}"
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{at}: {value!r} is no list"
        elif not shape and value:
            yield f"{at}: expected nothing in the list"
        else:
            for number, each in enumerate(value):
                yield from differences(each, shape[0], f"{at}[{number}]")
    elif set(shape) == {"?"}:
        yield from () if value is None else differences(value, shape["?"], at)
    elif not isinstance(value, dict):
        yield f"{at}: {value!r} is no object"
    elif len(shape) == 1 and next(iter(shape)).startswith("<"):
        for name, each in value.items():
            yield from differences(each, next(iter(shape.values())), f"{at}.{name}")
    else:
        wanted = {name.removesuffix("?"): name for name in shape}
        missing = {bare for bare, name in wanted.items() if bare == name} - set(value)
        yield from (f"{at}: {name} is missing" for name in sorted(missing))
        for name, each in value.items():
            if name not in wanted:
                yield f"{at}: {name} is not Flink's"
            else:
                yield from differences(each, shape[wanted[name]], f"{at}.{name}")


class Ticks:
    """A clock that goes on by so much whenever it is asked."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        self.now += 100
        return self.now


class Checks(MapFunction):
    """Counts; fails at one record, once or always."""

    def __init__(self, marker: Path | None) -> None:
        self.marker = None if marker is None else str(marker)

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_metrics_group().counter("seen")
        self.sizes = runtime_context.get_metrics_group().distribution("sizes")
        self.marks = runtime_context.get_metrics_group().meter("marks")

    def map(self, value: Any) -> Any:
        self.seen.inc()
        self.sizes.update(value)
        self.marks.mark_event()
        if value == 60 and (self.marker is None or not Path(self.marker).exists()):
            if self.marker is not None:
                Path(self.marker).touch()
            raise ValueError("sixty is too much")
        return value


def run(directory: Path, name: str, marker: Path | None) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "execution.target": "in-process",
                "execution.checkpointing.interval": "1 s",
                "execution.checkpointing.dir": str(directory / name),
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.attempts": "1",
                "restart-strategy.fixed-delay.delay": "0 ms",
                "firesteel.epoch.max-records": "10",
                "firesteel.events.interval": "0 ms",
                "firesteel.events.dir": str(directory),
                "pipeline.global-job-parameters": "who:me",
                "s3.access-key": "tell",
                "s3.secret-key": "do not tell",
            }
        )
    )
    env.set_parallelism(2)
    numbers = env.from_sequence(0, 199).uid("numbers")
    keyed = numbers.map(Checks(marker)).uid("check").name("check, it").key_by(lambda n: n % 7)
    keyed.reduce(lambda a, b: a + b).uid("sums").name("sums").add_sink(lambda _: None).name("away")
    with use_clock(Ticks()):
        env.execute(name)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("logs")
    with pytest.raises(JobFailedError):
        run(directory, "failed", None)
    run(directory, "finished", directory / "marker")
    return directory


@pytest.fixture(scope="module")
def client(logs: Path) -> TestClient:
    return TestClient(create_app(JobRegistry(str(logs))), base_url="http://localhost")


@pytest.fixture(scope="module")
def jobs(client: TestClient) -> dict[str, str]:
    return {each["name"]: each["jid"] for each in client.get("/jobs/overview").json()["jobs"]}


@pytest.fixture(scope="module")
def history(logs: Path, jobs: dict[str, str]) -> JobHistory:
    return find_job_log(str(logs), jobs["finished"]).history()


def paths() -> list[str]:
    read = [name for name in SHAPES if name.startswith("/") and "(" not in name and "triggerid" not in name]
    return [name for name in read if not name.startswith(OF_PROCESSES)]


def concrete(path: str, job_id: str, history: JobHistory) -> str:
    """A path with real ids in it, and real metrics asked for."""
    per_job = path.startswith(("/jobs/metrics", "/jobs/:jobid/metrics"))
    name = "numRestarts" if per_job else "numRecordsIn"
    if path.startswith("/jobs/:jobid/vertices/:vertexid/metrics"):
        name = "1.numRecordsIn,0.currentInputWatermark"
    return (
        path.replace("?get", f"?get={name}")
        .replace("&agg", "&agg=max,min&subtasks=0-1")
        .replace(":jobid", job_id)
        .replace(":vertexid", SUMS)
        .replace(":checkpointid", str(history.checkpoints[-1].checkpoint_id))
        .replace(":subtask", "1")
        .replace(":attempt", "1")
    )


@pytest.mark.feature("OP-05")
@pytest.mark.parametrize("prefix", ["", "/v1"])
@pytest.mark.parametrize("job", ["finished", "failed"])
@pytest.mark.parametrize("path", paths())
def test_an_answer_has_flinks_form(
    client: TestClient, jobs: dict[str, str], logs: Path, path: str, job: str, prefix: str
) -> None:
    answer = client.get(prefix + concrete(path, jobs[job], find_job_log(str(logs), jobs[job]).history()))
    assert answer.status_code == 200, answer.text
    assert list(differences(answer.json(), SHAPES[path])) == []
    if "?get" in path:
        assert answer.json(), "what was asked for is there"


def test_the_form_is_looked_at() -> None:
    shape = {"a": "int", "b?": ["str"], "c": {"?": {"<id>": "float|null"}}}
    assert list(differences({"a": 1, "c": None}, shape)) == []
    assert list(differences({"a": 1, "b": ["x"], "c": {"y": 1.0, "z": None}}, shape)) == []
    assert len(list(differences({"a": True, "b": [1], "c": {"y": "1"}, "d": 1}, shape))) == 4
    assert list(differences({}, {"a": "int"})) == ["$: a is missing"]
    assert list(differences([1], [])) == ["$: expected nothing in the list"]


def test_all_jobs_are_listed_newest_first(client: TestClient, jobs: dict[str, str]) -> None:
    listed = client.get("/jobs").json()["jobs"]
    assert {each["id"]: each["status"] for each in listed} == {jobs["failed"]: "FAILED", jobs["finished"]: "FINISHED"}
    overview = client.get("/overview").json()
    assert (overview["jobs-finished"], overview["jobs-failed"], overview["jobs-running"]) == (1, 1, 0)


def test_the_details_are_those_of_the_log(client: TestClient, jobs: dict[str, str], history: JobHistory) -> None:
    details = client.get(f"/jobs/{jobs['finished']}").json()
    assert details["state"] == "FINISHED"
    assert details["duration"] == details["end-time"] - details["start-time"] > 0
    assert details["timestamps"]["RESTARTING"] == next(e.time for e in history.statuses if e.status == "RESTARTING")
    source, sums = details["vertices"]
    assert (source["id"], sums["id"]) == (operator_id("numbers"), SUMS)
    assert source["metrics"]["write-records"] == sums["metrics"]["read-records"] > 0
    assert source["metrics"]["read-records"] == 0, "a source reads from no other task"
    assert sums["tasks"]["FINISHED"] == 2
    nodes = {each["id"]: each for each in details["plan"]["nodes"]}
    assert "inputs" not in nodes[source["id"]]
    assert [(each["id"], each["ship_strategy"]) for each in nodes[SUMS]["inputs"]] == [(source["id"], "HASH")]
    assert "-&gt;" in nodes[SUMS]["description"], "descriptions are HTML"


def test_a_failed_job_says_which_task_failed_and_why(client: TestClient, jobs: dict[str, str]) -> None:
    job = f"/jobs/{jobs['failed']}"
    first, second = client.get(f"{job}/exceptions").json()["exceptionHistory"]["entries"]
    assert first["exceptionName"] == "ValueError" and "sixty is too much" in first["stacktrace"]
    assert first["timestamp"] >= second["timestamp"], "newest first"
    assert first["taskName"].endswith(("(1/2) - execution #1", "(2/2) - execution #1"))
    assert client.get(f"{job}/exceptions?maxExceptions=1").json()["exceptionHistory"]["truncated"]
    assert client.get(f"{job}/exceptions?failureLabelFilter=a:b").json()["exceptionHistory"]["entries"] == []
    assert client.get(job).json()["status-counts"]["FAILED"] == 1
    result = client.get(f"{job}/execution-result").json()
    assert list(differences(result, SHAPES["/jobs/:jobid/execution-result (failed)"])) == []
    assert result["job-execution-result"]["application-status"] == "FAILED"


def test_a_finished_job_has_a_result(client: TestClient, jobs: dict[str, str]) -> None:
    result = client.get(f"/jobs/{jobs['finished']}/execution-result").json()
    assert list(differences(result, SHAPES["/jobs/:jobid/execution-result (finished)"])) == []
    assert result["job-execution-result"]["application-status"] == "SUCCEEDED"


def test_checkpoints_add_up(client: TestClient, jobs: dict[str, str], history: JobHistory) -> None:
    job = f"/jobs/{jobs['finished']}"
    answer = client.get(f"{job}/checkpoints").json()
    assert answer["counts"]["completed"] == history.checkpoint_counts["completed"] == len(answer["history"]) > 2
    assert [each["id"] for each in answer["history"]] == [e.checkpoint_id for e in history.checkpoints[::-1]]
    assert answer["latest"]["restored"]["id"] == history.restored[-1].checkpoint_id
    assert all(each["discarded"] for each in answer["history"]), "the job has finished"
    number = answer["history"][0]["id"]
    details = client.get(f"{job}/checkpoints/details/{number}").json()
    assert set(details["tasks"]) == {operator_id("numbers"), SUMS}
    of_sums = client.get(f"{job}/checkpoints/details/{number}/subtasks/{SUMS}").json()
    assert sum(each["state_size"] for each in of_sums["subtasks"]) == details["tasks"][SUMS]["state_size"]
    assert client.get(f"{job}/checkpoints/config").json()["interval"] == 1000


def test_metrics_have_flinks_names_and_the_users(client: TestClient, jobs: dict[str, str]) -> None:
    vertex = f"/jobs/{jobs['finished']}/vertices/{operator_id('numbers')}"
    names = {each["id"] for each in client.get(f"{vertex}/metrics").json()}
    assert {"0.numRecordsOut", "1.busyTimeMsPerSecond", "0.check__it.seen", "0.check__it.sizes_max"} <= names
    assert "0.currentInputWatermark" not in names, "it is a source"
    seen = client.get(f"{vertex}/metrics?get=0.check__it.seen,1.check__it.seen,nonsense").json()
    together = client.get(f"{vertex}/subtasks/metrics?get=check__it.seen&agg=sum").json()
    assert sum(int(each["value"]) for each in seen) == together[0]["sum"] > 0
    only = client.get(f"{vertex}/subtasks/metrics?get=check__it.seen&agg=sum&subtasks=1").json()
    assert only == [{"id": "check__it.seen", "sum": float(seen[1]["value"])}]
    assert client.get(f"/jobs/{jobs['finished']}/accumulators").json()["user-task-accumulators"] == [
        {"name": "seen", "type": "LongCounter", "value": str(int(together[0]["sum"]))}
    ]
    restarts = client.get("/jobs/metrics?get=numRestarts").json()
    assert restarts == [{"id": "numRestarts", "min": 1.0, "max": 1.0, "avg": 1.0, "sum": 2.0, "skew": 0.0}]


def test_rates_are_those_between_samples(client: TestClient, jobs: dict[str, str], history: JobHistory) -> None:
    vertex = f"/jobs/{jobs['finished']}/vertices/{SUMS}"
    (rate,) = client.get(f"{vertex}/subtasks/metrics?get=numRecordsInPerSecond&agg=sum").json()
    assert rate["sum"] >= 0
    pressure = client.get(f"{vertex}/backpressure").json()
    for each in pressure["subtasks"]:
        assert 0 <= each["ratio"] <= 1 and 0 <= each["busyRatio"] <= 1 and 0 <= each["idleRatio"] <= 1
    marks = client.get(f"{vertex}/watermarks").json()
    assert [each["id"] for each in marks] == ["0.currentInputWatermark", "1.currentInputWatermark"]
    assert client.get(f"/jobs/{jobs['finished']}/vertices/{operator_id('numbers')}/watermarks").json() == []


def test_secrets_are_not_shown(client: TestClient, jobs: dict[str, str]) -> None:
    answer = client.get(f"/jobs/{jobs['finished']}/jobmanager/config")
    assert "do not tell" not in answer.text and {"key": "s3.secret-key", "value": "******"} in answer.json()
    config = client.get(f"/jobs/{jobs['finished']}/config").json()["execution-config"]
    assert (config["user-config"], config["restart-strategy"]) == ({"who": "me"}, "fixed-delay")


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/jobs/{zero}", 404, "Job 0000"),
        ("/jobs/xyz", 400, "32 hexadecimal digits"),
        ("/nosuch", 404, "/nosuch"),
        ("/v2/config", 404, "/v2/config"),
        ("/jobs/{job}/vertices/{zero}", 404, "JobVertex"),
        ("/jobs/{job}/vertices/{vertex}/subtasks/2", 404, "subtask 2"),
        ("/jobs/{job}/vertices/{vertex}/subtasks/0/attempts/0", 404, "attempt 0"),
        ("/jobs/{job}/vertices/{vertex}/subtasks/metrics?get=x&agg=mean", 400, "'mean'"),
        ("/jobs/{job}/vertices/{vertex}/subtasks/metrics?get=x&subtasks=a-b", 400, "'a-b'"),
        ("/jobs/{job}/checkpoints/details/999999", 404, "999999"),
        ("/jobs/{job}/checkpoints/details/x", 400, "'x'"),
        ("/jobs/{job}/exceptions?maxExceptions=many", 400, "'many'"),
        ("/jobs/{job}/savepoints/{zero}", 404, "no savepoint operation"),
    ],
)
def test_what_is_not_there_is_said(client: TestClient, jobs: dict[str, str], path: str, status: int, told: str) -> None:
    answer = client.get(path.format(job=jobs["finished"], vertex=SUMS, zero="0" * 32))
    assert answer.status_code == status
    assert list(differences(answer.json(), SHAPES["errors"])) == []
    assert told in answer.json()["errors"][0]


def test_a_log_that_is_not_there_yet_has_no_jobs(tmp_path: Path) -> None:
    client = TestClient(create_app(JobRegistry(str(tmp_path / "later"))), base_url="http://localhost")
    assert client.get("/jobs").json() == {"jobs": []}
