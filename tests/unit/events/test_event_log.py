"""The event log of jobs: written while they run, read by others, and what it adds up to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.cli.main import main
from firesteel.common import Configuration, JobStatus
from firesteel.datastream import MapFunction, StreamExecutionEnvironment
from firesteel.errors import ConfigurationError, JobFailedError
from firesteel.events import (
    CheckpointCompleted,
    CheckpointFailed,
    EpochEnded,
    EventLogWriter,
    ExceptionRaised,
    JobDescribed,
    JobEnded,
    JobEvent,
    JobHistory,
    OperatorNumbers,
    StatusChanged,
    SubtaskNumbers,
    event_from_json,
    find_job_log,
    job_logs,
    operator_id,
)
from firesteel.execution.clock import use_clock
from firesteel.metrics import MetricSnapshot


class Ticks:
    """A clock that goes on by so much whenever it is asked."""

    def __init__(self, step: int) -> None:
        self.now, self.step = 1_700_000_000_000, step

    def __call__(self) -> int:
        self.now += self.step
        return self.now


class FailsOnce(MapFunction):
    """Fails at one record, the first time."""

    def __init__(self, marker: str) -> None:
        self.marker = Path(marker)

    def map(self, value: Any) -> Any:
        if value == 60 and not self.marker.exists():
            self.marker.touch()
            raise ValueError("sixty is too much")
        return value


def settings(tmp_path: Path, **more: str) -> Configuration:
    return Configuration.from_dict(
        {
            "execution.target": "in-process",
            "execution.checkpointing.interval": "1 s",
            "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1",
            "restart-strategy.fixed-delay.delay": "0 ms",
            "firesteel.epoch.max-records": "10",
            "firesteel.events.interval": "0 ms",
            "s3.secret-key": "do not tell",
            "s3.access-key": "tell",
            **more,
        }
    )


def run(tmp_path: Path, configuration: Configuration) -> JobHistory:
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    numbers = env.from_sequence(0, 199).uid("numbers")
    keyed = numbers.map(FailsOnce(str(tmp_path / "failed"))).uid("check").name("check").key_by(lambda n: n % 7)
    keyed.reduce(lambda a, b: a + b).uid("sums").name("sums").add_sink(lambda _: None).name("away")
    with use_clock(Ticks(100)):
        client = env.execute_async("logged")
        client.get_job_execution_result().result()
    history: JobHistory = client.get_history()  # type: ignore[attr-defined]
    assert client.get_exceptions() == history.exceptions  # type: ignore[attr-defined]
    assert client.get_checkpoint_history() == history.checkpoints  # type: ignore[attr-defined]
    return history


@pytest.fixture
def logged(tmp_path: Path) -> tuple[Path, JobHistory]:
    return tmp_path / "checkpoints", run(tmp_path, settings(tmp_path))


def test_a_log_outlives_the_job_and_tells_what_its_client_told(logged: tuple[Path, JobHistory]) -> None:
    directory, live = logged
    stored = find_job_log(str(directory)).history()
    assert stored.status is JobStatus.FINISHED is live.status
    assert [each.status for each in stored.statuses] == ["CREATED", "RUNNING", "RESTARTING", "RUNNING", "FINISHED"]
    assert stored.statuses == live.statuses
    assert stored.exceptions == live.exceptions
    assert stored.checkpoints == live.checkpoints
    assert stored.job == live.job
    assert stored.checkpoint_counts == live.checkpoint_counts
    assert stored.ended == live.ended
    assert not list(directory.glob("chk-*")), "the job has finished: its checkpoints are gone, its log is not"


def test_an_exception_says_where_it_was(logged: tuple[Path, JobHistory]) -> None:
    (raised,) = logged[1].exceptions
    assert (raised.exception, raised.message) == ("ValueError", "sixty is too much")
    assert (raised.operator, raised.operator_uid, raised.operator_id) == ("check", "check", operator_id("check"))
    assert raised.vertex == operator_id("numbers"), "the chain is named after its first operator"
    assert raised.subtask in (0, 1)
    assert raised.host
    assert raised.record == "60"
    assert "raise ValueError" in raised.traceback
    assert not raised.fatal


def test_checkpoints_say_what_each_operator_and_subtask_has_stored(logged: tuple[Path, JobHistory]) -> None:
    completed = [each for each in logged[1].checkpoints if isinstance(each, CheckpointCompleted)]
    assert len(completed) >= 3
    assert logged[1].checkpoint_counts["completed"] == len(completed)
    with_state = [each for each in completed if each.operators]
    sums = {each.uid: each for each in with_state[0].operators}["sums"]
    assert sums.id == operator_id("sums")
    assert [each.subtask for each in sums.subtasks] == [0, 1]
    assert all(each.state_bytes for each in sums.subtasks)
    assert sum(each.state_bytes for each in with_state[0].operators) < with_state[0].state_bytes
    assert "/chk-" in with_state[0].path
    assert logged[1].restored, "after the failure the job went on from a checkpoint"


def test_the_numbers_of_all_subtasks(logged: tuple[Path, JobHistory]) -> None:
    latest = find_job_log(str(logged[0])).history().latest_epoch
    assert latest is not None
    by_vertex = {(each.vertex, each.subtask): each for each in latest.subtasks}
    read, summed = operator_id("numbers"), operator_id("sums")
    assert set(by_vertex) == {(vertex, subtask) for vertex in (read, summed) for subtask in (0, 1)}
    written = sum(by_vertex[read, subtask].bytes_out for subtask in (0, 1))
    assert written == sum(by_vertex[summed, subtask].bytes_in for subtask in (0, 1)) > 0
    for each in latest.subtasks:
        assert each.host
        assert each.pid
        assert min(each.busy_ms, each.idle_ms, each.back_pressured_ms) >= 0
    entries = [numbers.keyed_state_entries for each in latest.subtasks for numbers in each.operators]
    assert sum(entries) == 7


def test_the_plan_is_in_the_log_and_secrets_are_not(logged: tuple[Path, JobHistory]) -> None:
    job = logged[1].job
    assert job is not None
    first, second = job.vertices
    assert [each.uid for each in first.operators][:2] == ["numbers", "check"]
    assert first.operators[0].source
    assert second.operators[-1].sink
    assert second.inputs[0].id == first.id
    assert len(first.id) == 32 == len(job.job_id)
    assert job.configuration["s3.access-key"] != ""
    assert "do not tell" not in (logged[0] / "events" / job.job_id / "00000001.jsonl").read_text()


def test_ids_depend_on_nothing_but_the_uid() -> None:
    assert operator_id("sums") == "34c040cbc4862cc83b0da3c7c6ebd64f"
    assert operator_id("sums") != operator_id("sum")


def test_a_job_that_fails_for_good(tmp_path: Path) -> None:
    configuration = settings(tmp_path, **{"restart-strategy.type": "none"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_sequence(0, 99).map(FailsOnce(str(tmp_path / "failed"))).print()
    with pytest.raises(JobFailedError) as failure:
        env.execute("doomed")
    assert "in an epoch: Failed(kind=<FailureKind.EPOCH: 'epoch'>" in failure.value.story
    history = find_job_log(str(tmp_path / "checkpoints")).history()
    assert [each.status for each in history.statuses] == ["CREATED", "RUNNING", "FAILING", "FAILED"]
    assert history.exceptions[-1].fatal
    assert history.ended is not None
    assert (history.ended.error or "").startswith("ValueError: sixty is too much")
    assert history.ended.story == failure.value.story


def test_savepoints_are_in_the_log_with_those_that_failed(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(settings(tmp_path))
    env.from_data_generator(lambda n: n, count=None).key_by(lambda n: n % 3).reduce(max).print()
    client = env.execute_async("saved")
    (tmp_path / "a file").write_text("in the way")
    with pytest.raises(Exception, match="cannot be written"):
        client.trigger_savepoint(str(tmp_path / "a file" / "below")).result()
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    client.get_job_execution_result().result()
    history = find_job_log(str(tmp_path / "checkpoints")).history()
    failed, done = [each for each in history.checkpoints if each.savepoint]
    assert isinstance(failed, CheckpointFailed)
    assert "cannot be written" in failed.reason
    assert isinstance(done, CheckpointCompleted)
    assert (done.path, done.full) == (path, True)
    assert done.state_bytes > sum(each.state_bytes for each in done.operators) > 0


def test_without_checkpoints_there_is_no_log_but_a_history(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.target": "in-process", "execution.checkpointing.dir": str(tmp_path)})
    )
    env.from_sequence(0, 9).print()
    client = env.execute_async()
    client.get_job_execution_result().result()
    assert list(tmp_path.iterdir()) == []
    assert client.get_history().status is JobStatus.FINISHED  # type: ignore[attr-defined]


def test_logs_go_where_the_setting_says(tmp_path: Path) -> None:
    run(tmp_path, settings(tmp_path, **{"firesteel.events.dir": str(tmp_path / "logs")}))
    assert [each.job_id for each in job_logs(str(tmp_path / "logs"))]
    with pytest.raises(ConfigurationError, match="no event logs"):
        find_job_log(str(tmp_path / "checkpoints"))


# ---- writing and reading --------------------------------------------------------------------------------------------


def writer(directory: Path | str, job: str = "a" * 32, interval: int = 0, size: int = 1 << 20) -> EventLogWriter:
    made = EventLogWriter(str(directory), job, interval, size, clock=Ticks(1))
    made.begin()
    return made


def test_nothing_is_written_before_the_directory_is_the_jobs(tmp_path: Path) -> None:
    write = EventLogWriter(str(tmp_path), "a" * 32, 0, 1 << 20)
    write(JobDescribed(1))
    write(StatusChanged(2, "RUNNING"))
    assert list(tmp_path.iterdir()) == []
    write.begin()
    write(JobEnded(3, "FINISHED"))
    assert [event.time for event in find_job_log(str(tmp_path)).events()] == [1, 2, 3]


def test_a_job_that_is_refused_leaves_the_directory_alone(tmp_path: Path) -> None:
    (tmp_path / "checkpoints" / "offsets").mkdir(parents=True)
    env = StreamExecutionEnvironment.get_execution_environment(settings(tmp_path))
    env.from_sequence(0, 9).print()
    with pytest.raises(JobFailedError, match="Spark streaming query"):
        env.execute()
    assert [each.name for each in (tmp_path / "checkpoints").iterdir()] == ["offsets"]


def test_a_reader_follows_while_the_job_runs(tmp_path: Path) -> None:
    """One more event is written whenever the reader has nothing left."""
    write = writer(tmp_path)
    write(JobDescribed(1, job_id="a" * 32, name="followed"))
    coming: list[JobEvent] = [StatusChanged(2, "RUNNING"), EpochEnded(3, 1), JobEnded(4, "FINISHED")]
    seen = list(find_job_log(str(tmp_path)).follow(wait=lambda: write(coming.pop(0))))
    assert [event.time for event in seen] == [1, 2, 3, 4]
    assert coming == []


def test_a_line_that_is_being_written_is_not_read(tmp_path: Path) -> None:
    write = writer(tmp_path)
    write(JobDescribed(1))
    (file,) = (tmp_path / "events" / ("a" * 32)).iterdir()
    with file.open("ab") as stream:
        stream.write(b'{"event":"status","ti')
    assert [event.time for event in find_job_log(str(tmp_path)).events()] == [1]


def test_a_long_log_loses_its_middle(tmp_path: Path) -> None:
    write = writer(tmp_path, size=4000)
    write(JobDescribed(0, name="long"))
    for number in range(1, 200):
        write(StatusChanged(number, "RUNNING"))
    times = [event.time for event in find_job_log(str(tmp_path)).events()]
    assert times[0] == 0
    assert times[-1] == 199
    assert len(times) < 120
    assert sum(file.stat().st_size for file in (tmp_path / "events" / ("a" * 32)).iterdir()) < 5000


def test_of_epochs_one_in_a_while_is_kept_and_the_last(tmp_path: Path) -> None:
    write = writer(tmp_path, interval=100)
    write(JobDescribed(0))
    for number in range(1, 300):
        write(EpochEnded(number, number))
    write(JobEnded(999, "FINISHED"))
    epochs = [each.epoch for each in find_job_log(str(tmp_path)).events() if isinstance(each, EpochEnded)]
    assert epochs[0] == 1
    assert epochs[-1] == 299
    assert 3 <= len(epochs) <= 8


def test_file_systems_that_cannot_add_to_a_file_get_one_more(tmp_path: Path) -> None:
    directory = f"memory://events-{tmp_path.name}"
    write = writer(directory)
    write(JobDescribed(1, name="remote"))
    write(StatusChanged(2, "RUNNING"))
    write(JobEnded(3, "FINISHED"))
    write.close()
    log = find_job_log(directory)
    assert [event.time for event in log.events()] == [1, 2, 3]
    assert [event.time for event in log.follow()] == [1, 2, 3]


def test_a_log_that_cannot_be_written_does_not_fail_the_job(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "events").write_text("in the way")
    write = writer(tmp_path)
    write(JobDescribed(1))
    write(StatusChanged(2, "RUNNING"))
    assert [record.getMessage() for record in caplog.records if "ends here" in record.getMessage()]


def test_of_many_jobs_the_newest_is_found_first_and_the_oldest_are_deleted(tmp_path: Path) -> None:
    for number in range(60):
        writer(tmp_path, f"{number:032x}")(JobDescribed(number, job_id=f"{number:032x}"))
    logs = job_logs(str(tmp_path))
    assert len(logs) == 50
    assert logs[0].job_id == f"{59:032x}"
    assert find_job_log(str(tmp_path), f"{30:032x}").job_id == f"{30:032x}"
    with pytest.raises(ConfigurationError, match="no log of a job 'abc'"):
        find_job_log(str(tmp_path), "abc")


def test_what_a_later_version_writes_is_passed_over() -> None:
    assert event_from_json('{"event":"of the future","time":1}') is None
    assert event_from_json('{"event":"status","time":1,"status":"RUNNING","mood":"good"}') == StatusChanged(
        1, "RUNNING"
    )


def test_gauges_may_be_anything() -> None:
    user = MetricSnapshot(counters={"seen": 3}, gauges={"odd": {1, 2}, "none": None})
    event = EpochEnded(1, 2, subtasks=(SubtaskNumbers("v", 0, operators=(OperatorNumbers("u", user=user),)),))
    numbers = json.loads(event.to_json())["subtasks"][0]["operators"][0]
    assert numbers["user"]["counters"] == {"seen": 3}
    assert numbers["user"]["gauges"]["odd"] == "{1, 2}"


texts = st.text(max_size=20)


@given(
    st.one_of(
        st.builds(StatusChanged, st.integers(), texts, st.integers(0, 9)),
        st.builds(ExceptionRaised, st.integers(), texts, texts, texts, st.none() | texts),
        st.builds(CheckpointFailed, st.integers(), st.integers(0), st.booleans(), texts),
        st.builds(JobEnded, st.integers(), texts, st.integers(0), st.none() | texts),
    )
)
def test_an_event_comes_back_as_it_was_written(event: JobEvent) -> None:
    line = event.to_json()
    assert "\n" not in line
    assert event_from_json(line) == event


# ---- the command line -----------------------------------------------------------------------------------------------


def test_the_command_line_shows_lists_and_follows(
    logged: tuple[Path, JobHistory], capsys: pytest.CaptureFixture[str]
) -> None:
    directory, history = logged
    assert history.job is not None
    assert main(["events", str(directory), "--list"]) == 0
    assert f"{history.job.job_id}  " in (listed := capsys.readouterr().out)
    assert "FINISHED    logged" in listed
    assert main(["events", str(directory), "--follow", "--job", history.job.job_id[:8]]) == 0
    shown = capsys.readouterr().out
    assert "ValueError: sixty is too much in 'check', subtask" in shown
    assert "checkpoint 1 is complete: " in shown
    assert "goes on from checkpoint" in shown
    assert shown.splitlines()[-1].partition("  ")[2].startswith("ended FINISHED after")
    assert main(["events", str(directory), "--json"]) == 0
    assert {json.loads(line)["event"] for line in capsys.readouterr().out.splitlines()} >= {"job", "status", "epoch"}
    assert main(["events", str(directory / "nothing")]) == 2
