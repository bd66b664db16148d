"""The queries, each a function from the stream of events to a stream of results.

Left out: q9, the winning bids themselves, which are the first half of q4 and q6, and q10, which writes files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.nexmark.queries.joins import q3, q8, q13
from bench.nexmark.queries.reports import q15, q16, q17, q18, q19
from bench.nexmark.queries.stateless import q0, q1, q2, q14
from bench.nexmark.queries.windows import q5, q7, q11, q12
from bench.nexmark.queries.winners import q4, q6
from firesteel.datastream import DataStream


@dataclass(frozen=True)
class Query:
    """A program, and how its results are read.

    :param key: For queries that keep a table up to date: the columns that say which row a result replaces. A result
        stands for itself if there are none.
    :param events: Some seconds' worth of events on two cores, for measuring.
    """

    build: Callable[[DataStream], DataStream]
    key: tuple[int, ...] = ()
    events: int = 2_000_000

    @property
    def title(self) -> str:
        """What the query is called: its description up to the first colon."""
        return (self.build.__doc__ or "").partition(":")[0]

    def final(self, results: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
        """What is left when each result has replaced those before it, in a defined order."""
        if self.key:
            results = list({tuple(row[column] for column in self.key): row for row in results}.values())
        return sorted(results, key=repr)


QUERIES: dict[str, Query] = {
    "q0": Query(q0),
    "q1": Query(q1),
    "q2": Query(q2),
    "q3": Query(q3),
    "q4": Query(q4, key=(0,), events=1_000_000),
    "q5": Query(q5),
    "q6": Query(q6, events=1_000_000),
    "q7": Query(q7, events=1_000_000),
    "q8": Query(q8),
    "q11": Query(q11),
    "q12": Query(q12),
    "q13": Query(q13, events=1_000_000),
    "q14": Query(q14),
    "q15": Query(q15, key=(0,), events=500_000),
    "q16": Query(q16, key=(0, 1), events=500_000),
    "q17": Query(q17, key=(0, 1), events=500_000),
    "q18": Query(q18, key=(1, 2), events=1_000_000),
    "q19": Query(q19, key=(1, 7), events=1_000_000),
}
