"""Bytewax: a dataflow of Python functions on Timely Dataflow.

Variants: ``worker`` is one worker, ``threads`` two workers in one process, ``processes`` two processes of one worker
each, connected as its documentation says. Threads share the one core that Python takes per process; processes
pickle every record that changes worker.
"""

from __future__ import annotations

import operator
import os
import pickle
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax._bytewax import cli_main
from bytewax.dataflow import Dataflow, Stream
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition

from bench.peers.programs import inputs
from bench.peers.programs.harness import Marks, Task, Works, arguments, free_ports, report, written_results
from bench.peers.programs.inputs import Auction, Bid, NexmarkGenerator, Person

BATCH = 1_000
LARGE_BATCH = 100_000
"""Sources hand on batches, and operators are called per batch. Where that is one call per key, large batches were the
quickest (running sum: 514,000 records/s, against 424,000 with small ones), otherwise small ones (tumbling windows:
55,000 against 41,000; q0: 886,000 against 553,000; one worker).
"""
OUT_OF_STEP = 30
ZERO = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Numbers(StatefulSourcePartition[Any, int]):
    """Every n-th record, in batches; each batch is a mark of progress."""

    def __init__(self, records: Iterator[list[Any]], marks: Marks) -> None:
        self._records, self._marks, self._before, self._given = records, marks, 1, 0

    def next_batch(self) -> list[Any]:
        self._marks.note(self._before)
        batch = next(self._records)
        self._before = len(batch)
        self._given += self._before
        return batch

    def snapshot(self) -> int:
        return self._given


class NumberSource(FixedPartitionedSource[Any, int]):
    """A partition per worker."""

    def __init__(self, task: Task, records: int | None = None, blocks: bool = False) -> None:
        self._task, self._count, self._blocks = task, records or task.records, blocks
        self._parts = workers(task)
        self._batch = LARGE_BATCH if task.work in ("running_sum", "join") else BATCH

    def list_parts(self) -> list[str]:
        return [str(part) for part in range(self._parts)]

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> Numbers:
        made = self._events(int(for_part)) if self._blocks else self._numbers(int(for_part))
        return Numbers(made, self._task.marks)

    def _numbers(self, part: int) -> Iterator[list[int]]:
        step = self._batch * self._parts
        for start in range(part, self._count, step):
            yield list(range(start, min(start + step, self._count), self._parts))

    def _events(self, part: int) -> Iterator[list[Any]]:
        generator, events = NexmarkGenerator(), []
        for block in range(part, self._count // inputs.BLOCK, self._parts):
            events += generator.block(block)
            if len(events) >= self._batch:
                yield events
                events = []
        yield events


class Results(DynamicSink[Any]):
    """Throws everything away, or writes it down for the check, a file per worker."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def build(self, step_id: str, worker_index: int, worker_count: int) -> StatelessSinkPartition[Any]:
        return Writing(f"{self._task.out}.results-{worker_index}") if self._task.check else Discarding()


class Discarding(StatelessSinkPartition[Any]):
    def write_batch(self, items: list[Any]) -> None:
        pass


class Writing(StatelessSinkPartition[Any]):
    def __init__(self, path: str) -> None:
        self._file = open(path, "wb")  # noqa: SIM115

    def write_batch(self, items: list[Any]) -> None:
        pickle.dump(items, self._file)

    def close(self) -> None:
        self._file.close()


class RunningSum(StatefulBatchLogic[int, int, int]):
    """A call per key and batch instead of one per record: quicker than ``stateful_map``."""

    def __init__(self, total: int | None) -> None:
        self._total = total or 0

    def on_batch(self, values: list[int]) -> tuple[list[int], bool]:
        totals = []
        total = self._total
        for value in values:
            total += value
            totals.append(total)
        self._total = total
        return totals, False

    def snapshot(self) -> int:
        return self._total


def running_sum(flow: Dataflow, task: Task) -> Stream[Any]:
    check = task.check
    numbers = op.input("numbers", flow, NumberSource(task))
    pairs = op.map("pairs", numbers, lambda number: (str(number % inputs.KEYS), number))
    sums = op.stateful_batch("sums", pairs, RunningSum)
    some = op.filter("some", sums, lambda pair: check or pair[1] % 100 == 0)
    return op.map("results", some, lambda pair: (int(pair[0]), pair[1])) if check else some


def clock(time_of: Any, wait: int = 0) -> win.EventClock[Any]:
    """Event time that stands still when no records come: the input is not live.

    :param wait: By how many seconds records may come late. Two sides of a join are out of step by a batch.
    """
    return win.EventClock(
        lambda value: ZERO + timedelta(milliseconds=time_of(value)),
        wait_for_system_duration=timedelta(seconds=wait),
        now_getter=lambda: ZERO,
        to_system_utc=lambda _: None,
    )


def tumbling(flow: Dataflow, task: Task) -> Stream[Any]:
    numbers = op.input("numbers", flow, NumberSource(task))
    pairs = op.map("pairs", numbers, lambda number: (str(number % inputs.KEYS), number))
    windows = win.TumblingWindower(length=timedelta(milliseconds=inputs.WINDOW_MS), align_to=ZERO)
    return folded(pairs, windows)


def sessions(flow: Dataflow, task: Task) -> Stream[Any]:
    numbers = op.input("numbers", flow, NumberSource(task))
    pairs = op.map("pairs", numbers, lambda number: (str(inputs.session_key_of(number)), number))
    # A gap as long as this one still belongs to a session of Bytewax.
    return folded(pairs, win.SessionWindower(gap=timedelta(milliseconds=inputs.SESSION_GAP_MS - 1)))


def folded(pairs: Any, windows: Any) -> Stream[Any]:
    """Sums per window."""
    out = win.fold_window(
        "sums", pairs, clock(inputs.event_time_of), windows, int, operator.add, operator.add, ordered=False
    )  # fmt: skip
    return op.map("totals", out.down, lambda result: result[1][1])


def join(flow: Dataflow, task: Task) -> Stream[Any]:
    sides = [
        op.map(f"{make.__name__}", op.input(f"numbers {make.__name__}", flow, NumberSource(task, task.records // 2)),
               lambda number, make=make: (str(make(number)[0]), number))
        for make in (inputs.left_of, inputs.right_of)
    ]  # fmt: skip
    windows = win.TumblingWindower(length=timedelta(milliseconds=inputs.WINDOW_MS), align_to=ZERO)
    out = win.join_window(
        "join", clock(inputs.side_event_time_of, OUT_OF_STEP), windows, *sides,
        insert_mode="product", emit_mode="complete", ordered=False,
    )  # fmt: skip
    return op.map("results", out.down, lambda result: (int(result[0]), *result[1][1]))


def bids(flow: Dataflow, task: Task) -> Stream[Any]:
    events = op.input("events", flow, NumberSource(task, blocks=True))
    return op.filter("bids", events, lambda event: event[0] == Bid.KIND)


def q0(flow: Dataflow, task: Task) -> Stream[Any]:
    return op.map("short", bids(flow, task), inputs.short_bid)


def q1(flow: Dataflow, task: Task) -> Stream[Any]:
    return op.map("euros", bids(flow, task), inputs.euro_bid)


def q2(flow: Dataflow, task: Task) -> Stream[Any]:
    return op.map("short", op.filter("chosen", bids(flow, task), inputs.is_chosen), inputs.chosen_bid)


def q5(flow: Dataflow, task: Task) -> Stream[Any]:
    """Counts per auction and window, then the highest ones per window.

    Windows are known by number. One of a key is closed by the key's own next record, or at the end; the second step
    knows of no window when it is complete. Its results therefore come at the end.
    """
    length, offset = (timedelta(milliseconds=ms) for ms in (inputs.HOT_SIZE_MS, inputs.HOT_SLIDE_MS))
    auctions = op.map("auctions", bids(flow, task), lambda bid: (str(bid[Bid.AUCTION]), bid[Bid.DATE_TIME]))
    windows = win.SlidingWindower(length=length, offset=offset, align_to=ZERO)
    out = win.fold_window(
        "counts",
        auctions,
        clock(int, OUT_OF_STEP),
        windows,
        int,
        lambda count, _: count + 1,
        lambda a, b: a + b,
        ordered=False,
    )
    counts = op.map("by window", out.down, lambda each: (str(each[1][0]), (int(each[0]), each[1][1])))
    hottest = op.reduce_final("hottest", op.map_value("one", counts, lambda each: [each]), hotter)
    return op.flat_map("results", hottest, with_window)


def hotter(one: list[Any], other: list[Any]) -> list[Any]:
    """Those with the higher count; both, if they are equal."""
    if one[0][1] == other[0][1]:
        return one + other
    return one if one[0][1] > other[0][1] else other


def with_window(each: tuple[str, list[Any]]) -> Iterable[Any]:
    start = int(each[0]) * inputs.HOT_SLIDE_MS
    return [(auction, count, start, start + inputs.HOT_SIZE_MS) for auction, count in each[1]]


def q8(flow: Dataflow, task: Task) -> Stream[Any]:
    events = op.input("events", flow, NumberSource(task, blocks=True))
    kinds = op.branch("persons", op.filter("no bids", events, lambda event: event[0] != Bid.KIND),
                      lambda event: event[0] == Person.KIND)  # fmt: skip
    persons = op.map("by id", kinds.trues, lambda person: (str(person[Person.ID]), person))
    auctions = op.map("by seller", kinds.falses, lambda auction: (str(auction[Auction.SELLER]), auction))
    windows = win.TumblingWindower(length=timedelta(milliseconds=inputs.NEW_USERS_MS), align_to=ZERO)
    # Complete as soon as there is one of each, and then forgotten: a person is named once.
    out = win.join_window(
        "join",
        clock(lambda event: event[1], OUT_OF_STEP),
        windows,
        persons,
        auctions,
        emit_mode="complete",
        ordered=False,
    )
    return op.map("results", out.down, lambda each: new_seller(each[1][1][0]))


def new_seller(person: Any) -> Any:
    end = inputs.window_end_of(person[Person.DATE_TIME], inputs.NEW_USERS_MS)
    return person[Person.ID], person[Person.NAME], end - inputs.NEW_USERS_MS


WORKS: Works = {each.__name__: each for each in (running_sum, tumbling, sessions, join, q0, q1, q2, q5, q8)}


def workers(task: Task) -> int:
    return 1 if task.variant == "worker" else task.parallelism


def run(flow: Dataflow, task: Task) -> None:
    if task.variant != "processes":
        cli_main(flow, workers_per_process=workers(task))
        return
    addresses = [f"127.0.0.1:{port}" for port in free_ports(task.parallelism)]
    children = []
    for number in range(1, task.parallelism):
        child = os.fork()
        if not child:
            cli_main(flow, process_id=number, addresses=addresses)
            os._exit(0)
        children.append(child)
    cli_main(flow, process_id=0, addresses=addresses)
    for child in children:
        os.waitpid(child, 0)


def main() -> None:
    task = arguments()
    flow = Dataflow(task.work)
    op.output("out", WORKS[task.work](flow, task), Results(task))
    run(flow, task)
    batches = written_results(task)
    report(task, version("bytewax"), (each for batch in batches for each in batch) if task.check else None)


if __name__ == "__main__":
    main()
