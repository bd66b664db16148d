"""The Python blocks of the README and of the user guide run, in order, and print what the pages say they print.

A block that prints is followed by a block of kind ``text`` (or of no kind) with its output, in which ``...`` stands for
anything. The blocks of a page are one program.
"""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MARK = "==== block at line"
LIMIT_SECONDS = 120


@dataclass
class Block:
    """A fenced block: its kind, the line of its fence (from 1), its content, whether it stands right under another."""

    kind: str
    line: int
    content: list[str]
    follows_directly: bool


def blocks_of(page: str) -> list[Block]:
    blocks: list[Block] = []
    inside: Block | None = None
    follows_directly = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```") and inside is None:
            inside = Block(line[3:].strip(), number, [], follows_directly)
        elif line.startswith("```") and inside is not None:
            blocks.append(inside)
            inside, follows_directly = None, True
        elif inside is not None:
            inside.content.append(line)
        elif line.strip():
            follows_directly = False
    return blocks


def program_of(blocks: list[Block]) -> str:
    """The Python blocks at the lines where they are on the page, each after a line that prints a mark."""
    lines: list[str] = []
    for block in blocks:
        if block.kind == "python":
            lines += [""] * (block.line - 1 - len(lines))
            lines += [f"print({f'{MARK} {block.line}'!r}, flush=True)", *block.content]
    return "\n".join(lines) + "\n"


def expected_outputs(blocks: list[Block]) -> dict[int, str]:
    """Line of a Python block -> what it prints, according to the page."""
    expected = {}
    for block, following in zip(blocks, [*blocks[1:], None]):
        if block.kind == "python":
            shown = following is not None and following.follows_directly and following.kind in ("", "text")
            expected[block.line] = "".join(f"{line}\n" for line in following.content) if following and shown else ""
    return expected


IN_PROCESS = "execution.target: in-process"
ON_SPARK: set[str] = set()
"""Pages whose programs run on Spark only."""


def run(program: Path) -> dict[int, str]:
    """Line of a block -> what it printed."""
    properties = "firesteel.master: local[2]" if program.stem in ON_SPARK else IN_PROCESS
    environment = {**os.environ, "FIRESTEEL_PROPERTIES": properties, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", str(program)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False, cwd=program.parent
    )
    assert done.returncode == 0, done.stderr
    printed: dict[int, str] = {}
    for part in done.stdout.split(f"{MARK} ")[1:]:
        line, _, output = part.partition("\n")
        printed[int(line)] = output
    return printed


def pages() -> list[Path]:
    found = [ROOT / "README.md", *sorted((ROOT / "docs" / "user-guide").glob("*.md"))]
    return [page for page in found if "```python\n" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_prints_what_it_says(page: Path, tmp_path: Path) -> None:
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    program = tmp_path / f"{page.stem}.py"
    program.write_text(program_of(blocks), encoding="utf-8")
    printed = run(program)
    checker = doctest.OutputChecker()
    for line, expected in expected_outputs(blocks).items():
        if not checker.check_output(expected, printed[line], doctest.ELLIPSIS):
            example = doctest.Example("", expected)
            difference = checker.output_difference(example, printed[line], doctest.REPORT_NDIFF)
            pytest.fail(f"{page.name}, block at line {line}:\n{difference}", pytrace=False)


def test_what_a_page_says_is_compared(tmp_path: Path) -> None:
    page = (
        "# A page\n\n```python\nn = 1\n```\n\n```python\nprint(n + 1)\n```\n\n```text\n2\n```\n\nEnd.\n\n```\nx\n```\n"
    )
    blocks = blocks_of(page)
    assert expected_outputs(blocks) == {3: "", 7: "2\n"}
    assert program_of(blocks).splitlines()[7] == "print(n + 1)"
    program = tmp_path / "page.py"
    program.write_text(program_of(blocks))
    assert run(program) == {3: "", 7: "2\n"}
