"""The sources of an environment: where streams begin."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic

from firesteel.common.declared_form import declared_form
from firesteel.common.io import InputFormat
from firesteel.common.typeinfo import TypeInformation
from firesteel.common.watermark import NoWatermarksGenerator
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.collection import CollectionSource
from firesteel.connectors.datagen import DataGeneratorSource, GeneratorFunction, RateLimiterStrategy
from firesteel.connectors.input_format import InputFormatSource
from firesteel.connectors.number_seq import NumberSequenceSource
from firesteel.connectors.socket import SocketSource
from firesteel.connectors.source_function import SourceFunctionSource
from firesteel.connectors.text_file import TextFileSource
from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.environment_jobs import EnvironmentJobs
from firesteel.datastream._internal.stream import S
from firesteel.errors import ConfigurationError
from firesteel.model.functions import ParallelSourceFunction, SourceFunction
from firesteel.model.source import DriverSource, Source
from firesteel.plan.graph import Transformation


class EnvironmentSources(EnvironmentJobs, Generic[S]):
    """The part of an environment that makes streams."""

    def from_collection(self, collection: Iterable[Any], type_info: TypeInformation | None = None) -> S:
        """The elements of a collection, in order, from one subtask.

        ::

            env.from_collection([("a", 1), ("b", 2)], Types.TUPLE([Types.STRING(), Types.INT()]))

        :param type_info: Declares the type of the elements, each of which is checked now.
        """
        if isinstance(collection, (str, bytes, dict)) or not isinstance(collection, Iterable):
            raise arguments.wrong_argument(
                "from_collection", "collection", collection, "a list or another iterable of records"
            )
        return self._from_values("from_collection", list(collection), type_info)

    def from_elements(self, *elements: Any, type_info: TypeInformation | None = None) -> S:
        """The given elements, in order, from one subtask: ``env.from_elements(1, 2, 3)``."""
        return self._from_values("from_elements", list(elements), type_info)

    def from_sequence(self, from_: int, to: int) -> S:
        """The whole numbers from one to another, both included, in as many parts as there are subtasks."""
        return self._add_source("Sequence Source", NumberSequenceSource(from_, to))

    def from_data_generator(
        self,
        generator_function: GeneratorFunction | Callable[[int], Any],
        count: int | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        source_name: str = "Data Generator",
        type_info: TypeInformation | None = None,
    ) -> S:
        """Records that a function makes of their index, 0, 1, 2, ...

        ::

            from firesteel.datastream.connectors.datagen import RateLimiterStrategy

            env.from_data_generator(lambda i: f"event {i}", 1000, RateLimiterStrategy.per_second(100))

        :param count: How many records; None for no end.
        :param rate_limiter_strategy: How fast, all subtasks together; as fast as possible if None.
        """
        arguments.type_information("from_data_generator", "type_info", type_info)
        if rate_limiter_strategy is not None and not isinstance(rate_limiter_strategy, RateLimiterStrategy):
            raise arguments.wrong_argument(
                "from_data_generator",
                "rate_limiter_strategy",
                rate_limiter_strategy,
                "a RateLimiterStrategy or None",
                "For instance RateLimiterStrategy.per_second(100).",
            )
        source = DataGeneratorSource(generator_function, count, rate_limiter_strategy, type_info)
        name = arguments.text("from_data_generator", "source_name", source_name)
        return self._add_source(name, source, type_info)

    def from_dataframe(
        self,
        df: Any,
        source_name: str = "DataFrame",
        type_info: TypeInformation | None = None,
        *,
        work_directory: str | None = None,
        available_now: bool = False,
    ) -> S:
        """The rows of a Spark DataFrame, static or streaming, as Rows with the names of its columns.

        ::

            env.from_dataframe(spark.read.parquet("rides.parquet"))

        Spark runs the DataFrame and writes it to files, which the tasks read: every DataFrame can be replayed.

        :param work_directory: Where to write the files, a path or URL that the driver and all workers see; a temporary
            directory if None, which only does for a local Spark.
        :param available_now: For a streaming DataFrame: read what is there now, and end.
        """
        # Imported where it is used: programs without DataFrames need no Spark to be built.
        from firesteel.connectors.dataframe import DataFrameSource

        arguments.type_information("from_dataframe", "type_info", type_info)
        name = arguments.text("from_dataframe", "source_name", source_name)
        source = DataFrameSource(df, work_directory=work_directory, available_now=available_now)
        return self._add_source(name, source, type_info)

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> S:
        """The lines of a text file, or of all files of a directory or pattern, without line ends.

        Workers read the files themselves, so all of them have to see the path.
        """
        return self._add_source("Text File", TextFileSource(file_path, charset_name))

    def socket_text_stream(self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0) -> S:
        """Texts that come over a TCP connection, cut at a delimiter; the stream ends with the connection.

        The driver connects. What was received and not yet part of a checkpoint is lost when the job fails.

        :param max_retry: How often to connect again after the connection was lost; -1 for no limit.
        """
        host = arguments.text("socket_text_stream", "hostname", hostname)
        source = SocketSource(host, port, delimiter, max_retry)
        return self._add_source("Socket Stream", source, single=True)

    def create_input(self, input_format: InputFormat, type_info: TypeInformation | None = None) -> S:
        """The records of an input format, such as ``AvroInputFormat``: a bounded stream without timestamps.

        :param type_info: Declares the type of the records; the format's own if None.
        """
        if not isinstance(input_format, InputFormat):
            raise arguments.wrong_argument("create_input", "input_format", input_format, "an InputFormat")
        arguments.type_information("create_input", "type_info", type_info)
        produced = getattr(input_format, "get_produced_type", None)
        if type_info is None and produced is not None:
            type_info = produced()
        return self._add_source(type(input_format).__name__, InputFormatSource(input_format), type_info)

    def from_source(
        self,
        source: Source | DriverSource,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> S:
        """The records of a connector's source, with timestamps and watermarks made as they are read.

        ::

            env.from_source(NumberSequenceSource(1, 100), WatermarkStrategy.no_watermarks(), "numbers")
        """
        if not isinstance(source, (Source, DriverSource)):
            raise arguments.wrong_argument(
                "from_source", "source", source, "a source of a connector", "Use add_source() for a SourceFunction."
            )
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise arguments.wrong_argument(
                "from_source",
                "watermark_strategy",
                watermark_strategy,
                "a WatermarkStrategy",
                "WatermarkStrategy.no_watermarks() makes none.",
            )
        arguments.type_information("from_source", "type_info", type_info)
        if type_info is None:
            produced = getattr(source, "get_produced_type", None)
            type_info = None if produced is None else produced()
        name = arguments.text("from_source", "source_name", source_name)
        return self._add_source(name, source, type_info, watermark_strategy)

    def add_source(
        self,
        source_func: SourceFunction | Callable[..., Any] | Source | DriverSource,
        source_name: str = "Custom Source",
        type_info: TypeInformation | None = None,
    ) -> S:
        """The records that a function emits. It runs in the driver, in a thread.

        ::

            def ticks():                # or a SourceFunction with run(ctx) and cancel()
                for i in range(10):
                    yield i

            env.add_source(ticks)

        :param source_func: A :class:`SourceFunction`, a callable that takes a source context and emits to it, or a
            callable without parameters that returns an iterable. A source of a connector is treated as
            :meth:`from_source` does, without watermarks.
        """
        if isinstance(source_func, (Source, DriverSource)):
            return self.from_source(source_func, WatermarkStrategy.no_watermarks(), source_name, type_info)
        arguments.type_information("add_source", "type_info", type_info)
        name = arguments.text("add_source", "source_name", source_name)
        function = source_func if isinstance(source_func, SourceFunction) else _of_callable(source_func)
        parallel = isinstance(function, ParallelSourceFunction)
        return self._add_source(name, SourceFunctionSource(function, parallel), type_info, single=not parallel)

    # ---- inside --------------------------------------------------------------------------------------------

    def _from_values(self, method: str, values: list[Any], type_info: TypeInformation | None) -> S:
        arguments.type_information(method, "type_info", type_info)
        if type_info is not None:
            form = declared_form(type_info)
            values = values if form is None else list(map(form, values))
            for index, value in enumerate(values):
                type_info.ensure(value, f"{method}: element {index}")
        return self._add_source("Collection Source", CollectionSource(values), type_info, single=True)

    def _add_source(
        self,
        name: str,
        source: Source | DriverSource,
        type_info: TypeInformation | None = None,
        watermark_strategy: WatermarkStrategy | None = None,
        single: bool = False,
    ) -> S:
        """Add a source node. ``single``: it runs in one subtask only."""
        if watermark_strategy is not None and _does_nothing(watermark_strategy):
            watermark_strategy = None
        return self._stream(self.graph.source(name, source, type_info, watermark_strategy, single))

    @abstractmethod
    def _stream(self, transformation: Transformation) -> S:
        """A stream of the records that a node makes."""


def _does_nothing(strategy: WatermarkStrategy) -> bool:
    """Whether a strategy neither assigns timestamps nor makes watermarks."""
    return (
        strategy.generator_factory is NoWatermarksGenerator
        and strategy.timestamp_assigner is None
        and strategy.idle_timeout_ms is None
        and strategy.alignment is None
    )


def _of_callable(function: Any) -> SourceFunction:
    if not callable(function) or inspect.isclass(function):
        raise arguments.wrong_argument(
            "add_source", "source_func", function, "an instance of SourceFunction or a callable"
        )
    try:
        required = [
            parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.default is parameter.empty
            and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
    except ValueError:  # a built-in that does not tell its parameters
        required = []
    if len(required) > 1:
        raise ConfigurationError(
            f"add_source: source_func must take a source context, or nothing and return an iterable; "
            f"{arguments.shown(function)} takes {len(required)} parameters."
        )
    return _CallableSource(function, takes_context=len(required) == 1)


class _CallableSource(SourceFunction):
    """A plain callable as a source."""

    def __init__(self, function: Callable[..., Any], takes_context: bool) -> None:
        self._function = function
        self._takes_context = takes_context
        self._cancelled = False

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        if self._takes_context:
            self._function(ctx)
            return
        for value in self._function():
            if self._cancelled:
                return
            ctx.collect(value)

    def cancel(self) -> None:
        self._cancelled = True
