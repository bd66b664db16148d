"""Queries that bring two streams together."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from bench.nexmark.model import Auction, Bid, Event, Person, is_auction, is_bid, is_person
from firesteel.common import Time, Types
from firesteel.datastream import (
    BroadcastProcessFunction,
    DataStream,
    KeyedCoProcessFunction,
    RuntimeContext,
)
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows

NEAR = ("OR", "ID", "CA")
WINDOW_MS = 10_000
SIDE_ROWS, PAGE_ROWS = 10_000, 1_000


class JoinSellers(KeyedCoProcessFunction):
    """Per seller: the person, as soon as it is known, and the auctions that came before the person did."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.person = runtime_context.get_state(ValueStateDescriptor("person", Types.PICKLED_BYTE_ARRAY()))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.LONG()))

    def process_element1(self, value: Event, ctx: KeyedCoProcessFunction.Context) -> Iterator[Event]:
        person = self.person.value()
        if person is None:
            self.waiting.add(value[Auction.ID])
        else:
            yield (*person, value[Auction.ID])

    def process_element2(self, value: Event, ctx: KeyedCoProcessFunction.Context) -> Iterator[Event]:
        person = (value[Person.NAME], value[Person.CITY], value[Person.STATE])
        self.person.update(person)
        for auction in self.waiting.get():
            yield (*person, auction)
        self.waiting.clear()


def q3(events: DataStream) -> DataStream:
    """Local item suggestion: who sells in Oregon, Idaho or California in category 10, and in which auctions?"""
    auctions = events.filter(lambda event: is_auction(event) and event[Auction.CATEGORY] == 10)
    persons = events.filter(lambda event: is_person(event) and event[Person.STATE] in NEAR)
    return auctions.connect(persons).key_by(itemgetter(Auction.SELLER), itemgetter(Person.ID)).process(JoinSellers())


def q8(events: DataStream) -> DataStream:
    """New users: who has come within the last ten seconds, and opened an auction in the same ten seconds?"""

    def sellers(persons: list[Event], auctions: list[Event]) -> Iterator[Event]:
        if auctions:
            for person in persons:
                start = person[Person.DATE_TIME] // WINDOW_MS * WINDOW_MS
                yield person[Person.ID], person[Person.NAME], start

    pairs = events.filter(is_person).co_group(events.filter(is_auction))
    by_person = pairs.where(itemgetter(Person.ID)).equal_to(itemgetter(Auction.SELLER))
    return by_person.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))).apply(sellers)


SIDE = MapStateDescriptor("side input", Types.LONG(), Types.STRING())


def side_input() -> dict[int, str]:
    """The bounded table of q13: a value for each of the last four digits of an auction."""
    return {key: f"value {key}" for key in range(SIDE_ROWS)}


class Enrich(BroadcastProcessFunction):
    """Adds the value of the side input to each bid."""

    def process_element(self, value: Event, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Event]:
        found = ctx.get_broadcast_state(SIDE).get(value[Bid.AUCTION] % SIDE_ROWS)
        if found is not None:
            yield value[Bid.AUCTION], value[Bid.BIDDER], value[Bid.PRICE], value[Bid.DATE_TIME], found

    def process_broadcast_element(self, value: dict[int, str], ctx: BroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(SIDE).put_all(value)


def q13(events: DataStream) -> DataStream:
    """Bounded side input: each bid with what a table says about its auction.

    The table comes in pages of a thousand rows. Broadcast records are in force before all others of their epoch, and
    a few pages always fit into the first epoch, so every bid meets the whole table.
    """
    rows = list(side_input().items())
    pages = [dict(rows[start : start + PAGE_ROWS]) for start in range(0, SIDE_ROWS, PAGE_ROWS)]
    table = events.get_execution_environment().from_collection(pages).broadcast(SIDE)
    return events.filter(is_bid).connect(table).process(Enrich())
