"""Where the records of a stream end: printed, in sinks, with the caller, in DataFrames."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, overload

from firesteel.connectors.base import SupportsPreprocessing
from firesteel.connectors.files.sink import StreamingFileSink
from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.collect import CloseableIterator, ResultBuffer
from firesteel.datastream._internal.driver_sinks import ListSink, PrintSink
from firesteel.datastream._internal.environment_jobs import require_bounded
from firesteel.datastream._internal.formatting import LineFormat
from firesteel.datastream._internal.sink import DataStreamSink
from firesteel.datastream._internal.stream import AnyStream, S
from firesteel.model.functions import SinkFunction
from firesteel.model.functions.adapt import as_sink_function
from firesteel.model.sink import DriverSink, Sink
from firesteel.plan.graph import OperatorTransformation, Transformation
from firesteel.runtime.batch import Format
from firesteel.runtime.operator import Operator
from firesteel.runtime.sinks import CollectOperator, SinkFunctionOperator, SinkWriterOperator


class StreamOutputs(AnyStream[S]):
    """The part of a stream that ends lines."""

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Write each record to the driver's standard output, as ``str()`` shows it.

        The number of the subtask stands before it if the sink runs in several: ``3> value``, with a label
        ``label:3> value``. Records declared as rows and tuples are written as Flink does: ``+I[1, a]``, ``(1,a)``.

        :param sink_identifier: A label before each line.
        """
        return self._print("print", "Print to Std. Out", sink_identifier, to_stderr=False)

    def print_to_err(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Like :meth:`print`, but write to standard error."""
        return self._print("print_to_err", "Print to Std. Err", sink_identifier, to_stderr=True)

    def add_sink(self, sink_func: SinkFunction | Callable[[Any], Any] | Sink) -> DataStreamSink:
        """Call a function for each record, in the tasks.

        ::

            alerts.add_sink(send_mail)

        At least once: after a failure the function sees the records since the last checkpoint again. A
        ``TwoPhaseCommitSinkFunction``, or any ``Sink``, is treated as :meth:`sink_to` does, and gives what it promises.
        """
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        function = as_sink_function(sink_func)
        return DataStreamSink(self._sink("Unnamed", partial(SinkFunctionOperator, function)))

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Write the records to a sink of a connector, or to one of your own.

        The sink's ``guarantee`` says what it promises; exactly-once needs ``env.enable_checkpointing(...)``.
        """
        if not isinstance(sink, Sink):
            raise arguments.wrong_argument(
                "sink_to", "sink", sink, "a Sink of a connector", "Use add_sink() for a SinkFunction or callable."
            )
        transformer = sink.get_transformer() if isinstance(sink, SupportsPreprocessing) else None
        stream: AnyStream[Any] = self if transformer is None else transformer.apply(self)
        return DataStreamSink(self._end_with(sink.for_operator(), stream.get_transformation()))

    def _end_with(self, sink: Sink, source: Transformation) -> OperatorTransformation:
        has_committer = type(sink).create_committer is not Sink.create_committer
        committer = sink.create_committer
        if isinstance(sink, StreamingFileSink):
            checkpointed = self._environment.get_checkpoint_config().is_checkpointing_enabled
            committer = partial(sink.create_committer, checkpointed)
        return self._graph.sink(
            type(sink).__name__,
            source,
            partial(SinkWriterOperator, sink),
            takes=Format.EITHER if sink.takes_columns else Format.ROWS,
            committer_factory=committer if has_committer else None,
        )

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None, limit: None = None) -> CloseableIterator: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None, *, limit: int) -> list[Any]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[Any]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the job and get the records of this stream while it runs.

        ::

            with stream.execute_and_collect() as results:
                for value in results:
                    print(value)

        The job advances no faster than the results are read. Closing the iterator cancels the job. The records come
        in the order of the stream; those of several subtasks one after the other, epoch by epoch. On a keyed stream
        they are rows of key and record, as in PyFlink.

        :param limit: Return a list of at most so many records instead; the job is cancelled when it has them.
        """
        if limit is not None:
            arguments.whole_number("execute_and_collect", "limit", limit, least=1)
        buffer = ResultBuffer()
        self._collect_into(buffer, parallelism=1, node=self._collectable())
        results = CloseableIterator(buffer, self._environment.execute_async(job_execution_name))
        if limit is None:
            return results
        with results:
            return list(itertools.islice(results, limit))

    def to_dataframe(self, spark: Any | None = None) -> Any:
        """Run the job and return the records of this stream as a Spark DataFrame. All sources must end.

        The columns come from the declared type of the stream, whose fields are checked, or else from the records:
        Rows, dataclasses, NamedTuples and dicts have named fields, tuples ``f0``, ``f1``, ..., other values one
        column ``value``. The records pass through the driver.

        :param spark: The SparkSession of the DataFrame; the environment's if it has one, else the active one.
        """
        # Imported where it is used: programs without DataFrames need no Spark to be built.
        from firesteel.connectors.dataframe import rows_to_dataframe

        require_bounded(self._graph.graph, "to_dataframe()", "Use execute_and_collect(limit=...)")
        records = ListSink()
        self._collect_into(records, parallelism=1)
        self._environment.execute()
        session = spark if spark is not None else self._environment.get_spark_session()
        return rows_to_dataframe(records.values, self.get_type(), session)

    def _print(self, method: str, name: str, identifier: str | None, to_stderr: bool) -> DataStreamSink:
        if identifier is not None:
            arguments.text(method, "sink_identifier", identifier)
        line_format = LineFormat(self.get_type(), f"{method}()")
        return DataStreamSink(self._collect_into(PrintSink(identifier, to_stderr), name, line_format))

    def _collectable(self) -> Transformation:
        """The node whose records :meth:`execute_and_collect` gives."""
        return self.get_transformation()

    def _sink(self, name: str, factory: Callable[[], Operator], **settings: Any) -> OperatorTransformation:
        return self._graph.sink(name, self.get_transformation(), factory, **settings)

    def _collect_into(
        self,
        sink: DriverSink,
        name: str = "Collect",
        convert: Callable[[Any], Any] | None = None,
        parallelism: int | None = None,
        node: Transformation | None = None,
    ) -> OperatorTransformation:
        """End this line with an operator that sends the records, converted, to an object in the driver.

        :param node: Other records than those of the stream.
        :param parallelism: 1 keeps the order of a stream that has one.
        """
        return self._graph.collecting_sink(
            name,
            self.get_transformation() if node is None else node,
            partial(CollectOperator, convert),
            sink,
            parallelism=parallelism,
        )
