"""What is done with matches: the functions that users write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from firesteel.model.functions import Function
from firesteel.model.output_tag import OutputTag

Match = dict[str, list[Any]]
"""The events of a match by the names of the stages that took them, in order."""


class PatternProcessFunction(Function):
    """Called for each match, with a context: the most general way to use matches.

    ::

        class Alert(PatternProcessFunction, TimedOutPartialMatchHandler):
            def process_match(self, match, ctx):
                yield f"{match['small'][0]} then {match['large'][0]}"

            def process_timed_out_match(self, match, ctx):
                ctx.output(UNFINISHED, match)
    """

    class Context(ABC):
        """What the functions are given besides the match."""

        __slots__ = ()

        @abstractmethod
        def output(self, output_tag: OutputTag, value: Any) -> None:
            """Send a record to a side output."""

        @abstractmethod
        def timestamp(self) -> int:
            """When the match was complete, or when the partial match ran out of time, in milliseconds."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The processing time in milliseconds."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the events; None on a stream without keys."""

        @abstractmethod
        def pattern_name(self) -> str:
            """Which pattern was found, where there are several; ``"pattern"`` otherwise."""

    @abstractmethod
    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        """Called once per match.

        ``yield`` results or return an iterable; ``yield tag, result`` for a side output. May also be written with a
        third parameter ``out`` and call ``out.collect(result)``.
        """


class TimedOutPartialMatchHandler(ABC):
    """Added to a :class:`PatternProcessFunction` that wants to know which partial matches ran out of time."""

    @abstractmethod
    def process_timed_out_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        """Called once per partial match that took longer than ``within()`` allows.

        :param match: The events that it had taken.
        """


class PatternSelectFunction(Function):
    """Makes one result out of each match."""

    @abstractmethod
    def select(self, pattern: Match) -> Any:
        """Called once per match; returns the result."""


class PatternFlatSelectFunction(Function):
    """Makes any number of results out of each match."""

    @abstractmethod
    def flat_select(self, pattern: Match) -> Iterable[Any] | None:
        """Called once per match: ``yield`` results, return an iterable, or take ``out`` and call ``out.collect``."""


class PatternTimeoutFunction(Function):
    """Makes one result, for a side output, out of each partial match that ran out of time."""

    @abstractmethod
    def timeout(self, pattern: Match, timeout_timestamp: int) -> Any:
        """Called once per such partial match, with the time at which it ran out."""


class PatternFlatTimeoutFunction(Function):
    """Makes any number of results, for a side output, out of each partial match that ran out of time."""

    @abstractmethod
    def timeout(self, pattern: Match, timeout_timestamp: int) -> Iterable[Any] | None:
        """Called once per such partial match: ``yield``, return an iterable, or take ``out`` as the third parameter."""


# In Python every function has open() and close(); Flink's names for those that do in Java are good too.
RichPatternSelectFunction = PatternSelectFunction
RichPatternFlatSelectFunction = PatternFlatSelectFunction
