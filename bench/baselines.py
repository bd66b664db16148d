"""What the programs are compared with: plain loops that do the same work on one core, without any engine.

Each takes the number of records, and returns something that depends on all of them, so that nothing is left out.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from bench.programs import LINES, SESSION_GAP_MS, SLIDING_MS, WINDOW_MS, event_time_of, session_key_of


def nanoseconds_of(loop: Callable[..., int], records: int, **sizes: int) -> float:
    """What a record costs in a loop."""
    started = time.perf_counter()
    loop(records, **sizes)
    return (time.perf_counter() - started) / records * 1e9


def quickest(loop: Callable[..., int], **sizes: int) -> float:
    """What a record costs in the quickest of some short runs: what it costs if no other process disturbs it."""
    return min(nanoseconds_of(loop, 100_000, **sizes) for _ in range(20))


def running_sum(records: int, keys: int) -> int:
    """Map to a pair, add up per key, keep some of the results."""
    sums: dict[int, int] = {}
    kept = 0
    for number in range(records):
        pair = (number % keys, number)
        total = sums.get(pair[0], 0) + pair[1]
        sums[pair[0]] = total
        result = (pair[0], total)
        if result[1] % 100 == 0:
            kept += 1
    return kept


def word_count(records: int) -> int:
    """Split lines, count each word, and look at every count."""
    counts: dict[str, int] = {}
    seen = 0
    for number in range(records):
        for word in LINES[number % len(LINES)].split():
            pair = (word, 1)
            total = counts.get(pair[0], 0) + pair[1]
            counts[pair[0]] = total
            result = (pair[0], total)
            seen += result[1] > 0
    return seen


def stateless(records: int) -> int:
    """Two maps and two filters."""
    kept = 0
    for number in range(records):
        value = number * 3 + 1
        if value % 5 != 0:
            pair = (value, value & 1023)
            if pair[1] < 900:
                kept += 1
    return kept


def tumbling_sum(records: int, keys: int) -> int:
    """Sums per key and window of event time; windows come out when the time has passed them."""
    windows: dict[int, dict[int, int]] = {}
    emitted = 0
    newest = 0
    for number in range(records):
        pair = (number % keys, number)
        timestamp = event_time_of(number)
        end = timestamp - timestamp % WINDOW_MS + WINDOW_MS
        sums = windows.get(end)
        if sums is None:
            sums = windows[end] = {}
        sums[pair[0]] = sums.get(pair[0], 0) + pair[1]
        if timestamp > newest:
            newest = timestamp
            for due in [each for each in windows if each <= newest] if min(windows) <= newest else ():
                emitted += len([(due, key, total) for key, total in windows.pop(due).items()])
    return emitted + sum(map(len, windows.values()))


def tumbling_windows(records: int, keys: int) -> int:
    """The same as with timers."""
    return tumbling_sum(records, keys)


def sliding_windows(records: int, keys: int) -> int:
    """Sums per key and second (panes); when a second has passed, the last 60 panes of each key are added up.

    What would still come out after the last record is left out.
    """
    by_key: dict[int, dict[int, int]] = {}
    emitted = 0
    due = WINDOW_MS
    for number in range(records):
        pair = (number % keys, number)
        timestamp = event_time_of(number)
        while timestamp >= due:
            emitted += len(_slide(by_key, due))
            due += WINDOW_MS
        pane = timestamp - timestamp % WINDOW_MS
        panes = by_key.get(pair[0])
        if panes is None:
            panes = by_key[pair[0]] = {}
        panes[pane] = panes.get(pane, 0) + pair[1]
    return emitted


def _slide(by_key: dict[int, dict[int, int]], end: int) -> list[tuple[int, int, int]]:
    results = [(end, key, sum(panes.values())) for key, panes in by_key.items()]
    oldest = end - SLIDING_MS
    for panes in by_key.values():
        panes.pop(oldest, None)
    for key in [key for key, panes in by_key.items() if not panes]:
        del by_key[key]
    return results


def session_windows(records: int, keys: int) -> int:
    """One open session per key, in order of their last records; the oldest come out when their gap has passed.

    Records come in order, so sessions never have to be merged here.
    """
    sessions: OrderedDict[int, tuple[int, int, int]] = OrderedDict()
    emitted = 0
    newest = 0
    for number in range(records):
        pair = (session_key_of(number, keys), number)
        timestamp = event_time_of(number)
        if timestamp > newest:
            newest = timestamp
            while sessions:
                key, (start, end, total) = next(iter(sessions.items()))
                if end > newest:
                    break
                del sessions[key]
                result = (start, end, total)
                emitted += len(result) > 0
        session = sessions.get(pair[0])
        if session is None:
            sessions[pair[0]] = (timestamp, timestamp + SESSION_GAP_MS, pair[1])
        else:
            sessions[pair[0]] = (session[0], timestamp + SESSION_GAP_MS, session[2] + pair[1])
            sessions.move_to_end(pair[0])
    return emitted + len(sessions)
