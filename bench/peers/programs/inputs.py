"""What all engines are given: every record is made from its number, so that each engine can make the same ones."""

from __future__ import annotations

from bench.nexmark.generator import BLOCK, NexmarkGenerator
from bench.nexmark.model import Auction, Bid, Event, Person

__all__ = ["BLOCK", "NexmarkGenerator", "Event", "Person", "Auction", "Bid"]

KEYS = 10_000
WINDOW_MS = 1000
SESSION_GAP_MS = 1000
SESSION_RECORDS = 5

EURO = 0.908
HOT_SIZE_MS, HOT_SLIDE_MS = 10_000, 2_000
NEW_USERS_MS = 10_000
NEXMARK = ("q0", "q1", "q2", "q5", "q8")


def pair_of(number: int) -> tuple[int, int]:
    """Key and number."""
    return number % KEYS, number


def event_time_of(number: int) -> int:
    """Twenty records per millisecond."""
    return number // 20


def session_key_of(number: int) -> int:
    """A tenth of the keys at a time are active, for five records each; then it is the next tenth's turn."""
    active = KEYS // 10
    return number // (active * SESSION_RECORDS) % 10 * active + number % active


def session_pair_of(number: int) -> tuple[int, int]:
    """Key and number, in sessions."""
    return session_key_of(number), number


def left_of(number: int) -> tuple[int, int]:
    """Key and number of the left side of the join. Each side has a record per key and window."""
    return number % KEYS, number


def right_of(number: int) -> tuple[int, int]:
    """Key and number of the right side: the same keys in another order."""
    return (number * 7 + 3) % KEYS, number


def side_event_time_of(number: int) -> int:
    """Each side of the join has ten records per millisecond."""
    return number // 10


def window_end_of(timestamp: int, size: int = WINDOW_MS) -> int:
    """The end of the tumbling window that a timestamp is in."""
    return timestamp - timestamp % size + size


def short_bid(bid: Event) -> Event:
    """What q0 gives of a bid."""
    return bid[Bid.AUCTION], bid[Bid.BIDDER], bid[Bid.PRICE], bid[Bid.DATE_TIME], bid[Bid.EXTRA]


def euro_bid(bid: Event) -> Event:
    """What q1 gives of a bid."""
    return bid[Bid.AUCTION], bid[Bid.BIDDER], EURO * bid[Bid.PRICE], bid[Bid.DATE_TIME], bid[Bid.EXTRA]


def is_chosen(bid: Event) -> bool:
    """Whether q2 wants a bid."""
    return bid[Bid.AUCTION] % 123 == 0  # type: ignore[no-any-return]


def chosen_bid(bid: Event) -> Event:
    """What q2 gives of a bid."""
    return bid[Bid.AUCTION], bid[Bid.PRICE]
