"""Queries about winning bids: the highest bid for an auction while it was open."""

from __future__ import annotations

from collections.abc import Iterator

from bench.nexmark.model import Auction, Bid, Event, is_auction, is_person
from firesteel.common import Types
from firesteel.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from firesteel.datastream.state import ListStateDescriptor, ValueStateDescriptor

SECOND = 1000

Closed = tuple[int, int, int, int]
"""Auction, seller, category, price of the winning bid."""


class WinningBid(KeyedProcessFunction):
    """Per auction: what is for sale, the bids that came before it was known, and the highest bid so far.

    The auction closes when event time has passed its expiry: no bid that counts can come any more.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self.auction = runtime_context.get_state(ValueStateDescriptor("auction", Types.PICKLED_BYTE_ARRAY()))
        self.highest = runtime_context.get_state(ValueStateDescriptor("highest", Types.LONG()))
        self.early = runtime_context.get_list_state(ListStateDescriptor("early", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> None:
        if is_auction(value):
            opened, expires = value[Auction.DATE_TIME], value[Auction.EXPIRES]
            self.auction.update((opened, expires, value[Auction.SELLER], value[Auction.CATEGORY]))
            ctx.timer_service().register_event_time_timer(expires)
            for date_time, price in self.early.get():
                self._offer(opened, expires, date_time, price)
            self.early.clear()
            return
        auction = self.auction.value()
        if auction is not None:
            self._offer(auction[0], auction[1], value[Bid.DATE_TIME], value[Bid.PRICE])
        else:
            self.early.add((value[Bid.DATE_TIME], value[Bid.PRICE]))
            ctx.timer_service().register_event_time_timer(value[Bid.DATE_TIME] // SECOND * SECOND + SECOND)

    def _offer(self, opened: int, expires: int, date_time: int, price: int) -> None:
        if opened <= date_time <= expires and price > (self.highest.value() or 0):
            self.highest.update(price)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Closed]:
        auction = self.auction.value()
        if auction is None:
            # What was open at the time of these bids has been heard of by now: they came after the auction closed.
            self.early.update([bid for bid in self.early.get() if bid[0] > timestamp])
            return
        _, expires, seller, category = auction
        if timestamp >= expires:
            highest = self.highest.value()
            if highest is not None:
                yield ctx.get_current_key(), seller, category, highest
            self.auction.clear()
            self.highest.clear()


def closed_auctions(events: DataStream) -> DataStream:
    """Auctions that were sold, when they close."""

    def auction_of(event: Event) -> int:
        number: int = event[Auction.ID] if is_auction(event) else event[Bid.AUCTION]
        return number

    return events.filter(lambda event: not is_person(event)).key_by(auction_of).process(WinningBid())


class RunningAverage(KeyedProcessFunction):
    """The average price of all auctions of a category that have closed so far."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum_and_count = runtime_context.get_state(ValueStateDescriptor("sum", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Closed, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, float]]:
        total, count = self.sum_and_count.value() or (0, 0)
        total, count = total + value[3], count + 1
        self.sum_and_count.update((total, count))
        yield value[2], total / count


def q4(events: DataStream) -> DataStream:
    """Average price for a category: of the winning bids of all auctions in it. Updated whenever one closes."""
    return closed_auctions(events).key_by(lambda closed: closed[2]).process(RunningAverage())


class AverageOfLastTen(KeyedProcessFunction):
    """Puts the closed auctions of a seller in order of time first: they come from several subtasks."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY()))
        self.last = runtime_context.get_list_state(ListStateDescriptor("last", Types.LONG()))

    def process_element(self, value: Closed, ctx: KeyedProcessFunction.Context) -> None:
        closed_at = ctx.timestamp()
        assert closed_at is not None
        self.waiting.add((closed_at, value))
        ctx.timer_service().register_event_time_timer(closed_at)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[int, int, float]]:
        waiting, prices = sorted(self.waiting.get()), list(self.last.get())
        due = [closed for closed_at, closed in waiting if closed_at <= timestamp]
        for auction, seller, _, price in due:
            prices = [*prices[-9:], price]
            yield seller, auction, sum(prices) / len(prices)
        self.last.update(prices)
        self.waiting.update(waiting[len(due) :])


def q6(events: DataStream) -> DataStream:
    """Average selling price by seller: of the last ten auctions that closed, whenever one closes."""
    return closed_auctions(events).key_by(lambda closed: closed[1]).process(AverageOfLastTen())
