"""Archives of a job that runs in this process."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest

from firesteel.common import Configuration, FiresteelWarning
from firesteel.common import warnings as firesteel_warnings
from firesteel.errors import ConfigurationError
from firesteel.execution.archives import UnpackedArchives


@pytest.fixture(autouse=True)
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firesteel_warnings, "_given", set())
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def unpacked(*entries: str) -> UnpackedArchives:
    return UnpackedArchives(Configuration.from_dict({"python.archives": list(entries)}))


def zip_file(folder: Path, content: str) -> str:
    path = folder / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("inner/a.txt", content)
    return str(path)


def tar_file(folder: Path, content: str) -> str:
    (folder / "a.txt").write_text(content)
    path = folder / "data.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder / "a.txt", "inner/a.txt")
    return str(path)


def test_archives_have_the_names_they_are_given_or_their_own(tmp_path: Path) -> None:
    archives = unpacked(f"{zip_file(tmp_path, 'zipped')}#named", tar_file(tmp_path, "tarred"))
    assert Path("named/inner/a.txt").read_text() == "zipped"
    assert Path("data.tar.gz/inner/a.txt").read_text() == "tarred"
    archives.close()
    assert list(Path.cwd().iterdir()) == []


def test_what_is_there_already_stays_and_is_used(tmp_path: Path) -> None:
    Path("named").mkdir()
    with pytest.warns(FiresteelWarning, match="there is a named in the working directory already"):
        archives = unpacked(f"{zip_file(tmp_path, 'x')}#named")
    archives.close()
    assert Path("named").is_dir()


def test_what_is_no_archive_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "not.zip").write_text("text")
    with pytest.raises(ConfigurationError, match=r"not\.zip cannot be unpacked"):
        unpacked(f"{zip_file(tmp_path, 'x')}#first", str(tmp_path / "not.zip"))
    assert list(Path.cwd().iterdir()) == []


def test_nothing_is_unpacked_outside(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        archive.add(tmp_path / "a.txt", "../../evil.txt")
    with pytest.raises(ConfigurationError, match=r"evil\.tar cannot be unpacked"):
        unpacked(str(tmp_path / "evil.tar"))
