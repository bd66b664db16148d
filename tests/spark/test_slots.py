"""Slot processes: each job's own, and gone when it ends."""

from __future__ import annotations

import base64
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, JobStatus
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.execution import ending


def environment(spark: Any, **settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({key.replace("__", "-"): value for key, value in settings.items()})
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(2)
    return env


def results(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as collected:
        return list(collected)


def gone(pid: int) -> bool:
    """Whether a process has ended; waits for that, but not for ever."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.feature("RT-02")
def test_jobs_that_share_an_executor_share_nothing_in_its_processes(spark: Any) -> None:
    def leave_and_look(value: int) -> tuple[int, bool, str, bool]:
        main, here = sys.modules["__main__"], os.getcwd()
        seen = hasattr(main, "left_by_a_job"), "FIRESTEEL_TEST" in os.environ
        main.left_by_a_job = True  # type: ignore[attr-defined]
        os.environ["FIRESTEEL_TEST"] = "left"
        os.chdir("/")
        return os.getpid(), seen[0], here, seen[1]

    first = results(environment(spark).from_collection([1]).map(leave_and_look))
    second = results(environment(spark).from_collection([1]).map(leave_and_look))

    assert [seen for _, seen, _, _ in first + second] == [False, False]
    assert [seen for _, _, _, seen in first + second] == [False, False]
    assert second[0][2] == first[0][2] != "/"
    assert first[0][0] != second[0][0]
    assert gone(first[0][0]) and gone(second[0][0])


def test_credentials_of_one_job_are_not_those_of_another(spark: Any) -> None:
    def access(_: int) -> str | None:
        from firesteel.state import file_systems

        return file_systems.s3_in_use().access_key

    mine = {"s3.access-key": "mine", "s3.secret-key": "secret"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(mine), spark=spark)

    assert results(env.from_collection([1]).map(access)) == ["mine"]
    assert results(environment(spark).from_collection([1]).map(access)) == [None]


def listed(name: bytes) -> Iterator[int]:
    """The processes with that text in their command lines or environments."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if name in (path / "cmdline").read_bytes() + (path / "environ").read_bytes():
                yield int(path.name)
        except OSError:  # it has ended meanwhile, or is somebody else's
            continue


def test_no_secret_is_in_an_argument_or_an_environment(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bytes] = []
    make = secrets.token_bytes

    def remembered(size: int) -> bytes:
        made.append(make(size))
        return made[-1]

    monkeypatch.setattr("firesteel.execution.spark.cluster.secrets.token_bytes", remembered)

    env = environment(spark)
    env.from_data_generator(lambda n: n, count=None).filter(lambda _: False).print()
    job = env.execute_async()
    try:
        deadline = time.monotonic() + 60
        while not job.get_metrics().epochs and time.monotonic() < deadline:
            time.sleep(0.02)
        assert list(listed(b"keeper import main"))
        forms = [form for secret in made for form in (secret, secret.hex().encode(), base64.b64encode(secret))]
        assert forms and not [pid for form in forms for pid in listed(form)]
    finally:
        job.cancel().result()


@pytest.mark.parametrize("reaction", ["loops", "waits", "ignores"])
def test_cancel_returns_whatever_a_function_does_and_its_processes_are_gone(
    reaction: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "EPOCH_SECONDS", 0.5)

    def busy(value: int) -> int:
        child = subprocess.Popen(["sleep", "1000"])  # what a function starts goes with it
        (tmp_path / f"{os.getpid()}").touch()
        (tmp_path / f"{child.pid}").touch()
        (tmp_path / "busy").touch()
        while reaction == "loops":
            pass
        if reaction == "ignores":
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGRTMIN])
        while True:
            time.sleep(1000)

    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"task.cancellation.timeout": "2 s"}), spark=spark
    )
    env.set_parallelism(1)
    env.from_data_generator(lambda n: n, count=None).map(busy).print()
    client = env.execute_async("busy")
    deadline = time.monotonic() + 60
    while not (tmp_path / "busy").exists() and time.monotonic() < deadline:
        time.sleep(0.02)

    client.cancel().result(60)

    pids = [int(path.name) for path in tmp_path.iterdir() if path.name.isdigit()]
    assert len(pids) == 2 and all(gone(pid) for pid in pids)
    assert client.get_job_status().result() is JobStatus.CANCELED
