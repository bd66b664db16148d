"""Directories that nobody needs once their process has ended."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from firesteel.state import work_directory
from firesteel.state.work_directory import LOCK, WorkDirectory, process_folder, sweep


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(work_directory, "_of_process", {})


def left_behind(path: Path) -> Path:
    """A directory as a killed process leaves it."""
    path.mkdir()
    (path / LOCK).touch()
    (path / "content").write_text("much")
    return path


def test_the_next_process_deletes_what_a_killed_one_has_left(tmp_path: Path) -> None:
    left = [left_behind(tmp_path / f"firesteel-{purpose}-1") for purpose in ("rocksdb", "work", "slots")]

    mine = WorkDirectory(None, "rocksdb")

    assert not any(path.exists() for path in left)
    assert stat.S_IMODE(os.stat(mine.path).st_mode) == 0o700
    mine.delete()


def test_what_is_in_use_or_belongs_to_other_programs_stays(tmp_path: Path) -> None:
    mine = WorkDirectory(None, "rocksdb")
    other = tmp_path / "other-1"
    other.mkdir()
    unknown = tmp_path / "firesteel-checkpoints"
    unknown.mkdir()

    sweep(str(tmp_path))

    assert os.path.isdir(mine.path) and other.exists() and unknown.exists()
    mine.delete()


def test_what_another_user_puts_under_such_a_name_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A named pipe would be waited for, a link followed."""
    (tmp_path / "target").mkdir()
    left_behind(tmp_path / "target" / "precious")
    (tmp_path / "firesteel-rocksdb-link").symlink_to(tmp_path / "target" / "precious")
    trap = tmp_path / "firesteel-rocksdb-trap"
    trap.mkdir()
    os.mkfifo(trap / LOCK)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    sweep(str(tmp_path))

    assert (tmp_path / "target" / "precious" / "content").exists() and trap.exists()


def test_folders_of_the_process_are_in_one_directory_that_goes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = process_folder("ship"), process_folder("ship")

    assert first != second
    (only,) = tmp_path.glob("firesteel-*")
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: 1)
        work_directory._delete_mine()
    assert os.path.isdir(first)
    work_directory._delete_mine()
    assert not only.exists()
