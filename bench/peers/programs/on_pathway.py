"""Pathway: tables that are kept up to date by a native engine (differential dataflow), in two threads.

Work is written the way its documentation does it: ``groupby`` and ``reduce``, ``windowby``, joins. No Python function
is called per record, which is why it is fed with files: with records made in Python, its connector was the limit
(60,000 records/s, against 500,000 from files). The files are written before the clock starts.

Results are those of tables: one update per key and minibatch, not one per record. Everything that is in the files when
the program starts is one minibatch.
"""

from __future__ import annotations

import os
from typing import Any

os.environ.update(PATHWAY_TELEMETRY_SERVER="", PATHWAY_THREADS="2")  # read when the package is imported

import pathway as pw

from bench.peers.programs import files, inputs
from bench.peers.programs.harness import Task, Works, arguments, report
from bench.peers.programs.inputs import Auction, Bid, Person


class Pair(pw.Schema):
    """A record of the four general works."""

    key: int
    number: int


class EventRow(pw.Schema):
    """An event of Nexmark, see :func:`bench.peers.programs.files.events`."""

    kind: int
    date_time: int
    who: int
    bidder: int
    price: int
    text: str


class Number(pw.Schema):
    """What the running sum and the windows begin with."""

    number: int


SCHEMAS = {"left": Pair, "right": Pair, "events": EventRow, "numbers": Number}


def read(task: Task, name: str) -> pw.Table:
    path = files.directory(task) / name
    return pw.io.csv.read(path, schema=SCHEMAS[name], mode="static")


def running_sum(task: Task) -> pw.Table:
    pairs = read(task, "numbers").select(key=pw.this.number % inputs.KEYS, number=pw.this.number)
    sums = pairs.groupby(pw.this.key).reduce(pw.this.key, total=pw.reducers.sum(pw.this.number))
    return sums if task.check else sums.filter(pw.this.total % 100 == 0)


def tumbling(task: Task) -> pw.Table:
    numbers = read(task, "numbers")
    pairs = numbers.select(pw.this.number, key=pw.this.number % inputs.KEYS, at=pw.this.number // 20)
    windows = pairs.windowby(
        pw.this.at, window=pw.temporal.tumbling(duration=inputs.WINDOW_MS), instance=pw.this.key
    )  # fmt: skip
    return windows.reduce(total=pw.reducers.sum(pw.this.number))


def sessions(task: Task) -> pw.Table:
    active = inputs.KEYS // 10
    number = pw.this.number
    key = number // (active * inputs.SESSION_RECORDS) % 10 * active + number % active
    pairs = read(task, "numbers").select(number, key=key, at=number // 20)
    gap = pw.temporal.session(max_gap=inputs.SESSION_GAP_MS)
    return pairs.windowby(pw.this.at, window=gap, instance=pw.this.key).reduce(total=pw.reducers.sum(pw.this.number))


def join(task: Task) -> pw.Table:
    left, right = (
        read(task, side).select(pw.this.key, pw.this.number, at=pw.this.number // 10) for side in ("left", "right")
    )
    window = pw.temporal.tumbling(duration=inputs.WINDOW_MS)
    return left.window_join(right, left.at, right.at, window, left.key == right.key).select(
        left.key, one=left.number, other=right.number
    )


def bids(task: Task) -> pw.Table:
    return read(task, "events").filter(pw.this.kind == Bid.KIND)


def q0(task: Task) -> pw.Table:
    return bids(task).select(pw.this.who, pw.this.bidder, pw.this.price, pw.this.date_time, pw.this.text)


def q1(task: Task) -> pw.Table:
    euros = inputs.EURO * pw.this.price
    return bids(task).select(pw.this.who, pw.this.bidder, euros=euros, at=pw.this.date_time, text=pw.this.text)


def q2(task: Task) -> pw.Table:
    return bids(task).filter(pw.this.who % 123 == 0).select(auction=pw.this.who, price=pw.this.price)


def q5(task: Task) -> pw.Table:
    window = pw.temporal.sliding(hop=inputs.HOT_SLIDE_MS, duration=inputs.HOT_SIZE_MS)
    windows = bids(task).windowby(pw.this.date_time, window=window, instance=pw.this.who)
    counts = windows.reduce(
        auction=pw.this._pw_instance,
        count=pw.reducers.count(),
        start=pw.this._pw_window_start,
        end=pw.this._pw_window_end,
    )
    most = counts.groupby(pw.this.start).reduce(pw.this.start, most=pw.reducers.max(pw.this.count))
    both = counts.join(most, counts.start == most.start, counts.count == most.most)
    return both.select(counts.auction, counts.count, counts.start, counts.end)


def q8(task: Task) -> pw.Table:
    size = inputs.NEW_USERS_MS
    rows = read(task, "events").filter(pw.this.kind != Bid.KIND)
    rows = rows.with_columns(start=pw.this.date_time // size * size, person=pw.this.who)
    persons, auctions = rows.filter(pw.this.kind == Person.KIND), rows.filter(pw.this.kind == Auction.KIND)
    sellers = auctions.groupby(pw.this.person, pw.this.start).reduce(pw.this.person, pw.this.start)
    both = persons.join(sellers, persons.person == sellers.person, persons.start == sellers.start)
    return both.select(persons.person, persons.text, persons.start)


WORKS: Works = {each.__name__: each for each in (running_sum, tumbling, sessions, join, q0, q1, q2, q5, q8)}


def main() -> None:
    task = arguments()
    files.prepare(task)
    if task.prepare:
        return
    table = WORKS[task.work](task)
    results: dict[Any, Any] = {}

    def keep(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        if is_addition:
            results[key] = tuple(row.values())
        else:
            results.pop(key, None)

    if task.check:
        pw.io.subscribe(table, keep)
    else:
        pw.io.null.write(table)
    task.marks.note(1)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    report(task, pw.__version__, results.values() if task.check else None)


if __name__ == "__main__":
    main()
