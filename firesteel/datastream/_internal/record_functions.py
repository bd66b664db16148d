"""The functions of a stream that look at one record at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from firesteel.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation
from firesteel.common.watermark_strategy import FieldTimestampAssigner, WatermarkStrategy
from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.fields import declared_field_type
from firesteel.datastream._internal.stream import AnyStream, S
from firesteel.errors import ConfigurationError
from firesteel.model.functions import FilterFunction, FlatMapFunction, MapFunction, ProcessFunction
from firesteel.model.functions.adapt import (
    as_filter_function,
    as_flat_map_function,
    as_map_function,
    as_process_function,
)
from firesteel.runtime.basic import FilterOperator, FlatMapOperator, MapOperator
from firesteel.runtime.batch import Format
from firesteel.runtime.process import ProcessOperator
from firesteel.runtime.watermarks import TimestampsAndWatermarksOperator


class RecordFunctions(AnyStream[S]):
    """The part of a stream that works record by record."""

    def map(self, func: MapFunction | Callable[[Any], Any], output_type: TypeInformation | None = None) -> S:
        """Make exactly one record out of each; None is a record too.

        ::

            numbers.map(lambda n: n * 10)

        :param output_type: Declares the type of the results; checked where it is used (DataFrames, ``print``).
        """
        return self._transform("Map", partial(MapOperator, as_map_function(func)), output_type, "map")

    def flat_map(
        self,
        func: FlatMapFunction | Callable[..., Any],
        output_type: TypeInformation | None = None,
    ) -> S:
        """Make any number of records out of each: ``yield`` them, return an iterable, or call ``out.collect``.

        ::

            lines.flat_map(lambda line: line.split())
        """
        function = as_flat_map_function(func)
        return self._transform("Flat Map", partial(FlatMapOperator, function), output_type, "flat_map")

    def filter(self, func: FilterFunction | Callable[[Any], bool]) -> S:
        """Keep the records for which the function says True.

        ::

            people.filter(lambda person: person.age >= 18)
        """
        function = as_filter_function(func)
        return self._transform("Filter", partial(FilterOperator, function), self.get_type(), "filter")

    def process(
        self,
        func: ProcessFunction | Callable[..., Any],
        output_type: TypeInformation | None = None,
    ) -> S:
        """Process records with a context: timestamps, the clocks, side outputs.

        State and timers need keys: call :meth:`key_by` first.
        """
        function = as_process_function(func, keyed=False)
        assert isinstance(function, ProcessFunction)
        return self._transform("Process", partial(ProcessOperator, function), output_type, "process")

    def project(self, *field_indexes: int) -> S:
        """Keep some fields of tuples, lists or Rows, as tuples in the given order.

        ::

            env.from_collection([(1, "a", True)]).project(2, 0)  # (True, 1)
        """
        if not field_indexes:
            raise ConfigurationError("project: no field was given. Give at least one position, as in project(0, 2).")
        for index in field_indexes:
            arguments.whole_number("project", "field_indexes", index, least=0)
        declared = self.get_type()
        types = [declared_field_type("project", index, declared) for index in field_indexes]
        known = [kind for kind in types if kind is not None]
        make_type = RowTypeInfo if isinstance(declared, RowTypeInfo) else TupleTypeInfo
        output_type = make_type(known) if len(known) == len(types) else None
        function = as_map_function(_Projection(field_indexes))
        return self._transform("Projection", partial(MapOperator, function), output_type, "project")

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> S:
        """Give records timestamps, and make the watermarks that say how far event time has come.

        Former timestamps and watermarks end here.

        ::

            strategy = (WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20))
                        .with_timestamp_assigner(lambda event, _: event.time))
            events.assign_timestamps_and_watermarks(strategy)
        """
        method = "assign_timestamps_and_watermarks"
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise arguments.wrong_argument(method, "watermark_strategy", watermark_strategy, "a WatermarkStrategy")
        factory = partial(TimestampsAndWatermarksOperator, watermark_strategy)
        by_field = isinstance(watermark_strategy.timestamp_assigner, FieldTimestampAssigner)
        formats = {} if by_field else {"takes": Format.ROWS, "gives": Format.ROWS}  # a function wants records
        return self._transform("Timestamps/Watermarks", factory, self.get_type(), method, **formats)


class _Projection:
    """Some fields of a record, by position, as a tuple."""

    def __init__(self, positions: tuple[int, ...]) -> None:
        self._positions = positions

    def __call__(self, record: Any) -> tuple[Any, ...]:
        return tuple([record[position] for position in self._positions])
