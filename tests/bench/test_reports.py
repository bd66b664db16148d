"""Reports are kept as JSON, under the time when they began."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import reports

REPORT = {"machine": {"time": "2026-11-16T07:21:25+00:00"}, "runs": [1]}


def test_a_report_is_named_after_what_and_when_it_measured(tmp_path: Path) -> None:
    path = reports.save(REPORT, "peers", tmp_path / "results")

    assert path == tmp_path / "results" / "peers-20261116-072125.json"
    assert json.loads(path.read_text(encoding="utf-8")) == REPORT


def test_a_report_that_grows_stays_one_file(tmp_path: Path) -> None:
    reports.save(REPORT, folder=tmp_path)
    reports.save({**REPORT, "runs": [1, 2]}, folder=tmp_path)

    (path,) = tmp_path.iterdir()
    assert json.loads(path.read_text(encoding="utf-8"))["runs"] == [1, 2]


@pytest.mark.parametrize("pattern", ["[0-9]*.json", "nexmark-*.json", "peers-*.json"])
def test_what_the_page_was_written_from_is_in_the_repository(pattern: str) -> None:
    published = sorted(reports.HISTORY.glob(pattern))

    assert published
    for path in published:
        assert json.loads(path.read_text(encoding="utf-8"))["machine"]["cores"] >= 1
