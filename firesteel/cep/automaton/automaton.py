"""The automaton at work: events and time in, matches and timeouts out. It holds no state of its own.

What is kept between two events is a :class:`Matches` per key and pattern, and the key's :class:`EventBuffer`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from firesteel.cep.automaton.buffer import EventBuffer
from firesteel.cep.automaton.predicates import ALWAYS, ON_VALUE, UNLESS_VALUE, Predicate, predicate
from firesteel.cep.automaton.queues import pop, push, remove_if
from firesteel.cep.automaton.states import Action, State, StateKind
from firesteel.cep.conditions import IterativeCondition, parts
from firesteel.cep.skipping import AfterMatchSkipStrategy, EventKey
from firesteel.model.functions import Function

_LAST: Final = (1 << 63, 1 << 63)
"""The place of what has not begun yet: behind everything else."""

Partial = tuple[EventKey, int, "int | None", int]
"""A partial match: (place of its first event, state, last node, timestamp of its last event). Complete ones too."""

Match = dict[str, list[Any]]

_TAKE, _IGNORE, _PROCEED = 0, 1, 2
_ACTIONS: Final = {Action.TAKE: _TAKE, Action.IGNORE: _IGNORE, Action.PROCEED: _PROCEED}

Edge = tuple[int, int, int, "Callable[..., Any] | None"]
"""A transition: (action, state it leads to, how to ask, what to ask)"""


@dataclass
class Matches:
    """Where one key stands with one pattern.

    :param partial: Partial matches, as a heap; the one that has not begun yet is always among them.
    :param complete: Matches that are complete but, for the sake of the skip strategy, wait for earlier ones.
    """

    partial: list[Partial]
    complete: list[Partial] = field(default_factory=list)

    @property
    def idle(self) -> bool:
        """Whether nothing has begun: then there is nothing to be kept."""
        return len(self.partial) == 1 and not self.complete


class TimedOut(NamedTuple):
    """A partial match that ran out of time, and when it did."""

    match: Match
    timestamp: int


class EventInWork(IterativeCondition.Context):
    """The event that is being looked at: what conditions are given as their context."""

    __slots__ = ("_buffer", "_known", "_node", "_now", "_number", "_timestamp", "value")

    def __init__(self, value: Any, timestamp: int, buffer: EventBuffer, now: Callable[[], int]) -> None:
        self._buffer = buffer
        self._now = now
        self.take(value, timestamp)

    def take(self, value: Any, timestamp: int) -> None:
        """Another event is being looked at."""
        self.value = value
        self._timestamp = timestamp
        self._number: int | None = None
        self._node: int | None = None
        self._known: Match | None = None

    def look_from(self, node: int | None) -> None:
        """The partial match that ends with this node is being looked at."""
        self._node = node
        self._known = None

    def number(self) -> int:
        """The number of the event in the buffer; it is put there when it is needed first."""
        number = self._number
        if number is None:
            number = self._number = self._buffer.add_event(self.value, self._timestamp)
        return number

    def done(self) -> None:
        """All has been done with the event: if no match needs it, it goes."""
        if self._number is not None:
            self._buffer.release_event(self._number)
            self._buffer.commit()

    def get_events_for_pattern(self, name: str) -> list[Any]:
        """The events that a stage has taken so far."""
        if self._known is None:
            self._known = self._buffer.match(self._node)
        return self._known.get(name, [])

    def timestamp(self) -> int:
        """The timestamp of the event."""
        return self._timestamp

    def current_processing_time(self) -> int:
        """The processing time."""
        return self._now()


class Automaton:
    """A compiled pattern.

    :param states: All states; the start state is one of them.
    :param window: How long a match may take, in milliseconds; 0: for ever.
    :param state_windows: How long a partial match may wait in a state, by the state's name.
    :param timeouts: Whether somebody wants to know of partial matches that ran out of time.
    """

    def __init__(
        self,
        states: list[State],
        window: int,
        state_windows: dict[str, int],
        skip_strategy: AfterMatchSkipStrategy,
        timeouts: bool,
    ) -> None:
        self.states = states
        self.window = window
        self.skip_strategy = skip_strategy
        self.timeouts = timeouts
        number = {state.name: index for index, state in enumerate(states)}
        self.start = next(index for index, state in enumerate(states) if state.kind is StateKind.START)
        self._stages = [state.stage for state in states]
        known: dict[int, Predicate] = {}
        self._edges: list[list[Edge]] = [
            [
                (_ACTIONS[each.action], number[each.target.name], *predicate(each.condition, known))
                for each in state.transitions
            ]
            for state in states
        ]
        self._final = [state.kind is StateKind.FINAL for state in states]
        self._stop = [state.kind is StateKind.STOP for state in states]
        self._pending = [state.kind is StateKind.PENDING for state in states]
        self._proceeds = [any(edge[0] == _PROCEED for edge in edges) for edges in self._edges]
        self._state_windows = [state_windows.get(state.name, 0) for state in states]
        self._has_state_windows = any(self._state_windows)
        self._stays_unless = [self._lone_condition(state) for state in range(len(states))]
        """For states in which an event changes nothing unless a condition holds: that condition."""
        self._begin: Partial = (_LAST, self.start, None, -1)
        self._movers: dict[frozenset[int], tuple[Callable[[Any], Any], ...] | None] = {}

    def _lone_condition(self, state: int) -> Callable[[Any], Any] | None:
        edges = self._edges[state]
        if not edges or edges[0][0] != _TAKE or edges[0][2] != ON_VALUE:
            return None
        ask = edges[0][3]
        alone = len(edges) == 1 and state == self.start
        waits = len(edges) == 2 and edges[1][:3] == (_IGNORE, state, UNLESS_VALUE) and edges[1][3] is ask
        return ask if alone or waits else None

    @property
    def may_match_nothing(self) -> bool:
        """Whether the pattern could be matched without a single event: all of its stages may be left out."""
        seen: set[int] = set()
        waiting = [self.start]
        while waiting:
            state = waiting.pop()
            if self._final[state]:
                return True
            seen.add(state)
            waiting += [edge[1] for edge in self._edges[state] if edge[0] == _PROCEED and edge[1] not in seen]
        return False

    @property
    def state_windows(self) -> dict[str, int]:
        """How long a partial match may wait in a state for the next event, in milliseconds, by the state's name."""
        return {state.name: window for state, window in zip(self.states, self._state_windows) if window}

    @property
    def begins_only_if(self) -> Callable[[Any], Any] | None:
        """A condition on an event without which no match begins; None: that takes more to find out."""
        return self._stays_unless[self.start]

    def moved_by(self, matches: Matches) -> tuple[Callable[[Any], Any], ...] | None:
        """Conditions on an event of which one must hold, or nothing changes; None: that takes more to find out."""
        states = frozenset([partial[1] for partial in matches.partial])
        if states not in self._movers:
            conditions = {id(each): each for each in map(self._stays_unless.__getitem__, states)}
            known = [each for each in conditions.values() if each is not None]
            self._movers[states] = tuple(known) if len(known) == len(conditions) else None
        return self._movers[states]

    # ---- life of the conditions -----------------------------------------------------------------------------------

    def functions(self) -> list[Function]:
        """The conditions that want to be opened and closed, each once."""
        found: dict[int, Function] = {}
        for state in self.states:
            for transition in state.transitions:
                for part in parts(transition.condition):
                    if isinstance(part, Function):
                        found[id(part)] = part
        return list(found.values())

    def signature(self) -> list[Any]:
        """States and transitions as plain data: state that is stored with another signature does not fit."""
        number = {state.name: index for index, state in enumerate(self.states)}
        return [
            [
                state.name,
                state.kind.value,
                [[each.action.value, number[each.target.name]] for each in state.transitions],
            ]
            for state in self.states
        ] + [self.window, list(self._state_windows), str(self.skip_strategy)]

    # ---- events ---------------------------------------------------------------------------------------------------

    def begin(self) -> Matches:
        """Where every key stands before its first event."""
        return Matches([self._begin])

    def process(self, matches: Matches, event: EventInWork, buffer: EventBuffer) -> list[Match]:
        """Take the next event; returns the matches that are complete with it, in order.

        Time must have been advanced to the timestamp of the event.
        """
        current = matches.partial
        retained: list[Partial] | None = None
        complete: list[Partial] = []
        value, stays_unless = event.value, self._stays_unless
        for place, partial in enumerate(current):
            condition = stays_unless[partial[1]]
            if condition is not None and not condition(value):
                if retained is not None:
                    push(retained, partial)
                continue
            after = self._after(partial, event, buffer)
            if after is None:
                if retained is not None:
                    push(retained, partial)
                continue
            if retained is None:
                retained = current[:place]
            self._sort_out(after, retained, complete, buffer)
        if retained is None:
            return []
        matches.partial = retained
        return self._report(matches, complete, buffer) if complete or matches.complete else []

    def _sort_out(
        self, after: list[Partial], retained: list[Partial], complete: list[Partial], buffer: EventBuffer
    ) -> None:
        """What came out of one partial match: complete ones, ones that go on, or none if what must not come came."""
        final, stop = self._final, self._stop
        stopped = any(stop[new[1]] for new in after)
        for new in after:
            state = new[1]
            if final[state]:
                push(complete, new)
            elif stopped:
                buffer.release(new[2])
            else:
                push(retained, new)

    def _after(self, partial: Partial, event: EventInWork, buffer: EventBuffer) -> list[Partial] | None:
        """What becomes of a partial match; None: it stays as it is."""
        _, state, node, _ = partial
        event.look_from(node)
        value = event.value
        edges = self._edges[state]
        chosen: list[tuple[int, int, int]] = []
        waiting: list[int] | None = None
        source = state
        while True:
            for action, target, mode, ask in edges:
                if mode == ALWAYS:
                    pass
                elif mode == ON_VALUE:
                    if not ask(value):  # type: ignore[misc]
                        continue
                elif mode == UNLESS_VALUE:
                    if ask(value):  # type: ignore[misc]
                        continue
                elif not ask(value, event):  # type: ignore[misc]
                    continue
                if action == _PROCEED:
                    if waiting is None:
                        waiting = [target]
                    else:
                        waiting.append(target)
                else:
                    chosen.append((action, source, target))
            if not waiting:
                break
            source = waiting.pop()
            edges = self._edges[source]
        begins = node is None
        if begins:
            if not chosen:
                return None
        elif len(chosen) == 1 and chosen[0][0] == _IGNORE and chosen[0][2] == state:
            return None
        return self._follow(partial, chosen, begins, event, buffer)

    def _follow(
        self,
        partial: Partial,
        chosen: list[tuple[int, int, int]],
        begins: bool,
        event: EventInWork,
        buffer: EventBuffer,
    ) -> list[Partial] | None:
        """The partial matches that come out of one by the transitions that were chosen."""
        first, _, node, last_time = partial
        after: list[Partial] = []
        keeps = 0
        for action, source, target in chosen:
            if action == _IGNORE:
                if not begins:
                    after.append((first, target, node, last_time))
                    keeps += 1
                continue
            timestamp = event.timestamp()
            number = event.number()
            place = (timestamp, number) if begins else first
            completes = self._completes(target, event)
            new = buffer.add_node(number, self._stages[source], node, 2 if completes is not None else 1)
            keeps += 1
            after.append((place, target, new, timestamp))
            if completes is not None:
                after.append((place, completes, new, timestamp))
        if begins:
            if not after:
                return None
            after.append(partial)
        elif keeps == 0:
            buffer.release(node)
        elif keeps > 1 and node is not None:
            buffer.need(node, keeps - 1)
        return after

    def _completes(self, state: int, event: EventInWork) -> int | None:
        """The final state, if it can be reached from here without another event."""
        if not self._proceeds[state]:
            return None
        waiting = [state]
        while waiting:
            for action, target, mode, ask in self._edges[waiting.pop()]:
                if action == _PROCEED and _holds(mode, ask, event):
                    if self._final[target]:
                        return target
                    waiting.append(target)
        return None

    # ---- time -----------------------------------------------------------------------------------------------------

    def advance_time(self, matches: Matches, timestamp: int, buffer: EventBuffer) -> tuple[list[Match], list[TimedOut]]:
        """Time has come so far: returns matches that are complete by that, and partial matches that ran out of time."""
        if not self._anything_due(matches, timestamp):
            return [], []
        retained: list[Partial] = []
        complete: list[Partial] = []
        timed_out: list[TimedOut] = []
        for partial in matches.partial:
            deadline = self._deadline(partial)
            if deadline is None or timestamp < deadline:
                push(retained, partial)
            elif self._pending[partial[1]]:
                push(complete, partial)
            else:
                if self.timeouts:
                    timed_out.append(TimedOut(buffer.match(partial[2]), self._timed_out_at(partial, timestamp)))
                buffer.release(partial[2])
        matches.partial = retained
        return self._report(matches, complete, buffer), timed_out

    def _anything_due(self, matches: Matches, timestamp: int) -> bool:
        if self._has_state_windows:
            return any(
                deadline is not None and timestamp >= deadline for deadline in map(self._deadline, matches.partial)
            )
        # The first of the heap is the one that began first.
        begun = matches.partial[0][0][0]
        return self.window > 0 and timestamp - begun >= self.window

    def _deadline(self, partial: Partial) -> int | None:
        """When a partial match runs out of time; None: never."""
        first, state, node, last_time = partial
        if node is None:
            return None
        own = self._state_windows[state]
        if own > 0 and (self.window <= 0 or last_time + own <= first[0] + self.window):
            return last_time + own
        return first[0] + self.window if self.window > 0 else None

    def _timed_out_at(self, partial: Partial, timestamp: int) -> int:
        """The time that is told with a timeout: if both windows are over, that of the state's own."""
        own = partial[3] + self._state_windows[partial[1]]
        if self._state_windows[partial[1]] > 0 and timestamp >= own:
            return own
        return partial[0][0] + self.window

    def next_deadline(self, matches: Matches) -> int | None:
        """When the next partial match runs out of time; None: none ever does."""
        if self._has_state_windows:
            deadlines = [deadline for deadline in map(self._deadline, matches.partial) if deadline is not None]
            return min(deadlines, default=None)
        first = matches.partial[0]
        return None if self.window <= 0 or first[2] is None else first[0][0] + self.window

    # ---- matches --------------------------------------------------------------------------------------------------

    def _report(self, matches: Matches, complete: list[Partial], buffer: EventBuffer) -> list[Match]:
        """The matches that can be reported now, in order; others wait until no earlier one can come."""
        strategy, waiting = self.skip_strategy, matches.complete
        for each in complete:
            push(waiting, each)
        found: list[Match] = []
        while waiting:
            if strategy.skips and matches.partial and waiting[0][0] > matches.partial[0][0]:
                break
            node = pop(waiting)[2]
            if strategy.skips:
                self._give_up(matches, strategy, buffer.keys(node), buffer)
            found.append(buffer.match(node))
            buffer.release(node)
        return found

    @staticmethod
    def _give_up(
        matches: Matches, strategy: AfterMatchSkipStrategy, keys: dict[str, list[EventKey]], buffer: EventBuffer
    ) -> None:
        limit = strategy.limit(keys)
        if limit is None:
            return

        def given_up(each: Partial) -> bool:
            return each[2] is not None and strategy.is_given_up(each[0], limit)

        for heap in (matches.partial, matches.complete):
            for each in remove_if(heap, given_up):
                buffer.release(each[2])

    def release_all(self, matches: Matches, buffer: EventBuffer) -> None:
        """Give up everything: the pattern is no longer looked for."""
        for each in (*matches.partial, *matches.complete):
            buffer.release(each[2])


def _holds(mode: int, ask: Callable[..., Any] | None, event: EventInWork) -> bool:
    if ask is None or mode == ALWAYS:
        return True
    if mode == ON_VALUE:
        return bool(ask(event.value))
    if mode == UNLESS_VALUE:
        return not ask(event.value)
    return bool(ask(event.value, event))
