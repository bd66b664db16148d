"""Queries that look at one bid at a time."""

from __future__ import annotations

from operator import itemgetter

from bench.nexmark.model import Bid, Event, is_bid
from firesteel.datastream import DataStream

EURO = 0.908
HOUR_MS = 3_600_000

_short = itemgetter(Bid.AUCTION, Bid.BIDDER, Bid.PRICE, Bid.DATE_TIME, Bid.EXTRA)


def q0(events: DataStream) -> DataStream:
    """Pass-through: all bids, without channel and url. What the engine costs when there is nothing to do."""
    return events.filter(is_bid).map(_short)


def q1(events: DataStream) -> DataStream:
    """Currency conversion: what is bid, in euros?"""

    def in_euros(bid: Event) -> Event:
        auction, bidder, price, date_time, extra = _short(bid)
        return auction, bidder, EURO * price, date_time, extra

    return events.filter(is_bid).map(in_euros)


def q2(events: DataStream) -> DataStream:
    """Selection: what is bid for certain auctions, here each 123rd?"""
    chosen = events.filter(is_bid).filter(lambda bid: bid[Bid.AUCTION] % 123 == 0)
    return chosen.map(itemgetter(Bid.AUCTION, Bid.PRICE))


def q14(events: DataStream) -> DataStream:
    """Calculation: bids of a medium price, with the time of day, and how often there is a "c" in their extra text."""

    def is_medium(bid: Event) -> bool:
        euros: float = EURO * bid[Bid.PRICE]
        return 1_000_000 < euros < 50_000_000

    def calculate(bid: Event) -> Event:
        auction, bidder, price, date_time, extra = _short(bid)
        return auction, bidder, EURO * price, time_of_day(date_time), date_time, extra, extra.count("c")

    return events.filter(is_bid).filter(is_medium).map(calculate)


def time_of_day(date_time: int) -> str:
    """Day is from 8 to 18 o'clock, night from 20 to 6; the hours that begin at 7 and 19 are neither."""
    hour = date_time // HOUR_MS % 24
    if 8 <= hour <= 18:
        return "dayTime"
    return "nightTime" if hour <= 6 or hour >= 20 else "otherTime"
