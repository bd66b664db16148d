"""No engine: plain loops on one core. They are the scale, and their results are what the others' are compared with."""

from __future__ import annotations

import platform
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

from bench.peers.programs import inputs
from bench.peers.programs.harness import Task, Works, arguments, report
from bench.peers.programs.inputs import Auction, Bid, Event, NexmarkGenerator, Person

Emit = Callable[[Any], object]


def running_sum(task: Task, emit: Emit) -> None:
    sums: dict[int, int] = {}
    check, keys = task.check, inputs.KEYS
    for number in range(task.records):
        pair = (number % keys, number)
        total = sums.get(pair[0], 0) + pair[1]
        sums[pair[0]] = total
        result = (pair[0], total)
        if check or result[1] % 100 == 0:
            emit(result)


def tumbling(task: Task, emit: Emit) -> None:
    """Records come in order, so a window is complete when the next one begins."""
    sums: dict[int, int] = {}
    current = 0
    for number in range(task.records):
        key, value = inputs.pair_of(number)
        end = inputs.window_end_of(inputs.event_time_of(number))
        if end != current:
            for total in sums.values():
                emit(total)
            sums, current = {}, end
        sums[key] = sums.get(key, 0) + value
    for total in sums.values():
        emit(total)


def sessions(task: Task, emit: Emit) -> None:
    """One open session per key, in order of their last records."""
    open_: OrderedDict[int, tuple[int, int]] = OrderedDict()
    newest = 0
    for number in range(task.records):
        key, value = inputs.session_pair_of(number)
        timestamp = inputs.event_time_of(number)
        if timestamp > newest:
            newest = timestamp
            while open_:
                oldest, (end, total) = next(iter(open_.items()))
                if end > newest:
                    break
                del open_[oldest]
                emit(total)
        open_[key] = (timestamp + inputs.SESSION_GAP_MS, open_.pop(key, (0, 0))[1] + value)
    for _, total in open_.values():
        emit(total)


def join(task: Task, emit: Emit) -> None:
    """The sides in turns, window by window."""
    size = inputs.WINDOW_MS * 10
    half = task.records // 2
    for start in range(0, half, size):
        left: dict[int, list[int]] = {}
        for number in range(start, min(start + size, half)):
            key, value = inputs.left_of(number)
            left.setdefault(key, []).append(value)
        for number in range(start, min(start + size, half)):
            key, value = inputs.right_of(number)
            for other in left.get(key, ()):
                emit((key, other, value))


def events(task: Task) -> Iterator[Event]:
    generator = NexmarkGenerator()
    for number in range(task.records // inputs.BLOCK):
        yield from generator.block(number)


def q0(task: Task, emit: Emit) -> None:
    for event in events(task):
        if event[0] == Bid.KIND:
            emit(inputs.short_bid(event))


def q1(task: Task, emit: Emit) -> None:
    for event in events(task):
        if event[0] == Bid.KIND:
            emit(inputs.euro_bid(event))


def q2(task: Task, emit: Emit) -> None:
    for event in events(task):
        if event[0] == Bid.KIND and inputs.is_chosen(event):
            emit(inputs.chosen_bid(event))


def q5(task: Task, emit: Emit) -> None:
    """Counts per slide; a window is the last five of them."""
    slides_per_window = inputs.HOT_SIZE_MS // inputs.HOT_SLIDE_MS
    slides: deque[Counter[int]] = deque([Counter()], slides_per_window)
    end = 0

    def hottest() -> None:
        counts = sum(slides, Counter())
        most = max(counts.values(), default=0)
        for auction, count in counts.items():
            if count == most:
                emit((auction, count, end - inputs.HOT_SIZE_MS, end))

    for event in events(task):
        if event[0] == Bid.KIND:
            due = inputs.window_end_of(event[Bid.DATE_TIME], inputs.HOT_SLIDE_MS)
            while end and end < due:
                hottest()
                slides.append(Counter())
                end += inputs.HOT_SLIDE_MS
            end = due
            slides[-1][event[Bid.AUCTION]] += 1
    for _ in range(slides_per_window):
        hottest()
        slides.append(Counter())
        end += inputs.HOT_SLIDE_MS


def q8(task: Task, emit: Emit) -> None:
    persons: dict[int, str] = {}
    sellers: set[int] = set()
    end = 0

    def new_sellers() -> None:
        for person, name in persons.items():
            if person in sellers:
                emit((person, name, end - inputs.NEW_USERS_MS))

    for event in events(task):
        if event[0] == Bid.KIND:
            continue
        due = inputs.window_end_of(event[1], inputs.NEW_USERS_MS)
        if due != end:
            new_sellers()
            persons, sellers, end = {}, set(), due
        if event[0] == Person.KIND:
            persons[event[Person.ID]] = event[Person.NAME]
        else:
            sellers.add(event[Auction.SELLER])
    new_sellers()


WORKS: Works = {each.__name__: each for each in (running_sum, tumbling, sessions, join, q0, q1, q2, q5, q8)}


def main() -> None:
    task = arguments()
    results: deque[Any] = deque(maxlen=None if task.check else 0)
    marks = task.marks
    marks.note(1)
    WORKS[task.work](task, results.append)
    marks.note(task.records - 1)
    report(task, platform.python_version(), results if task.check else None)


if __name__ == "__main__":
    main()
