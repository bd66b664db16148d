"""The pictures of the documentation are what the scripts draw, and pages show all of them."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    drawn: dict[str, str] = {}
    for script in ("draw_windows.py", "draw_matches.py"):
        drawn |= runpy.run_path(str(ROOT / "scripts" / script))["pictures"]()
    return drawn


def test_pictures_are_current(drawn: dict[str, str]) -> None:
    stored = {path.name: path.read_text(encoding="utf-8") for path in PICTURES.glob("*.svg")}
    assert stored == drawn, "run: python scripts/draw_windows.py; python scripts/draw_matches.py"


def test_pictures_are_well_formed_and_have_a_title(drawn: dict[str, str]) -> None:
    for text in drawn.values():
        title = ElementTree.fromstring(text).find("{http://www.w3.org/2000/svg}title")
        assert title is not None and title.text


def test_pages_show_every_picture_with_a_description_and_none_that_is_missing() -> None:
    shown = set()
    for page in (ROOT / "docs" / "user-guide").glob("*.md"):
        for description, name in re.findall(r"!\[(.*?)\]\(\.\./pictures/(.*?)\)", page.read_text(encoding="utf-8")):
            assert description, f"{page.name}: {name}"
            shown.add(name)
    assert shown == {path.name for path in PICTURES.iterdir() if path.is_file()}  # drawn ones and screenshots
