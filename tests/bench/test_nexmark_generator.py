"""The generator of Nexmark: the standard mixture, the same events whoever makes them, references that hold."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.nexmark.generator import AUCTIONS, BLOCK, FIRST_AUCTION, FIRST_PERSON, NexmarkConfig, NexmarkGenerator
from bench.nexmark.model import DATE_TIME, KIND, Auction, Bid, Event, Person, columns, is_auction, is_bid, is_person
from bench.nexmark.source import NexmarkSource
from firesteel.model.source import ReaderContext

places = st.integers(0, 10**9)
configs = st.builds(
    NexmarkConfig,
    seed=st.integers(1, 2),
    out_of_order_group=st.sampled_from([1, 150]),
)


def test_the_proportions_are_1_3_46() -> None:
    kinds = Counter(event[KIND] for event in NexmarkGenerator().events(0, 5000))
    assert kinds == {Person.KIND: 100, Auction.KIND: 300, Bid.KIND: 4600}


def test_each_kind_has_the_fields_that_the_model_names() -> None:
    events = NexmarkGenerator().events(0, 1000)
    for kind in (Person, Auction, Bid):
        names = columns(kind)
        assert {len(event) for event in events if event[KIND] == kind.KIND} == {len(names) + 1}
        assert getattr(kind, names[-1].upper()) == len(names)


def test_some_are_hot() -> None:
    """Half of the bids go to the hot auction and three quarters come from the hot bidder, of each hundred."""
    events = NexmarkGenerator().events(1_000_000, 1_100_000)
    bids = [event for event in events if is_bid(event)]
    to_hot = sum(bid[Bid.AUCTION] % 100 == FIRST_AUCTION % 100 for bid in bids) / len(bids)
    by_hot = sum(bid[Bid.BIDDER] % 100 == (FIRST_PERSON + 1) % 100 for bid in bids) / len(bids)
    auctions = [event for event in events if is_auction(event)]
    of_hot = sum(auction[Auction.SELLER] % 100 == FIRST_PERSON % 100 for auction in auctions) / len(auctions)
    assert 0.48 < to_hot < 0.53
    assert 0.73 < by_hot < 0.78
    assert 0.72 < of_hot < 0.79


def test_sizes_and_prices_are_spread() -> None:
    events = NexmarkGenerator().events(0, 50_000)
    bids = [event for event in events if is_bid(event)]
    assert 60 < statistics.mean(len(bid[Bid.EXTRA]) for bid in bids) < 76
    assert 9_000 < statistics.median(bid[Bid.PRICE] for bid in bids) < 110_000
    assert min(bid[Bid.PRICE] for bid in bids) >= 100
    assert {event[Person.STATE] for event in events if is_person(event)} == {"AZ", "CA", "ID", "OR", "WA", "WY"}
    assert {event[Auction.CATEGORY] for event in events if is_auction(event)} == {10, 11, 12, 13, 14}


def test_auctions_are_open_for_as_long_as_it_takes_to_make_a_hundred() -> None:
    auctions = [event for event in NexmarkGenerator().events(0, 100_000) if is_auction(event)]
    lengths = [auction[Auction.EXPIRES] - auction[DATE_TIME] for auction in auctions]
    assert min(lengths) >= 1
    assert 150 < statistics.mean(lengths) < 185


@given(places)
def test_references_are_to_what_exists(place: int) -> None:
    """To a person or an auction that was made before, and not long ago."""
    for offset, event in enumerate(NexmarkGenerator().events(place, place + BLOCK)):
        block = (place + offset) // BLOCK
        if is_bid(event):
            assert FIRST_AUCTION <= event[Bid.AUCTION] < FIRST_AUCTION + (block + 1) * AUCTIONS
            assert event[Bid.AUCTION] >= FIRST_AUCTION + (block + 1) * AUCTIONS - 101
        person = event[Bid.BIDDER] if is_bid(event) else event[Auction.SELLER] if is_auction(event) else FIRST_PERSON
        assert FIRST_PERSON <= person <= FIRST_PERSON + block


def test_persons_and_auctions_are_numbered_without_gaps() -> None:
    events = NexmarkGenerator().events(0, 10_000)
    assert [event[Person.ID] for event in events if is_person(event)] == list(range(1000, 1200))
    assert [event[Auction.ID] for event in events if is_auction(event)] == list(range(1000, 1600))


@given(configs, places, st.integers(0, 200), st.integers(0, 200))
def test_any_part_is_the_same_made_alone(config: NexmarkConfig, start: int, first: int, second: int) -> None:
    whole = NexmarkGenerator(config).events(start, start + first + second)
    parts = NexmarkGenerator(config)
    assert parts.events(start, start + first) + parts.events(start + first, start + first + second) == whole


@given(st.sampled_from([3, 7, 10_000]), places)
def test_the_time_follows_from_the_number(rate: int, place: int) -> None:
    config = NexmarkConfig(rate=rate)
    assert NexmarkGenerator(config).event(place)[DATE_TIME] == config.base_time + place * 1000 // rate


@given(st.integers(0, 400), st.sampled_from([1, 100]), st.integers(1, 4), st.integers(1, 70))
def test_subtasks_together_deliver_all_events_once(count: int, group: int, subtasks: int, batch: int) -> None:
    """Whatever their number and the size of their batches; each can be stopped at any batch."""
    config = NexmarkConfig(out_of_order_group=group)
    delivered = [event for events in read(NexmarkSource(count, config), subtasks, batch) for event in events]
    assert sorted(delivered) == sorted(NexmarkGenerator().events(0, count))


def read(source: NexmarkSource, subtasks: int, batch: int) -> list[list[Event]]:
    enumerator = source.create_enumerator(subtasks)
    enumerator.start(None)
    delivered = []
    for split in enumerator.discover_splits(0):
        events: list[Event] = []
        position: Any = source.initial_position(split)
        finished = False
        while not finished:
            reader = source.create_reader()  # a new one each time, as after a failure
            reader.open(ReaderContext(0, subtasks))
            result = reader.read(split, position, batch, 0)
            assert result.timestamps == [event[DATE_TIME] for event in result.values]
            events += result.values
            position, finished = result.position, result.finished
        delivered.append(events)
    return delivered


@given(st.sampled_from([50, 250, 1000]), st.integers(1, 3), st.integers(1, 3000))
def test_no_event_comes_later_than_the_configuration_says(group: int, subtasks: int, count: int) -> None:
    config = NexmarkConfig(out_of_order_group=group)
    for events in read(NexmarkSource(count, config), subtasks, 500):
        newest = 0
        for event in events:
            assert event[DATE_TIME] >= newest - config.max_delay
            newest = max(newest, event[DATE_TIME])


def test_groups_are_mixed() -> None:
    ordered, mixed = NexmarkGenerator(), NexmarkGenerator(NexmarkConfig(out_of_order_group=100))
    assert mixed.events(0, 100) != ordered.events(0, 100)
    assert sorted(mixed.events(0, 100)) == sorted(ordered.events(0, 100))


def test_another_seed_gives_other_events() -> None:
    one, two = (NexmarkGenerator(NexmarkConfig(seed=seed)).events(0, 100) for seed in (1, 2))
    assert [event[:2] for event in one] == [event[:2] for event in two]
    assert not {event[-1] for event in one} & {event[-1] for event in two}


@pytest.mark.parametrize("wrong", [{"rate": 0}, {"out_of_order_group": 20}, {"hot_auction_ratio": 0}])
def test_what_cannot_be_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        NexmarkConfig(**wrong)
