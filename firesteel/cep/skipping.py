"""After a match: which partial matches, and which other matches, are given up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from firesteel.errors import ConfigurationError, ProgramError

EventKey = tuple[int, int]
"""The place of an event in the order in which a key's events are taken: (timestamp, number)."""


class SkipKind(Enum):
    """What :class:`AfterMatchSkipStrategy` offers."""

    NO_SKIP = "no skip"
    TO_NEXT = "skip to next"
    PAST_LAST_EVENT = "skip past last event"
    TO_FIRST = "skip to first"
    TO_LAST = "skip to last"


@dataclass(frozen=True)
class AfterMatchSkipStrategy:
    """How many matches one event may be part of: given to ``Pattern.begin``, made by the functions below.

    ::

        Pattern.begin("a", AfterMatchSkipStrategy.skip_past_last_event()).where(...)
    """

    kind: SkipKind
    pattern_name: str | None = None
    throws_on_miss: bool = False

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Every match there is. The default."""
        return AfterMatchSkipStrategy(SkipKind.NO_SKIP)

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Give up all partial matches that began with the same event as the match."""
        return AfterMatchSkipStrategy(SkipKind.TO_NEXT)

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Give up all partial matches that began before the match ended."""
        return AfterMatchSkipStrategy(SkipKind.PAST_LAST_EVENT)

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Give up all partial matches that began before the first event of the named stage in the match."""
        return AfterMatchSkipStrategy(SkipKind.TO_FIRST, _name("skip_to_first", pattern_name))

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Give up all partial matches that began before the last event of the named stage in the match."""
        return AfterMatchSkipStrategy(SkipKind.TO_LAST, _name("skip_to_last", pattern_name))

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """Fail when a match has no event of the named stage, or when the skip would lead to its very first event."""
        if self.pattern_name is None:
            raise ConfigurationError(
                f"throw_exception_on_miss: {self.kind.value!r} leads to no stage that could be missed. It belongs to "
                "skip_to_first() and skip_to_last()."
            )
        return AfterMatchSkipStrategy(self.kind, self.pattern_name, True)

    @property
    def skips(self) -> bool:
        """Whether anything is given up at all."""
        return self.kind is not SkipKind.NO_SKIP

    def is_given_up(self, start: EventKey, limit: EventKey) -> bool:
        """Whether a match that began with ``start`` is given up."""
        return start < limit if self.pattern_name is not None else start <= limit

    def limit(self, match: Mapping[str, Sequence[EventKey]]) -> EventKey | None:
        """Up to which event matches are given up; None: none are."""
        if self.kind is SkipKind.TO_NEXT:
            return min(keys[0] for keys in match.values())
        if self.kind is SkipKind.PAST_LAST_EVENT:
            return max(keys[-1] for keys in match.values())
        assert self.pattern_name is not None
        keys = match.get(self.pattern_name)
        if not keys:
            if self.throws_on_miss:
                raise ProgramError(
                    f"{self.kind.value} {self.pattern_name!r}: the match has no event of that stage, only of "
                    f"{', '.join(map(repr, match))}. An optional stage cannot be relied upon: skip to another one, or "
                    "leave out throw_exception_on_miss()."
                )
            return None
        limit = keys[0] if self.kind is SkipKind.TO_FIRST else keys[-1]
        if self.throws_on_miss and limit == min(each[0] for each in match.values()):
            raise ProgramError(
                f"{self.kind.value} {self.pattern_name!r}: that is the first event of the match, and the same match "
                "would be found again and again. Skip to a later stage."
            )
        return limit

    def __str__(self) -> str:
        name = "" if self.pattern_name is None else f" {self.pattern_name!r}"
        return f"{self.kind.value}{name}{', which must be there' if self.throws_on_miss else ''}"


def _name(method: str, pattern_name: object) -> str:
    if not isinstance(pattern_name, str) or not pattern_name:
        raise ConfigurationError(f"{method}: pattern_name must be the name of a stage, got {pattern_name!r}.")
    return pattern_name
