"""The files that some engines of the comparison read: the same records that the others make."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from bench.peers.programs import files, inputs
from bench.peers.programs.harness import Task
from bench.peers.programs.inputs import Auction, Bid, NexmarkGenerator, Person


def task_of(work: str, folder: Path) -> Task:
    return Task(work, 10_000, 2, folder / "out", inputs=folder)


def rows_of(task: Task, name: str) -> list[list[str]]:
    """The rows of all files, in the order in which engines take them."""
    rows = []
    for path in sorted((files.directory(task) / name).iterdir(), key=lambda path: path.stat().st_mtime_ns):
        with path.open(encoding="utf-8") as file:
            heading, *more = csv.reader(file)
        assert heading == list(files.folders(task)[name].columns)
        rows += more
    return rows


@pytest.mark.parametrize("work", ["running_sum", "tumbling", "sessions"])
def test_numbers_are_those_that_others_count_to(work: str, tmp_path: Path) -> None:
    task = task_of(work, tmp_path)
    files.prepare(task)
    assert rows_of(task, "numbers") == [[str(number)] for number in range(10_000)]


def test_both_sides_of_the_join_are_written(tmp_path: Path) -> None:
    task = task_of("join", tmp_path)
    files.prepare(task)
    for name, make in (("left", inputs.left_of), ("right", inputs.right_of)):
        assert rows_of(task, name) == [list(map(str, make(number))) for number in range(5_000)]


def test_events_are_written_in_order_and_end_with_one_that_closes_all_windows(tmp_path: Path) -> None:
    task = task_of("q8", tmp_path)
    files.prepare(task)
    *rows, closing = rows_of(task, "events")
    generator = NexmarkGenerator()
    made = [event for block in range(10_000 // inputs.BLOCK) for event in generator.block(block)]
    assert [(int(row[0]), int(row[1])) for row in rows] == [event[:2] for event in made]
    whose = {Person.KIND: Person.ID, Auction.KIND: Auction.SELLER, Bid.KIND: Bid.AUCTION}
    assert [int(row[2]) for row in rows] == [event[whose[event[0]]] for event in made]
    assert [row[5] for row in rows if row[0] == "0"] == [event[Person.NAME] for event in made if not event[0]]
    assert [int(field) for field in closing[:2]] == [files.CLOSING, files.END_OF_TIME]
    assert max(event[1] for event in made) + inputs.NEW_USERS_MS + inputs.HOT_SIZE_MS < files.END_OF_TIME


def test_files_are_written_once_for_all_works_with_the_same_input(tmp_path: Path) -> None:
    files.prepare(task_of("q0", tmp_path))
    written = {path: path.stat().st_ino for path in tmp_path.rglob("*.csv")}
    other = files.directory(task_of("q0", tmp_path)) / "events" / "0000.csv"
    other.write_text("mine", encoding="utf-8")
    files.prepare(task_of("q5", tmp_path))
    assert {path: path.stat().st_ino for path in tmp_path.rglob("*.csv")} == written
    assert other.read_text(encoding="utf-8") == "mine"
