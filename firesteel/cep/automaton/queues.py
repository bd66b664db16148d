"""Priority queues as lists, in exactly the order that Flink's matching goes by.

Flink keeps matches in binary heaps by their first event and walks through them as they lie in memory. Where several
have the same first event, that order decides which is reported first and, with a skip strategy, which one wins. So the
heaps here move their entries as Java's do; ``heapq`` does not.

An entry is a tuple that begins with what it is ordered by; the other fields are never compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Entry = tuple[Any, ...]


def push(heap: list[Any], entry: Entry) -> None:
    """Add an entry."""
    place = len(heap)
    heap.append(entry)
    order = entry[0]
    while place > 0:
        parent = (place - 1) >> 1
        above = heap[parent]
        if order >= above[0]:
            break
        heap[place] = above
        place = parent
    heap[place] = entry


def pop(heap: list[Any]) -> Any:
    """Take out the first entry."""
    first, last = heap[0], heap.pop()
    if heap:
        _sink(heap, 0, last)
    return first


def remove_if(heap: list[Any], unwanted: Callable[[Any], bool]) -> list[Any]:
    """Take out all entries of a kind; returns them in the order in which they lay."""
    removed = [entry for entry in heap if unwanted(entry)]
    if removed:
        heap[:] = [entry for entry in heap if not unwanted(entry)]
        for place in range((len(heap) >> 1) - 1, -1, -1):
            _sink(heap, place, heap[place])
    return removed


def _sink(heap: list[Any], place: int, entry: Entry) -> None:
    size = len(heap)
    order = entry[0]
    while place < size >> 1:
        child = 2 * place + 1
        if child + 1 < size and heap[child][0] > heap[child + 1][0]:
            child += 1
        below = heap[child]
        if order <= below[0]:
            break
        heap[place] = below
        place = child
    heap[place] = entry
