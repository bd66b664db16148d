"""CEP and PatternStream: patterns, put on a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from firesteel.cep.dynamic import DynamicCepOperator, TimelessOperator
from firesteel.cep.functions import (
    Match,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
)
from firesteel.cep.operator import CepOperator, CepSettings
from firesteel.cep.pattern import Condition, Pattern
from firesteel.cep.selecting import (
    FlatSelecting,
    FlatSelectingWithTimeouts,
    Selecting,
    SelectingWithTimeouts,
    checked,
)
from firesteel.cep.trace import Tracer
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream import DataStream, KeyedStream
from firesteel.errors import ConfigurationError
from firesteel.model.output_tag import OutputTag
from firesteel.runtime.operator import Operator

Select = PatternSelectFunction | Callable[[Match], Any]
FlatSelect = PatternFlatSelectFunction | Callable[..., "Iterable[Any] | None"]
Timeout = PatternTimeoutFunction | Callable[[Match, int], Any]
FlatTimeout = PatternFlatTimeoutFunction | Callable[..., "Iterable[Any] | None"]

THE_PATTERN = "pattern"
"""The name of a pattern that is alone."""


class EventComparator:
    """Orders events that have the same timestamp; a plain function of two events does the same."""

    def compare(self, one: Any, other: Any) -> int:
        """Negative, zero or positive, as the first event comes before, with or after the other."""
        raise NotImplementedError


class CEP:
    """The door to patterns over streams."""

    @staticmethod
    def pattern(
        stream: DataStream,
        pattern: Pattern | Mapping[str, Pattern],
        comparator: EventComparator | Callable[[Any, Any], int] | None = None,
    ) -> PatternStream:
        """Look for a pattern in a stream.

        On a keyed stream matches are made of events with the same key; on another all events go through one subtask.

        :param pattern: A pattern, or several by name: they share one operator and its buffer of events, and
            ``ctx.pattern_name()`` tells which one was found.
        :param comparator: Orders events with the same timestamp; otherwise they are taken as they come.
        """
        if not isinstance(stream, DataStream):
            raise ConfigurationError(f"CEP.pattern: stream must be a DataStream, got {stream!r}.")
        patterns = dict(pattern) if isinstance(pattern, Mapping) else {THE_PATTERN: pattern}
        for name, each in patterns.items():
            if not isinstance(name, str) or not isinstance(each, Pattern):
                raise ConfigurationError(
                    f"CEP.pattern: pattern must be a Pattern, or several by name, got {name!r}: {each!r}."
                )
            each.compile()  # an error in it shows here, with the user's line
        return PatternStream(stream, patterns, CepSettings(comparator=_compare(comparator)))

    @staticmethod
    def dynamic_patterns(
        stream: DataStream,
        control: DataStream,
        conditions: Mapping[str, Condition],
        comparator: EventComparator | Callable[[Any, Any], int] | None = None,
    ) -> PatternStream:
        """Look for patterns that a control stream adds, replaces and removes while the job runs.

        A record of the control stream is a :class:`PatternUpdate`, or a tuple ``(name, pattern)``: the pattern as text,
        YAML or what YAML was read to, or None to remove it. It is in force before any event that is read in the same
        epoch or later, and is part of checkpoints. It has no time: the control stream does not hold event time back. A
        pattern that is replaced or removed loses its partial matches.

        :param conditions: What the names of conditions in the patterns stand for.
        """
        if not isinstance(stream, DataStream) or not isinstance(control, DataStream):
            raise ConfigurationError("CEP.dynamic_patterns: stream and control must be DataStreams.")
        settings = CepSettings(comparator=_compare(comparator))
        return PatternStream(stream, {}, settings, control, dict(conditions))


class PatternStream:
    """A stream and what is looked for in it; ``select``, ``flat_select`` or ``process`` say what becomes of matches.

    In event time, unless :meth:`in_processing_time` is called.
    """

    def __init__(
        self,
        stream: DataStream,
        patterns: dict[str, Pattern],
        settings: CepSettings,
        control: DataStream | None = None,
        conditions: dict[str, Condition] | None = None,
    ) -> None:
        self._stream = stream
        self._patterns = patterns
        self._settings = settings
        self._control = control
        self._conditions = conditions or {}

    def in_event_time(self) -> PatternStream:
        """Take events in order of their timestamps, once the watermark has reached them. The default."""
        return self._with(processing_time=False)

    def in_processing_time(self) -> PatternStream:
        """Take events as they come."""
        return self._with(processing_time=True)

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> PatternStream:
        """Send events that come behind the watermark to a side output instead of dropping them."""
        return self._with(late_tag=_tag("side_output_late_data", late_data_output_tag))

    def trace(self, output_tag: OutputTag, keys: Iterable[Any] | None = None) -> PatternStream:
        """Tell, for each event, which partial matches are open and what the event does to them: to a side output.

        Its records are :class:`TraceRecord` objects; ``str`` makes text of them. Every condition is asked once more.

        :param keys: Only for these keys. Without it, a busy stream makes much text.
        """
        tracer = Tracer(_tag("trace", output_tag), None if keys is None else frozenset(keys))
        return self._with(trace=tracer)

    def _with(self, **changes: Any) -> PatternStream:
        settings = replace(self._settings, **changes)
        return PatternStream(self._stream, self._patterns, settings, self._control, self._conditions)

    # ---- what becomes of matches ----------------------------------------------------------------------------------

    def process(
        self, pattern_process_function: PatternProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call a function for each match and, if it is a ``TimedOutPartialMatchHandler`` too, for each timeout."""
        if not isinstance(pattern_process_function, PatternProcessFunction):
            raise ConfigurationError(
                "process: pattern_process_function must be a PatternProcessFunction, got "
                f"{pattern_process_function!r}. For a plain function there are select() and flat_select()."
            )
        return self._transform(pattern_process_function, output_type)

    def select(self, *functions: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Make one result of each match.

        ``select(function)``; or ``select(tag, timeout_function, function)``, where the results of the second, for
        partial matches that ran out of time, go to the side output.

        ::

            CEP.pattern(events, pattern).select(lambda match: match["small"][0])
        """
        functions, output_type = _split("select", functions, output_type)
        if len(functions) == 1:
            function = checked("select", "function", functions[0], PatternSelectFunction)
            return self._transform(Selecting(function), output_type)
        tag, timeout, function = functions
        selecting = Selecting(checked("select", "function", function, PatternSelectFunction))
        checked("select", "timeout_function", timeout, PatternTimeoutFunction)
        return self._transform(SelectingWithTimeouts(selecting, _tag("select", tag), timeout), output_type)

    def flat_select(self, *functions: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Make any number of results of each match.

        ``flat_select(function)``; or ``flat_select(tag, timeout_function, function)``, where the results of the
        second, for partial matches that ran out of time, go to the side output. The functions yield, return an
        iterable, or take ``out`` and call ``out.collect``.
        """
        functions, output_type = _split("flat_select", functions, output_type)
        if len(functions) == 1:
            function = checked("flat_select", "function", functions[0], PatternFlatSelectFunction)
            return self._transform(FlatSelecting(function), output_type)
        tag, timeout, function = functions
        selecting = FlatSelecting(checked("flat_select", "function", function, PatternFlatSelectFunction))
        checked("flat_select", "timeout_function", timeout, PatternFlatTimeoutFunction)
        return self._transform(FlatSelectingWithTimeouts(selecting, _tag("flat_select", tag), timeout), output_type)

    def _transform(self, function: PatternProcessFunction, output_type: TypeInformation | None) -> DataStream:
        keyed = isinstance(self._stream, KeyedStream)
        stream = self._stream if isinstance(self._stream, KeyedStream) else self._stream.key_by(_same_key)
        settings = replace(self._settings, keyed=keyed)
        if self._control is None:
            factory: Callable[[], Operator] = partial(CepOperator, self._patterns, function, settings)
            found = stream.transform("CepOperator", output_type, factory)
        else:
            factory = partial(DynamicCepOperator, self._conditions, function, settings)
            control = self._control.transform("Patterns", self._control.get_type(), TimelessOperator)
            connected = stream.connect(control.broadcast(DynamicCepOperator.STATE))
            found = connected.transform("DynamicCepOperator", output_type, factory)
        return found if keyed else found.force_non_parallel()


def _same_key(event: Any) -> int:
    """All events of a stream without keys have the same one."""
    return 0


def _split(method: str, functions: tuple[Any, ...], output_type: Any) -> tuple[tuple[Any, ...], Any]:
    """Functions, and an output type that may stand behind them."""
    if functions and isinstance(functions[-1], TypeInformation):
        functions, output_type = functions[:-1], functions[-1]
    if len(functions) not in (1, 3):
        raise ConfigurationError(
            f"{method}: give it a function, or an OutputTag, a function for timeouts and a function for matches; got "
            f"{len(functions)} arguments."
        )
    return functions, output_type


def _tag(method: str, tag: Any) -> OutputTag:
    if not isinstance(tag, OutputTag):
        raise ConfigurationError(f"{method}: a side output is named by an OutputTag, got {tag!r}.")
    return tag


def _compare(comparator: Any) -> Callable[[Any, Any], int] | None:
    if isinstance(comparator, EventComparator):
        return comparator.compare
    if comparator is not None and not callable(comparator):
        raise ConfigurationError(
            f"CEP.pattern: comparator must be an EventComparator or a function of two events, got {comparator!r}."
        )
    compare: Callable[[Any, Any], int] | None = comparator
    return compare
