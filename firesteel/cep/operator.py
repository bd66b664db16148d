"""The operator: events in, in whatever order; matches out, in order of event time.

Events wait until the watermark has reached them. Those that came since the last snapshot wait in memory, the others in
keyed state; when the watermark advances, each key's events are taken in order of time, then by the comparator, then as
they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

from firesteel.cep.automaton import Automaton, EventInWork, Match, Matches
from firesteel.cep.functions import PatternProcessFunction
from firesteel.cep.keyed_state import KeyedMatches
from firesteel.cep.pattern import Pattern
from firesteel.cep.runtime_context import CepRuntimeContext
from firesteel.cep.trace import Tracer
from firesteel.cep.waiting import Events, WaitingEvents
from firesteel.common.time import MIN_WATERMARK
from firesteel.errors import ProgramError, StateMigrationError
from firesteel.model.functions.adapt import emitting
from firesteel.model.output_tag import OutputTag
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.emission import results_of, split_by_timestamps
from firesteel.runtime.failure import OperatorFailure
from firesteel.runtime.operator import OperatorContext
from firesteel.runtime.user_function import FunctionOperator

_NEVER = 1 << 64
Movers = tuple[Callable[[Any], Any], ...]
"""Conditions on an event of which one must hold, or nothing changes."""
_NOT_OPEN: tuple[int, Movers] = (MIN_WATERMARK, ())
_MOST_IN_MEMORY = 100_000
"""So many events may wait in memory from epoch to epoch; more are moved to keyed state."""


@dataclass(frozen=True)
class CepSettings:
    """How patterns are looked for.

    :param keyed: Whether the stream has keys; otherwise all events share one.
    :param processing_time: Events are taken as they come, rather than in order of event time.
    :param comparator: Orders events of the same time: negative, zero or positive, as its first argument is smaller.
    :param late_tag: The side output for events that come behind the watermark; None: they are dropped.
    :param trace: Tells what becomes of each event, to a side output.
    """

    keyed: bool = True
    processing_time: bool = False
    comparator: Callable[[Any, Any], int] | None = None
    late_tag: OutputTag | None = None
    trace: Tracer | None = None


class MatchContext(PatternProcessFunction.Context):
    """The context of the match in work. One object per operator."""

    __slots__ = ("_operator", "at", "name")

    def __init__(self, operator: CepOperator) -> None:
        self._operator = operator
        self.at = 0
        self.name = ""

    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Send a record to a side output."""
        operator = self._operator
        operator.side.add(output_tag, value, None if operator.settings.processing_time else self.at)

    def timestamp(self) -> int:
        """When the match was complete or ran out of time."""
        return self.at

    def current_processing_time(self) -> int:
        """The processing time."""
        return self._operator.context.clock.now

    def get_current_key(self) -> Any:
        """The key of the events."""
        return self._operator.keyed.buffer.key if self._operator.settings.keyed else None

    def pattern_name(self) -> str:
        """Which pattern was found."""
        return self.name


class CepOperator(FunctionOperator):
    """Looks for patterns in the events of each key."""

    def __init__(self, patterns: dict[str, Pattern], function: PatternProcessFunction, settings: CepSettings) -> None:
        super().__init__(function)
        self.patterns = patterns
        self.settings = settings
        self.automata: dict[str, Automaton] = {}
        self._to_close: list[Any] = []
        self._results: list[Any] = []
        self._stamps: list[int | None] = []
        self._waiting = WaitingEvents()
        """Events that came since the last snapshot and wait for the watermark."""

    def setup(self, context: OperatorContext) -> None:
        """Declare state and timers."""
        super().setup(context)
        backend = context.keyed_state
        assert backend is not None
        self.keyed = KeyedMatches(backend)
        domain = "processing-time" if self.settings.processing_time else "event-time"
        self._deadlines = backend.timers(f"_cep/deadlines/{domain}")
        self._arrivals = backend.timers(f"_cep/arrivals/{domain}")
        self._event = EventInWork(None, 0, self.keyed.buffer, self._now)
        self._alone: Automaton | None = None
        self._begins_only_if: Callable[[Any], Any] | None = None
        self._open: dict[Any, tuple[int, Movers]] = {}
        """For keys with an open match of a lone pattern: until when only which events change anything."""
        self._armed: dict[Any, int] = {}
        """For each key, the earliest time for which a timer is set."""

    def restore(self, states: list[Any]) -> None:
        """Make sure that the patterns are those whose matches are stored."""
        for state in states[:1]:
            stored = state["signatures"]
            for name, pattern in self.patterns.items():
                if name in stored and stored[name] != self.compiled(pattern).signature():
                    raise _changed_pattern(name, pattern)

    def snapshot(self) -> Any:
        """The shape of the patterns: matches that are stored make sense for these only."""
        return {"signatures": {name: automaton.signature() for name, automaton in self.automata.items()}}

    def open(self) -> None:
        """Build the automata; open functions and conditions."""
        runtime_context = CepRuntimeContext(self.context)
        self._late = self.context.metrics.counter("numLateRecordsDropped")
        for key, _, timestamp in self._deadlines:
            self._armed[key] = min(timestamp, self._armed.get(key, timestamp))
        for name, pattern in self.patterns.items():
            self.add_pattern(name, pattern, runtime_context)
        self._open_function(self.function, runtime_context)
        self._match_context = MatchContext(self)
        self._on_match = emitting(self.function, "process_match", 2, self.own)
        if self.wants_timeouts:
            self._on_timeout = emitting(self.function, "process_timed_out_match", 2, self.own)

    def compiled(self, pattern: Pattern) -> Automaton:
        """The automaton of a pattern."""
        return pattern.compile(self.wants_timeouts)

    @property
    def wants_timeouts(self) -> bool:
        """Whether the function wants to know of partial matches that ran out of time."""
        return hasattr(self.function, "process_timed_out_match")  # by name: a class needs no base class for it

    def add_pattern(self, name: str, pattern: Pattern, runtime_context: CepRuntimeContext) -> None:
        """Look for a pattern from now on."""
        automaton = self.compiled(pattern)
        for condition in automaton.functions():
            self._open_function(condition, runtime_context)
        self.automata[name] = automaton
        self.settle()

    def settle(self) -> None:
        """The patterns have changed. A single one may tell quickly that an event is not for it, if nobody traces."""
        hasty = len(self.automata) == 1 and self.settings.trace is None and self.settings.comparator is None
        self._alone = next(iter(self.automata.values())) if hasty else None
        self._begins_only_if = None if self._alone is None else self._alone.begins_only_if
        self._open.clear()

    def _open_function(self, function: Any, runtime_context: CepRuntimeContext) -> None:
        self._to_close.append(function)
        function.set_runtime_context(runtime_context)
        function.open(runtime_context)

    def close(self) -> None:
        """Close functions and conditions, once."""
        opened, self._to_close = self._to_close, []
        for function in opened:
            function.close()

    # ---- events come ----------------------------------------------------------------------------------------------

    def process(self, batch: RowBatch) -> None:
        """Take events: at once in processing time, later in event time."""
        assert batch.keys is not None
        if self.settings.processing_time:
            self._take_now(batch, batch.keys)
            return
        stamps = batch.timestamps
        if stamps is None or min(stamps) <= MIN_WATERMARK:
            self.cursor = cursor = iter(batch.values)
            raise _no_timestamp(next(cursor))
        if min(stamps) <= self.watermark:
            stamps, values, keys = self._without_late(batch, stamps, batch.keys)
            self._waiting.add(stamps, values, keys)
        else:
            self._waiting.add(stamps, batch.values, batch.keys)

    def _without_late(self, batch: RowBatch, stamps: list[int], keys: list[Any]) -> Events:
        """The events that the watermark has not passed; the others go to the side output, or nowhere."""
        on_time = [place for place, stamp in enumerate(stamps) if stamp > self.watermark]
        if self.settings.late_tag is None:
            self._late.inc(len(stamps) - len(on_time))
        else:
            for value, stamp in zip(batch.values, stamps):
                if stamp <= self.watermark:
                    self.side.add(self.settings.late_tag, value, stamp)
            self.side.flush(self.output)
        times, values, left = ([column[place] for place in on_time] for column in (stamps, batch.values, keys))
        return times, values, left

    def _take_now(self, batch: RowBatch, keys: list[Any]) -> None:
        now = self.context.clock.now
        if self.settings.comparator is not None:
            self._keep(zip(batch.values, [now] * len(keys), keys), late_by=1)
            return
        self.cursor = iter(batch.values)
        for value, key in zip(self.cursor, keys):
            self._run(key, [(now, value)], now)
        self._emit()

    # ---- time advances --------------------------------------------------------------------------------------------

    def advance_watermark(self, watermark: int) -> None:
        """Take the events that the watermark has reached, then pass it on."""
        self.watermark = watermark
        if not self.settings.processing_time:
            for key, events in self._due(watermark).items():
                self._run(key, events, watermark)
            self._emit()
        self.output.emit_watermark(watermark)

    def advance_processing_time(self, now: int) -> None:
        """In processing time: take the events that waited to be ordered, and notice what ran out of time."""
        if self.settings.processing_time:
            for key, events in self._due(now).items():
                self._run(key, events, now)
            self._emit()

    def finish(self) -> None:
        """All input has ended: events that wait only to be ordered wait no longer."""
        if self.settings.processing_time and self.settings.comparator is not None:
            for key, events in self._due(self.context.clock.now + 1).items():
                self._run(key, events, self.context.clock.now)
            self._emit()

    def next_processing_timer(self) -> int | None:
        """When the driver must start an epoch for us."""
        if not self.settings.processing_time:
            return None
        times = (self._deadlines.next_timestamp(), self._arrivals.next_timestamp())
        return min((time for time in times if time is not None), default=None)

    def _due(self, until: int) -> dict[Any, list[tuple[int, Any]]]:
        """The keys for which there is something to do, with their events in order of time."""
        due: dict[Any, list[tuple[int, Any]]] = {}
        timer = self._arrivals.pop_due(until)
        while timer is not None:
            self._fetch(timer[0], until, due)
            timer = self._arrivals.pop_due(until)
        self._take_waiting(until, due)
        timer = self._deadlines.pop_due(until)
        while timer is not None:
            key = timer[0]
            self._armed.pop(key, None)
            if key not in due:
                due[key] = []
            timer = self._deadlines.pop_due(until)
        return due

    def _fetch(self, key: Any, until: int, due: dict[Any, list[tuple[int, Any]]]) -> None:
        """Events that wait in keyed state."""
        waiting = self.keyed.waiting
        stored = waiting.entries.get(key)
        if stored is None:
            return
        events = due.setdefault(key, [])
        for timestamp in sorted(time for time in stored if time <= until):
            events.extend((timestamp, value) for value in stored[timestamp])
            waiting.remove_key(key, timestamp)

    def _take_waiting(self, until: int, due: dict[Any, list[tuple[int, Any]]]) -> None:
        """Events that wait in memory. Those in state came earlier: where times are equal, they stay before them."""
        mixed = set(due)
        begins, is_open, open_until = self._begins_only_if, self.keyed.is_open, self._open
        value: Any = None
        try:
            for time, value, key in zip(*self._waiting.take(until)):
                events = due.get(key)
                if events is not None:
                    events.append((time, value))
                    continue
                deadline, movers = open_until.get(key, _NOT_OPEN)
                if time < deadline:
                    for changes in movers:
                        if changes(value):
                            break
                    else:
                        continue
                elif begins is not None and not is_open(key) and not begins(value):
                    continue
                due[key] = [(time, value)]
        except Exception as error:
            raise OperatorFailure.of(self.context.info, error, value) from error
        for key in mixed:
            due[key].sort(key=_time_of)

    # ---- one key --------------------------------------------------------------------------------------------------

    def _run(self, key: Any, events: list[tuple[int, Any]], until: int) -> None:
        """Take the events of a key, then let its time advance."""
        keyed = self.keyed
        if not keyed.load(key) and self._begins_only_if is not None:
            events = self._from_first(events, self._begins_only_if)
            if not events:
                return
        states = [(name, automaton, keyed.of(name, automaton)) for name, automaton in self.automata.items()]
        if self.settings.comparator is not None:
            events = self._ordered(events)
        deadline = _next_deadline(states)
        changed = False
        for timestamp, value in events:
            if timestamp >= deadline:
                self._advance(states, timestamp)
                changed = True
            if self._take(key, value, timestamp, states):
                changed = True
            if changed:
                deadline = _next_deadline(states)
        if until >= deadline:
            self._advance(states, until)
            deadline = _next_deadline(states)
            changed = True
        if changed:
            keyed.store()
        if deadline < _NEVER:
            self._arm(key, deadline)
        if self._alone is not None:
            self._remember(key, deadline, states[0][2])

    def _remember(self, key: Any, deadline: int, matches: Matches) -> None:
        """What would change anything for a key, so that other events need not be looked at."""
        movers = None if matches.idle else self._alone.moved_by(matches)  # type: ignore[union-attr]
        if movers is None:
            self._open.pop(key, None)
        else:
            self._open[key] = (deadline, movers)

    def _from_first(self, events: list[tuple[int, Any]], begins: Callable[[Any], Any]) -> list[tuple[int, Any]]:
        """The events from the first one with which a match may begin."""
        for place, (_, value) in enumerate(events):
            try:
                if begins(value):
                    return events[place:] if place else events
            except Exception as error:
                raise OperatorFailure.of(self.context.info, error, value) from error
        return []

    def _take(self, key: Any, value: Any, timestamp: int, states: list[tuple[str, Automaton, Matches]]) -> bool:
        """Take one event. Returns whether any match has begun, gone on or ended."""
        event, buffer, tracer = self._event, self.keyed.buffer, self.settings.trace
        event.take(value, timestamp)
        changed = False
        for name, automaton, matches in states:
            if tracer is not None and tracer.wants(key):
                self.side.add(tracer.tag, tracer.look(key, name, automaton, matches, event, buffer), timestamp)
            before = matches.partial
            try:
                found = automaton.process(matches, event, buffer)
            except Exception as error:
                raise OperatorFailure.of(self.context.info, error, value) from error
            if matches.partial is not before:
                changed = True
                if found:
                    self._report(name, found, timestamp)
        if changed:
            event.done()
        return changed

    def _ordered(self, events: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
        compare = self.settings.comparator
        assert compare is not None

        def by_time_then_comparator(one: tuple[int, Any], other: tuple[int, Any]) -> int:
            return (one[0] > other[0]) - (one[0] < other[0]) or compare(one[1], other[1])

        return sorted(events, key=cmp_to_key(by_time_then_comparator))

    def _advance(self, states: list[tuple[str, Automaton, Matches]], timestamp: int) -> None:
        buffer = self.keyed.buffer
        for name, automaton, matches in states:
            found, timed_out = automaton.advance_time(matches, timestamp, buffer)
            if found:
                self._report(name, found, timestamp)
            for match, at in timed_out:
                context = self._match_context
                context.at, context.name = at, name
                self._take_results(self._on_timeout(match, context), at)

    def _report(self, name: str, found: list[Match], timestamp: int) -> None:
        context, on_match = self._match_context, self._on_match
        context.at, context.name = timestamp, name
        for match in found:
            made = on_match(match, context)
            if made is not None:
                self._take_results(made, timestamp)

    def _take_results(self, made: Iterable[Any] | None, timestamp: int) -> None:
        stamp = None if self.settings.processing_time else timestamp
        for result in () if made is None else results_of(made):
            if result.__class__ is tuple and len(result) == 2 and result[0].__class__ is OutputTag:
                self.side.add(result[0], result[1], stamp)
            else:
                self._results.append(self.own(result))
                self._stamps.append(stamp)

    def _emit(self) -> None:
        self.side.flush(self.output)
        if self._results:
            results, stamps = self._results, self._stamps
            self._results, self._stamps = [], []
            for batch in split_by_timestamps(results, stamps):
                self.output.emit(batch)

    def _now(self) -> int:
        return self.context.clock.now

    def _arm(self, key: Any, deadline: int) -> None:
        """Set a timer for when the next partial match runs out of time, unless there is an earlier one."""
        if self.settings.processing_time:
            deadline += 1
        armed = self._armed.get(key)
        if armed is None or deadline < armed:
            self._armed[key] = deadline
            self._deadlines.add(key, None, deadline)

    # ---- keyed state ----------------------------------------------------------------------------------------------

    def end_epoch(self) -> None:
        """Do not keep more in memory than is good."""
        if len(self._waiting) > _MOST_IN_MEMORY:
            self._keep(self._waiting.take_all())

    def before_snapshot(self, checkpoint_id: int) -> None:
        """What waits in memory becomes state."""
        super().before_snapshot(checkpoint_id)
        self._keep(self._waiting.take_all())

    def _keep(self, events: Iterable[tuple[Any, int, Any]], late_by: int = 0) -> None:
        waiting, arrivals = self.keyed.waiting, self._arrivals
        gathered: dict[tuple[Any, int], list[Any]] = {}
        for value, timestamp, key in events:
            gathered.setdefault((key, timestamp), []).append(value)
        for (key, timestamp), values in gathered.items():
            stored = waiting.entries.get(key)
            before = None if stored is None else stored.get(timestamp)
            waiting.put(key, timestamp, values if before is None else [*before, *values])
            arrivals.add(key, None, timestamp + late_by)


def _next_deadline(states: list[tuple[str, Automaton, Matches]]) -> int:
    """When the next partial match runs out of time."""
    earliest = _NEVER
    for _, automaton, matches in states:
        deadline = automaton.next_deadline(matches)
        if deadline is not None and deadline < earliest:
            earliest = deadline
    return earliest


def _time_of(event: tuple[int, Any]) -> int:
    return event[0]


def _no_timestamp(value: Any) -> ProgramError:
    return ProgramError(
        f"CEP: an event came without a timestamp: {value!r:.200}. Call assign_timestamps_and_watermarks() on the "
        "stream before, or in_processing_time() on the PatternStream."
    )


def _changed_pattern(name: str, pattern: Pattern) -> StateMigrationError:
    which = "the pattern" if name == "pattern" else f"pattern {name!r}"
    return StateMigrationError(
        f"{which} (its last stage is made at {pattern.line}) is not the one whose partial matches are stored: they "
        "wait in states that it does not have, or that mean something else in it. Go back to the pattern as it was, or "
        "give the operator another uid, with which it starts without them"
    )
