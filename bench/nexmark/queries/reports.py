"""Queries that keep a table up to date: each bid gives a new version of its row."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from datetime import datetime, timezone
from functools import lru_cache

from bench.nexmark.model import Bid, Event, is_bid
from firesteel.common import Types
from firesteel.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor

DAY_MS, MINUTE_MS = 86_400_000, 60_000


@lru_cache(maxsize=1024)
def day_of(day: int) -> str:
    """A day, counted from 1970, in UTC: 2015-07-15."""
    return datetime.fromtimestamp(day * DAY_MS // 1000, timezone.utc).strftime("%Y-%m-%d")


def rank_of(price: int) -> int:
    """1: below 10,000 cents; 2: below 1,000,000; 3: the others."""
    return 1 if price < 10_000 else 2 if price < 1_000_000 else 3


class Statistics(KeyedProcessFunction):
    """Bids, bidders and auctions, all of them and by rank of price. Bidders and auctions are counted once each."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.report = runtime_context.get_state(ValueStateDescriptor("report", Types.PICKLED_BYTE_ARRAY()))
        self.seen = runtime_context.get_map_state(
            MapStateDescriptor("seen", Types.PICKLED_BYTE_ARRAY(), Types.BOOLEAN())
        )

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[Event]:
        minute, counts = self.report.value() or (0, (0,) * 12)
        counts = list(counts)
        rank = rank_of(value[Bid.PRICE])
        counts[0] += 1
        counts[rank] += 1
        for column, what in ((4, value[Bid.BIDDER]), (8, value[Bid.AUCTION])):
            for place in (column, column + rank):
                if not self.seen.contains((place, what)):
                    self.seen.put((place, what), True)
                    counts[place] += 1
        minute = max(minute, value[Bid.DATE_TIME] % DAY_MS // MINUTE_MS)
        self.report.update((minute, tuple(counts)))
        yield ctx.get_current_key(), minute, *counts


def q15(events: DataStream) -> DataStream:
    """Bidding statistics: how many bids, bidders and auctions are there on a day, by rank of price?"""
    reports = events.filter(is_bid).key_by(lambda bid: bid[Bid.DATE_TIME] // DAY_MS).process(Statistics())
    return reports.map(lambda report: (day_of(report[0]), *report[2:]))


def q16(events: DataStream) -> DataStream:
    """Channel statistics: the same for each channel, with the minute of the last bid."""

    def row(report: Event) -> Event:
        (channel, day), minute, *counts = report
        return channel, day_of(day), f"{minute // 60:02}:{minute % 60:02}", *counts

    by_channel = events.filter(is_bid).key_by(lambda bid: (bid[Bid.CHANNEL], bid[Bid.DATE_TIME] // DAY_MS))
    return by_channel.process(Statistics()).map(row)


def q17(events: DataStream) -> DataStream:
    """Auction statistics: bids of a day by rank of price; lowest, highest, average and total price."""

    def single(bid: Event) -> Event:
        price = bid[Bid.PRICE]
        ranks = [int(rank == rank_of(price)) for rank in (1, 2, 3)]
        return bid[Bid.AUCTION], bid[Bid.DATE_TIME] // DAY_MS, 1, *ranks, price, price, price

    def together(a: Event, b: Event) -> Event:
        counts = (a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])
        return a[0], a[1], *counts, min(a[6], b[6]), max(a[7], b[7]), a[8] + b[8]

    def row(report: Event) -> Event:
        auction, day, bids, rank1, rank2, rank3, lowest, highest, total = report
        return auction, day_of(day), bids, rank1, rank2, rank3, lowest, highest, total / bids, total

    singles = events.filter(is_bid).map(single)
    return singles.key_by(lambda report: report[:2]).reduce(together).map(row)


def q18(events: DataStream) -> DataStream:
    """Last bid: what has each bidder bid last for each auction?

    Bids begin with their time, so the last one is the greatest. Of several within a millisecond it is the dearest.
    """
    bids = events.filter(is_bid)
    return bids.key_by(lambda bid: (bid[Bid.BIDDER], bid[Bid.AUCTION])).reduce(max).map(lambda bid: bid[1:])


class TopTen(KeyedProcessFunction):
    """The ten highest bids for an auction. A new one among them moves those below it down."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.top = runtime_context.get_state(ValueStateDescriptor("top", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[Event]:
        ranked = (-value[Bid.PRICE], value)
        top: tuple[tuple[int, Event], ...] = self.top.value() or ()
        if len(top) == 10 and ranked > top[-1]:
            return
        changed = list(top)
        insort(changed, ranked)
        self.top.update(tuple(changed[:10]))
        for rank in range(changed.index(ranked), min(10, len(changed))):
            yield *changed[rank][1][1:], rank + 1


def q19(events: DataStream) -> DataStream:
    """Top ten: which are the ten highest bids for each auction? Of equal ones the earlier counts more."""
    return events.filter(is_bid).key_by(lambda bid: bid[Bid.AUCTION]).process(TopTen())
