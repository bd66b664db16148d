"""The table of features: what counts as proven, and how it is shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from scripts.features import load, page, table
from tests.feature_report import FEATURES, known_rows

pytest_plugins = ["pytester"]

ROWS = [
    {"id": "AA-01", "group": "First", "feature": "one"},
    {"id": "AA-02", "group": "First", "feature": "two"},
    {"id": "BB-01", "group": "Second", "feature": "three"},
]
REPORT = {
    "AA-01": {"passed": ["t1", "t2"]},
    "AA-02": {"passed": ["t1"], "failed": ["t3"]},
    "BB-01": {"skipped": ["t4"]},
}


def test_a_row_is_proven_by_passing_tests_alone() -> None:
    assert [feature.proven for feature in load(ROWS, REPORT)] == [True, False, False]


def test_a_row_without_tests_is_not_proven() -> None:
    assert not any(feature.proven for feature in load(ROWS, {}))


def test_the_table_shows_every_row_with_its_status_and_the_sums() -> None:
    lines = table(load(ROWS, REPORT)).splitlines()
    assert [line.split() for line in lines if re.match(r"  [A-Z]{2}-\d+", line)] == [
        ["AA-01", "proven", "2", "one"],
        ["AA-02", "FAILING", "1", "two"],
        ["BB-01", "-", "three"],
    ]
    assert "First: 1 of 2" in lines
    assert lines[-1] == "1 of 3 features have passing tests, 1 have failing ones"


def test_the_page_lists_what_works_and_what_does_not_yet_by_group() -> None:
    text = page(load(ROWS, REPORT))
    assert "1 of 3 features work today" in text
    first = "## First\n\nWorks:\n\n- one (AA-01)\n\nNot yet:\n\n- two (AA-02)\n"
    assert text.endswith(first + "\n## Second\n\nNot yet:\n\n- three (BB-01)\n")


def test_the_ids_of_the_features_are_unique_and_well_formed() -> None:
    ids = known_rows()
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[A-Z]{2}-\d{2}", row) for row in ids)


def _run(pytester: pytest.Pytester, source: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(source)
    return pytester.runpytest_inprocess("-p", "tests.feature_report", *options)


def test_the_plugin_reports_the_outcome_of_every_marked_test(pytester: pytest.Pytester) -> None:
    first, second = known_rows()[:2]
    target = Path(str(pytester.path)) / "report.json"
    _run(
        pytester,
        f"""
        import pytest

        @pytest.mark.feature({first!r})
        def test_good(): pass

        @pytest.mark.feature({first!r}, {second!r})
        def test_bad(): assert False

        @pytest.mark.feature({second!r})
        def test_skipped(): pytest.skip("not here")

        def test_unmarked(): pass
        """,
        f"--features-report={target}",
    )
    outcomes = json.loads(target.read_text(encoding="utf-8"))
    names = {row: {o: [t.split("::")[1] for t in tests] for o, tests in by.items()} for row, by in outcomes.items()}
    assert names == {
        first: {"passed": ["test_good"], "failed": ["test_bad"]},
        second: {"failed": ["test_bad"], "skipped": ["test_skipped"]},
    }


@pytest.mark.parametrize("mark", ['feature("ZZ-99")', "feature()"])
def test_a_mark_without_a_known_row_is_an_error(pytester: pytest.Pytester, mark: str) -> None:
    result = _run(pytester, f"import pytest\n\n@pytest.mark.{mark}\ndef test_it(): pass\n")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*names no row of {FEATURES.name}*"])
