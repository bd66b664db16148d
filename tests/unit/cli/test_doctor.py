"""``firesteel doctor``: finds what is wrong, says what to do, and exits accordingly."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from firesteel.cli import doctor
from firesteel.cli.doctor import Finding, check_directory, check_requirement, examine
from firesteel.common import Configuration
from firesteel.execution.spark import probe
from tests.unit.cli.conftest import Firesteel

ON_SPARK = Configuration()


def executable(folder: Path, output: str) -> Path:
    """A ``java`` that prints a version."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{output}' >&2\n")
    java.chmod(0o755)
    return java


def java_finding() -> Finding:
    return next(finding for finding in examine(ON_SPARK) if finding.subject == "Java")


def test_without_spark_all_is_well_here(firesteel: Firesteel) -> None:
    result = firesteel("doctor", "--in-process")
    assert result.code == 0, result.out
    assert result.out.endswith("Everything is in order.\n")
    assert "a Firesteel job" in result.out
    assert "Java" not in result.out


@pytest.mark.parametrize(
    ("output", "version"),
    [('openjdk version "17.0.9" 2023-10-17', 17), ('java version "1.8.0_391"', 8), ('openjdk version "21" x', 21)],
)
def test_the_version_of_java_is_read(tmp_path: Path, output: str, version: int) -> None:
    assert probe.java_version(str(executable(tmp_path, output))) == version


def test_an_old_java_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = executable(tmp_path, 'openjdk version "11.0.2"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    finding = java_finding()
    assert (finding.ok, finding.text) == (False, f"11 ({java})")
    assert "Install Java 17" in finding.advice


def test_no_java_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (java_finding().ok, java_finding().text) == (False, "there is no java on the PATH")
    monkeypatch.setenv("JAVA_HOME", "/not/there")
    assert java_finding().text == "JAVA_HOME is /not/there, where there is no bin/java"


def test_a_java_that_says_nothing_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(tmp_path, "no idea")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert not java_finding().ok


def test_spark_is_not_tried_when_something_is_wrong_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/not/there")
    subjects = [finding.subject for finding in examine(ON_SPARK)]
    assert "Spark" not in subjects
    assert "a Firesteel job" not in subjects


def test_something_wrong_means_exit_code_1_and_advice(firesteel: Firesteel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/not/there")
    result = firesteel("doctor")
    assert result.code == 1
    assert "WRONG  Java" in result.out
    assert "Install Java 17" in result.out
    assert result.out.endswith("1 thing(s) to put right.\n")


@pytest.mark.parametrize(
    ("requirement", "ok"),
    [
        ("pandas<4,>=2.0", True),
        ("pandas", True),
        ("pandas>=99", False),
        ("pandas<1", False),
        ("pandas!=2.0.0.1", True),
        ("no-such-package>=1", False),
    ],
)
def test_versions_of_packages_are_compared(requirement: str, ok: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    known = doctor.importlib.metadata.version
    monkeypatch.setattr(
        doctor.importlib.metadata, "version", lambda name: "2.2.3.post1" if name == "pandas" else known(name)
    )
    finding = check_requirement(requirement)
    assert finding.ok is ok
    assert ok or f"pip install '{requirement}'" in finding.advice


def test_a_directory_that_can_be_written(tmp_path: Path) -> None:
    assert check_directory("checkpoints", str(tmp_path / "new")).ok
    assert list((tmp_path / "new").iterdir()) == []


def test_a_directory_that_cannot_be_written(tmp_path: Path, firesteel: Firesteel) -> None:
    (tmp_path / "file").write_text("")
    path = str(tmp_path / "file" / "below")
    assert not check_directory("checkpoints", path).ok
    result = firesteel("doctor", "--in-process", "--conf", f"execution.checkpointing.dir={path}")
    assert result.code == 1
    assert "WRONG  checkpoints" in result.out


def test_savepoint_and_working_directories_are_checked(tmp_path: Path) -> None:
    configuration = Configuration.from_dict(
        {
            "execution.target": "in-process",
            "execution.checkpointing.savepoint-dir": str(tmp_path / "savepoints"),
            "firesteel.work-dir": str(tmp_path / "work"),
        }
    )
    texts = {finding.subject: finding.text for finding in examine(configuration)}
    assert texts["savepoints"] == f"{tmp_path / 'savepoints'} can be written"
    assert texts["working files"] == f"{tmp_path / 'work'} can be written"


def test_a_spark_that_does_not_start_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(configuration: Configuration) -> None:
        raise RuntimeError("no master there\nand a long story")

    monkeypatch.setattr(doctor, "_check_java", lambda: Finding("Java", True, "17"))
    monkeypatch.setattr(doctor, "probe_spark", fail)
    *_, last = examine(ON_SPARK)
    assert (last.subject, last.ok, last.text) == ("Spark", False, "RuntimeError: no master there")


def test_another_python_on_the_workers_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_check_java", lambda: Finding("Java", True, "17"))
    monkeypatch.setattr(doctor, "probe_spark", lambda _: ("4.3.0", "local[2]", [("host", "3.9.1")]))
    *_, last = examine(ON_SPARK)
    assert (last.subject, last.ok) == ("Spark", False)
    assert "python.executable" in last.advice


def test_facts_are_about_this_process() -> None:
    facts = probe.worker_facts("anything")
    assert os.path.exists(facts.executable)
    assert facts.firesteel == doctor.firesteel.__version__
