"""Queries over windows of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any

from bench.nexmark.model import Bid, Event, is_bid
from firesteel.common import Time
from firesteel.datastream import AggregateFunction, DataStream, TimeWindow, WindowFunction
from firesteel.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

SIZE, SLIDE = Time.seconds(10), Time.seconds(2)


class Count(AggregateFunction):
    """How many records there are."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class WithWindow(WindowFunction[int, Event, int, TimeWindow]):
    """A count, with what was counted and when."""

    def apply(self, key: int, window: TimeWindow, inputs: Iterable[int]) -> Iterator[Event]:
        for count in inputs:
            yield key, count, window.start, window.end


def q5(events: DataStream) -> DataStream:
    """Hot items: which auctions have had the most bids within the last ten seconds? Asked every two seconds."""

    def hottest(window: TimeWindow, counts: Iterable[Event]) -> Iterator[Event]:
        counts = list(counts)
        most = max(count for _, count, _, _ in counts)
        return (each for each in counts if each[1] == most)

    auctions = events.filter(is_bid).map(itemgetter(Bid.AUCTION))
    windows = auctions.key_by(lambda auction: auction).window(SlidingEventTimeWindows.of(SIZE, SLIDE))
    counts = windows.aggregate(Count(), WithWindow())
    # Counts have the last moment of their window as timestamp: one slide holds those of one window.
    return counts.window_all(TumblingEventTimeWindows.of(SLIDE)).apply(hottest)


class HighestBids(AggregateFunction):
    """The bid with the highest price; all of them, if there are several."""

    def create_accumulator(self) -> tuple[Event, ...]:
        return ()

    def add(self, value: tuple[Event, ...], accumulator: tuple[Event, ...]) -> tuple[Event, ...]:
        return self.merge(accumulator, value)

    def get_result(self, accumulator: tuple[Event, ...]) -> tuple[Event, ...]:
        return accumulator

    def merge(self, acc_a: tuple[Event, ...], acc_b: tuple[Event, ...]) -> tuple[Event, ...]:
        if not acc_a or not acc_b:
            return acc_a or acc_b
        price_a, price_b = acc_a[0][2], acc_b[0][2]
        return acc_a + acc_b if price_a == price_b else acc_a if price_a > price_b else acc_b


def q7(events: DataStream) -> DataStream:
    """Highest bid: which bids of each ten seconds have the highest price? First per bidder, then of all."""
    windows = TumblingEventTimeWindows.of(SIZE)
    short = itemgetter(Bid.AUCTION, Bid.BIDDER, Bid.PRICE, Bid.DATE_TIME, Bid.EXTRA)
    bids = events.filter(is_bid).map(lambda bid: (short(bid),))
    per_bidder = bids.key_by(lambda bids: bids[0][1]).window(windows).aggregate(HighestBids())
    return per_bidder.window_all(windows).aggregate(HighestBids()).flat_map(lambda highest: highest)


def q11(events: DataStream) -> DataStream:
    """User sessions: how many bids did somebody make without a pause of ten seconds?"""
    bidders = events.filter(is_bid).map(itemgetter(Bid.BIDDER))
    sessions = bidders.key_by(lambda bidder: bidder).window(EventTimeSessionWindows.with_gap(SIZE))
    return sessions.aggregate(Count(), WithWindow())


def q12(events: DataStream) -> DataStream:
    """Processing time windows: how many bids did somebody make within ten seconds of the machine's clock?

    When the input ends, the windows that are open by then give no result, as in Flink.
    """
    bidders = events.filter(is_bid).map(itemgetter(Bid.BIDDER))
    windows = bidders.key_by(lambda bidder: bidder).window(TumblingProcessingTimeWindows.of(SIZE))
    return windows.aggregate(Count(), WithWindow())
