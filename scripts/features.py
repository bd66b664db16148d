"""Render which features the tests prove: a table for the terminal, a page for users.

Usage: python scripts/features.py REPORT.json [--page docs/features.md]
The report comes from `pytest --features-report=REPORT.json`, the features from tests/features.csv.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

FEATURES = Path(__file__).resolve().parent.parent / "tests" / "features.csv"
PAGE_HEAD = """\
# What works, and what does not yet

Every feature below that is listed as working is proven by tests that pass; this page is written by
`make features` from their outcome. {proven} of {total} features work today.
"""


@dataclass(frozen=True)
class Feature:
    """One row of features.csv with the outcome of its tests."""

    id: str
    group: str
    text: str
    passed: int
    failed: int

    @property
    def proven(self) -> bool:
        """Whether tests show it to work: at least one passes and none fails."""
        return self.passed > 0 and self.failed == 0

    @property
    def status(self) -> str:
        """One word for the terminal."""
        if self.failed:
            return "FAILING"
        return "proven" if self.passed else "-"


def load(rows: Iterable[Mapping[str, str]], report: Mapping[str, Mapping[str, list[str]]]) -> list[Feature]:
    """Join the features with a report of the feature_report plugin."""
    features = []
    for row in rows:
        outcomes = report.get(row["id"], {})
        passed, failed = (len(outcomes.get(outcome, ())) for outcome in ("passed", "failed"))
        features.append(Feature(row["id"], row["group"], row["feature"], passed, failed))
    return features


def _groups(features: list[Feature]) -> list[tuple[str, list[Feature]]]:
    return [(title, list(members)) for title, members in groupby(features, key=lambda feature: feature.group)]


def table(features: list[Feature]) -> str:
    """The terminal's table: every row with its status and number of passing tests, then the sums."""
    lines = []
    for title, members in _groups(features):
        lines.append(f"\n{title}: {sum(f.proven for f in members)} of {len(members)}")
        lines += [f"  {f.id}  {f.status:<7} {f.passed or '':>3}  {f.text}" for f in members]
    proven, failing = sum(f.proven for f in features), sum(f.failed > 0 for f in features)
    lines.append(f"\n{proven} of {len(features)} features have passing tests, {failing} have failing ones")
    return "\n".join(lines)


def page(features: list[Feature]) -> str:
    """The page for users: per group what works, then what does not yet."""
    parts = [PAGE_HEAD.format(proven=sum(f.proven for f in features), total=len(features))]
    for title, members in _groups(features):
        parts.append(f"## {title}\n")
        for heading, wanted in (("Works", True), ("Not yet", False)):
            chosen = [f for f in members if f.proven is wanted]
            if chosen:
                parts.append(f"{heading}:\n\n" + "".join(f"- {f.text} ({f.id})\n" for f in chosen))
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description="Render which features the tests prove.")
    parser.add_argument("report", type=Path, help="JSON written by pytest --features-report")
    parser.add_argument("--page", type=Path, help="page for users to write")
    options = parser.parse_args()
    with FEATURES.open(encoding="utf-8", newline="") as file:
        features = load(csv.DictReader(file), json.loads(options.report.read_text(encoding="utf-8")))
    print(table(features))
    if options.page:
        options.page.write_text(page(features), encoding="utf-8")


if __name__ == "__main__":
    main()
