"""The interval join of two keyed streams, as the program writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Generic

from firesteel.common.time import TimeLength, to_milliseconds
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.connected_streams import Connected
from firesteel.datastream._internal.stream import AnyStream, S
from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.model.functions import Function, ProcessJoinFunction
from firesteel.model.output_tag import OutputTag
from firesteel.plan.graph import keys_of
from firesteel.runtime.interval_join import IntervalJoinOperator, JoinBounds

_KEYED = "a KeyedStream: call key_by() first"


class IntervalJoin(Generic[S]):
    """Two keyed streams to be joined by key and time, made by :meth:`KeyedStream.interval_join`.

    ::

        (orders.key_by("id")
            .interval_join(shipments.key_by("id"))
            .between(Time.minutes(-5), Time.minutes(5))
            .process(lambda order, shipment, ctx: [(order, shipment)]))
    """

    def __init__(self, left: AnyStream[S], right: AnyStream[S]) -> None:
        arguments.instances("interval_join", "other", (left, right), AnyStream, _KEYED)
        for stream in (left, right):
            if keys_of(stream.get_transformation()) is None:
                raise arguments.wrong_argument("interval_join", "other", stream, _KEYED)
        self._left = left
        self._right = right

    def in_event_time(self) -> IntervalJoin[S]:
        """Join by the timestamps of records; the only way there is, and the default."""
        return self

    def in_processing_time(self) -> IntervalJoin[S]:
        """Not supported, as in Flink: raises an error."""
        raise UnsupportedError(
            "in_processing_time(): interval joins need event time, because bounds in processing time depend on when "
            "records happen to arrive. Give the streams timestamps with assign_timestamps_and_watermarks()."
        )

    def between(self, lower_bound: TimeLength, upper_bound: TimeLength) -> IntervalJoined[S]:
        """Join each left record with the right ones from its timestamp + ``lower_bound`` to + ``upper_bound``.

        Both bounds are inclusive unless said otherwise, and may be negative.
        """
        return IntervalJoined(self._left, self._right, to_milliseconds(lower_bound), to_milliseconds(upper_bound))


class IntervalJoined(Generic[S]):
    """An interval join whose bounds are set."""

    def __init__(self, left: AnyStream[S], right: AnyStream[S], lower_bound: int, upper_bound: int) -> None:
        self._left = left
        self._right = right
        self._lower = lower_bound
        self._upper = upper_bound
        self._lower_exclusive = False
        self._upper_exclusive = False
        self._late_tags: list[OutputTag | None] = [None, None]

    def lower_bound_exclusive(self) -> IntervalJoined[S]:
        """Records exactly at the lower bound are not joined."""
        self._lower_exclusive = True
        return self

    def upper_bound_exclusive(self) -> IntervalJoined[S]:
        """Records exactly at the upper bound are not joined."""
        self._upper_exclusive = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoined[S]:
        """Send left records that come behind the watermark to a side output instead of dropping them."""
        return self._late("side_output_left_late_data", 0, output_tag)

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoined[S]:
        """Send right records that come behind the watermark to a side output instead of dropping them."""
        return self._late("side_output_right_late_data", 1, output_tag)

    def _late(self, method: str, side: int, output_tag: OutputTag) -> IntervalJoined[S]:
        if not isinstance(output_tag, OutputTag):
            raise arguments.wrong_argument(method, "output_tag", output_tag, "an OutputTag")
        self._late_tags[side] = output_tag
        return self

    def process(
        self,
        process_join_function: ProcessJoinFunction | Callable[[Any, Any, Any], Iterable[Any] | None],
        output_type: TypeInformation | None = None,
    ) -> S:
        """Call a function for each pair. Results carry the later one of both timestamps.

        :param process_join_function: A :class:`ProcessJoinFunction`, or a function of (left, right, context) that
            yields or returns an iterable.
        """
        bounds = JoinBounds(self._lower + self._lower_exclusive, self._upper - self._upper_exclusive, *self._late_tags)
        if bounds.lower > bounds.upper:
            raise ConfigurationError(
                f"between({self._lower}, {self._upper}): no pair can be within these bounds. The lower bound must not "
                "be above the upper one; bounds that are equal must both be inclusive."
            )
        function = _as_process_join_function(process_join_function)
        arguments.type_information("process", "output_type", output_type)
        factory = partial(IntervalJoinOperator, function, bounds=bounds)
        return Connected(self._left, self._right).transform("Interval Join", output_type, factory)


class CallableProcessJoinFunction(ProcessJoinFunction):
    """A function of both records and the context."""

    def __init__(self, call: Callable[[Any, Any, Any], Iterable[Any] | None]) -> None:
        self._call = call

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any] | None:
        """Call the function."""
        return self._call(left, right, ctx)


def _as_process_join_function(function: Any) -> ProcessJoinFunction:
    if isinstance(function, ProcessJoinFunction):
        return function
    if not callable(function) or isinstance(function, (type, Function)):
        raise arguments.wrong_argument(
            "process",
            "process_join_function",
            function,
            "a ProcessJoinFunction or a function of (left, right, context)",
        )
    return CallableProcessJoinFunction(function)
