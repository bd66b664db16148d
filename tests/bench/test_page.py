"""Sections of a page that the tool writes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench.page import PERFORMANCE, README, PageError, replace_section, table

PAGE = """# Title

Prose before.

<!-- speed: written by the tool -->
old
<!-- end of speed -->

Prose after.
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_what_is_between_the_markers_is_replaced_and_nothing_else(page: Path) -> None:
    replace_section(page, "speed", "| new |\nmore")
    assert page.read_text(encoding="utf-8") == PAGE.replace("\nold\n", "\n\n| new |\nmore\n\n")


def test_writing_the_same_again_changes_nothing(page: Path) -> None:
    replace_section(page, "speed", "new\n")
    once = page.read_text(encoding="utf-8")
    replace_section(page, "speed", "new\n")
    assert page.read_text(encoding="utf-8") == once


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nothing here\n", "'<!-- speed: written by the tool -->' once, found it 0 times"),
        ("<!-- speed: written by the tool -->\n", "'<!-- end of speed -->' once, found it 0 times"),
        (PAGE + PAGE, "found it 2 times"),
        ("<!-- end of speed -->\n<!-- speed: written by the tool -->\n", "ends on line 1, before it begins on line 2"),
    ],
)
def test_a_page_without_the_markers_is_refused_and_left_alone(page: Path, text: str, complaint: str) -> None:
    page.write_text(text, encoding="utf-8")
    with pytest.raises(PageError, match=complaint):
        replace_section(page, "speed", "new")
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("page", "name"), [*((PERFORMANCE, name) for name in ("peers", "nexmark", "curves", "steps")), (README, "peers")]
)
def test_the_pages_of_the_project_have_their_sections(tmp_path: Path, page: Path, name: str) -> None:
    copy = Path(shutil.copy(page, tmp_path))
    replace_section(copy, name, "measured")
    assert f"<!-- {name}: written by the tool -->\n\nmeasured\n\n<!-- end of {name} -->" in copy.read_text(
        encoding="utf-8"
    )


def test_a_table_has_a_line_per_row() -> None:
    assert table(["a", "b|c"], [(1, "x"), ("y", 2)]) == "| a | b\\|c |\n| --- | --- |\n| 1 | x |\n| y | 2 |"


def test_a_table_with_a_short_row_is_refused() -> None:
    with pytest.raises(ValueError, match="1 cells, expected 2"):
        table(["a", "b"], [("x",)])
