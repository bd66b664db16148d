"""Streams cut into windows, with keys and without."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from firesteel.common.time import TimeLength, to_milliseconds
from firesteel.common.typeinfo import TypeInformation
from firesteel.common.warnings import warn_once
from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.aggregations import ExtremeByFunction, ExtremeFunction, SumFunction
from firesteel.datastream._internal.fields import RollingField, declared_field_type
from firesteel.datastream._internal.hints import ON_WINDOWED_STREAM, StreamHints
from firesteel.datastream._internal.stream import AnyStream, S
from firesteel.datastream._internal.window_functions import (
    as_apply_function,
    as_process_window_function,
    check_second_function,
)
from firesteel.datastream.time_characteristic import TimeCharacteristic
from firesteel.errors import ConfigurationError, ProgramError
from firesteel.model.assigners import (
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from firesteel.model.evictors import CountEvictor, Evictor
from firesteel.model.functions import (
    AggregateFunction,
    AllWindowFunction,
    Function,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from firesteel.model.functions.adapt import as_aggregate_function, as_reduce_function
from firesteel.model.output_tag import OutputTag
from firesteel.model.triggers import CountTrigger, PurgingTrigger, Trigger
from firesteel.runtime.windowing import WindowSpec, make_window_operator

_W = TypeVar("_W", bound="Windows[Any]")


class Windows(StreamHints, ABC, Generic[S]):
    """What windows with keys and without have in common."""

    _hints = ON_WINDOWED_STREAM

    _keyed: ClassVar[bool]

    def __init__(self, stream: AnyStream[S], window_assigner: WindowAssigner[Any, Any]) -> None:
        if not isinstance(window_assigner, WindowAssigner):
            raise arguments.wrong_argument(
                "window" if self._keyed else "window_all",
                "window_assigner",
                window_assigner,
                "a WindowAssigner",
                "Make one with of(), such as TumblingEventTimeWindows.of(Time.minutes(1)).",
            )
        self._stream = stream
        self._assigner = window_assigner
        self._trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any, Any] | None = None
        self._lateness = 0
        self._late_tag: OutputTag | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._assigner!r} over {self._stream!r})"

    def get_input_type(self) -> TypeInformation | None:
        """The declared type of the records that go into the windows, or None."""
        return self._stream.get_type()

    # ---- settings ------------------------------------------------------------------------------------------

    def trigger(self: _W, trigger: Trigger[Any, Any]) -> _W:
        """Say when windows fire, instead of the assigner's own trigger.

        ::

            stream.window(GlobalWindows.create()).trigger(CountTrigger.of(3))
        """
        if not isinstance(trigger, Trigger):
            raise arguments.wrong_argument("trigger", "trigger", trigger, "a Trigger")
        self._trigger = trigger
        return self

    def evictor(self: _W, evictor: Evictor[Any, Any]) -> _W:
        """Take records out of windows before or after they are evaluated. Windows then keep all their records, also
        under :meth:`reduce` and :meth:`aggregate`.
        """
        if not isinstance(evictor, Evictor):
            raise arguments.wrong_argument("evictor", "evictor", evictor, "an Evictor")
        self._evictor = evictor
        return self

    def allowed_lateness(self: _W, time_ms: TimeLength) -> _W:
        """Keep windows for so long after the watermark has passed their end: late records fire them again.

        For event-time windows only; on others it has no effect, and warns.

        :param time_ms: Milliseconds, or a Time or Duration. The default is 0.
        """
        lateness = to_milliseconds(time_ms)
        if lateness < 0:
            raise ConfigurationError(f"allowed_lateness: the lateness must not be negative, got {lateness} ms.")
        if not self._assigner.is_event_time():
            warn_once(
                "allowed_lateness",
                f"allowed_lateness(): {self._assigner!r} works without event time, so no record is ever late.",
            )
        self._lateness = lateness
        return self

    def side_output_late_data(self: _W, output_tag: OutputTag) -> _W:
        """Send records that come too late for all their windows to a side output instead of dropping them.

        ::

            late = OutputTag("late")
            counts = stream.window(...).side_output_late_data(late).aggregate(Count())
            counts.get_side_output(late).print()
        """
        if not isinstance(output_tag, OutputTag):
            raise arguments.wrong_argument("side_output_late_data", "output_tag", output_tag, "an OutputTag")
        self._late_tag = output_tag
        return self

    # ---- the ways to fold records one by one ----------------------------------------------------------------

    def sum(self, position_to_sum: str | int = 0) -> S:
        """Per window, the sum of a field; the other fields are those of the window's first record."""
        return self._by_field("sum", "position_to_sum", position_to_sum, SumFunction)

    def min(self, position_to_min: str | int = 0) -> S:
        """Per window, the smallest value of a field; the other fields are those of the window's first record."""
        return self._by_field("min", "position_to_min", position_to_min, partial(ExtremeFunction, largest=False))

    def max(self, position_to_max: str | int = 0) -> S:
        """Per window, the largest value of a field; the other fields are those of the window's first record."""
        return self._by_field("max", "position_to_max", position_to_max, partial(ExtremeFunction, largest=True))

    def min_by(self, position_to_min_by: str | int | Callable[[Any], Any] = 0) -> S:
        """Per window, the record with the smallest value; the first one on a tie.

        :param position_to_min_by: A field name, a position, or a function from record to the value to compare.
        """
        return self._by_field(
            "min_by", "position_to_min_by", position_to_min_by, partial(ExtremeByFunction, largest=False)
        )

    def max_by(self, position_to_max_by: str | int | Callable[[Any], Any] = 0) -> S:
        """Per window, the record with the largest value; the first one on a tie.

        :param position_to_max_by: A field name, a position, or a function from record to the value to compare.
        """
        return self._by_field(
            "max_by", "position_to_max_by", position_to_max_by, partial(ExtremeByFunction, largest=True)
        )

    def _by_field(self, method: str, argument: str, field: Any, make: Callable[[Any], ReduceFunction]) -> S:
        is_field = isinstance(field, (str, int)) and not isinstance(field, bool)
        if not is_field and not (callable(field) and method.endswith("_by")):
            expected = "a field name or a position (from 0)"
            raise arguments.wrong_argument(method, argument, field, expected)
        if is_field:
            declared_field_type(method, field, self.get_input_type())
            field = RollingField(field, method)
        return self._build(method, make(field), None, self.get_input_type(), order_matters=True)

    # ---- inside --------------------------------------------------------------------------------------------

    def _fold(
        self,
        method: str,
        fold: ReduceFunction | AggregateFunction,
        window_function: Any,
        output_type: TypeInformation | None,
    ) -> S:
        function = check_second_function(method, window_function, self._keyed)
        return self._build(method, fold, function, output_type)

    def _build(
        self,
        method: str,
        fold: ReduceFunction | AggregateFunction | None,
        function: Function | None,
        output_type: TypeInformation | None,
        order_matters: bool = False,
    ) -> S:
        trigger = self._trigger or self._assigner.get_default_trigger(self._stream.get_execution_environment())
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise ProgramError(
                f"{method}: windows of {self._assigner!r} merge, but {trigger!r} cannot be merged. "
                "Use another trigger, or write can_merge() and on_merge()."
            )
        spec = WindowSpec(
            assigner=self._assigner,
            trigger=trigger,
            fold=fold,
            function=function,
            evictor=self._evictor,
            allowed_lateness=self._lateness,
            late_tag=self._late_tag,
            order_matters=order_matters,
        )
        arguments.type_information(method, "output_type", output_type)
        name = type(self._assigner).__name__
        stream = self._stream.transform(name, output_type, partial(make_window_operator, spec))
        self._finish(stream)
        return stream.set_description(f"Window({self._assigner!r}, {trigger!r}, {method})")

    @abstractmethod
    def _finish(self, stream: S) -> None:
        """Last settings of the operator."""


class KeyedWindows(Windows[S]):
    """The windows of a stream with keys."""

    _keyed = True

    def __init__(self, keyed_stream: AnyStream[S], window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(keyed_stream, window_assigner)

    def reduce(
        self,
        reduce_function: ReduceFunction | Callable[[Any, Any], Any],
        window_function: WindowFunction[Any, Any, Any, Any] | ProcessWindowFunction[Any, Any, Any, Any] | None = None,
        output_type: TypeInformation | None = None,
    ) -> S:
        """Combine the records of a window one by one as they come: one value is kept, not the records.

        Windows that overlap share the work where they can: the function is then given parts of windows too, in order
        of time, so it must be associative and, for records out of order, commutative.

        :param window_function: Is given the reduced value, as the only element, when the window fires.
        """
        fold = as_reduce_function(reduce_function)
        if window_function is None and output_type is None:
            output_type = self.get_input_type()
        return self._fold("reduce", fold, window_function, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction | tuple[Callable[..., Any], ...],
        window_function: WindowFunction[Any, Any, Any, Any] | ProcessWindowFunction[Any, Any, Any, Any] | None = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> S:
        """Aggregate the records of a window as they come: one accumulator is kept, not the records.

        ``merge`` is needed for sessions. Windows that overlap use it too, if it is there, to share the work.

        :param aggregate_function: An :class:`AggregateFunction`, or the functions (create_accumulator, add,
            get_result[, merge]).
        :param window_function: Is given the result, as the only element, when the window fires.
        :param accumulator_type: Checked to be a type; any accumulator that can be pickled will do here.
        """
        arguments.type_information("aggregate", "accumulator_type", accumulator_type)
        fold = as_aggregate_function(aggregate_function)
        return self._fold("aggregate", fold, window_function, output_type)

    def apply(
        self,
        window_function: WindowFunction[Any, Any, Any, Any] | Callable[[Any, Any, Any], Any],
        output_type: TypeInformation | None = None,
    ) -> S:
        """Evaluate windows with all their records: a :class:`WindowFunction`, or a function of (key, window, records)
        that yields or returns an iterable.
        """
        return self._build("apply", None, as_apply_function(window_function, keyed=True), output_type)

    def process(
        self,
        process_window_function: ProcessWindowFunction[Any, Any, Any, Any] | Callable[[Any, Any, Any], Any],
        output_type: TypeInformation | None = None,
    ) -> S:
        """Evaluate windows with all their records and a context: the window, the clocks, state, side outputs.

        ::

            class CountPerWindow(ProcessWindowFunction):
                def process(self, key, context, elements):
                    yield key, context.window().end, len(list(elements))
        """
        function = as_process_window_function(process_window_function, keyed=True)
        return self._build("process", None, function, output_type)

    def _finish(self, stream: S) -> None:
        return None


class AllWindows(Windows[S]):
    """The windows of a stream without keys."""

    _keyed = False

    def __init__(self, data_stream: AnyStream[S], window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(data_stream.key_by(the_one_key), window_assigner)

    def reduce(
        self,
        reduce_function: ReduceFunction | Callable[[Any, Any], Any],
        window_function: AllWindowFunction[Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any] | None = None,
        output_type: TypeInformation | None = None,
    ) -> S:
        """Combine the records of a window one by one as they come: see :meth:`WindowedStream.reduce`."""
        fold = as_reduce_function(reduce_function)
        if window_function is None and output_type is None:
            output_type = self.get_input_type()
        return self._fold("reduce", fold, window_function, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction | tuple[Callable[..., Any], ...],
        window_function: AllWindowFunction[Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any] | None = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> S:
        """Aggregate the records of a window as they come: see :meth:`WindowedStream.aggregate`."""
        arguments.type_information("aggregate", "accumulator_type", accumulator_type)
        fold = as_aggregate_function(aggregate_function)
        return self._fold("aggregate", fold, window_function, output_type)

    def apply(
        self,
        window_function: AllWindowFunction[Any, Any, Any] | Callable[[Any, Any], Any],
        output_type: TypeInformation | None = None,
    ) -> S:
        """Evaluate windows with all their records: an :class:`AllWindowFunction`, or a function of (window, records)
        that yields or returns an iterable.
        """
        return self._build("apply", None, as_apply_function(window_function, keyed=False), output_type)

    def process(
        self,
        process_window_function: ProcessAllWindowFunction[Any, Any, Any] | Callable[[Any, Any], Any],
        output_type: TypeInformation | None = None,
    ) -> S:
        """Evaluate windows with all their records and a context: the window, state, side outputs."""
        function = as_process_window_function(process_window_function, keyed=False)
        return self._build("process", None, function, output_type)

    def _finish(self, stream: S) -> None:
        stream.force_non_parallel()


def the_one_key(record: Any) -> int:
    """The key of all records of a stream without keys."""
    return 0


def count_windows(windows: _W, method: str, size: int, slide: int) -> _W:
    """Make count windows out of a stream with the global window: of ``size`` records, one every ``slide`` of them.

    Without a slide each record counts once; with one, the window fires every ``slide`` records for the last ``size``.
    """
    arguments.whole_number(method, "size", size, least=1)
    arguments.whole_number(method, "slide", slide, least=0)
    if slide == 0:
        return windows.trigger(PurgingTrigger.of(CountTrigger.of(size)))
    return windows.evictor(CountEvictor.of(size)).trigger(CountTrigger.of(slide))


def time_windows(
    characteristic: TimeCharacteristic, size: TimeLength, slide: TimeLength | None
) -> WindowAssigner[Any, Any]:
    """Windows of so much time, by the clock that an environment has chosen; sliding if there is a slide."""
    if characteristic is TimeCharacteristic.ProcessingTime:
        if slide is None:
            return TumblingProcessingTimeWindows.of(size)
        return SlidingProcessingTimeWindows.of(size, slide)
    return TumblingEventTimeWindows.of(size) if slide is None else SlidingEventTimeWindows.of(size, slide)
