"""CachedDataStream: records that are computed by one job and read by the next ones."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.collection import CollectionSource
from firesteel.datastream._internal.stream import DataStream
from firesteel.model.functions import ProcessFunction
from firesteel.model.functions.adapt import as_map_function
from firesteel.plan.graph import (
    OperatorTransformation,
    PhysicalTransformation,
    SourceTransformation,
    Transformation,
)
from firesteel.runtime.basic import MapOperator
from firesteel.runtime.process import ProcessOperator
from firesteel.runtime.sinks import CollectOperator

if TYPE_CHECKING:
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment


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
        self._origin = transformation
        self._cached: Transformation | None = None
        environment._caches.append(self)

    def invalidate(self) -> None:
        """Forget the records; the next job that contains the stream computes them again."""
        self._cached = None

    @property
    def _transformation(self) -> Transformation:
        return self._origin if self._cached is None else self._cached

    def _is_filled(self) -> bool:
        return self._cached is not None

    def _capture_nodes(self, collector_id: str) -> list[Transformation]:
        """Operators for a job that contains the stream: they send its records and timestamps to the driver."""
        stamp = OperatorTransformation(
            id=self._environment._next_id(),
            name="Cache",
            inputs=[self._origin],
            call_site=self._origin.call_site,
            parallelism=self._origin.parallelism,
            factory=partial(ProcessOperator, _WithTimestamp()),
        )
        collect = OperatorTransformation(
            id=self._environment._next_id(),
            name="Sink: Cache",
            inputs=[stamp],
            call_site=self._origin.call_site,
            parallelism=self._origin.parallelism,
            factory=partial(CollectOperator, collector_id),
            is_sink=True,
            collector_id=collector_id,
        )
        return [stamp, collect]

    def _fill(self, stamped: list[tuple[Any, int | None]]) -> None:
        """Make a source of the records that a job has sent."""
        has_timestamps = any(timestamp is not None for _, timestamp in stamped)
        strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(_timestamp_of)
        source = SourceTransformation(
            id=self._environment._next_id(),
            name=f"Source: Cache of {self._origin.name}",
            inputs=[],
            call_site=self._origin.call_site,
            parallelism=1,
            fixed_parallelism=True,
            source=CollectionSource(stamped),
            watermark_strategy=strategy if has_timestamps else None,
        )
        self._cached = OperatorTransformation(
            id=self._environment._next_id(),
            name="Cached Records",
            inputs=[source],
            call_site=self._origin.call_site,
            output_type=self._origin.output_type,
            parallelism=1,
            factory=partial(MapOperator, as_map_function(_value_of)),
        )


class CacheSink:
    """Takes the records for a cache; they count only if the job ends well."""

    exactly_once = True

    def __init__(self, stream: CachedDataStream) -> None:
        self._stream = stream
        self._stamped: list[tuple[Any, int | None]] = []

    def accept(self, subtask: int, values: list[Any]) -> None:
        """Keep the records of one subtask."""
        self._stamped.extend(values)

    def finished(self, error: BaseException | None) -> None:
        """Fill the cache if the job ended well."""
        if error is None:
            self._stream._fill(self._stamped)


class _WithTimestamp(ProcessFunction):
    """From record to (record, timestamp)."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        return [(value, ctx.timestamp())]


def _value_of(stamped: tuple[Any, int | None]) -> Any:
    return stamped[0]


def _timestamp_of(stamped: tuple[Any, int], record_timestamp: int) -> int:
    return stamped[1]
