"""Makes the events of Nexmark: event ``n`` from the seed and ``n`` alone. Any number of readers can begin anywhere.

What is standard: of 50 events one is a new person, three are new auctions and 46 are bids; half of the bids go to the
hot auction of the moment, three quarters come from the hot bidder, and three quarters of the auctions are of the hot
seller; who is hot changes with every hundred persons or auctions; the other bids go to the newest hundred auctions,
and come from the newest thousand persons; sizes are padded to 200, 500 and 100 bytes on average.

What is not: nobody refers to a person or an auction that does not exist yet. The usual generators let some refer to
one of the next ten. Out of order delivery (``out_of_order_group``) gives a query the same to do.

How it is fast: a block of 50 events has a random number of its own, computed from the seed and the number of the
block. It says where in prepared tables of random choices the block begins. What is left per event is one tuple.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any

from bench.nexmark.model import Event

PERSONS, AUCTIONS, BIDS = 1, 3, 46
"""How many of each there are in a block, in this order."""
BLOCK = PERSONS + AUCTIONS + BIDS

FIRST_PERSON = FIRST_AUCTION = 1000
FIRST_CATEGORY, CATEGORIES = 10, 5
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne",
)  # fmt: skip
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
CHANNELS = 10_000

_HOT = -1
_HOT_EVERY = 100  # persons or auctions
_BID_CHOICES, _PRICES, _AUCTION_CHOICES, _PERSON_CHOICES = 1 << 15, 1 << 15, 1 << 12, 1 << 12
_TEXT = 1 << 16


@dataclass(frozen=True)
class NexmarkConfig:
    """What can be chosen about the events.

    :param seed: Another seed gives other events.
    :param rate: How many events happen in a second of event time.
    :param base_time: The time of the first event: 2015-07-15T00:00:00Z, as usual.
    :param hot_auction_ratio: One in so many bids goes to an auction that is not hot.
    :param hot_bidder_ratio: One in so many bids comes from a person who is not hot.
    :param hot_seller_ratio: One in so many auctions is of a person who is not hot.
    :param in_flight_auctions: How many auctions are open at a time, on average.
    :param active_persons: So many of the newest persons sell and bid.
    :param out_of_order_group: So many events in a row are delivered in a mixed order: 1, or a multiple of 50.
    """

    seed: int = 1
    rate: int = 10_000
    base_time: int = 1_436_918_400_000
    hot_auction_ratio: int = 2
    hot_bidder_ratio: int = 4
    hot_seller_ratio: int = 4
    in_flight_auctions: int = 100
    active_persons: int = 1000
    out_of_order_group: int = 1

    def __post_init__(self) -> None:
        for name in vars(self):
            if name not in ("seed", "base_time") and getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.out_of_order_group > 1 and self.out_of_order_group % BLOCK:
            raise ValueError(f"out_of_order_group must be 1 or a multiple of {BLOCK}, got {self.out_of_order_group}")

    @property
    def max_delay(self) -> int:
        """By how many milliseconds an event may come after one with a later time."""
        return 0 if self.out_of_order_group == 1 else self.out_of_order_group * 1000 // self.rate + 1


class NexmarkGenerator:
    """The events of a configuration, in the order in which they are delivered.

    :param count: How many there are, None for no end. If the last group is not whole, it is delivered in order, so that
        nothing from behind the end comes in.

    ::

        >>> generator = NexmarkGenerator(NexmarkConfig(seed=7))
        >>> generator.event(1_000_000) == generator.events(999_990, 1_000_010)[10]
        True
    """

    def __init__(self, config: NexmarkConfig | None = None, count: int | None = None) -> None:
        self.config = config = config or NexmarkConfig()
        self._tables = _tables(replace(config, base_time=0, out_of_order_group=1))  # which change none of them
        self._salt = _mix(config.seed & _MASK)
        self._time_offsets: dict[int, tuple[int, ...]] = {}
        self._order = _group_order(config)
        self._mixed = None if count is None else count - count % config.out_of_order_group

    def event(self, place: int) -> Event:
        """The event that is delivered at a place, counted from 0."""
        return self.events(place, place + 1)[0]

    def events(self, start: int, stop: int) -> list[Event]:
        """The events that are delivered at these places."""
        size = self.config.out_of_order_group
        if size == 1 or (self._mixed is not None and start >= self._mixed):
            return self._cut(start, stop, BLOCK, self.block)
        if self._mixed is None or stop <= self._mixed:
            return self._cut(start, stop, size, self._group)
        return self.events(start, self._mixed) + self.events(self._mixed, stop)

    def _cut(self, start: int, stop: int, unit: int, make: Callable[[int], list[Event]]) -> list[Event]:
        """What lies between two places, of units that are made whole."""
        first = start // unit
        events: list[Event] = []
        for number in range(first, -(-stop // unit)):
            events += make(number)
        return events[start - first * unit : stop - first * unit]

    def _group(self, number: int) -> list[Event]:
        """A group of blocks in a mixed order."""
        size = len(self._order)
        events = self._cut(number * size, (number + 1) * size, BLOCK, self.block)
        return [events[index] for index in self._order]

    def block(self, number: int) -> list[Event]:
        """The fifty events of a block: a person, three auctions, and bids."""
        mixed = _mix(number ^ self._salt)
        first = number * BLOCK * 1000
        rate = self.config.rate
        time = self.config.base_time + first // rate
        offsets = self._time_offsets.get(first % rate)
        if offsets is None:
            offsets = self._time_offsets[first % rate] = tuple(
                (first % rate + index * 1000) // rate for index in range(BLOCK)
            )
        return [
            (0, time, FIRST_PERSON + number, *self._tables.persons[mixed % _PERSON_CHOICES]),
            *self._auctions(number, mixed, time, offsets),
            *self._bids(number, mixed, time, offsets),
        ]

    def _auctions(self, number: int, mixed: int, time: int, offsets: tuple[int, ...]) -> list[Event]:
        tables, persons = self._tables, number + 1
        begin = (mixed >> 12) % _AUCTION_CHOICES
        hot_seller = FIRST_PERSON + number - number % _HOT_EVERY
        events = []
        for index in range(AUCTIONS):
            back, length, category, texts, initial_bid, reserve, extra = tables.auctions[begin + index]
            seller = hot_seller if back < 0 else FIRST_PERSON + number - back % persons
            at = time + offsets[PERSONS + index]
            key = FIRST_AUCTION + number * AUCTIONS + index
            events.append((1, at, key, *texts, initial_bid, reserve, at + length, seller, category, extra))
        return events

    def _bids(self, number: int, mixed: int, time: int, offsets: tuple[int, ...]) -> list[Event]:
        """The hot path: nearly all of the time is spent in the list at its end."""
        tables = self._tables
        begin, begin_prices = (mixed >> 24) % _BID_CHOICES, (mixed >> 40) % _PRICES
        cents = (mixed >> 56) % 100
        auctions, persons = (number + 1) * AUCTIONS, number + 1
        last_auction = auctions - 1
        hot_auction = FIRST_AUCTION + last_auction - last_auction % _HOT_EVERY
        # The second of its hundred, so that the hot bidder is not the hot seller.
        hot_bidder = FIRST_PERSON + min(number - number % _HOT_EVERY + 1, number)
        last_auction += FIRST_AUCTION
        last_person = FIRST_PERSON + number
        return [
            (
                2,
                time + offset,
                hot_auction if back < 0 else last_auction - back % auctions,
                hot_bidder if person_back < 0 else last_person - person_back % persons,
                price + cents,
                channel,
                url,
                extra,
            )
            for offset, price, (back, person_back, channel, url, extra) in zip(
                offsets[PERSONS + AUCTIONS :],
                tables.prices[begin_prices : begin_prices + BIDS],
                tables.bids[begin : begin + BIDS],
            )
        ]


_MASK = (1 << 64) - 1


def _mix(value: int) -> int:
    """64 bits that look random, from 64 bits that do not: the end of SplitMix64."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def _group_order(config: NexmarkConfig) -> list[int]:
    """A permutation of the places of a group."""
    keys = [_mix(index ^ _mix(config.seed + 1)) for index in range(config.out_of_order_group)]
    return sorted(range(config.out_of_order_group), key=keys.__getitem__)


@dataclass(frozen=True)
class _Tables:
    """Random choices, made once. Each table is longer than its size by a block, so that no slice ends too early."""

    persons: list[tuple[Any, ...]]
    auctions: list[tuple[Any, ...]]
    bids: list[tuple[Any, ...]]
    prices: list[int]


@lru_cache(maxsize=8)
def _tables(config: NexmarkConfig) -> _Tables:
    choice = _Choice(config.seed)
    channels = list(_channels(choice))
    return _Tables(
        persons=[_person(choice) for _ in range(_PERSON_CHOICES)],
        auctions=[_auction(choice, config) for _ in range(_AUCTION_CHOICES + AUCTIONS)],
        bids=[_bid(choice, config, channels) for _ in range(_BID_CHOICES + BIDS)],
        prices=[choice.price() for _ in range(_PRICES + BIDS)],
    )


class _Choice:
    """Random choices. Made of ``Random.random`` only, which is the same in all versions of Python."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random
        self._text = "".join(string.ascii_lowercase[self.below(26)] for _ in range(_TEXT))

    def below(self, bound: int) -> int:
        return int(self._random() * bound)

    def of(self, values: tuple[str, ...]) -> str:
        return values[self.below(len(values))]

    def price(self) -> int:
        """From 100 to 100,000,000 cents: any order of magnitude is as likely as any other."""
        return round(10 ** (self._random() * 6) * 100)

    def text(self, length: int) -> str:
        start = self.below(_TEXT - length)
        return self._text[start : start + length]

    def words(self, longest: int) -> str:
        """A text of 3 to ``longest`` characters with some spaces."""
        letters = list(self.text(3 + self.below(longest - 3)))
        for index in range(1, len(letters) - 1):
            if self.below(13) == 0:
                letters[index] = " "
        return "".join(letters)

    def padding(self, used: int, average: int) -> str:
        """What an event lacks to its average size, give or take a fifth."""
        missing = average - used
        return self.text(round(missing * (0.8 + 0.4 * self._random()))) if missing > 0 else ""

    def back(self, ratio: int, bound: int) -> int:
        """The hot one, or how far to go back from the newest; one in ``ratio`` is not hot."""
        return _HOT if self.below(ratio) else self.below(bound)


def _person(choice: _Choice) -> tuple[Any, ...]:
    """Name, e-mail address, credit card, city, state, extra."""
    card = " ".join(f"{choice.below(10_000):04}" for _ in range(4))
    name = f"{choice.of(FIRST_NAMES)} {choice.of(LAST_NAMES)}"
    texts = (name, f"{choice.text(7)}@{choice.text(5)}.com", card, choice.of(CITIES), choice.of(STATES))
    return (*texts, choice.padding(8 + sum(map(len, texts)), 200))


def _auction(choice: _Choice, config: NexmarkConfig) -> tuple[Any, ...]:
    """Seller, length in milliseconds, category, (item name, description), initial bid, reserve, extra."""
    texts = (choice.words(20), choice.words(100))
    horizon = config.in_flight_auctions * BLOCK * 1000 // (AUCTIONS * config.rate)
    initial_bid = choice.price()
    return (
        choice.back(config.hot_seller_ratio, config.active_persons),
        1 + choice.below(max(1, 2 * horizon)),
        FIRST_CATEGORY + choice.below(CATEGORIES),
        texts,
        initial_bid,
        initial_bid + choice.price(),
        choice.padding(48 + sum(map(len, texts)), 500),
    )


def _bid(choice: _Choice, config: NexmarkConfig, channels: list[tuple[str, str]]) -> tuple[Any, ...]:
    """Auction, bidder, channel, url, extra. Half of the bids come through one of four channels."""
    hot = choice.below(2)
    channel, url = channels[choice.below(len(HOT_CHANNELS)) if hot else choice.below(len(channels))]
    back = choice.back(config.hot_auction_ratio, config.in_flight_auctions + 1)
    return back, choice.back(config.hot_bidder_ratio, config.active_persons), channel, url, choice.padding(32, 100)


def _channels(choice: _Choice) -> Iterator[tuple[str, str]]:
    """Names and addresses: those of the hot channels, then all others. One in ten of these does not name itself."""
    for number in range(-len(HOT_CHANNELS), CHANNELS):
        path = "/".join(choice.text(5) for _ in range(3))
        url = f"https://www.nexmark.com/{path}/item.htm?query=1"
        if number < 0:
            yield HOT_CHANNELS[number], url
        else:
            yield f"channel-{number}", f"{url}&channel_id={number}" if choice.below(10) else url
