"""From a pattern to its states.

A pattern is walked from its last stage to its first: each stage becomes states in front of those of the stage behind
it, its *sink*. The order in which transitions are added is the order in which they are tried, so it matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.cep.automaton.automaton import Automaton
from firesteel.cep.automaton.states import Action, State, StateKind
from firesteel.cep.conditions import Always, And, IterativeCondition, Not
from firesteel.cep.quantifier import Contiguity, Repetition, WithinType
from firesteel.errors import MalformedPatternException

if TYPE_CHECKING:
    from firesteel.cep.pattern import GroupPattern, Pattern

END = "$endState$"
"""The name of the final state, which no stage may have."""


def compile_pattern(pattern: Pattern, timeouts: bool = False) -> Automaton:
    """The automaton of a pattern.

    :param timeouts: Whether somebody wants to know of partial matches that ran out of time.
    """
    compiler = Compiler(pattern)
    compiler.build()
    return Automaton(
        compiler.states,
        compiler.window or 0,
        compiler.state_windows,
        pattern.get_after_match_skip_strategy(),
        timeouts,
    )


class Compiler:
    """Builds the states of one pattern. Use once.

    :ivar states: All states, in the order in which they were made.
    :ivar window: How long a match may take from its first to its last event, or None.
    :ivar state_windows: How long a partial match may wait in a state for the next event, by the state's name.
    """

    def __init__(self, pattern: Pattern) -> None:
        self.states: list[State] = []
        self.window: int | None = None
        self.state_windows: dict[str, int] = {}
        self._last = pattern
        self._current: Pattern = pattern
        self._following: Pattern | None = None
        self._group: GroupPattern | None = None
        self._names: set[str] = set()
        self._stops: dict[str, State] = {}
        self._repeating: set[int] = set()
        """Groups (by identity) of which a round after the first is being built."""
        self._before_until: dict[str, State] = {}
        """States behind a greedy loop with an ``until``: as they were before the loop added its condition."""

    def build(self) -> None:
        """Build all states."""
        check_names(self._last)
        _check_skip_strategy(self._last)
        end = self._state(END, StateKind.FINAL)
        self.window = self._last.get_window_time()
        first = self._stage(self._stages_before_first(end))
        first.kind = StateKind.START
        self._check_windows()
        self._check_circles()

    def _check_circles(self) -> None:
        """A group that repeats and takes nothing would repeat for ever."""
        clear: set[str] = set()
        for state in self.states:
            self._follow(state, [], clear)

    def _follow(self, state: State, way: list[str], clear: set[str]) -> None:
        if state.name in way:
            raise malformed(
                self._last,
                "a group of stages that may all be left out is repeated without limit: it would repeat without taking "
                "an event, for ever. Make one of its stages mandatory, and the group optional",
            )
        if state.name in clear:
            return
        for transition in state.transitions:
            if transition.action is Action.PROCEED:
                self._follow(transition.target, [*way, state.name], clear)
        clear.add(state.name)

    def _check_windows(self) -> None:
        if self.window is not None and any(each > self.window for each in self.state_windows.values()):
            raise malformed(
                self._last,
                f"the time between two events is {max(self.state_windows.values())} ms, which is longer than the "
                f"{self.window} ms that the whole match may take",
            )
        ends_open = self._last.get_quantifier().contiguity is Contiguity.NOT_FOLLOWED
        if ends_open and not self.window and not self.state_windows.get(self._last.get_name()):
            raise malformed(
                self._last,
                f"not_followed_by({self._last.get_name()!r}) is the last stage, and without within() nobody can ever "
                "know that nothing follows",
            )

    # ---- walking from the last stage to the first ------------------------------------------------------------------

    def _stages_before_first(self, sink: State) -> State:
        """Build all stages but the first; afterwards that one is the current stage."""
        while (previous := self._current.get_previous()) is not None:
            contiguity = self._current.get_quantifier().contiguity
            if contiguity is Contiguity.NOT_FOLLOWED:
                sink = self._not_followed(sink)
            elif contiguity is Contiguity.NOT_NEXT:
                sink = self._not_next(sink)
            else:
                sink = self._stage(sink)
            self._following, self._current = self._current, previous
            window = previous.get_window_time()
            if window is not None and (self.window is None or window < self.window):
                self.window = window
        return sink

    def _not_followed(self, sink: State) -> State:
        """At the end of a pattern, a state to wait in; elsewhere the states before it get a way to the stop state."""
        has_window = self._current.get_window_time(WithinType.PREVIOUS_AND_CURRENT) is not None or bool(self.window)
        if not has_window or sink.kind is not StateKind.FINAL:
            return sink
        unwanted = self._take_condition(self._current)
        waiting = self._stage_state(StateKind.PENDING)
        waiting.proceed(self._stop(unwanted, self._current.get_name()), unwanted)
        waiting.ignore(waiting, Not(unwanted))
        return waiting

    def _not_next(self, sink: State) -> State:
        unwanted = self._take_condition(self._current)
        state = self._stage_state(StateKind.NORMAL)
        stop = self._stop(unwanted, self._current.get_name())
        if sink.kind is StateKind.FINAL:
            state.ignore(sink, Not(unwanted))
        else:
            state.proceed(sink, Not(unwanted))
        state.proceed(stop, unwanted)
        return state

    def _stage(self, sink: State) -> State:
        """The states of the current stage, which lead to ``sink``; returns the one to enter by."""
        repetition = self._current.get_quantifier().repetition
        if repetition is Repetition.LOOPING:
            self._set_repeating(True)
            looping = self._looping(self._without_passed_nots(sink))
            self._set_repeating(False)
            entry = self._times(looping, sink)
        elif repetition is Repetition.TIMES:
            entry = self._times(sink, sink)
        else:
            entry = self._single(
                sink,
                sink,
                self._take_condition(self._current),
                self._ignore_condition(self._current),
                self._current.get_quantifier().optional,
            )
        self._add_stops(entry)
        return entry

    # ---- stages ---------------------------------------------------------------------------------------------------

    def _single(
        self,
        sink: State,
        beyond: State | None,
        take: IterativeCondition,
        ignore: IterativeCondition | None,
        optional: bool,
    ) -> State:
        """A state that takes one event.

        :param beyond: Where to go if the event is left out.
        """
        from firesteel.cep.pattern import GroupPattern

        if isinstance(self._current, GroupPattern):
            return self._group_once(self._current, sink, beyond, optional)
        state = self._stage_state(StateKind.NORMAL)
        target = self._without_passed_nots(sink)
        state.take(target, take)
        if optional:
            assert beyond is not None
            self._proceed_beyond(state, beyond)
        if ignore is not None:
            waiting = state
            if optional or self._heads_optional_group():
                waiting = self._state(self._current.get_name(), StateKind.NORMAL)
                waiting.take(target, take)
                waiting.ignore(waiting, ignore)
                self._add_stops(waiting)
            state.ignore(waiting, ignore)
        return state

    def _proceed_beyond(self, state: State, beyond: State) -> None:
        until = self._current.get_until_condition()
        always = self._always()
        if not self._current.get_quantifier().greedy or until is None:
            state.proceed(beyond, always)
        else:
            state.proceed(self._before_until.get(beyond.name, beyond), And(always, until))
            state.proceed(beyond, And(always, Not(until)))

    def _times(self, sink: State, beyond: State) -> State:
        """The states of a stage that takes from ``least`` to ``most`` events, then goes to ``sink``."""
        quantifier = self._current.get_quantifier()
        self._set_repeating(True)
        until = self._current.get_until_condition()
        inner_ignore = _until(self._inner_ignore_condition(self._current), until, False)
        take = _until(self._take_condition(self._current), until, True)
        assert take is not None
        if quantifier.greedy and quantifier.least != quantifier.most:
            if until is not None:
                self._before_until[sink.name] = self._copy(sink)
            _only_unless(sink, take)
        state = sink
        for _ in range(quantifier.least, quantifier.most):
            state = self._single(state, beyond, take, inner_ignore, True)
            self._add_stop_behind(state)
        for _ in range(quantifier.least - 1):
            state = self._single(state, None, take, inner_ignore, False)
            self._add_stop_behind(state)
        self._set_repeating(False)
        return self._single(state, beyond, take, self._ignore_condition(self._current), quantifier.optional)

    def _looping(self, sink: State) -> State:
        """The state that takes events again and again."""
        from firesteel.cep.pattern import GroupPattern

        if isinstance(self._current, GroupPattern):
            return self._looping_group(self._current, sink)
        until = self._current.get_until_condition()
        ignore = _until(self._inner_ignore_condition(self._current), until, False)
        take = _until(self._take_condition(self._current), until, True)
        assert take is not None
        state = self._stage_state(StateKind.NORMAL)
        if self._current.get_quantifier().greedy:
            self._proceed_when_greedy(state, sink, until)
        else:
            state.proceed(sink, self._always())
        state.take(state, take)
        self._add_stop_behind(state)
        if ignore is not None:
            waiting = self._state(self._current.get_name(), StateKind.NORMAL)
            waiting.take(state, take)
            waiting.ignore(waiting, ignore)
            state.ignore(waiting, ignore)
            self._add_stop_behind(waiting)
        return state

    def _proceed_when_greedy(self, state: State, sink: State, until: IterativeCondition | None) -> None:
        always = self._always()
        if until is None:
            state.proceed(sink, always)
        else:
            unchanged = self._copy(sink)
            state.proceed(unchanged, And(always, until))
            self._before_until[sink.name] = unchanged
            state.proceed(sink, And(always, Not(until)))
        _only_unless(sink, self._take_condition(self._current))

    # ---- groups ---------------------------------------------------------------------------------------------------

    def _group_once(self, group: GroupPattern, sink: State, beyond: State | None, optional: bool) -> State:
        always = self._always()
        entry = self._inside(group, sink)
        if optional:
            assert beyond is not None
            entry.proceed(beyond, always)
        return entry

    def _looping_group(self, group: GroupPattern, sink: State) -> State:
        always = self._always()
        again = self._stage_state(StateKind.NORMAL)
        entry = self._inside(group, again)
        entry.proceed(sink, always)
        again.proceed(entry, always)
        return entry

    def _inside(self, group: GroupPattern, sink: State) -> State:
        """The states of the pattern inside a group."""
        outside = self._current, self._following, self._group
        self._current, self._group = group.get_raw_pattern(), group
        entry = self._stage(self._stages_before_first(sink))
        self._current, self._following, self._group = outside
        return entry

    def _set_repeating(self, repeating: bool) -> None:
        from firesteel.cep.pattern import GroupPattern

        if isinstance(self._current, GroupPattern):
            (self._repeating.add if repeating else self._repeating.discard)(id(self._current))

    def _in_first_round(self) -> bool:
        return id(self._group) not in self._repeating

    def _heads_group(self, pattern: Pattern) -> bool:
        return self._group is not None and pattern.get_previous() is None

    def _heads_optional_group(self) -> bool:
        group = self._group
        if group is None or not self._heads_group(self._current):
            return False
        return self._in_first_round() and group.get_quantifier().optional

    # ---- conditions -----------------------------------------------------------------------------------------------

    def _take_condition(self, pattern: Pattern) -> IterativeCondition:
        condition = _until(pattern.get_condition(), self._group_until(), True)
        assert condition is not None
        return condition

    def _always(self) -> IterativeCondition:
        condition = _until(Always(), self._group_until(), True)
        assert condition is not None
        return condition

    def _ignore_condition(self, pattern: Pattern) -> IterativeCondition | None:
        contiguity = pattern.get_quantifier().contiguity
        if self._group is not None and self._heads_group(pattern):
            outer = self._group.get_quantifier()
            contiguity = outer.contiguity if self._in_first_round() else outer.inner
        return _until(_ignored(pattern, contiguity), self._group_until(), False)

    def _inner_ignore_condition(self, pattern: Pattern) -> IterativeCondition | None:
        contiguity = pattern.get_quantifier().inner
        if self._group is not None and self._heads_group(pattern):
            contiguity = self._group.get_quantifier().inner
        return _until(_ignored(pattern, contiguity), self._group_until(), False)

    def _group_until(self) -> IterativeCondition | None:
        return None if self._group is None else self._group.get_until_condition()

    # ---- what must not come ---------------------------------------------------------------------------------------

    def _unwanted_before(self) -> list[tuple[IterativeCondition, str]]:
        """The ``not_followed_by`` stages before the current one, optional stages between them left out."""
        found: list[tuple[IterativeCondition, str]] = []
        stage = self._current.get_previous()
        while stage is not None:
            quantifier = stage.get_quantifier()
            if not quantifier.optional and quantifier.contiguity is not Contiguity.NOT_FOLLOWED:
                break
            if quantifier.contiguity is Contiguity.NOT_FOLLOWED:
                found.append((self._take_condition(stage), stage.get_name()))
            stage = stage.get_previous()
        return found

    def _stop(self, unwanted: IterativeCondition, name: str) -> State:
        state = self._stops.get(name)
        if state is None:
            state = self._stops[name] = self._state(name, StateKind.STOP)
            state.take(state, unwanted)
        return state

    def _add_stops(self, state: State) -> None:
        for unwanted, name in self._unwanted_before():
            state.proceed(self._stop(unwanted, name), unwanted)

    def _add_stop_behind(self, state: State) -> None:
        following = self._following
        if following is not None and following.get_quantifier().contiguity is Contiguity.NOT_FOLLOWED:
            unwanted = self._take_condition(following)
            state.proceed(self._stop(unwanted, following.get_name()), unwanted)

    def _without_passed_nots(self, sink: State) -> State:
        """A copy of the sink, and of what it leads to, without what must not come *before* an optional stage.

        Once the optional stage has taken an event, it is past.
        """
        unwanted = self._unwanted_before()
        if not unwanted or not self._current.get_quantifier().optional:
            return sink
        return self._copy_without(sink, {name for _, name in unwanted}, {})

    def _copy_without(self, state: State, stops: set[str], copies: dict[str, State]) -> State:
        if state.name in copies:
            return copies[state.name]
        copy = copies[state.name] = self._state(state.name, state.kind, state.stage)
        for transition in state.transitions:
            target = transition.target
            if transition.action is not Action.PROCEED:
                copy.add(transition.action, copy if target is state else target, transition.condition)
            elif target.kind is not StateKind.STOP:
                copy.proceed(self._copy_without(target, stops, copies), transition.condition)
            elif target.name not in stops:
                copy.proceed(target, transition.condition)
        return copy

    # ---- states ---------------------------------------------------------------------------------------------------

    def _state(self, name: str, kind: StateKind, stage: str | None = None) -> State:
        unique, number = name, 0
        while unique in self._names:
            unique, number = f"{name}:{number}", number + 1
        self._names.add(unique)
        state = State(unique, name if stage is None else stage, kind)
        self.states.append(state)
        return state

    def _stage_state(self, kind: StateKind) -> State:
        """A state of the current stage in which its own time limit counts, if it has one."""
        name, quantifier = self._current.get_name(), self._current.get_quantifier()
        state = self._state(name, kind)
        window = self._current.get_window_time(WithinType.PREVIOUS_AND_CURRENT)
        if quantifier.repetition is not Repetition.SINGLE:
            window = quantifier.window if state.name != name else None
        if window is not None:
            self.state_windows[state.name] = window
        return state

    def _copy(self, state: State) -> State:
        copy = self._state(state.stage, state.kind)
        for transition in state.transitions:
            target = copy if transition.target is state else transition.target
            copy.add(transition.action, target, transition.condition)
        return copy


def _until(
    condition: IterativeCondition | None, until: IterativeCondition | None, takes: bool
) -> IterativeCondition | None:
    """A condition that does not hold for the event that ends the repetition."""
    if until is None:
        return condition
    if condition is None:
        return Not(until) if takes else None
    return And(Not(until), condition)


def _ignored(pattern: Pattern, contiguity: Contiguity) -> IterativeCondition | None:
    """Which events may be passed over, or None."""
    if contiguity is Contiguity.RELAXED:
        return Not(pattern.get_condition())
    return Always() if contiguity is Contiguity.ANY else None


def _only_unless(state: State, taken: IterativeCondition) -> None:
    """What a greedy stage would take is not for the state behind it."""
    for transition in state.transitions:
        transition.condition = And(transition.condition, Not(taken))


def check_names(pattern: Pattern) -> None:
    """Each stage has a name of its own."""
    seen: dict[str, Pattern] = {}
    for stage in _all_stages(pattern):
        name = stage.get_name()
        if name == END:
            raise malformed(stage, f"no stage may have the name {END!r}")
        if name in seen:
            raise malformed(
                stage, f"two stages have the name {name!r}, the other one at {seen[name].line}. Names must be unique"
            )
        seen[name] = stage


def _all_stages(pattern: Pattern) -> list[Pattern]:
    from firesteel.cep.pattern import GroupPattern

    found: list[Pattern] = []
    for stage in pattern.stages():
        found.extend(_all_stages(stage.get_raw_pattern()) if isinstance(stage, GroupPattern) else [stage])
    return found


def _check_skip_strategy(pattern: Pattern) -> None:
    strategy = pattern.get_after_match_skip_strategy()
    names = [stage.get_name() for stage in pattern.stages()]
    if strategy.pattern_name is not None and strategy.pattern_name not in names:
        raise malformed(
            pattern,
            f"{strategy}: the pattern has no stage of that name outside of groups, only {', '.join(map(repr, names))}",
        )


def malformed(pattern: Pattern, problem: str) -> MalformedPatternException:
    """The error, with the line of the stage."""
    return MalformedPatternException(f"{problem}.\n  at {pattern.line}")
