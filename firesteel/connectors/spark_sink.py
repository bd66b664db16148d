"""A sink that hands the rows of each checkpoint to Spark: to a function, or to any format that it can write."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.base import StreamTransformer, SupportsPreprocessing
from firesteel.connectors.spark_rows import rows_to_dataframe
from firesteel.errors import CommitError, ConfigurationError
from firesteel.model.functions import RuntimeContext
from firesteel.model.sink import CommitRequest, Committer, Sink, SinkWriter, WriterContext

__all__ = ["SparkSink"]

Options = Mapping[str, Any] | Callable[[int], Mapping[str, Any]]
_KEPT: dict[str, Callable[[Any, int], Any]] = {}
"""Functions of sinks, by a name: they never leave the driver, where they may hold a session, a DataFrame, a list."""
_MODES = ("append", "overwrite", "ignore", "error", "errorifexists")


class SparkSink(Sink, SupportsPreprocessing):
    """Gives the rows of each checkpoint, as a DataFrame, to Spark.

    ::

        stream.sink_to(SparkSink.for_each_batch(lambda df, checkpoint_id: df.write.insertInto("clicks")))
        stream.sink_to(SparkSink.for_format("jdbc", {"url": url, "dbtable": "clicks"}))

    A batch is written when its checkpoint is complete. After a crash the last one may come again, with the same rows
    and the same number: whoever remembers the number (Delta's ``txnVersion``, a column) has each row once.

    :param type_info: The type of the rows, which makes the columns; that of the stream if None.
    """

    guarantee = "at-least-once"

    def __init__(self, write: Callable[[Any, int], Any], what: str, type_info: TypeInformation | None = None) -> None:
        if type_info is not None and not isinstance(type_info, TypeInformation):
            raise ConfigurationError(f"the type of rows is a TypeInformation (Types.ROW_NAMED(...)), got {type_info!r}")
        self._name = uuid.uuid4().hex
        _KEPT[self._name] = write
        self._what = what
        self._type_info = type_info
        self._noted: TypeInformation | None = None

    @staticmethod
    def for_each_batch(function: Callable[[Any, int], Any], type_info: TypeInformation | None = None) -> SparkSink:
        """A sink that calls a function with the rows of each checkpoint.

        :param function: Called in the driver with a DataFrame and the number of the checkpoint. Checkpoints without
            rows are left out. Raising fails the job, which calls it again after its restart.
        """
        if not callable(function):
            raise ConfigurationError(f"for_each_batch() takes a function of a DataFrame and a number, got {function!r}")
        return SparkSink(function, f"the function {getattr(function, '__name__', function)}", type_info)

    @staticmethod
    def for_format(
        name: str, options: Options | None = None, mode: str = "append", type_info: TypeInformation | None = None
    ) -> SparkSink:
        """A sink that writes the rows of each checkpoint as ``df.write.format(name).options(...)`` does.

        :param options: What the format is told: ``path``, ``dbtable``, ... A function of the number of the checkpoint,
            if they are not the same for each: ``lambda number: {"txnAppId": "clicks", "txnVersion": number}``.
        :param mode: What becomes of the rows that are there before: Spark's ``append``, ``overwrite``, ...
        """
        if not isinstance(name, str) or not name:
            raise ConfigurationError(f"for_format() takes the name of a format, got {name!r}")
        if mode not in _MODES:
            raise ConfigurationError(f"for_format() takes one of {', '.join(_MODES)} as mode, got {mode!r}")
        if options is not None and not callable(options) and not isinstance(options, Mapping):
            raise ConfigurationError(f"for_format() takes options as a dict or a function, got {options!r}")

        def write(df: Any, checkpoint_id: int) -> None:
            given = options(checkpoint_id) if callable(options) else options or {}
            df.write.format(name).options(**given).mode(mode).save()

        return SparkSink(write, f"the format {name!r}", type_info)

    def get_transformer(self) -> StreamTransformer:
        """Changes nothing: it notes the type of the stream."""
        return _TypeNote(self)

    def for_operator(self) -> Sink:
        """A copy for one stream, whose type has been noted before."""
        return SparkSink(_KEPT[self._name], self._what, self._type_info or self._noted)

    def note(self, type_info: TypeInformation | None) -> None:
        """The type of the stream that the sink is used for next."""
        self._noted = type_info

    def create_writer(self) -> SinkWriter:
        """Keeps rows for the checkpoint."""
        return _RowsWriter()

    def create_committer(self) -> Committer:
        """Hands them over."""
        return _BatchCommitter(_KEPT[self._name], self._what, self._type_info)


class _TypeNote(StreamTransformer):
    def __init__(self, sink: SparkSink) -> None:
        self._sink = sink

    def apply(self, ds: Any) -> Any:
        self._sink.note(ds.get_type())
        return ds


class _RowsWriter(SinkWriter):
    """Rows wait for the checkpoint, within it."""

    def __init__(self) -> None:
        self._rows: list[Any] = []

    def open(self, context: RuntimeContext, restored: Sequence[Any]) -> None:
        self._sent = context.get_metrics_group().counter("numRecordsSend")

    def write(self, value: Any, context: WriterContext) -> None:
        self._rows.append(value)

    def prepare_commit(self, checkpoint_id: int) -> Sequence[list[Any]]:
        rows, self._rows = self._rows, []
        self._sent.inc(len(rows))
        return [rows] if rows else ()


class _BatchCommitter(Committer):
    def __init__(self, write: Callable[[Any, int], Any], what: str, type_info: TypeInformation | None) -> None:
        self._write = write
        self._what = what
        self._type_info = type_info

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """A call per checkpoint: one that was given up is committed with a later one, under its own number."""
        for number, parts in groupby(requests, key=lambda request: request.checkpoint_id):
            rows = [row for request in parts for row in request.committable]
            try:
                self._write(rows_to_dataframe(rows, self._type_info), number)
            except Exception as error:
                raise CommitError(
                    f"{len(rows)} rows of checkpoint {number} for {self._what}: {type(error).__name__}: {error}"
                ) from error
