"""Writing measured sections of markdown pages: a page is prose by people, with sections that the tool writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PERFORMANCE = ROOT / "docs" / "performance.md"
README = ROOT / "README.md"


class PageError(Exception):
    """A page has not the markers of a section, or not in order."""


def replace_section(page: Path, name: str, markdown: str) -> None:
    """Replace what stands between ``<!-- name: written by the tool -->`` and ``<!-- end of name -->``.

    Both markers have to be in the page already, once each and on lines of their own.

    :raises PageError: If they are not. The page is left as it is.
    """
    lines = page.read_text(encoding="utf-8").splitlines()
    begin, end = (
        _only(lines, page, f"<!-- {name}: written by the tool -->"),
        _only(lines, page, f"<!-- end of {name} -->"),
    )
    if end < begin:
        raise PageError(f"{page}: section {name!r} ends on line {end + 1}, before it begins on line {begin + 1}")
    content = ["", *markdown.strip("\n").split("\n"), ""]
    page.write_text("\n".join([*lines[: begin + 1], *content, *lines[end:], ""]), encoding="utf-8")


def _only(lines: Sequence[str], page: Path, marker: str) -> int:
    found = [number for number, line in enumerate(lines) if line.strip() == marker]
    if len(found) != 1:
        raise PageError(
            f"{page}: expected the line {marker!r} once, found it {len(found)} times. Put it where it belongs."
        )
    return found[0]


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A markdown table; cells are shown as they are, so give numbers the form that people should see."""
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in [headings, *rows]]
    wrong = [row for row in cells if len(row) != len(headings)]
    if wrong:
        raise ValueError(f"a row has {len(wrong[0])} cells, expected {len(headings)}: {wrong[0]}")
    return "\n".join(f"| {' | '.join(row)} |" for row in [cells[0], ["---"] * len(headings), *cells[1:]])
