"""The regression guard: what counts as moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.compare import ELSEWHERE, Comparison, Ratio, Verdict, compare
from bench.guard import RECORD, Record, caveats, load, more_rounds, nearest, report, store


def higher(median: float, spread: float = 0.02) -> Ratio:
    return Ratio(median, spread, higher_is_better=True)


def lower(median: float, spread: float = 0.02) -> Ratio:
    return Ratio(median, spread, higher_is_better=False)


def test_median_and_spread_are_those_of_the_middle_half() -> None:
    ratio = Ratio.of([1.0, 1.1, 0.9, 5.0, 1.0], higher_is_better=True)
    assert ratio.median == 1.0
    assert ratio.spread == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("before", "now", "verdict"),
    [
        (higher(0.30), higher(0.27), Verdict.SAME),
        (higher(0.30), higher(0.25), Verdict.WORSE),
        (higher(0.30), higher(0.35), Verdict.BETTER),
        (lower(1.20), lower(1.50), Verdict.WORSE),
        (lower(1.20), lower(0.90), Verdict.BETTER),
        (higher(0.30, spread=0.4), higher(0.20), Verdict.SAME),
        (higher(0.30), higher(0.20, spread=0.4), Verdict.SAME),
        (higher(0.30, spread=0.2), higher(0.20, spread=0.2), Verdict.WORSE),
        (None, higher(0.30), Verdict.NEW),
        (higher(0.30), None, Verdict.GONE),
    ],
)
def test_a_ratio_has_moved_if_it_moved_by_more_than_the_tolerance_and_the_noise(
    before: Ratio | None, now: Ratio | None, verdict: Verdict
) -> None:
    assert Comparison("ratio", before, now).verdict is verdict


def test_a_line_says_what_it_was_what_it_is_and_by_how_much_it_moved() -> None:
    line = Comparison("running sum", higher(0.30), higher(0.20)).line(width=20)
    assert line.split() == ["running", "sum", "0.300", "0.200", "-33%", "(noise", "15%)", "WORSE"]


def test_every_ratio_of_either_side_is_compared() -> None:
    compared = compare({"a": higher(1), "old": higher(1)}, {"new": higher(1), "a": higher(1)})
    assert [(each.name, each.verdict) for each in compared] == [
        ("new", Verdict.NEW),
        ("a", Verdict.SAME),
        ("old", Verdict.GONE),
    ]


def test_only_what_got_worse_fails() -> None:
    said: list[str] = []
    before = {"kept": higher(1), "gained": higher(1), "gone": higher(1)}
    assert report(compare(before, {"kept": higher(1), "gained": higher(2), "new": higher(1)}), said.append) == 0
    assert said[-2].startswith("better: gained.")
    assert said[-1] == "nothing got worse"
    assert report(compare(before, {"kept": higher(0.5), "gained": higher(2)}), said.append) == 1
    assert said[-1] == "worse: kept"


@pytest.mark.parametrize(
    ("done", "elapsed", "more"),
    [(0, 60.0, True), (2, 200.0, True), (3, 40.0, True), (3, 80.0, True), (3, 81.0, False), (8, 20.0, False)],
)
def test_rounds_go_on_while_another_one_fits_into_the_time(done: int, elapsed: float, more: bool) -> None:
    assert more_rounds(done, elapsed, seconds=100.0) is more


HERE = {"cpu": "one", "cores": 2, "python": "3.11.7", "pyspark": "4.3.0", "load": 0.1}
THERE = {**HERE, "cpu": "other"}


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = Record(HERE, {"one": higher(0.3), "other": lower(1.2, 0.1)})
    store(tmp_path / "records.json", record)
    assert load(tmp_path / "records.json") == [record]


def test_each_kind_of_machine_has_one_record_and_the_last_one_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "records.json"
    for machine, median in ((HERE, 1), (THERE, 2), ({**HERE, "load": 0.2}, 3)):
        store(file, Record(machine, {"ratio": higher(median)}))
    assert [record.ratios["ratio"].median for record in load(file)] == [3, 2]


def test_ratios_are_compared_with_those_of_the_same_kind_of_machine_or_the_last_ones() -> None:
    last, older = Record(THERE, {}), Record(HERE, {})
    assert nearest([last, older], {**HERE, "load": 3.0}) is older
    assert nearest([last, older], {**HERE, "cores": 8}) is last
    assert nearest([], HERE) == Record(HERE, {})


def test_the_records_of_the_project_can_be_read() -> None:
    records = load(RECORD)
    assert records
    for record in records:
        assert record.machine["cores"] and record.ratios["running sum to its loop"].higher_is_better


def test_between_kinds_of_machine_only_large_moves_count() -> None:
    before, now = {"step": lower(0.29), "broken": lower(0.29)}, {"step": lower(0.36), "broken": lower(0.50)}
    assert [each.verdict for each in compare(before, now)] == [Verdict.WORSE, Verdict.WORSE]
    assert [each.verdict for each in compare(before, now, ELSEWHERE)] == [Verdict.SAME, Verdict.WORSE]


def test_another_machine_and_a_busy_one_are_mentioned() -> None:
    quiet = Record(HERE, {})
    assert caveats(quiet, HERE) == []
    other, what_to_do, busy_now = caveats(quiet, {**THERE, "load": 7.0})
    assert other.startswith("recorded elsewhere (cpu one, now other): only what moved by more than 40%")
    assert "ARGS=--record" in what_to_do
    assert busy_now.startswith("the machine was busy now (load 7.0)")
    busy_then = Record({**HERE, "load": 3.0}, {})
    assert caveats(busy_then, HERE)[0].startswith("the machine was busy when the ratios were recorded")
