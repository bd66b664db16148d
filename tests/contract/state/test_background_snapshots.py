"""A full snapshot written by another process holds the state as it was when taken, whatever changes meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.execution.snapshot_writer import SnapshotWriter
from firesteel.model.state import ValueStateDescriptor
from firesteel.state.backend import Frozen, KeyedStateBackend
from firesteel.state.handles import StateHandles
from firesteel.state.rocksdb import RocksDBBackend
from firesteel.state.snapshots import OperatorSnapshot, decode
from firesteel.state.store import CheckpointStore
from firesteel.state.work_directory import PREFIX, WorkDirectory
from tests.contract.state.backends import KINDS, Kind
from tests.contract.state.test_model import KEYS, NAMESPACES, Run, new_subject

# Newer Pythons warn of forks where there are threads. What the forked process does is chosen with that in mind.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
ROOT = Path(__file__).resolve().parents[3]


def whole(backend: KeyedStateBackend) -> dict[str, OperatorSnapshot]:
    return {"uid": OperatorSnapshot(keyed=backend.full_parts, full=True, operator_state={}, own=None)}


def fill(run: Run) -> None:
    for number, key in enumerate(KEYS):
        run.do("value.update", key, number)
        run.do("sum.add", key, number)
        run.do("windowed.update", key, NAMESPACES[0], number)
        run.do("list.add_all", key, [1, 2])
        run.do("map.put", key, 2, number)
        run.do("map.put", key, 1, number)
        run.do("timer.add", key, number)
        run.do("shared.put", key, NAMESPACES[0], number)


def change(run: Run) -> None:
    """Something of every kind: changed, added to, removed."""
    for key in KEYS[:3]:
        run.do("value.update", key, 99)
        run.do("list.add", key, 3)
        run.do("map.put", key, 1, 99)
        run.do("windowed.clear", key, NAMESPACES[0])
        run.do("shared.put", key, NAMESPACES[1], 7)
    for key in KEYS[3:]:
        run.do("value.clear", key)
        run.do("list.clear", key)
        run.do("map.clear", key)
        run.do("timer.remove", key, 5)
    run.do("shared.pop", NAMESPACES[0])


@pytest.mark.feature("SB-09")
@pytest.mark.parametrize("where", ["disk", "elsewhere"])
def test_what_changes_while_it_is_written_is_not_in_it(kind: Kind, where: str, tmp_path: Path) -> None:
    directory = str(tmp_path) if where == "disk" else f"memory://{tmp_path.name}-{kind.name}"
    run, writer = Run(kind), SnapshotWriter(may_fork=True)
    fill(run)
    run.pause()
    change(run)  # some of it is on disk by now, some in memory, some in both
    expected = Run(kind)
    fill(expected)
    change(expected)
    backend = run.subject.backend
    writer.write(directory, "1-0-0-0-0.state", whole(backend), [backend], at_once=False)
    change(run)
    run.pause()
    fill(run)
    run.pause()
    writer.close()
    assert writer.take_problems() == []
    read = decode(CheckpointStore(directory).read_state("1-0-0-0-0.state"), "state", ["uid"])["uid"].keyed
    assert read is not None and not isinstance(read, dict) and not callable(read)
    expected.replace(new_subject(kind, list(read)))
    expected.check_everything()
    run.check_everything()
    for each in (run, expected):
        each.subject.backend.close()


def spilled(directory: Path) -> RocksDBBackend:
    backend = RocksDBBackend(128, memory=0, directory=str(directory))
    value = StateHandles(backend).get(ValueStateDescriptor("value"))
    for key in range(5000):
        backend.scope.key = key
        value.update(key)
    backend.trim()
    return backend


def frozen_copies(directory: Path) -> list[str]:
    return [path.name for path in directory.glob("*/frozen-*")]


def test_nothing_of_a_finished_snapshot_is_left_in_the_work_directory(tmp_path: Path) -> None:
    backend, writer = spilled(tmp_path / "work"), SnapshotWriter(may_fork=True)
    writer.write(str(tmp_path), "1-0-0-0-0.state", whole(backend), [backend], at_once=False)
    writer.close()
    assert CheckpointStore(str(tmp_path)).state_names() == ["1-0-0-0-0.state"]
    assert frozen_copies(tmp_path / "work") == []
    backend.close()
    assert list((tmp_path / "work").iterdir()) == []


class KilledWhileReading(RocksDBBackend):
    """The process that reads its frozen state is killed."""

    def full_parts(self) -> Any:
        yield next(iter(super().full_parts()))
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("where", ["disk", "elsewhere"])
def test_a_killed_writer_leaves_no_state_file_and_no_copy(where: str, tmp_path: Path) -> None:
    directory = str(tmp_path / "checkpoints") if where == "disk" else f"memory://{tmp_path.name}"
    backend, writer = spilled(tmp_path / "work"), SnapshotWriter(may_fork=True)
    backend.__class__ = KilledWhileReading
    writer.write(directory, "1-0-0-0-0.state", whole(backend), [backend], at_once=False)
    writer.close()
    problems = writer.take_problems()
    assert len(problems) == 1 and "ended with status 9" in problems[0]
    assert not CheckpointStore(directory).has_state("1-0-0-0-0.state")
    assert frozen_copies(tmp_path / "work") == []
    backend.close()


class CannotFreeze(RocksDBBackend):
    def freeze(self) -> Frozen:
        raise OSError("no space left on device")


def test_what_was_frozen_is_released_if_another_backend_cannot_be(tmp_path: Path) -> None:
    first, second, writer = spilled(tmp_path / "a"), spilled(tmp_path / "b"), SnapshotWriter(may_fork=True)
    second.__class__ = CannotFreeze
    with pytest.raises(OSError, match="no space"):
        writer.write(str(tmp_path / "c"), "1-0-0-0-0.state", whole(first), [first, second], at_once=False)
    assert frozen_copies(tmp_path / "a") == []
    writer.close()
    first.close()
    second.close()


KILLED = """
import os, signal, sys
from tests.contract.state.test_background_snapshots import spilled
from pathlib import Path
backend = spilled(Path(sys.argv[1]))
backend.freeze()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_files_of_a_killed_process_are_deleted_by_the_next_one(tmp_path: Path) -> None:
    in_use = WorkDirectory(str(tmp_path), "rocksdb")
    run = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, timeout=60, check=False)
    assert run.returncode == -signal.SIGKILL
    assert len(frozen_copies(tmp_path)) == 1
    after = WorkDirectory(str(tmp_path), "rocksdb")
    assert {path.name for path in tmp_path.glob(f"{PREFIX}*")} == {Path(each.path).name for each in (in_use, after)}
    in_use.delete()
    after.delete()


@pytest.mark.parametrize("unsafe", [kind for kind in KINDS if kind.name == "plug-in"], ids=lambda kind: kind.name)
def test_a_backend_that_cannot_be_read_in_a_forked_process_is_written_at_once(unsafe: Kind, tmp_path: Path) -> None:
    backend, writer = unsafe.new(), SnapshotWriter(may_fork=True)
    StateHandles(backend).get(ValueStateDescriptor("value"))
    fork: Callable[[], int] = os.fork
    os.fork = lambda: pytest.fail("forked")
    try:
        writer.write(str(tmp_path), "1-0-0-0-0.state", whole(backend), [backend], at_once=False)
    finally:
        os.fork = fork
    assert CheckpointStore(str(tmp_path)).has_state("1-0-0-0-0.state")
    writer.close()
