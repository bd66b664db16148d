"""How often a stage takes events, and what it does with those that it does not take."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class WithinType(Enum):
    """What the time of :meth:`Pattern.within` lies between."""

    FIRST_AND_LAST = "first and last"
    """The first and the last event of the match."""
    PREVIOUS_AND_CURRENT = "previous and current"
    """The event of the stage and the one before it."""


class Contiguity(Enum):
    """What may come between two events of a match."""

    STRICT = "next"
    """Nothing."""
    RELAXED = "followed by"
    """Events that do not fit."""
    ANY = "followed by any"
    """Events of any kind, also those that fit."""
    NOT_NEXT = "not next"
    NOT_FOLLOWED = "not followed by"

    @property
    def negative(self) -> bool:
        """Whether the stage says what must not come."""
        return self in (Contiguity.NOT_NEXT, Contiguity.NOT_FOLLOWED)


class Repetition(Enum):
    """Which kind of quantifier a stage has."""

    SINGLE = "once"
    LOOPING = "or more"
    TIMES = "times"


@dataclass
class Quantifier:
    """How often a stage takes events.

    :param contiguity: What may come between the stage before and this one.
    :param inner: What may come between two events of this stage.
    :param least: How many events the stage takes at least, if it takes any.
    :param most: How many at most, for ``TIMES``.
    :param window: Within how many milliseconds of each other its events come.
    """

    contiguity: Contiguity
    repetition: Repetition = Repetition.SINGLE
    inner: Contiguity = Contiguity.RELAXED
    optional: bool = False
    greedy: bool = False
    least: int = 1
    most: int = 1
    window: int | None = None

    def __str__(self) -> str:
        """As it is written in a pattern's text: ``+``, ``{2,4}?``, ..."""
        if self.repetition is Repetition.LOOPING:
            star = self.optional and self.least == 1
            times = "*" if star else "+" if self.least == 1 else f"{{{self.least},}}"
            optional = self.optional and not star
        elif self.repetition is Repetition.TIMES:
            times = f"{{{self.least}}}" if self.least == self.most else f"{{{self.least},{self.most}}}"
            optional = self.optional
        else:
            times, optional = "", self.optional
        return times + ("?" if optional else "")
