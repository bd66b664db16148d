"""Patterns: a chain of stages, each with a condition, a quantifier and its distance from the stage before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from firesteel.cep.conditions import Always, And, IterativeCondition, Or, Subtype, as_condition
from firesteel.cep.quantifier import Contiguity, Quantifier, Repetition, WithinType
from firesteel.cep.skipping import AfterMatchSkipStrategy
from firesteel.common.time import TimeLength, to_milliseconds
from firesteel.errors import ConfigurationError, MalformedPatternException
from firesteel.plan.graph import user_call_site

if TYPE_CHECKING:
    from firesteel.cep.automaton import Automaton

Condition = IterativeCondition | Callable[[Any], bool] | Callable[[Any, Any], bool]


class Pattern:
    """What to look for in a stream: stages, one after the other, made by :meth:`begin` and continued from there.

    ::

        small_then_large = (
            Pattern.begin("small").where(lambda payment: payment.amount < 1)
            .followed_by("large").where(lambda payment: payment.amount > 500)
            .within(Time.minutes(1))
        )

    Methods that set something of the last stage (``where``, ``times``, ``within``, ...) change it and return it;
    methods that add a stage (``next``, ``followed_by``, ...) return the new one, which remembers those before it.
    """

    def __init__(
        self, name: str, previous: Pattern | None, contiguity: Contiguity, skip_strategy: AfterMatchSkipStrategy
    ) -> None:
        self._name = name
        self._previous = previous
        self._skip_strategy = skip_strategy
        self._condition: IterativeCondition | None = None
        self._until: IterativeCondition | None = None
        self._windows: dict[WithinType, int] = {}
        self._quantifier = Quantifier(contiguity)
        self._line = user_call_site()

    # ---- stages ---------------------------------------------------------------------------------------------------

    @staticmethod
    def begin(
        first: str | Pattern, after_match_skip_strategy: AfterMatchSkipStrategy | None = None
    ) -> Pattern | GroupPattern:
        """Begin a pattern with a stage or with a group of stages.

        :param first: The name of the first stage, or a pattern that is the first part of this one.
        :param after_match_skip_strategy: What is given up after a match; nothing, unless something is said.
        """
        strategy = after_match_skip_strategy or AfterMatchSkipStrategy.no_skip()
        if not isinstance(strategy, AfterMatchSkipStrategy):
            raise ConfigurationError(
                f"Pattern.begin: after_match_skip_strategy must be an AfterMatchSkipStrategy, got {strategy!r}."
            )
        return _stage("begin", first, None, Contiguity.STRICT, strategy)

    def next(self, stage: str | Pattern) -> Pattern | GroupPattern:
        """The very next event belongs to this stage, or the match ends."""
        return _stage("next", stage, self, Contiguity.STRICT, self._skip_strategy)

    def followed_by(self, stage: str | Pattern) -> Pattern | GroupPattern:
        """The next event that fits belongs to this stage; others in between are passed over."""
        return _stage("followed_by", stage, self, Contiguity.RELAXED, self._skip_strategy)

    def followed_by_any(self, stage: str | Pattern) -> Pattern | GroupPattern:
        """Any later event that fits belongs to this stage, each in a match of its own."""
        return _stage("followed_by_any", stage, self, Contiguity.ANY, self._skip_strategy)

    def not_next(self, name: str) -> Pattern:
        """The very next event must not fit this stage."""
        return self._negative("not_next", name, Contiguity.NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern:
        """No event that fits this stage may come before the next stage or, at the end, before the window is over."""
        return self._negative("not_followed_by", name, Contiguity.NOT_FOLLOWED)

    def _negative(self, method: str, name: str, contiguity: Contiguity) -> Pattern:
        if self._quantifier.optional:
            raise self._malformed(
                f"{method}({name!r}) behind the optional stage {self._name!r}: what must not come would depend on "
                "whether that stage took an event. Write two patterns, one with and one without it"
            )
        if not isinstance(name, str):
            raise self._malformed(f"{method}: a group of stages cannot be excluded, only a single one")
        return Pattern(_checked_name(method, name), self, contiguity, self._skip_strategy)

    # ---- conditions -----------------------------------------------------------------------------------------------

    def where(self, condition: Condition) -> Pattern:
        """The stage takes events for which the condition holds; a second ``where`` adds to the first."""
        return self._and(as_condition("where", condition))

    def or_(self, condition: Condition) -> Pattern:
        """The stage also takes events for which this condition holds."""
        added = as_condition("or_", condition)
        self._condition = added if self._condition is None else Or(self._condition, added)
        return self

    def subtype(self, subtype_class: type | tuple[type, ...]) -> Pattern:
        """The stage takes only objects of this class."""
        if not isinstance(subtype_class, type | tuple):
            raise ConfigurationError(f"subtype: subtype_class must be a class, got {subtype_class!r}.")
        return self._and(Subtype(subtype_class))

    def until(self, until_condition: Condition) -> Pattern:
        """End the repetition of the stage when such an event comes. It has to be a stage that repeats without limit."""
        if self._until is not None:
            raise self._malformed("until() twice: only one condition can end the repetition. Join them with `or`")
        if self._quantifier.repetition is not Repetition.LOOPING:
            raise self._malformed(
                f"until() ends a repetition, and stage {self._name!r} has none without limit. Call one_or_more() or "
                "times_or_more() before it"
            )
        self._until = as_condition("until", until_condition)
        return self

    def _and(self, condition: IterativeCondition) -> Pattern:
        self._condition = condition if self._condition is None else And(self._condition, condition)
        return self

    # ---- how often ------------------------------------------------------------------------------------------------

    def one_or_more(self, window_time: TimeLength | None = None) -> Pattern:
        """The stage takes one event or more.

        :param window_time: Within how much time of each other.
        """
        return self._repeat(Repetition.LOOPING, 1, 1, window_time)

    def times_or_more(self, times: int, window_time: TimeLength | None = None) -> Pattern:
        """The stage takes so many events or more.

        :param window_time: Within how much time of each other.
        """
        self._positive("times_or_more", "times", times)
        return self._repeat(Repetition.LOOPING, times, times, window_time)

    def times(
        self, from_times: int, to_times: int | TimeLength | None = None, window_time: TimeLength | None = None
    ) -> Pattern:
        """The stage takes exactly ``from_times`` events, or from so many to ``to_times``.

        ``times(2)``, ``times(2, 4)``, ``times(2, Time.seconds(5))`` and ``times(2, 4, Time.seconds(5))`` are all good.

        :param from_times: With 0, the stage is optional.
        :param window_time: Within how much time of each other.
        """
        if to_times is None or (not isinstance(to_times, int) and window_time is None):
            self._positive("times", "times", from_times)
            window = to_times if window_time is None else window_time
            return self._repeat(Repetition.TIMES, from_times, from_times, window)
        self._count("times", "from_times", from_times, 0)
        least = max(1, from_times)
        if not isinstance(to_times, int) or isinstance(to_times, bool) or to_times < least:
            raise self._malformed(f"times({from_times}, {to_times}): the upper limit must not be below {least}")
        self._repeat(Repetition.TIMES, least, to_times, window_time)
        self._quantifier.optional |= from_times == 0
        return self

    def optional(self) -> Pattern:
        """The stage may be left out."""
        quantifier = self._quantifier
        if self._previous is not None and self._previous.get_quantifier().greedy:
            raise self._malformed(
                f"the optional stage {self._name!r} behind the greedy stage {self._previous.get_name()!r}: the greedy "
                "one would not know where to end"
            )
        if quantifier.optional:
            raise self._malformed("optional() twice")
        if quantifier.contiguity.negative:
            raise self._malformed(f"{quantifier.contiguity.value} {self._name!r} cannot be optional")
        quantifier.optional = True
        return self

    def greedy(self) -> Pattern:
        """The stage takes as many events as it can, also those that the next stage could take."""
        self._no_negative("greedy")
        if isinstance(self, GroupPattern):
            raise self._malformed("greedy() on a group of stages; it belongs to a single one")
        if self._quantifier.inner is Contiguity.ANY:
            raise self._malformed("greedy() and allow_combinations() exclude each other")
        if self._quantifier.repetition is Repetition.SINGLE:
            raise self._malformed(
                f"greedy(): stage {self._name!r} takes a single event, so there is nothing to take more of. Call "
                "times() or one_or_more() before it"
            )
        self._quantifier.greedy = True
        return self

    def consecutive(self) -> Pattern:
        """The events of the stage come directly one after the other."""
        return self._inner("consecutive", Contiguity.STRICT)

    def allow_combinations(self) -> Pattern:
        """The stage may pass over events that fit, so that there is a match for each combination."""
        return self._inner("allow_combinations", Contiguity.ANY)

    def _inner(self, method: str, contiguity: Contiguity) -> Pattern:
        quantifier = self._quantifier
        if quantifier.repetition is Repetition.SINGLE:
            raise self._malformed(
                f"{method}(): stage {self._name!r} takes a single event. Call times() or one_or_more() before it"
            )
        if quantifier.inner is contiguity:
            raise self._malformed(f"{method}() twice")
        if quantifier.inner is not Contiguity.RELAXED:
            raise self._malformed("consecutive() and allow_combinations() exclude each other")
        quantifier.inner = contiguity
        return self

    def _repeat(self, repetition: Repetition, least: int, most: int, window: Any) -> Pattern:
        self._no_negative("a quantifier")
        if self._quantifier.repetition is not Repetition.SINGLE:
            raise self._malformed(
                f"a second quantifier: stage {self._name!r} has {str(self._quantifier)!r} already. Remove one of them"
            )
        self._quantifier = Quantifier(
            self._quantifier.contiguity,
            repetition,
            optional=self._quantifier.optional,
            least=least,
            most=most,
            window=None if window is None else to_milliseconds(window),
        )
        return self

    def _no_negative(self, what: str) -> None:
        contiguity = self._quantifier.contiguity
        if contiguity.negative:
            raise self._malformed(f"{what} behind {contiguity.value} {self._name!r}: it takes no events")

    def _positive(self, method: str, argument: str, value: Any) -> None:
        self._count(method, argument, value, 1)

    def _count(self, method: str, argument: str, value: Any, least: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self._malformed(f"{method}: {argument} must be a whole number of at least {least}, got {value!r}")

    # ---- time -----------------------------------------------------------------------------------------------------

    def within(self, window_time: TimeLength | None, within_type: WithinType = WithinType.FIRST_AND_LAST) -> Pattern:
        """Give up partial matches that take longer than this; if several stages say so, the shortest time counts.

        :param window_time: None sets nothing.
        :param within_type: Between which events the time lies.
        """
        if not isinstance(within_type, WithinType):
            raise ConfigurationError(f"within: within_type must be a WithinType, got {within_type!r}.")
        if window_time is not None:
            self._windows[within_type] = to_milliseconds(window_time)
        return self

    # ---- what was said --------------------------------------------------------------------------------------------

    def get_name(self) -> str:
        """The name of the last stage."""
        return self._name

    def get_previous(self) -> Pattern | None:
        """The stage before the last one, or None."""
        return self._previous

    def get_condition(self) -> IterativeCondition:
        """The condition of the last stage: every event, unless something was said."""
        return Always() if self._condition is None else self._condition

    def get_until_condition(self) -> IterativeCondition | None:
        """What ends the repetition of the last stage."""
        return self._until

    def get_quantifier(self) -> Quantifier:
        """How often the last stage takes events."""
        return self._quantifier

    def get_window_time(self, within_type: WithinType = WithinType.FIRST_AND_LAST) -> int | None:
        """What :meth:`within` set for the last stage, in milliseconds."""
        return self._windows.get(within_type)

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """What is given up after a match."""
        return self._skip_strategy

    @property
    def line(self) -> str:
        """The line of the program that made the last stage."""
        return self._line

    def stages(self) -> Iterator[Pattern]:
        """The stages of this pattern from the first to the last; a group counts as one."""
        if self._previous is not None:
            yield from self._previous.stages()
        yield self

    # ---- what can be done with it -----------------------------------------------------------------------------------

    def compile(self, timeouts: bool = False) -> Automaton:
        """The automaton that finds the pattern; raises :class:`MalformedPatternException` if there is none.

        :param timeouts: Whether somebody wants to know of partial matches that ran out of time.
        """
        from firesteel.cep.automaton import compile_pattern

        return compile_pattern(self, timeouts)

    def explain(self, format: str = "text") -> str:
        """The automaton of the pattern, in words or as a picture.

        :param format: ``"text"``, or ``"svg"`` for a picture to be saved or shown.
        """
        from firesteel.cep.explain import explain

        return explain(self, format)

    def why(self, match: Mapping[str, Any]) -> str:
        """How the events of a match went through the automaton: which stage took which event, and by which condition.

        :param match: What ``select`` and ``process_match`` were given.
        """
        from firesteel.cep.why import why

        return why(self, match)

    @staticmethod
    def from_text(
        text: str,
        conditions: Mapping[str, Condition],
        after_match_skip_strategy: AfterMatchSkipStrategy | None = None,
    ) -> Pattern:
        """A pattern written as text, such as ``"a b+ c? within 10 min"``: see the user guide for all that it may say.

        :param conditions: What the names stand for.
        """
        from firesteel.cep.text import parse_pattern

        return parse_pattern(text, conditions, after_match_skip_strategy)

    @staticmethod
    def from_yaml(text: str | Mapping[str, Any], conditions: Mapping[str, Condition]) -> Pattern:
        """A pattern written as YAML, or what is left of it when the YAML has been read.

        :param conditions: What the names of conditions stand for.
        """
        from firesteel.cep.yaml_form import read_pattern

        return read_pattern(text, conditions)

    def _malformed(self, problem: str) -> MalformedPatternException:
        return MalformedPatternException(f"{problem}.\n  at {user_call_site()}")

    def __repr__(self) -> str:
        return f"Pattern({' '.join(stage.get_name() + str(stage.get_quantifier()) for stage in self.stages())!r})"


class GroupPattern(Pattern):
    """A pattern that is one stage of another: its quantifier is about all of it."""

    def __init__(
        self, group: Pattern, previous: Pattern | None, contiguity: Contiguity, skip_strategy: AfterMatchSkipStrategy
    ) -> None:
        super().__init__("GroupPattern", previous, contiguity, skip_strategy)
        self._group = group

    def get_raw_pattern(self) -> Pattern:
        """The pattern inside."""
        return self._group

    def where(self, condition: Condition) -> Pattern:
        """Not for groups: conditions belong to the stages inside."""
        raise self._no_condition("where")

    def or_(self, condition: Condition) -> Pattern:
        """Not for groups: conditions belong to the stages inside."""
        raise self._no_condition("or_")

    def subtype(self, subtype_class: type | tuple[type, ...]) -> Pattern:
        """Not for groups: conditions belong to the stages inside."""
        raise self._no_condition("subtype")

    def _no_condition(self, method: str) -> MalformedPatternException:
        return self._malformed(f"{method}() on a group of stages: conditions belong to the stages inside it")


def _stage(
    method: str, stage: Any, previous: Pattern | None, contiguity: Contiguity, strategy: AfterMatchSkipStrategy
) -> Pattern | GroupPattern:
    if isinstance(stage, Pattern):
        return GroupPattern(stage, previous, contiguity, strategy)
    return Pattern(_checked_name(method, stage), previous, contiguity, strategy)


def _checked_name(method: str, name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ConfigurationError(f"{method}: a stage is named by text, got {name!r}.")
    return name
