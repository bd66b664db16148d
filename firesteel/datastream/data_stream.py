"""Streams of all kinds, and the environment they are made from: the classes that name each other in their methods.

What they do is written in the modules of ``_internal``, each of which knows only those below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from firesteel.common.configuration import Configuration
from firesteel.common.time import TimeLength, to_milliseconds
from firesteel.common.typeinfo import TypeInformation
from firesteel.common.warnings import warn_once
from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.broadcast_streams import Broadcast, BroadcastConnected
from firesteel.datastream._internal.cache import Cache
from firesteel.datastream._internal.collect import CloseableIterator
from firesteel.datastream._internal.connected_streams import Connected, ManyConnected
from firesteel.datastream._internal.environment_sources import EnvironmentSources
from firesteel.datastream._internal.fields import declared_field_type
from firesteel.datastream._internal.interval_join import IntervalJoin, IntervalJoined
from firesteel.datastream._internal.iterations import Loop
from firesteel.datastream._internal.joined_streams import (
    Meeting,
    as_co_group_window_function,
    as_join_window_function,
)
from firesteel.datastream._internal.keyed_stream import KeyedFunctions
from firesteel.datastream._internal.outputs import StreamOutputs
from firesteel.datastream._internal.record_functions import RecordFunctions
from firesteel.datastream._internal.repartitioning import Repartitioning, adapted_key
from firesteel.datastream._internal.sink import DataStreamSink
from firesteel.datastream._internal.windowed_stream import AllWindows, KeyedWindows, count_windows, time_windows
from firesteel.errors import ProgramError
from firesteel.model.assigners import GlobalWindows, WindowAssigner
from firesteel.model.functions import KeySelector
from firesteel.model.state import MapStateDescriptor
from firesteel.plan.graph import PhysicalTransformation, Transformation
from firesteel.runtime import partitioners
from firesteel.runtime.iteration import IterationHead
from firesteel.runtime.partitioners import Partitioning

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "CoGroupedStreams",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "IntervalJoin",
    "IntervalJoined",
    "IterativeStream",
    "JoinedStreams",
    "KeyedStream",
    "MultipleConnectedStreams",
    "StreamExecutionEnvironment",
    "WindowedStream",
]


class DataStream(RecordFunctions["DataStream"], Repartitioning["DataStream"], StreamOutputs["DataStream"]):
    """Records that flow from one operator to the next.

    Made by an environment or by another stream; its methods make further streams or end in a sink.

    ::

        env = StreamExecutionEnvironment.get_execution_environment()
        words = env.from_collection(["to be or", "not to be"]).flat_map(str.split)
        words.map(lambda word: (word, 1)).key_by(0).sum(1).print()
        env.execute("word count")

    Settings such as :meth:`name` and :meth:`set_parallelism` concern the operator that was called last.
    """

    _environment: StreamExecutionEnvironment

    def __init__(self, environment: StreamExecutionEnvironment, transformation: Transformation) -> None:
        super().__init__(environment, transformation)

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment to which the stream belongs."""
        return self._environment

    def derive(self, transformation: Transformation) -> DataStream:
        """A stream of the records that another node of the graph makes: for libraries that add nodes of their own."""
        return DataStream(self._environment, transformation)

    # ---- with other streams --------------------------------------------------------------------------------

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    def connect(self, ds: DataStream | BroadcastStream) -> ConnectedStreams | BroadcastConnectedStream:
        """Put this stream and another one, of any type, before one function with a method for each.

        Keyed streams connected with keyed ones share state between both inputs. A stream connected with a
        :class:`BroadcastStream` reads broadcast state.
        """
        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        return ConnectedStreams(self, ds)

    @overload
    def broadcast(self) -> DataStream: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Send every record to all subtasks.

        With descriptors of broadcast states the result is a :class:`BroadcastStream`, to be connected with the stream
        whose function keeps the records in these states::

            RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())
            items.connect(rules.broadcast(RULES)).process(MatchRules())
        """
        stream = self._partition("broadcast()", Partitioning(partitioners.BROADCAST))
        if broadcast_state_descriptor is None and not other_broadcast_state_descriptors:
            return stream
        descriptors = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        return BroadcastStream(stream, descriptors)  # type: ignore[arg-type]  # None among several is refused there

    def join(self, other_stream: DataStream) -> JoinedStreams:
        """Join with another stream by key in windows; follow with ``where``, ``equal_to``, ``window`` and ``apply``."""
        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream) -> CoGroupedStreams:
        """Meet another stream by key in windows; follow with ``where``, ``equal_to``, ``window`` and ``apply``."""
        return CoGroupedStreams(self, other_stream)

    def iterate(self, max_wait: TimeLength | None = None) -> IterativeStream:
        """Begin a loop: what :meth:`IterativeStream.close_with` is given comes in here again.

        ::

            loop = numbers.iterate()
            smaller = loop.map(lambda n: n - 1)
            loop.close_with(smaller.filter(lambda n: n > 0))

        :param max_wait: No effect, warns: Flink ends a loop when nothing has come back for so long, which may lose
            records. Here a loop ends when its input has ended and nothing goes round any more.
        """
        if max_wait is not None:
            to_milliseconds(max_wait)
            warn_once(
                "iterate",
                "iterate(): max_wait has no effect. The loop ends when its input has ended and it has run empty.",
            )
        return IterativeStream(self._environment, self)

    # ---- keys and windows ----------------------------------------------------------------------------------

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
        return AllWindowedStream(self, window_assigner)

    def time_window_all(self, size: TimeLength, slide: TimeLength | None = None) -> AllWindowedStream:
        """Windows of so much time, in a single subtask: see :meth:`KeyedStream.time_window`."""
        characteristic = self.get_execution_environment().get_stream_time_characteristic()
        return AllWindowedStream(self, time_windows(characteristic, size, slide))

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Windows of ``size`` records, in a single subtask.

        :param slide: Every how many records the window fires, for the last ``size`` of them; 0: each counts once.
        """
        windows = AllWindowedStream(self, GlobalWindows.create())
        return count_windows(windows, "count_window_all", size, slide)

    # ---- between jobs --------------------------------------------------------------------------------------

    def cache(self) -> CachedDataStream:
        """Keep the records of this stream: the first job that contains it computes them, later ones read them.

        The records are kept in the memory of the driver until :meth:`CachedDataStream.invalidate`.
        """
        return CachedDataStream(self._environment, self._operator("cache"))


class KeyedStream(KeyedFunctions["DataStream"], DataStream):
    """A stream whose records are split by key, made by :meth:`DataStream.key_by`.

    Functions that are applied to it have state and timers per key. It is no operator itself: it can neither be named
    nor set to a parallelism, and its partitioning cannot be overridden, only its key by another :meth:`key_by`.
    """

    def __init__(
        self, origin: DataStream, key_selector: Callable[[Any], Any], key_type: TypeInformation | None = None
    ) -> None:
        environment = origin.get_execution_environment()
        partitioning = Partitioning(partitioners.HASH, key_selector=key_selector, key_type=key_type)
        node = environment.graph.partition(origin.get_transformation(), "key_by()", partitioning)
        super().__init__(environment, node)
        self._origin: DataStream = origin
        self._key_selector = key_selector
        self._key_type = key_type

    def get_key_type(self) -> TypeInformation | None:
        """The declared type of the keys, or None."""
        return self._key_type

    def key_by(
        self,
        key_selector: KeySelector | Callable[[Any], Any] | str | int,
        key_type: TypeInformation | None = None,
    ) -> KeyedStream:
        """Split by another key instead. Records travel once, by the last key."""
        return self._origin.key_by(key_selector, key_type)

    # ---- windows and joins ---------------------------------------------------------------------------------

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """Cut the records of each key into windows.

        ::

            clicks.key_by("user").window(TumblingEventTimeWindows.of(Time.minutes(1))).aggregate(Count())
        """
        return WindowedStream(self, window_assigner)

    def time_window(self, size: TimeLength, slide: TimeLength | None = None) -> WindowedStream:
        """Windows of so much time, by the clock that ``env.set_stream_time_characteristic()`` has chosen.

        That is event time unless it was called. :meth:`window` says it in one place.

        :param slide: A new window begins every so often; None: when the last one ends.
        """
        characteristic = self.get_execution_environment().get_stream_time_characteristic()
        return WindowedStream(self, time_windows(characteristic, size, slide))

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Windows of ``size`` records of a key.

        :param slide: Every how many records the window fires, for the last ``size`` of them; 0: each counts once.
        """
        windows = WindowedStream(self, GlobalWindows.create())
        return count_windows(windows, "count_window", size, slide)

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin[DataStream]:
        """Join with the records of another keyed stream that have the same key and are near in time.

        ::

            left.interval_join(right).between(Time.seconds(-5), Time.seconds(5)).process(JoinThem())
        """
        return IntervalJoin(self, other_stream)

    # ---- inside --------------------------------------------------------------------------------------------

    def _partition(self, name: str, partitioning: Partitioning) -> DataStream:
        raise ProgramError(
            f"{name} on a keyed stream: keys decide where its records go, that cannot be overridden. "
            "Apply a function first, or partition the stream before key_by()."
        )


class WindowedStream(KeyedWindows["DataStream"]):
    """A keyed stream cut into windows, made by :meth:`KeyedStream.window`. Every key has windows of its own.

    ::

        (clicks.key_by("user")
            .window(EventTimeSessionWindows.with_gap(Time.minutes(30)))
            .aggregate(Count()))

    Results carry the largest timestamp of their window, so that windows can follow windows.

    :param keyed_stream: The stream.
    :param window_assigner: To which windows a record belongs.
    """

    def __init__(self, keyed_stream: KeyedStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(keyed_stream, window_assigner)
        self._environment = keyed_stream.get_execution_environment()

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment to which the stream belongs."""
        return self._environment


class AllWindowedStream(AllWindows["DataStream"]):
    """A stream without keys cut into windows, made by :meth:`DataStream.window_all`. It runs in a single subtask.

    :param data_stream: The stream.
    :param window_assigner: To which windows a record belongs.
    """

    def __init__(self, data_stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(data_stream, window_assigner)
        self._environment = data_stream.get_execution_environment()

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment to which the stream belongs."""
        return self._environment


class ConnectedStreams(Connected["DataStream"]):
    """Two streams, of the same or different types, for a function that has a method for each.

    If both are keyed, both methods see the same state for the same key. No order between the two is promised, but a
    function that is an :class:`InputSelectable` too says which of them it reads next.

    ::

        rides.key_by("ride_id").connect(fares.key_by("ride_id")).process(JoinRidesWithFares())
    """

    stream1: DataStream
    stream2: DataStream

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        super().__init__(stream1, stream2)

    def key_by(
        self,
        key_selector1: KeySelector | Callable[[Any], Any] | str | int,
        key_selector2: KeySelector | Callable[[Any], Any] | str | int,
        key_type: TypeInformation | None = None,
    ) -> ConnectedStreams:
        """Key both streams, each by its own selector; the keys of both must be of one type."""
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type), self.stream2.key_by(key_selector2, key_type)
        )


class MultipleConnectedStreams(ManyConnected["DataStream"]):
    """Any number of streams before one operator of one's own.

    ::

        MultipleConnectedStreams(orders, payments, shipments).transform("match", None, MatchOrders)

    The operator has keyed state if the streams are keyed: all of them, apart from those that are ``broadcast()``.
    """

    streams: tuple[DataStream, ...]

    def __init__(self, *streams: DataStream) -> None:
        super().__init__(streams)


class BroadcastStream(Broadcast["DataStream"]):
    """A stream whose records go to every subtask, with the broadcast states they are kept in.

    Made by :meth:`DataStream.broadcast` with descriptors; the only use of it is :meth:`DataStream.connect`.
    """

    input_stream: DataStream

    def __init__(self, input_stream: DataStream, broadcast_state_descriptors: Sequence[MapStateDescriptor]) -> None:
        super().__init__(input_stream, broadcast_state_descriptors)


class BroadcastConnectedStream(BroadcastConnected["DataStream"]):
    """A stream, with or without keys, before one function with a broadcast stream.

    ::

        rules = env.from_collection([("min", 5)]).broadcast(RULES)
        items.connect(rules).process(MatchRules())
    """

    non_broadcast_stream: DataStream
    broadcast_stream: BroadcastStream

    def __init__(
        self,
        non_broadcast_stream: DataStream,
        broadcast_stream: BroadcastStream,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        super().__init__(non_broadcast_stream, broadcast_stream, broadcast_state_descriptors)


class CoGroupedStreams(Meeting["DataStream"]):
    """Two streams whose records meet in windows, in groups: made by :meth:`DataStream.co_group`.

    ::

        (orders.co_group(shipments)
            .where("id").equal_to("order_id")
            .window(TumblingEventTimeWindows.of(Time.hours(1)))
            .apply(lambda orders, shipments: [(len(orders), len(shipments))]))

    The function is called for every key and window in which at least one of the streams has records.
    """

    _method = "co_group"
    _adapt = staticmethod(as_co_group_window_function)


class JoinedStreams(Meeting["DataStream"]):
    """Two streams whose records meet in windows, in pairs: made by :meth:`DataStream.join`.

    ::

        (orders.join(shipments)
            .where("id").equal_to("order_id")
            .window(TumblingEventTimeWindows.of(Time.hours(1)))
            .apply(lambda order, shipment: (order, shipment)))

    An inner join: a record without a partner in its window gives nothing.
    """

    _method = "join"
    _adapt = staticmethod(as_join_window_function)


class IterativeStream(Loop["DataStream"], DataStream):
    """A stream into which some of the records made from it are fed back. Made by :meth:`DataStream.iterate`.

    ::

        loop = numbers.iterate()
        smaller = loop.map(lambda n: n - 1)
        loop.close_with(smaller.filter(lambda n: n > 0))
        smaller.filter(lambda n: n == 0).print()

    Records that are fed back in one epoch come in again in the next. They pass through the driver and are part of each
    checkpoint. They keep their timestamps and do not hold watermarks back, so they may be late for windows in the
    loop. A job whose sources have ended ends when nothing goes round any more.
    """

    def __init__(self, environment: StreamExecutionEnvironment, origin: DataStream) -> None:
        self._head = environment.graph.loop(origin.get_transformation(), IterationHead)
        super().__init__(environment, self._head)


class CachedDataStream(DataStream):
    """A stream whose records are kept. Made by :meth:`DataStream.cache`.

    The first job that contains the stream and ends well fills the cache; streams made from it afterwards read the
    records (with their timestamps) from the driver's memory and run nothing before it again.

    ::

        cleaned = env.read_text_file("big.txt").filter(is_valid).cache()
        cleaned.map(len).print()
        env.execute()               # reads the file
        cleaned.map(str.upper).print()
        env.execute()               # does not
    """

    def __init__(self, environment: StreamExecutionEnvironment, transformation: PhysicalTransformation) -> None:
        super().__init__(environment, transformation)
        self._cache = Cache(environment.graph, transformation)
        environment.caches.append(self._cache)

    def get_transformation(self) -> Transformation:
        """The node of the graph that makes the records, or the one that has kept them."""
        return self._cache.node

    def invalidate(self) -> None:
        """Forget the records; the next job that contains the stream computes them again."""
        self._cache.invalidate()


class StreamExecutionEnvironment(EnvironmentSources["DataStream"]):
    """The place where streams are made, and from which they are run as one job.

    ::

        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        env.from_collection([1, 2, 3]).map(lambda n: n * 10).print()
        env.execute("tens")

    Nothing runs before :meth:`execute` (or ``execute_and_collect`` and ``to_dataframe`` of a stream). Afterwards the
    environment is empty again, ready for the next job.
    """

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None, spark: Any | None = None
    ) -> StreamExecutionEnvironment:
        """A new environment.

        Settings in the environment variable ``FIRESTEEL_PROPERTIES`` (lines ``key: value``) are there from the start,
        so that a program can be run elsewhere or otherwise unchanged. What the program sets itself comes before them.

        :param configuration: Settings to start with; a copy is taken.
        :param spark: The SparkSession to run on. Without one, a session is made (or the active one taken) when the
            first job starts: where ``firesteel.master`` says, else where spark-submit or Spark's own settings say,
            else on ``local[*]``.
        """
        if configuration is not None and not isinstance(configuration, Configuration):
            raise arguments.wrong_argument(
                "get_execution_environment",
                "configuration",
                configuration,
                "a Configuration or None",
                "Configuration.from_dict({...}) makes one.",
            )
        settings = Configuration.from_environment()
        if configuration is not None:
            settings.add_all(configuration)
        return StreamExecutionEnvironment(settings, spark)

    def _stream(self, transformation: Transformation) -> DataStream:
        return DataStream(self, transformation)
