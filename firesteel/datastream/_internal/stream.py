"""DataStream: the program's view of a flow of records. Every call adds to the graph; nothing runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from firesteel.common.execution_config import ExecutionConfig
from firesteel.common.time import TimeLength, to_milliseconds
from firesteel.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation
from firesteel.common.warnings import warn_once
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.fields import declared_field_type
from firesteel.datastream._internal.hints import ON_DATA_STREAM, StreamHints
from firesteel.datastream._internal.operator_settings import OperatorSettings
from firesteel.datastream._internal.outputs import StreamOutputs
from firesteel.datastream._internal.repartitioning import Repartitioning, adapted_key
from firesteel.errors import ConfigurationError, ProgramError
from firesteel.model.assigners import WindowAssigner
from firesteel.model.functions import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
)
from firesteel.model.functions.adapt import (
    as_filter_function,
    as_flat_map_function,
    as_map_function,
    as_process_function,
)
from firesteel.model.output_tag import OutputTag
from firesteel.plan.graph import (
    OperatorTransformation,
    PhysicalTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
    user_call_site,
)
from firesteel.runtime.basic import FilterOperator, FlatMapOperator, MapOperator
from firesteel.runtime.operator import Operator
from firesteel.runtime.process import ProcessOperator
from firesteel.runtime.watermarks import TimestampsAndWatermarksOperator

if TYPE_CHECKING:
    from firesteel.datastream._internal.broadcast_streams import BroadcastConnectedStream, BroadcastStream
    from firesteel.datastream._internal.cache import CachedDataStream
    from firesteel.datastream._internal.connected_streams import ConnectedStreams
    from firesteel.datastream._internal.iterations import IterativeStream
    from firesteel.datastream._internal.joined_streams import CoGroupedStreams, JoinedStreams
    from firesteel.datastream._internal.keyed_stream import KeyedStream
    from firesteel.datastream._internal.windowed_stream import AllWindowedStream
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment


class DataStream(OperatorSettings, Repartitioning, StreamOutputs, StreamHints):
    """Records that flow from one operator to the next.

    Made by an environment or by another stream; its methods make further streams or end in a sink.

    ::

        env = StreamExecutionEnvironment.get_execution_environment()
        words = env.from_collection(["to be or", "not to be"]).flat_map(str.split)
        words.map(lambda word: (word, 1)).key_by(0).sum(1).print()
        env.execute("word count")

    Settings such as :meth:`name` and :meth:`set_parallelism` concern the operator that was called last.
    """

    _hints = ON_DATA_STREAM

    def __init__(self, environment: StreamExecutionEnvironment, transformation: Transformation) -> None:
        self._environment = environment
        self._node = transformation

    # ---- what it is ----------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        node = self._transformation
        declared = "" if node.output_type is None else f", type {node.output_type}"
        parallelism = "" if node.parallelism is None else f", parallelism {node.parallelism}"
        return f"{type(self).__name__}({node.name!r}{declared}{parallelism}, made at {node.call_site})"

    def get_name(self) -> str:
        """The name of the operator that makes the records."""
        return self._transformation.name

    def get_type(self) -> TypeInformation | None:
        """The declared type of the records, or None if none was declared: any object may flow."""
        return self._transformation.output_type

    def get_parallelism(self) -> int:
        """In how many subtasks the records are made."""
        node = self._transformation
        while node.parallelism is None and not isinstance(node, PhysicalTransformation) and len(node.inputs) == 1:
            node = node.inputs[0]
        return self._environment.get_parallelism() if node.parallelism is None else node.parallelism

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment to which the stream belongs."""
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        """The execution settings of the environment."""
        return self._environment.get_config()

    # ---- record by record ----------------------------------------------------------------------------------

    def map(self, func: MapFunction | Callable[[Any], Any], output_type: TypeInformation | None = None) -> DataStream:
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
    ) -> DataStream:
        """Make any number of records out of each: ``yield`` them, return an iterable, or call ``out.collect``.

        ::

            lines.flat_map(lambda line: line.split())
        """
        function = as_flat_map_function(func)
        return self._transform("Flat Map", partial(FlatMapOperator, function), output_type, "flat_map")

    def filter(self, func: FilterFunction | Callable[[Any], bool]) -> DataStream:
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
    ) -> DataStream:
        """Process records with a context: timestamps, the clocks, side outputs.

        State and timers need keys: call :meth:`key_by` first.
        """
        function = as_process_function(func, keyed=False)
        assert isinstance(function, ProcessFunction)
        return self._transform("Process", partial(ProcessOperator, function), output_type, "process")

    def transform(
        self, operator_name: str, output_type: TypeInformation | None, operator_factory: Callable[[], Operator]
    ) -> DataStream:
        """Run an operator of one's own on the stream: the door for libraries.

        On a keyed stream the operator has keyed state and timers, and batches come with their keys.

        :param operator_name: How the operator is called in plans, metrics and messages.
        :param operator_factory: Makes a :class:`firesteel.runtime.operator.Operator`, once per subtask, in a worker. It
            is pickled: ``functools.partial(MyOperator, setting)``.
        """
        return self._transform(*own_operator(operator_name, output_type, operator_factory))

    def project(self, *field_indexes: int) -> DataStream:
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

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
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
        return self._transform("Timestamps/Watermarks", factory, self.get_type(), method)

    # ---- several streams -----------------------------------------------------------------------------------

    def union(self, *streams: DataStream) -> DataStream:
        """All records of this stream and of others. A stream given twice comes twice.

        The event time of the union is that of its slowest input.
        """
        arguments.instances("union", "streams", streams, DataStream, "a DataStream")
        for stream in streams:
            self._same_environment("union", stream)
        if not streams:
            return self
        types = {stream.get_type() for stream in (self, *streams)}
        nodes = [stream._transformation for stream in (self, *streams)]
        node = UnionTransformation(
            id=self._environment._next_id(),
            name="Union",
            inputs=nodes,
            call_site=user_call_site(),
            output_type=types.pop() if len(types) == 1 else None,
        )
        return DataStream(self._environment, self._environment._add(node))

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    def connect(self, ds: DataStream | BroadcastStream) -> ConnectedStreams | BroadcastConnectedStream:
        """Put this stream and another one, of any type, before one function with a method for each.

        Keyed streams connected with keyed ones share state between both inputs. A stream connected with a
        :class:`BroadcastStream` reads broadcast state.
        """
        from firesteel.datastream._internal.broadcast_streams import BroadcastConnectedStream, BroadcastStream
        from firesteel.datastream._internal.connected_streams import ConnectedStreams

        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        return ConnectedStreams(self, ds)

    def iterate(self, max_wait: TimeLength | None = None) -> IterativeStream:
        """Begin a loop: what :meth:`IterativeStream.close_with` is given comes in here again.

        ::

            loop = numbers.iterate()
            smaller = loop.map(lambda n: n - 1)
            loop.close_with(smaller.filter(lambda n: n > 0))

        :param max_wait: No effect, warns: Flink ends a loop when nothing has come back for so long, which may lose
            records. Here a loop ends when its input has ended and nothing goes round any more.
        """
        from firesteel.datastream._internal.iterations import IterativeStream

        if max_wait is not None:
            to_milliseconds(max_wait)
            warn_once(
                "iterate",
                "iterate(): max_wait has no effect. The loop ends when its input has ended and it has run empty.",
            )
        return IterativeStream(self._environment, self)

    def key_by(
        self,
        key_selector: KeySelector | Callable[[Any], Any] | str | int,
        key_type: TypeInformation | None = None,
    ) -> KeyedStream:
        """Split the stream by key: records with equal keys meet in one subtask, and state is kept per key.

        ::

            rides.key_by(lambda ride: ride.taxi_id)
            rides.key_by("taxi_id")     # the same, by field name
            pairs.key_by(0)             # by position in a tuple or Row

        :param key_selector: A function, a :class:`KeySelector`, a field name, a position, or a tuple of those for a
            composite key. Keys are strings, numbers, tuples, frozen dataclasses: hashable by value.
        :param key_type: Declares the type of the keys; taken from the stream's type for names and positions.
        """
        from firesteel.datastream._internal.keyed_stream import KeyedStream

        key = adapted_key("key_by", key_selector)
        arguments.type_information("key_by", "key_type", key_type)
        if key_type is None and isinstance(key_selector, (str, int)):
            key_type = declared_field_type("key_by", key_selector, self.get_type())
        return KeyedStream(self, key, key_type)

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Cut all records into windows, in a single subtask. Where there are keys, ``key_by().window()`` runs in
        parallel.

        ::

            sums.window_all(TumblingEventTimeWindows.of(Time.minutes(1))).max_by(1)
        """
        from firesteel.datastream._internal.windowed_stream import AllWindowedStream

        return AllWindowedStream(self, window_assigner)

    def time_window_all(self, size: TimeLength, slide: TimeLength | None = None) -> AllWindowedStream:
        """Windows of so much time, in a single subtask: see :meth:`KeyedStream.time_window`."""
        from firesteel.datastream._internal.windowed_stream import AllWindowedStream, time_windows

        characteristic = self.get_execution_environment().get_stream_time_characteristic()
        return AllWindowedStream(self, time_windows(characteristic, size, slide))

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Windows of ``size`` records, in a single subtask.

        :param slide: Every how many records the window fires, for the last ``size`` of them; 0: each counts once.
        """
        from firesteel.datastream._internal.windowed_stream import count_window_all

        return count_window_all(self, size, slide)

    def join(self, other_stream: DataStream) -> JoinedStreams:
        """Join with another stream by key in windows; follow with ``where``, ``equal_to``, ``window`` and ``apply``."""
        from firesteel.datastream._internal.joined_streams import JoinedStreams

        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream) -> CoGroupedStreams:
        """Meet another stream by key in windows; follow with ``where``, ``equal_to``, ``window`` and ``apply``."""
        from firesteel.datastream._internal.joined_streams import CoGroupedStreams

        return CoGroupedStreams(self, other_stream)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The records that the function of this operator sent to a tag; empty if it never did.

        ::

            late = OutputTag("late", Types.STRING())
            main = events.process(Split())      # yields ``late, value`` now and then
            main.get_side_output(late).print()
        """
        if not isinstance(output_tag, OutputTag):
            raise arguments.wrong_argument("get_side_output", "output_tag", output_tag, "an OutputTag")
        producer = self._transformation
        if not isinstance(producer, PhysicalTransformation):
            raise ProgramError(
                f"get_side_output({output_tag.tag_id!r}): a {producer.name} stream has no side outputs. "
                "Call it on the stream that process() returned."
            )
        self._check_tag_types(producer, output_tag)
        producer.declared_tags.add(output_tag.name)
        node = SideOutputTransformation(
            id=self._environment._next_id(),
            name=f"Side Output {output_tag.tag_id}",
            inputs=[producer],
            call_site=user_call_site(),
            output_type=output_tag.type_info,
            tag=output_tag,
        )
        return DataStream(self._environment, self._environment._add(node))

    def _check_tag_types(self, producer: PhysicalTransformation, tag: OutputTag) -> None:
        """Two tags with one name are one output, so their declared types must agree."""
        for node in self._environment._nodes():
            if (
                isinstance(node, SideOutputTransformation)
                and node.inputs[0] is producer
                and node.tag.tag_id == tag.tag_id
                and node.tag.type_info != tag.type_info
            ):
                raise ProgramError(
                    f"get_side_output({tag.tag_id!r}): two tags of this name have different types on "
                    f"{producer.name!r}: {node.tag.type_info} (at {node.call_site}) and {tag.type_info}. "
                    "Tags with the same name are one output: use one type, or another name."
                )

    # ---- settings of the operator --------------------------------------------------------------------------

    def force_non_parallel(self) -> DataStream:
        """Run the operator in one subtask, for good: another parallelism is an error from here on."""
        operator = self._operator("force_non_parallel")
        operator.parallelism = 1
        operator.max_parallelism = 1
        operator.fixed_parallelism = True
        return self

    def start_new_chain(self) -> DataStream:
        """Do not run this operator in one pass with the one before it; operators behind it may join it."""
        self._operator("start_new_chain").chaining = "head"
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> DataStream:
        """No effect: records travel in epochs, not in network buffers. Warns once.

        The options ``execution.epoch.*`` say how much goes into an epoch.
        """
        arguments.whole_number("set_buffer_timeout", "timeout_millis", timeout_millis, least=-1)
        self._operator("set_buffer_timeout")
        warn_once(
            "set_buffer_timeout",
            "set_buffer_timeout(): there are no network buffers on this engine, so their timeout has no effect; "
            "the epoch options decide about latency.",
        )
        return self

    def cache(self) -> CachedDataStream:
        """Keep the records of this stream: the first job that contains it computes them, later ones read them.

        The records are kept in the memory of the driver until :meth:`CachedDataStream.invalidate`.
        """
        from firesteel.datastream._internal.cache import CachedDataStream

        return CachedDataStream(self._environment, self._operator("cache"))

    # ---- inside --------------------------------------------------------------------------------------------

    @property
    def _transformation(self) -> Transformation:
        """The node that makes the records."""
        return self._node

    def _operator(self, method: str) -> PhysicalTransformation:
        node = self._transformation
        if not isinstance(node, PhysicalTransformation):
            raise ProgramError(
                f"{method}() concerns an operator, but the last step of this stream is {node.name}, which is none. "
                f"Call {method}() before that step, or after the next operator such as map()."
            )
        return node

    def _transform(
        self,
        name: str,
        factory: Callable[[], Operator],
        output_type: TypeInformation | None,
        method: str,
        **settings: Any,
    ) -> DataStream:
        """Add an operator that reads this stream."""
        arguments.type_information(method, "output_type", output_type)
        node = OperatorTransformation(
            id=self._environment._next_id(),
            name=name,
            inputs=[self._transformation],
            call_site=user_call_site(),
            output_type=output_type,
            factory=factory,
            **settings,
        )
        return DataStream(self._environment, self._environment._add(node))

    def _same_environment(self, method: str, other: DataStream) -> None:
        if other._environment is not self._environment:
            raise ProgramError(
                f"{method}: the streams belong to different environments, so they cannot meet in one job. "
                "Make both from the same StreamExecutionEnvironment."
            )


def own_operator(
    name: str, output_type: TypeInformation | None, factory: Callable[[], Operator]
) -> tuple[str, Callable[[], Operator], TypeInformation | None, str]:
    """The arguments of a ``transform``, checked."""
    arguments.text("transform", "operator_name", name)
    if not callable(factory):
        raise arguments.wrong_argument("transform", "operator_factory", factory, "a function that makes an Operator")
    return name, factory, output_type, "transform"


class _Projection:
    """Some fields of a record, by position, as a tuple."""

    def __init__(self, positions: tuple[int, ...]) -> None:
        self._positions = positions

    def __call__(self, record: Any) -> tuple[Any, ...]:
        return tuple([record[position] for position in self._positions])
