"""The events of Nexmark. Each is a plain tuple; the classes here name its positions: ``bid[Bid.PRICE]``.

Plain tuples were chosen by measurement. Made from columns, in nanoseconds per bid: a tuple 90, a named tuple 180 to
800, a dataclass with slots 530. Pickled and read again: 2000, 4300, 8900.

All events begin with their kind and their event time, in milliseconds since 1970.
"""

from __future__ import annotations

from typing import Any

Event = tuple[Any, ...]

KIND = 0
DATE_TIME = 1


class Person:
    """Somebody who sells and bids."""

    KIND = 0

    DATE_TIME = 1
    ID = 2
    NAME = 3
    EMAIL_ADDRESS = 4
    CREDIT_CARD = 5
    CITY = 6
    STATE = 7
    EXTRA = 8


class Auction:
    """Something for sale, until it expires."""

    KIND = 1

    DATE_TIME = 1
    ID = 2
    ITEM_NAME = 3
    DESCRIPTION = 4
    INITIAL_BID = 5
    RESERVE = 6
    EXPIRES = 7
    SELLER = 8
    CATEGORY = 9
    EXTRA = 10


class Bid:
    """An offer for an auction. Prices are in cents."""

    KIND = 2

    DATE_TIME = 1
    AUCTION = 2
    BIDDER = 3
    PRICE = 4
    CHANNEL = 5
    URL = 6
    EXTRA = 7


def is_person(event: Event) -> bool:
    """Whether the event is a new person."""
    return event[0] == 0  # type: ignore[no-any-return]


def is_auction(event: Event) -> bool:
    """Whether the event is a new auction."""
    return event[0] == 1  # type: ignore[no-any-return]


def is_bid(event: Event) -> bool:
    """Whether the event is a bid."""
    return event[0] == 2  # type: ignore[no-any-return]


def columns(kind: type[Person] | type[Auction] | type[Bid]) -> list[str]:
    """The names of the fields in order, without the kind: ``date_time``, ``auction``, ..."""
    return [name.lower() for name in vars(kind) if name.isupper() and name != "KIND"]
