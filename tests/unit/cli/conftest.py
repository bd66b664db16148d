"""Running the command line inside a test, and programs for it to run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from firesteel.cli import main


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str


Firesteel = Callable[..., Result]
WriteProgram = Callable[..., str]


@pytest.fixture
def firesteel(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Firesteel:
    """Runs ``firesteel ARGUMENTS...``."""
    monkeypatch.delenv("FIRESTEEL_PROPERTIES", raising=False)

    def run(*arguments: str) -> Result:
        try:
            code = main(list(arguments))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
def program(tmp_path: Path) -> WriteProgram:
    """Writes a program and returns its path."""

    def write(text: str, name: str = "job.py") -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write
