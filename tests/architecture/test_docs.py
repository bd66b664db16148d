"""The written pages: links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")


def broken_links(page: Path, text: str) -> list[str]:
    """Relative links of a page whose file does not exist."""
    targets = [link.partition("#")[0] for link in LINK.findall(text) if not re.match(r"[a-z]+:", link)]
    return [target for target in targets if target and not (page.parent / target).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text(encoding="utf-8")) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").touch()
    text = "[a](there.md#part) [b](gone.md) [c](https://example.org) [d](#here)"
    assert broken_links(tmp_path / "page.md", text) == ["gone.md"]
