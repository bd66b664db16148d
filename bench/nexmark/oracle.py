"""The answers, computed another way: Spark's batch SQL over the same events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bench.nexmark.model import Auction, Bid, Event, Person, columns
from bench.nexmark.queries import Query
from bench.nexmark.queries.joins import side_input

_RANKS = """
    count(*), count_if(price < 10000), count_if(price >= 10000 AND price < 1000000), count_if(price >= 1000000),
    count(DISTINCT bidder), count(DISTINCT CASE WHEN price < 10000 THEN bidder END),
    count(DISTINCT CASE WHEN price >= 10000 AND price < 1000000 THEN bidder END),
    count(DISTINCT CASE WHEN price >= 1000000 THEN bidder END),
    count(DISTINCT auction), count(DISTINCT CASE WHEN price < 10000 THEN auction END),
    count(DISTINCT CASE WHEN price >= 10000 AND price < 1000000 THEN auction END),
    count(DISTINCT CASE WHEN price >= 1000000 THEN auction END)
"""
# In UTC, whatever the time zone of the session is.
_DAY = "string(date_add(DATE '1970-01-01', int(date_time div 86400000)))"
_HOUR = "(date_time div 3600000 % 24)"
_MINUTE = f"concat(lpad({_HOUR}, 2, '0'), ':', lpad(date_time div 60000 % 60, 2, '0'))"
_WINNERS = """
    SELECT a.id, a.seller, a.category, a.expires, max(b.price) AS price
    FROM auction a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
    GROUP BY a.id, a.seller, a.category, a.expires
"""
_HOPS = """
    SELECT auction, count(*) AS bids, start FROM (
        SELECT auction, explode(sequence(
            date_time div 2000 * 2000 - 8000, date_time div 2000 * 2000, 2000)) AS start FROM bid)
    GROUP BY auction, start
"""

SQL: dict[str, str] = {
    "q0": "SELECT auction, bidder, price, date_time, extra FROM bid",
    "q1": "SELECT auction, bidder, 0.908D * price, date_time, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "q4": f"SELECT category, avg(price) FROM ({_WINNERS}) GROUP BY category",
    "q5": f"""SELECT auction, bids, start, start + 10000
        FROM (SELECT *, max(bids) OVER (PARTITION BY start) AS most FROM ({_HOPS})) WHERE bids = most""",
    "q6": f"""SELECT seller, id, avg(price) OVER (
            PARTITION BY seller ORDER BY expires, id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)
        FROM ({_WINNERS})""",
    "q7": """SELECT auction, bidder, price, date_time, extra
        FROM (SELECT *, max(price) OVER (PARTITION BY date_time div 10000) AS highest FROM bid)
        WHERE price = highest""",
    "q8": """SELECT DISTINCT p.id, p.name, p.date_time div 10000 * 10000
        FROM person p JOIN auction a ON p.id = a.seller AND p.date_time div 10000 = a.date_time div 10000""",
    "q11": """SELECT bidder, count(*), min(date_time), max(date_time) + 10000 FROM (
            SELECT bidder, date_time, sum(new) OVER (PARTITION BY bidder ORDER BY date_time) AS session FROM (
                SELECT bidder, date_time, CASE WHEN date_time - lag(date_time, 1, 0L) OVER (
                    PARTITION BY bidder ORDER BY date_time) < 10000 THEN 0 ELSE 1 END AS new FROM bid))
        GROUP BY bidder, session""",
    "q12": "SELECT bidder, count(*) FROM bid GROUP BY bidder",
    "q13": """SELECT b.auction, b.bidder, b.price, b.date_time, s.value
        FROM bid b JOIN side_input s ON b.auction % 10000 = s.key""",
    "q14": f"""SELECT auction, bidder, 0.908D * price,
            CASE WHEN {_HOUR} BETWEEN 8 AND 18 THEN 'dayTime'
                WHEN {_HOUR} <= 6 OR {_HOUR} >= 20
                THEN 'nightTime' ELSE 'otherTime' END,
            date_time, extra, length(extra) - length(replace(extra, 'c', ''))
        FROM bid WHERE 0.908D * price > 1000000 AND 0.908D * price < 50000000""",
    "q15": f"SELECT {_DAY}, {_RANKS} FROM bid GROUP BY {_DAY}",
    "q16": f"""SELECT channel, {_DAY}, max({_MINUTE}), {_RANKS}
        FROM bid GROUP BY channel, {_DAY}""",
    "q17": f"""SELECT auction, {_DAY}, count(*), count_if(price < 10000),
            count_if(price >= 10000 AND price < 1000000), count_if(price >= 1000000),
            min(price), max(price), avg(price), sum(price)
        FROM bid GROUP BY auction, {_DAY}""",
    "q18": """SELECT date_time, auction, bidder, price, channel, url, extra FROM (
            SELECT *, row_number() OVER (PARTITION BY bidder, auction
                ORDER BY date_time DESC, price DESC, channel DESC, url DESC, extra DESC) AS place FROM bid)
        WHERE place = 1""",
    "q19": """SELECT date_time, auction, bidder, price, channel, url, extra, place FROM (
            SELECT *, row_number() OVER (PARTITION BY auction
                ORDER BY price DESC, date_time, bidder, channel, url, extra) AS place FROM bid)
        WHERE place <= 10""",
}
"""All columns in the order of the results of the query of that name. q12 goes by the clock of the machine, which SQL
over a table knows nothing of: what holds for any clock is the number of bids of each bidder in all windows together.
"""


class Oracle:
    """Answers for some events.

    :param spark: A session; its temporary views ``person``, ``auction``, ``bid`` and ``side_input`` are replaced.
    """

    def __init__(self, spark: Any, events: Iterable[Event]) -> None:
        self._spark = spark
        self._answers: dict[str, list[tuple[Any, ...]]] = {}
        events = list(events)
        for kind in (Person, Auction, Bid):
            rows = [event[1:] for event in events if event[0] == kind.KIND]
            self._view(kind.__name__.lower(), columns(kind), rows)
        self._view("side_input", ["key", "value"], list(side_input().items()))

    def _view(self, name: str, names: list[str], rows: list[Any]) -> None:
        numbers = {column for column, value in zip(names, rows[0]) if isinstance(value, int)} if rows else set()
        schema = ", ".join(f"{column} {'long' if column in numbers else 'string'}" for column in names)
        self._spark.createDataFrame(rows, schema).createOrReplaceTempView(name)

    def answer(self, name: str) -> list[tuple[Any, ...]]:
        """The rows that a query should give."""
        if name not in self._answers:
            self._answers[name] = [tuple(row) for row in self._spark.sql(SQL[name]).collect()]
        return self._answers[name]


def totals_by_bidder(results: Iterable[tuple[Any, ...]]) -> list[tuple[int, int]]:
    """What is left of the results of q12 without the windows."""
    totals: dict[int, int] = {}
    for bidder, count, *_ in results:
        totals[bidder] = totals.get(bidder, 0) + count
    return list(totals.items())


def differences(name: str, query: Query, results: list[Any], expected: list[Any]) -> str | None:
    """What is wrong with the results of a query, or None if nothing is."""
    if name == "q12":
        results = totals_by_bidder(results)
    got, wanted = query.final(results), query.final(expected)
    if got == wanted:
        return None
    missing = [row for row in wanted if row not in set(got)][:3]
    surplus = [row for row in got if row not in set(wanted)][:3]
    return f"{name}: {len(got)} rows, expected {len(wanted)}; missing: {missing}; should not be there: {surplus}"
