"""The command line as a whole: help, version, options, completion."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from firesteel import __version__
from firesteel.cli.completion import bash_script
from firesteel.cli.main import build_parser
from firesteel.common.options import OPTIONS
from firesteel.common.options.page import render_page
from tests.unit.cli.conftest import Firesteel

COMMANDS = ["run", "explain", "savepoint", "doctor", "config", "completion", "version"]
ROOT = Path(__file__).resolve().parents[3]


def test_version(firesteel: Firesteel) -> None:
    assert firesteel("version").out == firesteel("--version").out == f"firesteel {__version__}\n"


def test_help_names_all_commands_and_exit_codes(firesteel: Firesteel) -> None:
    result = firesteel("--help")
    assert result.code == 0
    for word in (*COMMANDS, "examples:", "130"):
        assert word in result.out


@pytest.mark.parametrize("command", ["run", "explain", "savepoint", "doctor", "config"])
def test_the_help_of_a_command_teaches_by_example(firesteel: Firesteel, command: str) -> None:
    text = firesteel(command, "--help").out
    assert f"examples:\n  firesteel {command}" in text


@pytest.mark.parametrize("arguments", [[], ["dance"], ["run"], ["savepoint"], ["explain", "--format", "gif", "x.py"]])
def test_wrong_use_exits_with_2(firesteel: Firesteel, arguments: list[str]) -> None:
    assert firesteel(*arguments).code == 2


def test_python_m_firesteel_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "firesteel", "version"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"firesteel {__version__}\n")


def test_config_lists_every_option_that_has_a_meaning(firesteel: Firesteel) -> None:
    lines = firesteel("config").out.splitlines()
    assert [key for key, option in OPTIONS.items() if option.no_meaning is None and f"  {key}" not in lines] == []
    assert [key for key, option in OPTIONS.items() if option.no_meaning is not None and f"  {key}" in lines] == []


def test_config_finds_options_by_a_word(firesteel: Firesteel) -> None:
    keys = [line.strip() for line in firesteel("config", "CHAIN").out.splitlines() if line.startswith("  ")]
    assert keys[0] == "pipeline.operator-chaining.enabled"
    assert "parallelism.default" not in keys
    missing = firesteel("config", "teapot")
    assert missing.code == 2
    assert "no option has 'teapot'" in missing.err


def test_config_as_markdown_is_the_page_of_the_docs(firesteel: Firesteel) -> None:
    assert firesteel("config", "--format", "markdown").out == render_page()


def complete(words: list[str]) -> list[str]:
    """What bash offers for the last word."""
    quoted = " ".join(f"'{word}'" for word in ["firesteel", *words])
    script = (
        bash_script(build_parser())
        + f'COMP_WORDS=({quoted})\nCOMP_CWORD={len(words)}\n_firesteel\nprintf "%s\\n" "${{COMPREPLY[@]}}"\n'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["sa"], ["savepoint"]),
        (["savepoint", ""], ["list", "show", "diff", "dispose"]),
        (["run", "--from"], ["--from-savepoint"]),
        (["explain", "--format", "s"], ["svg"]),
        (["completion", ""], ["bash", "zsh"]),
        (["run", "--conf", "state.backend.ty"], ["state.backend.type="]),
        (["run", "READ"], ["README.md"]),
    ],
)
def test_bash_completes(words: list[str], offered: list[str]) -> None:
    assert complete(words) == offered


def test_the_completion_script_knows_all_commands_and_options(firesteel: Firesteel) -> None:
    for shell in ("bash", "zsh"):
        script = firesteel("completion", shell).out
        for word in (*COMMANDS, "--allow-non-restored-state", "execution.checkpointing.dir="):
            assert word in script
    assert "bashcompinit" in firesteel("completion", "zsh").out


def test_output_that_nobody_reads_to_its_end_is_no_error() -> None:
    command = f"'{sys.executable}' -m firesteel config | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Program\n", "")
