"""The functions of a keyed stream: the place of state, timers and rolling aggregations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter
from typing import Any

from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.aggregations import (
    ExtremeByFunction,
    ExtremeFunction,
    KeyAndMeasure,
    KeyAndRecord,
    SumFunction,
)
from firesteel.datastream._internal.fields import RollingField, declared_field_type
from firesteel.datastream._internal.outputs import StreamOutputs
from firesteel.datastream._internal.repartitioning import adapted_key
from firesteel.datastream._internal.sink import DataStreamSink
from firesteel.datastream._internal.stream import AnyStream, S, own_operator
from firesteel.model.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    SinkFunction,
)
from firesteel.model.functions.adapt import (
    as_filter_function,
    as_flat_map_function,
    as_map_function,
    as_process_function,
    as_reduce_function,
    as_sink_function,
    emitting,
)
from firesteel.model.sink import Sink
from firesteel.plan.graph import Transformation
from firesteel.runtime import partitioners
from firesteel.runtime.basic import FilterOperator, FlatMapOperator, MapOperator, ReduceOperator
from firesteel.runtime.operator import Operator
from firesteel.runtime.partitioners import Partitioning
from firesteel.runtime.process import KeyedProcessOperator
from firesteel.runtime.records import copied
from firesteel.runtime.sinks import SinkFunctionOperator

Measure = str | int | Callable[[Any], Any]
"""What a rolling aggregation looks at: a field name, a position, or a function from record to value."""


class KeyedFunctions(StreamOutputs[S]):
    """The part of a keyed stream that keeps state: functions, rolling aggregations, sinks.

    Results are sent on by the stream that was keyed, ``_origin``.
    """

    _origin: AnyStream[S]
    _key_selector: Callable[[Any], Any]
    _key_type: TypeInformation | None

    # ---- functions with keyed state ------------------------------------------------------------------------

    def map(self, func: MapFunction | Callable[[Any], Any], output_type: TypeInformation | None = None) -> S:
        """Make exactly one record out of each; a :class:`MapFunction` may keep state per key."""
        return self._keyed("Map", partial(MapOperator, as_map_function(func)), output_type, "map")

    def flat_map(
        self,
        func: FlatMapFunction | Callable[..., Any],
        output_type: TypeInformation | None = None,
    ) -> S:
        """Make any number of records out of each; a :class:`FlatMapFunction` may keep state per key."""
        return self._keyed("Flat Map", partial(FlatMapOperator, as_flat_map_function(func)), output_type, "flat_map")

    def filter(self, func: FilterFunction | Callable[[Any], bool]) -> S:
        """Keep the records for which the function says True; a :class:`FilterFunction` may keep state per key."""
        return self._keyed("Filter", partial(FilterOperator, as_filter_function(func)), self.get_type(), "filter")

    def process(
        self,
        func: KeyedProcessFunction | ProcessFunction | Callable[..., Any],
        output_type: TypeInformation | None = None,
    ) -> S:
        """Process records with a context: state and timers per key, timestamps, side outputs.

        ::

            class CountPerKey(KeyedProcessFunction):
                def open(self, runtime_context):
                    self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

                def process_element(self, value, ctx):
                    self.count.update((self.count.value() or 0) + 1)
                    yield ctx.get_current_key(), self.count.value()

            events.key_by("user").process(CountPerKey())
        """
        function = as_process_function(func, keyed=True)
        if isinstance(function, ProcessFunction):
            function = ProcessFunctionOnKeys(function)
        return self._keyed("KeyedProcess", partial(KeyedProcessOperator, function), output_type, "process")

    def transform(
        self, operator_name: str, output_type: TypeInformation | None, operator_factory: Callable[[], Operator]
    ) -> S:
        """Run an operator of one's own, with keyed state and timers: see :meth:`DataStream.transform`."""
        return self._keyed(*own_operator(operator_name, output_type, operator_factory))

    # ---- rolling aggregations ------------------------------------------------------------------------------

    def reduce(self, func: ReduceFunction | Callable[[Any, Any], Any]) -> S:
        """Combine the records of a key one by one, and emit each intermediate result.

        In BATCH mode only the last result of a key is emitted.

        ::

            numbers.key_by(lambda n: n % 2).reduce(lambda total, n: total + n)
        """
        return self._reduce("Keyed Reduce", as_reduce_function(func), "reduce")

    def sum(self, position_to_sum: Measure = 0) -> S:
        """Emit, for each record, the sum of a field over the records of its key so far.

        The other fields are those of the key's first record. A bare number is its own field 0. With a function
        instead of a field, only the running sum of its results is emitted.

        ::

            env.from_collection([("a", 1), ("a", 2)]).key_by(0).sum(1)  # ("a", 1), ("a", 3)
        """
        return self._rolling("sum", "position_to_sum", position_to_sum, SumFunction)

    def min(self, position_to_min: Measure = 0) -> S:
        """Emit, for each record, the smallest value of a field so far; other fields are those of the first record.

        See :meth:`min_by` for the whole record that holds the smallest value.
        """
        return self._rolling("min", "position_to_min", position_to_min, partial(ExtremeFunction, largest=False))

    def max(self, position_to_max: Measure = 0) -> S:
        """Emit, for each record, the largest value of a field so far; other fields are those of the first record.

        See :meth:`max_by` for the whole record that holds the largest value.
        """
        return self._rolling("max", "position_to_max", position_to_max, partial(ExtremeFunction, largest=True))

    def min_by(self, position_to_min_by: Measure = 0) -> S:
        """Emit, for each record, the record of its key with the smallest value so far; the first one on a tie.

        :param position_to_min_by: A field name, a position, or a function from record to the value to compare.
        """
        return self._extreme_by("min_by", "position_to_min_by", position_to_min_by, largest=False)

    def max_by(self, position_to_max_by: Measure = 0) -> S:
        """Emit, for each record, the record of its key with the largest value so far; the first one on a tie.

        ::

            rides.key_by("start_cell").max_by(lambda ride: ride.end - ride.start)
        """
        return self._extreme_by("max_by", "position_to_max_by", position_to_max_by, largest=True)

    # ---- outputs -------------------------------------------------------------------------------------------

    def add_sink(self, sink_func: SinkFunction | Callable[[Any], Any] | Sink) -> DataStreamSink:
        """Call a function for each record; a :class:`SinkFunction` may keep state per key."""
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        factory = partial(SinkFunctionOperator, as_sink_function(sink_func))
        return DataStreamSink(self._sink("Unnamed", factory, key_selectors=(self._key_selector,)))

    def _collectable(self) -> Transformation:
        """As in PyFlink, the records of a keyed stream come to the caller as rows of key and record."""
        return self._before_keys("Key and Record", KeyAndRecord(self._key_selector))

    # ---- inside --------------------------------------------------------------------------------------------

    def _keyed(self, name: str, factory: Callable[[], Operator], output_type: TypeInformation | None, method: str) -> S:
        return self._transform(name, factory, output_type, method, key_selectors=(self._key_selector,))

    def _reduce(self, name: str, function: ReduceFunction, method: str) -> S:
        return self._keyed(name, partial(ReduceOperator, function), self.get_type(), method)

    def _rolling(self, method: str, argument: str, measure: Any, make: Callable[[RollingField], ReduceFunction]) -> S:
        if not callable(measure):
            return self._reduce("Keyed Aggregation", make(self._field(method, argument, measure)), method)
        pairs = self._before_keys("Key and Measure", KeyAndMeasure(self._key_selector, measure))
        key = adapted_key("key_by", itemgetter(0))
        keying = Partitioning(partitioners.HASH, key_selector=key, key_type=self._key_type)
        aggregated = self._graph.operator(
            "Keyed Aggregation",
            [self._graph.partition(pairs, "key_by()", keying)],
            partial(ReduceOperator, make(RollingField(1, method))),
            key_selectors=(key,),
        )
        measure_only = partial(MapOperator, as_map_function(itemgetter(1)))
        return self.derive(self._graph.operator("Measure", [aggregated], measure_only))

    def _before_keys(self, name: str, function: Callable[[Any], Any]) -> Transformation:
        """A function that runs where the records come from, before they are split by key."""
        origin = self._origin.get_transformation()
        factory = partial(MapOperator, as_map_function(function))
        return self._graph.operator(name, [origin], factory, parallelism=origin.parallelism)

    def _extreme_by(self, method: str, argument: str, measure: Any, largest: bool) -> S:
        by = measure if callable(measure) else self._field(method, argument, measure)
        return self._reduce("Keyed Aggregation", ExtremeByFunction(by, largest), method)

    def _field(self, method: str, argument: str, field: Any) -> RollingField:
        is_name = isinstance(field, str) and field
        is_position = isinstance(field, int) and not isinstance(field, bool) and field >= 0
        if not is_name and not is_position:
            raise arguments.wrong_argument(
                method, argument, field, "a field name, a position (from 0) or a function from record to value"
            )
        declared_field_type(method, field, self.get_type())
        return RollingField(field, method)


class ProcessFunctionOnKeys(KeyedProcessFunction):
    """A process function without keys, on a keyed stream: it runs as it is, and its state is kept per key."""

    def __init__(self, function: ProcessFunction) -> None:
        self._function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the function."""
        self._function.set_runtime_context(runtime_context)
        self._function.open(runtime_context)
        self._process = emitting(self._function, "process_element", 2, copied)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any] | None:
        """Call the function."""
        return self._process(value, ctx)

    def close(self) -> None:
        """Close the function."""
        self._function.close()
