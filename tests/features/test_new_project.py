"""``firesteel new``: a project whose tests pass at once, and whose program runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from firesteel.cli import main


def run(project: Path, *arguments: str) -> str:
    python = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=project, env=python, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_project_works_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "alarms"
    assert main(["new", str(project)]) == 0
    assert f"cd {project} && make test" in capsys.readouterr().out
    assert "4 passed" in run(project, "pytest", "-q", "-p", "no:cacheprovider")
    printed = run(project, "firesteel", "run", "--in-process", "--conf-file", "config.yaml", "job.py", "120")
    assert "sensor 0 was at" in printed
    assert not [each for each in project.iterdir() if each.is_file() and "NAME" in each.read_text(encoding="utf-8")]


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["new", str(tmp_path)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["new", str(tmp_path / "no name")]) == 2
    assert "is no name for a project" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["mine.txt"]
