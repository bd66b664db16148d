"""Which file system a URI names and how it is reached, and the lock on those that are not the local disk."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.connectors.files.storage import check_path
from firesteel.errors import CheckpointError, ConfigurationError
from firesteel.execution.coordinators import _Helper
from firesteel.execution.directory_lock import _LEASE_MS, DirectoryLock, DirectoryLostError
from firesteel.execution.worker_plan import s3_access
from firesteel.state.file_systems import S3Access, arrow_file_system, local_path, s3_in_use, use_s3
from firesteel.state.filesystem import FileStore, file_store
from firesteel.testing import ManualClock
from tests.written_files import note_syncs


@pytest.fixture(autouse=True)
def default_access() -> Iterator[None]:
    yield
    use_s3(S3Access())


@pytest.fixture
def files(tmp_path: Path) -> FileStore:
    return file_store(f"memory:/{tmp_path}")


def settings_of(uri: str) -> dict[str, Any]:
    system, _ = arrow_file_system(uri)
    settings: dict[str, Any] = system.__reduce__()[1][0]
    return settings


@pytest.mark.parametrize("uri", ["/data/a b", "file:///data/a%20b", "file:/data/a%20b"])
def test_paths_and_file_uris_are_local(uri: str) -> None:
    assert local_path(uri) == "/data/a b"


def test_other_uris_are_not_local() -> None:
    assert local_path("s3://bucket/a") is None


def test_an_s3_server_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    found = settings_of("s3://bucket/a/b/")
    assert (found["endpoint_override"], found["scheme"], found["region"]) == ("127.0.0.1:9000", "http", "us-east-1")
    assert arrow_file_system("s3://bucket/a/b/")[1] == "bucket/a/b"


def test_an_s3_server_is_named_by_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    options = {
        "s3.endpoint": "minio.example:9000",
        "s3.access-key": "me",
        "s3.secret-key": "secret",
        "s3.endpoint.region": "here",
    }
    use_s3(s3_access(Configuration.from_dict(options)))
    found = settings_of("s3://bucket/a")
    assert (found["endpoint_override"], found["scheme"]) == ("minio.example:9000", "https")
    assert (found["access_key"], found["secret_key"], found["region"]) == ("me", "secret", "here")


def test_a_key_without_its_secret_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"s3\.access-key and s3\.secret-key belong together"):
        s3_access(Configuration.from_dict({"s3.access-key": "me"}))


def test_an_unknown_file_system_says_what_to_install() -> None:
    with pytest.raises(ConfigurationError, match="Install fsspec and its driver for 'nowhere'"):
        arrow_file_system("nowhere://host/a")


def test_a_missing_native_client_of_hdfs_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow import fs

    class Missing(fs.FileSystem):  # type: ignore[misc]
        @staticmethod
        def from_uri(uri: str) -> Any:
            raise OSError("Unable to load libhdfs")

    monkeypatch.setattr(fs, "FileSystem", Missing)
    with pytest.raises(CheckpointError, match=r"Unable to load libhdfs.*libhdfs\.so.*webhdfs://host:port"):
        file_store("hdfs://host:8020/checkpoints")


def test_a_file_whose_content_fails_on_the_way_never_appears(files: FileStore) -> None:
    def content() -> Iterator[bytes]:
        yield b"half"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        files.write("state/file", content())
    assert not files.exists("state/file")


def test_a_lease_is_renewed_under_a_new_name_and_withdrawn_in_the_end(files: FileStore) -> None:
    ticks = ManualClock(7)
    lock = DirectoryLock(files, ticks)
    lock.acquire(1000)
    lock.renew(2000)
    (claim,) = files.names("_lock")
    assert claim.startswith("2000-")
    ticks.advance(_LEASE_MS - 1)
    lock.check()
    ticks.advance(1)
    with pytest.raises(CheckpointError, match="could not be renewed for 60 seconds"):
        lock.check()
    lock.release()
    assert files.names("_lock") == []


@pytest.mark.feature("RR-04")
def test_a_clock_that_is_put_back_or_forward_does_not_end_a_lease(files: FileStore) -> None:
    ticks = ManualClock(0)
    lock = DirectoryLock(files, ticks)
    lock.acquire(10_000_000)
    ticks.advance(15_000)
    lock.renew(5_000_000)  # put back by more than an hour: for others the claim is no older
    assert [claim.partition("-")[0] for claim in files.names("_lock")] == ["10000000"]
    ticks.advance(_LEASE_MS - 1)
    lock.check()
    lock.renew(90_000_000)
    lock.check()


@pytest.mark.feature("RR-04")
def test_a_lease_that_was_deleted_with_its_directory_is_not_taken_again(files: FileStore) -> None:
    first, second = DirectoryLock(files), DirectoryLock(files)
    first.acquire(1000)
    files.delete("_lock")
    second.acquire(1001)
    first.renew(2000)
    with pytest.raises(DirectoryLostError, match="deleted or replaced while the job was using it"):
        first.check()
    second.check()
    second.release()


@pytest.mark.feature("RR-04")
def test_a_local_directory_that_was_deleted_and_made_again_is_noticed(tmp_path: Path) -> None:
    first, second = DirectoryLock(file_store(str(tmp_path / "d"))), DirectoryLock(file_store(str(tmp_path / "d")))
    first.acquire(0)
    first.check()
    shutil.rmtree(tmp_path / "d")
    with pytest.raises(CheckpointError, match="another job is using"):
        second.acquire(0)  # though there is no lock left in the directory
    with pytest.raises(DirectoryLostError, match="deleted or replaced"):
        first.check()
    first.release()
    second.acquire(0)
    second.release()


def test_what_is_durable_has_its_name_forced_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = note_syncs(monkeypatch)
    file_store(str(tmp_path)).write("chk-1/_metadata", b"{}")
    assert [Path(path).name.partition(".")[0] for path in synced] == [tmp_path.name, "_metadata", "chk-1"]
    synced.clear()
    file_store(str(tmp_path)).write("_latest", b"1", durable=False)
    assert synced == []


def test_whoever_looks_last_sees_both_claims(files: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = DirectoryLock(files), DirectoryLock(files)
    first.renew(1000)  # has written its claim, and not looked yet
    with pytest.raises(CheckpointError, match="another job"):
        second.acquire(1000)
    assert len(files.names("_lock")) == 1


def test_the_claim_of_a_process_of_this_host_that_is_gone_does_not_count(files: FileStore) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    owner = {"host": socket.gethostname(), "pid": gone.pid}
    files.write("_lock/1000-dead", json.dumps(owner).encode())
    lock = DirectoryLock(files)
    lock.acquire(1001)
    assert [claim.partition("-")[0] for claim in files.names("_lock")] == ["1001"]
    lock.release()


def test_the_claim_of_another_host_counts_for_its_minute(files: FileStore) -> None:
    files.write("_lock/1000-far", json.dumps({"host": "elsewhere", "pid": os.getpid()}).encode())
    with pytest.raises(CheckpointError, match="If it was killed"):
        DirectoryLock(files).acquire(1000 + _LEASE_MS - 1)
    DirectoryLock(files).acquire(1000 + _LEASE_MS)


def test_a_path_on_s3_is_checked_without_asking_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    check_path("s3://bucket/a")
    with pytest.raises(ConfigurationError, match="names no bucket"):
        check_path("s3://")
    with pytest.raises(ConfigurationError, match="'nowhere'"):
        check_path("nowhere://a")


def test_jobs_in_one_process_reach_s3_each_in_its_own_way() -> None:
    both_told = threading.Barrier(2)
    seen: dict[str, str | None] = {}

    def job(key: str) -> None:
        use_s3(S3Access(access_key=key, secret_key="secret"))
        both_told.wait(10)
        seen[key] = s3_in_use().access_key

    jobs = [threading.Thread(target=job, args=(key,)) for key in ("mine", "yours")]
    for each in jobs:
        each.start()
    for each in jobs:
        each.join()
    assert seen == {"mine": "mine", "yours": "yours"}


def test_the_threads_of_a_job_reach_s3_as_it_does() -> None:
    use_s3(S3Access(endpoint="http://mine"))
    aside = _Helper("aside", lambda: None)
    found: SimpleQueue[str | None] = SimpleQueue()
    told = threading.Event()
    aside.call(lambda: told.wait(10) and found.put(s3_in_use().endpoint), lambda result, error: None)
    other = threading.Thread(target=lambda: use_s3(S3Access(endpoint="http://other")))
    other.start()
    other.join()
    told.set()
    assert found.get(timeout=10) == "http://mine"
    aside.close()
