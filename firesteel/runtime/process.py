"""Process functions: the user's code gets the record with a context, state, timers and side outputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.model.functions import KeyedProcessFunction, ProcessFunction
from firesteel.model.functions.adapt import emitting
from firesteel.model.output_tag import OutputTag
from firesteel.model.timers import TimeDomain, TimerService
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.contexts import KeyedTimerService, UnkeyedTimerService
from firesteel.runtime.emission import USUAL_RESULTS, SideBuffer, results_of, split_by_timestamps
from firesteel.runtime.records import UNCHANGEABLE
from firesteel.runtime.user_function import FunctionOperator
from firesteel.state.backend import KeyScope

Call = Callable[[Any, Any], "Iterable[Any] | None"]


class ElementContext(ProcessFunction.Context):
    """The context of the record in work. One object per operator; its fields change from record to record."""

    __slots__ = ("_side", "_timers", "current_timestamp")

    def __init__(self, timers: TimerService, side: SideBuffer) -> None:
        self._timers = timers
        self._side = side
        self.current_timestamp: int | None = None

    def timer_service(self) -> TimerService:
        """The clocks."""
        return self._timers

    def timestamp(self) -> int | None:
        """The record's timestamp."""
        return self.current_timestamp

    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Send a record to a side output."""
        self._side.add(output_tag, value, self.current_timestamp)


class KeyedElementContext(KeyedProcessFunction.OnTimerContext):
    """The context of the record or timer in work, on a keyed stream."""

    __slots__ = ("_scope", "_side", "_timers", "current_timestamp", "domain")

    def __init__(self, timers: TimerService, side: SideBuffer, scope: KeyScope) -> None:
        self._timers = timers
        self._side = side
        self._scope = scope
        self.current_timestamp: int | None = None
        self.domain = TimeDomain.EVENT_TIME

    def timer_service(self) -> TimerService:
        """The clocks and the timers."""
        return self._timers

    def timestamp(self) -> int | None:
        """The timestamp of the record or timer."""
        return self.current_timestamp

    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Send a record to a side output."""
        self._side.add(output_tag, value, self.current_timestamp)

    def get_current_key(self) -> Any:
        """The key of the record or timer."""
        return self._scope.key

    def time_domain(self) -> TimeDomain:
        """Which kind of timer fires."""
        return self.domain


class ProcessOperator(FunctionOperator):
    """A process function on a stream without keys."""

    def __init__(self, function: ProcessFunction) -> None:
        super().__init__(function)

    def open(self) -> None:
        """Make the context."""
        self.element_context = ElementContext(UnkeyedTimerService(self), self.side)
        super().open()
        self._call = emitting(self.function, "process_element", 2, self.own)

    def process(self, batch: RowBatch) -> None:
        """Call the function for each record."""
        self.cursor = iter(batch.values)
        run_elements(self, self._call, self.element_context, None, batch)


class TimerFiring(FunctionOperator):
    """What keyed process functions with one and with two inputs share: state, timers, and ``on_timer``."""

    timers: KeyedTimerService
    element_context: Any
    scope: KeyScope

    def open(self) -> None:
        """Make timers and context."""
        backend = self.context.keyed_state
        assert backend is not None
        self.scope = backend.scope
        self.timers = KeyedTimerService(self, backend)
        self.element_context = self.make_context()
        super().open()
        self._on_timer = emitting(self.function, "on_timer", 2, self.own)

    def make_context(self) -> Any:
        """The context object that the function is given."""
        return KeyedElementContext(self.timers, self.side, self.scope)

    def advance_watermark(self, watermark: int) -> None:
        """Fire event-time timers, then pass the watermark on."""
        self.watermark = watermark
        self._fire(self.timers.fire_event_time, watermark, TimeDomain.EVENT_TIME)
        if not self.timers.event_time_due(watermark):
            self.output.emit_watermark(watermark)

    def end_key(self) -> None:
        """Fire all timers of the key: first those of event time."""
        self.watermark = MAX_WATERMARK
        self._fire(self.timers.fire_event_time, MAX_WATERMARK, TimeDomain.EVENT_TIME)
        self._fire(self.timers.fire_processing_time, MAX_WATERMARK, TimeDomain.PROCESSING_TIME)
        self.watermark = MIN_WATERMARK

    def advance_processing_time(self, now: int) -> None:
        """Fire processing-time timers."""
        self._fire(self.timers.fire_processing_time, now, TimeDomain.PROCESSING_TIME)

    def next_processing_timer(self) -> int | None:
        """When the driver must start an epoch for us."""
        return self.timers.next_processing_timer()

    def _fire(self, fire: Callable[[int, Any], None], until: int, domain: TimeDomain) -> None:
        context, on_timer = self.element_context, self._on_timer
        event_time = domain is TimeDomain.EVENT_TIME
        values: list[Any] = []
        timestamps: list[int | None] = []

        def on_fire(timestamp: int, key: Any, namespace: Any) -> None:
            context.domain = domain
            context.current_timestamp = timestamp
            made = on_timer(timestamp, context)
            if made is not None:
                before = len(values)
                self.add_results(results_of(made), values, timestamp if event_time else None)
                timestamps.extend(repeat(timestamp if event_time else None, len(values) - before))

        fire(until, on_fire)
        self.side.flush(self.output)
        if values:
            for batch in split_by_timestamps(values, timestamps):
                self.output.emit(batch)

    def add_results(self, made: Iterable[Any], values: list[Any], timestamp: int | None) -> None:
        """Sort results into main output and side outputs."""
        for result in made:
            if is_tagged(result):
                self.side.add(result[0], result[1], timestamp)
            else:
                values.append(self.own(result))


class KeyedProcessOperator(TimerFiring):
    """A process function on a keyed stream."""

    def __init__(self, function: KeyedProcessFunction) -> None:
        super().__init__(function)

    def open(self) -> None:
        """Find out which style the function is written in."""
        super().open()
        self._call = emitting(self.function, "process_element", 2, self.own)

    def process(self, batch: RowBatch) -> None:
        """Call the function for each record, with the record's key in scope."""
        self.cursor = iter(batch.values)
        run_elements(self, self._call, self.element_context, self.scope, batch)


def run_elements(operator: FunctionOperator, call: Call, context: Any, scope: KeyScope | None, batch: RowBatch) -> None:
    """Call ``process_element`` for each record and emit what it gives.

    The hot path of stateful programs. ``operator.cursor`` must be the iterator over the batch's values.
    """
    cursor, scope = operator.cursor, scope or KeyScope()
    assert cursor is not None
    keys: Iterable[Any] = repeat(None) if batch.keys is None else batch.keys
    if batch.timestamps is None and not OutputTag.made and inspect.isgeneratorfunction(call):
        context.current_timestamp = None
        # The loop's targets are the very attributes that user code reads through context and state.
        if operator.keeps_nothing_in(call):
            made = [result for value, scope.key in zip(cursor, keys) for result in call(value, context)]
        else:
            made = _emitted(operator, call, context, scope, zip(cursor, keys))
        results = _sorted_out(made, operator.side) if OutputTag.made else RowBatch(made)
    else:
        results = _called_and_sorted(operator, call, context, scope, zip(cursor, _stamps(batch), keys))
        if batch.timestamps is None:
            results.timestamps = None
    operator.side.flush(operator.output)
    operator.output.emit(results)


def _emitted(
    operator: FunctionOperator, call: Call, context: Any, scope: KeyScope, elements: Iterable[tuple[Any, Any]]
) -> list[Any]:
    """The results of a generator function. Each is copied before the function goes on and changes it.

    What cannot change needs no copy: the usual cases, without a call.
    """
    own, unchangeable = operator.own, UNCHANGEABLE
    return [
        result
        if (
            result.__class__ is tuple
            and len(result) == 2
            and result[0].__class__ in unchangeable
            and result[1].__class__ in unchangeable
        )
        or result.__class__ in unchangeable
        else own(result)
        for value, scope.key in elements
        for result in call(value, context)  # type: ignore[union-attr]
    ]


def _called_and_sorted(
    operator: FunctionOperator, call: Call, context: Any, scope: KeyScope, elements: Iterable[tuple[Any, Any, Any]]
) -> RowBatch:
    """The results of a function of any kind, with the timestamps of their records; tagged ones go to the side."""
    values: list[Any] = []
    timestamps: list[int] = []
    append, append_stamp = values.append, timestamps.append
    side, own, unchangeable = operator.side, operator.own, UNCHANGEABLE
    for value, context.current_timestamp, scope.key in elements:
        made = call(value, context)
        if made is not None:
            if made.__class__ not in USUAL_RESULTS:
                made = results_of(made)
            for result in made:
                # is_tagged() without the call
                if (
                    OutputTag.made
                    and result.__class__ is tuple
                    and len(result) == 2
                    and result[0].__class__ is OutputTag
                ):
                    side.add(result[0], result[1], context.current_timestamp)
                else:
                    append(result if result.__class__ in unchangeable else own(result))
                    append_stamp(context.current_timestamp)
    return RowBatch(values, timestamps)


def _stamps(batch: RowBatch) -> Iterable[Any]:
    return repeat(None) if batch.timestamps is None else batch.timestamps


def _sorted_out(results: list[Any], side: SideBuffer) -> RowBatch:
    """What is not tagged. Needed once in a process: when the first tag was made while these results were."""
    for result in filter(is_tagged, results):
        side.add(result[0], result[1], None)
    return RowBatch([result for result in results if not is_tagged(result)])


def is_tagged(result: Any) -> bool:
    """Whether a result is for a side output: ``(tag, record)``."""
    return result.__class__ is tuple and len(result) == 2 and result[0].__class__ is OutputTag
