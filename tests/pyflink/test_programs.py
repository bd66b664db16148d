"""Programs written for PyFlink run unchanged, on both executors, and print what they say."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from firesteel.cli import main
from firesteel.common.warnings import FiresteelWarning

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "pyflink_programs"
PROGRAMS = sorted(path for path in FOLDER.glob("*.py") if "\n# Output" in path.read_text(encoding="utf-8"))


def expected_output(program: Path) -> list[str]:
    """The lines in the comment at the end of a program, sorted: what subtasks print comes in any order."""
    block = program.read_text(encoding="utf-8").rpartition("\n# Output")[2]
    return sorted(line.removeprefix("# ") for line in block.splitlines()[1:])


def run(program: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FiresteelWarning)
        code = main(["run", "--pyflink", *options, str(program)])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return sorted(captured.out.splitlines())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_runs_in_process(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(program, capsys, "--in-process") == expected_output(program)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.usefixtures("spark")  # the session that is running is taken
def test_a_program_runs_on_spark(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(program, capsys) == expected_output(program)


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 8


def test_python_m_runs_a_program_from_elsewhere(tmp_path: Path) -> None:
    """The module beside the program is found, arguments arrive, settings come from the environment."""
    program = FOLDER / "lookups.py"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "FIRESTEEL_PROPERTIES": "execution.target: in-process"}
    command = [sys.executable, "-m", "firesteel.pyflink", str(program)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == expected_output(program)


def test_the_arguments_of_a_program_are_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--pyflink", "--in-process", str(FOLDER / "word_count.py"), "--limit", "1", "--unknown"]) == 0
    assert sorted(capsys.readouterr().out.splitlines()) == ["(be,2)", "(not,1)", "(or,1)", "(to,2)"]
