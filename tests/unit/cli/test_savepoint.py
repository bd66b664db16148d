"""``firesteel savepoint``: the archive of savepoints, and starting from one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from firesteel.state.store import CheckpointStore, Manifest, OperatorFiles
from tests.unit.cli.conftest import Firesteel, WriteProgram

NOON = 1_767_268_800_000  # 2026-01-01 12:00 UTC

SAVE = """
import sys
from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.functions import MapFunction
from firesteel.datastream.state import ValueStateDescriptor

class Count(MapFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.INT()))

    def map(self, value):
        self.count.update((self.count.value() or 0) + 1)
        return self.count.value()

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
stream = env.from_data_generator(lambda n: n, count=None) if sys.argv[1:] else env.from_collection([0])
stream.key_by(lambda n: "all").map(Count()).uid("count").filter(lambda n: n < 0 or not sys.argv[1:]).print()
if sys.argv[1:]:
    client = env.execute_async("saved job")
    print(client.stop_with_savepoint(False, sys.argv[1]).result())
else:
    env.execute("restored job")
"""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A directory with two savepoints and what belongs to something else."""
    for name, time, size in (("savepoint-b", NOON + 61_000, 2048), ("savepoint-a", NOON, 10)):
        write_savepoint(tmp_path / name, time, size)
    (tmp_path / "other").mkdir()
    return tmp_path


def write_savepoint(folder: Path, time: int, size: int) -> None:
    store = CheckpointStore(str(folder))
    store.write_state("s.state", b"x" * size)
    operators = {
        "counter": OperatorFiles("Count", 1, 128, {0: ["s.state"]}, stateful=True),
        "source": OperatorFiles("Source: Numbers", 1, 128, {0: ["s.state"]}),
    }
    store.write_manifest(Manifest("savepoint", 7, "my job", time, operators, state_bytes=size))


@pytest.mark.feature("SV-08")
def test_the_list_shows_id_time_job_version_and_size_oldest_first(firesteel: Firesteel, archive: Path) -> None:
    lines = firesteel("savepoint", "list", str(archive)).out.splitlines()
    assert [re.split("  +", line) for line in lines[1:]] == [
        ["savepoint-a", "2026-01-01 12:00:00", "my job", "savepoint", "2", "10 B"],
        ["savepoint-b", "2026-01-01 12:01:01", "my job", "savepoint", "2", "2.0 KiB"],
    ]
    assert lines[0].split() == ["ID", "TIME", "(UTC)", "JOB", "KIND", "FORMAT", "SIZE"]


def test_the_list_as_json(firesteel: Firesteel, archive: Path) -> None:
    first, second = json.loads(firesteel("savepoint", "list", "--json", str(archive)).out)
    assert (first["id"], first["time"], first["size"]) == ("savepoint-a", "2026-01-01T12:00:00Z", 10)
    assert second["path"] == str(archive / "savepoint-b")


def test_show_names_the_operators(firesteel: Firesteel, archive: Path) -> None:
    out = firesteel("savepoint", "show", str(archive / "savepoint-a")).out
    assert out.startswith("savepoint savepoint-a\n")
    assert "  job     my job\n" in out
    assert "counter  Count            1            128  yes\n" in out
    assert "source   Source: Numbers  1            128  none\n" in out


def test_a_relative_path_will_do(firesteel: Firesteel, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(archive)
    assert json.loads(firesteel("savepoint", "show", "--json", "savepoint-a").out)["job_name"] == "my job"
    assert "savepoint-b" in firesteel("savepoint", "list", ".").out


def test_missing_state_is_seen(firesteel: Firesteel, archive: Path) -> None:
    (archive / "savepoint-a" / "state" / "s.state").unlink()
    assert "0 B, 1 file(s) missing" in firesteel("savepoint", "list", str(archive)).out
    assert "no job can start from it" in firesteel("savepoint", "show", str(archive / "savepoint-a")).out


def test_another_format_is_shown_and_explained(
    firesteel: Firesteel, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firesteel.cli.savepoint.FORMAT", 3)
    assert "2 (this version reads 3)" in firesteel("savepoint", "list", str(archive)).out


def test_dispose_deletes_one_and_leaves_the_others(firesteel: Firesteel, archive: Path) -> None:
    result = firesteel("savepoint", "dispose", str(archive / "savepoint-a"))
    assert result.out == "Deleted savepoint savepoint-a of job 'my job' (10 B).\n"
    assert sorted(path.name for path in archive.iterdir()) == ["other", "savepoint-b"]


def test_dispose_leaves_files_that_are_not_the_savepoints(firesteel: Firesteel, archive: Path) -> None:
    (archive / "savepoint-a" / "notes.txt").write_text("keep")
    firesteel("savepoint", "dispose", str(archive / "savepoint-a"))
    assert [path.name for path in (archive / "savepoint-a").iterdir()] == ["notes.txt"]


def test_checkpoints_are_listed_and_not_disposed_of(firesteel: Firesteel, tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path))
    store.write_state("s.state", b"12345")
    operators = {"counter": OperatorFiles("Count", 1, 128, {0: ["s.state"]}, stateful=True)}
    store.write_manifest(Manifest("checkpoint", 3, "my job", NOON, operators))
    (listed,) = json.loads(firesteel("savepoint", "list", "--json", str(tmp_path)).out)
    assert (listed["id"], listed["kind"], listed["size"]) == ("chk-3", "checkpoint", 5)
    refused = firesteel("savepoint", "dispose", str(tmp_path / "chk-3"))
    assert refused.code == 1
    assert "is a checkpoint" in refused.err
    assert (tmp_path / "chk-3").exists()


def test_what_is_not_there_is_said(firesteel: Firesteel, tmp_path: Path) -> None:
    assert "no savepoints or checkpoints in" in firesteel("savepoint", "list", str(tmp_path)).out
    for command in (("list", "/not/there"), ("show", str(tmp_path)), ("dispose", str(tmp_path / "x"))):
        result = firesteel("savepoint", *command)
        assert result.code == 1
        assert "there is no" in result.err


def test_a_damaged_one_is_named(firesteel: Firesteel, archive: Path) -> None:
    metadata = archive / "savepoint-a" / "_metadata"
    metadata.write_bytes(metadata.read_bytes()[:-20])
    result = firesteel("savepoint", "show", str(archive / "savepoint-a"))
    assert result.code == 1
    assert "is damaged or cut off" in result.err


@pytest.mark.feature("SV-08")
def test_a_job_starts_from_a_savepoint_of_the_archive(
    firesteel: Firesteel, program: WriteProgram, tmp_path: Path
) -> None:
    saved = firesteel("run", "--in-process", program(SAVE), str(tmp_path / "savepoints"))
    path = saved.out.strip()
    (listed,) = json.loads(firesteel("savepoint", "list", "--json", str(tmp_path / "savepoints")).out)
    assert (listed["path"], listed["job_name"], listed["kind"]) == (path, "saved job", "savepoint")
    restored = firesteel("run", "--in-process", "-s", path, "-n", program(SAVE))
    assert restored.code == 0, restored.err
    assert int(restored.out) > 1


def test_two_are_compared(firesteel: Firesteel, archive: Path, tmp_path: Path) -> None:
    store = CheckpointStore(str(archive / "savepoint-c"))
    store.write_state("t.state", b"x" * 4096)
    operators = {
        "counter": OperatorFiles("Count all", 2, 128, {0: ["t.state"]}, stateful=True),
        "window": OperatorFiles("Window", 2, 128, {0: ["t.state"]}, stateful=True),
    }
    store.write_manifest(Manifest("savepoint", 8, "my job", NOON + 62_000, operators, state_bytes=4096))
    told = firesteel("savepoint", "diff", str(archive / "savepoint-a"), str(archive / "savepoint-c"))
    assert told.code == 0
    assert "counter  Count all" in told.out and "was called 'Count', parallelism 1 -> 2" in told.out
    assert re.search(r"window +Window +is new", told.out) and "10 B -> 4.0 KiB" in told.out
    assert re.search(r"source +Source: Numbers +is gone; it had no state", told.out)
    back = firesteel("savepoint", "diff", "--json", str(archive / "savepoint-c"), str(archive / "savepoint-a"))
    changes = {each["uid"]: each["change"] for each in json.loads(back.out)}
    assert changes["window"] == "is gone, and its state with it" and changes["source"] == "is new"
    same = firesteel("savepoint", "diff", str(archive / "savepoint-a"), str(archive / "savepoint-a"))
    assert "Both have the same operators" in same.out
