"""Checkpoints, savepoints, locks and output on a real S3 server and a real HDFS: the same tests for both."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from firesteel.errors import CheckpointError
from firesteel.execution.directory_lock import _LEASE_MS, DirectoryLock
from firesteel.state.filesystem import file_store
from firesteel.state.store import find_manifest
from tests.services.places import Place, finished
from tests.services.program import build, environment

NOW = 1_700_000_000_000


def test_files_are_written_replaced_listed_and_deleted(place: Place) -> None:
    files = file_store(place.uri)
    assert (files.names(), files.exists("a/b"), files.names("a")) == ([], False, [])
    files.write("a/b", b"1")
    files.write("a/b", b"23")
    files.write("a/c", iter([b"4" * (6 << 20), b"5" * (6 << 20)]))  # more than one part of an upload
    assert (files.names(), files.names("a")) == (["a"], ["b", "c"])
    assert (files.read("a/b"), files.size("a/c"), files.exists("a")) == (b"23", 12 << 20, True)
    files.delete("a/b")
    assert files.names("a") == ["c"]
    files.delete("")
    assert not files.exists("a/c")
    with pytest.raises(CheckpointError, match="a/b cannot be read"):
        files.read("a/b")


def test_a_file_whose_content_fails_on_the_way_never_appears(place: Place) -> None:
    files = file_store(place.uri)

    def content() -> Iterator[bytes]:
        yield b"x" * (6 << 20)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        files.write("state/file", content())
    assert not files.exists("state/file")


def test_a_lock_keeps_others_out_until_it_is_released_or_runs_out(place: Place) -> None:
    files = file_store(place.uri)
    first, second = DirectoryLock(files), DirectoryLock(files)
    first.acquire(NOW)
    with pytest.raises(CheckpointError, match="another job is using"):
        second.acquire(NOW + 1)
    first.renew(NOW + 2)
    with pytest.raises(CheckpointError, match="another job is using"):
        second.acquire(NOW + 1 + _LEASE_MS)
    second.acquire(NOW + 2 + _LEASE_MS)  # the first one has not been heard of for a minute
    second.release()
    assert files.names("_lock") == []


def test_of_many_that_want_a_lock_at_once_at_most_one_gets_it(place: Place) -> None:
    files = file_store(place.uri)

    def contend(lock: DirectoryLock) -> bool:
        try:
            lock.acquire(NOW)
        except CheckpointError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            locks = [DirectoryLock(files) for _ in range(4)]
            assert sum(pool.map(contend, locks)) <= 1
            for lock in locks:
                lock.release()
    assert contend(DirectoryLock(files))


def is_killed_and_goes_on(place: Place, crash: str, records: int) -> None:
    options = ("--records", str(records))
    killed = place.run(*options, "--crash", crash)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-3000:]
    finished(place.run(*options))
    place.must_have_all(records)
    left = set(file_store(f"{place.uri}/checkpoints").names())
    assert left <= {"_lock", "events"}  # a finished job leaves no checkpoints, only its log


@pytest.mark.feature("CK-17")
@pytest.mark.parametrize("crash", ["manifest:before:2", "manifest:after:2", "commit:after:2"])
def test_a_job_on_s3_that_is_killed_goes_on_and_writes_each_line_once(s3_place: Place, crash: str) -> None:
    is_killed_and_goes_on(s3_place, crash, 700)


@pytest.mark.feature("CK-17")
def test_a_job_on_hdfs_that_is_killed_goes_on_and_writes_each_line_once(hdfs_place: Place) -> None:
    is_killed_and_goes_on(hdfs_place, "commit:after:2", 300)  # each file is four or more requests, and slow ones


@pytest.mark.feature("CK-17")
def test_a_savepoint_is_taken_there_and_restored_with_another_parallelism(place: Place) -> None:
    settings = {"execution.target": "in-process", "execution.checkpointing.interval": "2 s"}
    env = environment({**settings, "execution.checkpointing.dir": f"{place.uri}/checkpoints"})
    build(env, f"{place.uri}/output", 1000, 300)
    client: Any = env.execute_async("first")
    savepoint = client.stop_with_savepoint(False, f"{place.uri}/savepoints").result(60)
    assert savepoint.startswith(place.uri)
    assert find_manifest(savepoint).kind == "savepoint"
    env = environment({**settings, "execution.state-recovery.path": savepoint}, parallelism=3)
    build(env, f"{place.uri}/output", 1000, 10_000)
    env.execute("second")
    place.must_have_all(1000)
