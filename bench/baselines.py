"""What the programs are compared with: plain loops that do the same work on one core, without any engine.

Each takes the number of records, and returns something that depends on all of them, so that nothing is left out.
"""

from __future__ import annotations

from bench.programs import LINES, WINDOW_MS, event_time_of


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
