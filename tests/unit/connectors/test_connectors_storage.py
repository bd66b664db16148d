"""Tidying up in a storage, which several subtasks may do at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from firesteel.connectors.files.storage import ArrowStorage, FileEntry, LocalStorage, Storage

STORAGES = [LocalStorage(), ArrowStorage(LocalFileSystem())]
on_each = pytest.mark.parametrize("storage", STORAGES, ids=lambda storage: type(storage).__name__)


@on_each
def test_only_a_directory_in_which_nothing_is_left_is_pruned(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    for name in ("empty", "full", "missing"):
        storage.prune(str(tmp_path / name))
    assert [entry.name for entry in storage.entries(str(tmp_path))] == ["full"]
    assert (tmp_path / "full" / "file").exists()


@on_each
def test_a_file_is_deleted_if_it_is_there(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    storage.delete(str(tmp_path / "file"))
    storage.delete(str(tmp_path / "file"))
    assert storage.entries(str(tmp_path)) == []


class OthersAreQuicker(ArrowStorage):
    """Whatever has been found is gone the moment after."""

    def find(self, path: str) -> FileEntry | None:
        found = super().find(path)
        if found is not None and not found.is_directory:
            Path(path).unlink()
        return found

    def entries(self, directory: str) -> list[FileEntry]:
        found = super().entries(directory)
        Path(directory).rmdir()
        return found


def test_what_somebody_else_has_just_deleted_is_no_error(tmp_path: Path) -> None:
    storage = OthersAreQuicker(LocalFileSystem())
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    storage.prune(str(tmp_path / "empty"))
    storage.delete(str(tmp_path / "file"))
    assert list(tmp_path.iterdir()) == []
