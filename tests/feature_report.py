"""Pytest plugin: which rows of features.csv are proven by a passing test.

A test names its rows with ``@pytest.mark.feature("DS-05", ...)``; a row that does not exist is an error.
``--features-report=PATH`` writes, for every row that a test names, the tests by outcome.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

FEATURES = Path(__file__).with_name("features.csv")
_PROPERTY = "feature"


def known_rows(path: Path = FEATURES) -> list[str]:
    """The ids of all features, in the order of the file."""
    with path.open(encoding="utf-8", newline="") as file:
        return [row["id"] for row in csv.DictReader(file)]


def rows_of(item: pytest.Item) -> list[str]:
    """The rows that a test says it proves."""
    return sorted({row for mark in item.iter_markers("feature") for row in mark.args})


class FeatureReport:
    """Collects the outcome of every test that names a feature."""

    def __init__(self) -> None:
        self._outcomes: dict[str, str] = {}
        self._rows: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        rows = [value for name, value in report.user_properties if name == _PROPERTY]
        if not rows:
            return
        self._rows[report.nodeid] = rows
        # Setup, call and teardown report in turn: the worst of them is the test's outcome.
        if report.failed:
            self._outcomes[report.nodeid] = "failed"
        elif report.skipped:
            self._outcomes.setdefault(report.nodeid, "skipped")
        elif report.when == "call":
            self._outcomes.setdefault(report.nodeid, "passed")

    def by_row(self) -> dict[str, dict[str, list[str]]]:
        """Row -> outcome -> tests."""
        result: dict[str, dict[str, list[str]]] = {}
        for test, outcome in sorted(self._outcomes.items()):
            for row in self._rows[test]:
                result.setdefault(row, {}).setdefault(outcome, []).append(test)
        return dict(sorted(result.items()))

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(self.by_row(), indent=1) + "\n", encoding="utf-8")


def check_rows(items: Iterable[pytest.Item], known: Iterable[str]) -> None:
    """Raise when a test names a row that does not exist, or none at all."""
    ids = set(known)
    for item in items:
        for mark in item.iter_markers("feature"):
            unknown = [row for row in mark.args if row not in ids]
            if unknown or not mark.args:
                raise pytest.UsageError(f"{item.nodeid}: feature{mark.args} names no row of {FEATURES.name}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--features-report", metavar="PATH", help="write the outcome per feature as JSON")


def pytest_configure(config: pytest.Config) -> None:
    # Of several processes that share the tests, only the one that hears of all of them writes the report.
    if config.getoption("--features-report") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FeatureReport(), "firesteel-feature-report")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    check_rows(items, known_rows())
    for item in items:
        item.user_properties.extend((_PROPERTY, row) for row in rows_of(item))


def pytest_sessionfinish(session: pytest.Session) -> None:
    report = session.config.pluginmanager.get_plugin("firesteel-feature-report")
    if isinstance(report, FeatureReport):
        report.write(Path(session.config.getoption("--features-report")))
