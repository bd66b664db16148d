"""Records that are computed by one job and read by the next ones."""

from __future__ import annotations

from functools import partial
from typing import Any

from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.collection import CollectionSource
from firesteel.model.functions import ProcessFunction
from firesteel.model.functions.adapt import as_map_function
from firesteel.plan.builder import GraphBuilder
from firesteel.plan.graph import (
    OperatorTransformation,
    PhysicalTransformation,
    SourceTransformation,
    Transformation,
)
from firesteel.runtime.basic import MapOperator
from firesteel.runtime.coordination.results import ResultCoordinator
from firesteel.runtime.process import ProcessOperator
from firesteel.runtime.sinks import CollectOperator


class Cache:
    """The records of a node, kept in the driver's memory by the first job that contains it and ends well."""

    def __init__(self, graph: GraphBuilder, origin: PhysicalTransformation) -> None:
        self._graph = graph
        self._origin = origin
        self._cached: Transformation | None = None

    @property
    def node(self) -> Transformation:
        """What to read: the node itself, or the records that were kept."""
        return self._origin if self._cached is None else self._cached

    @property
    def is_filled(self) -> bool:
        """Whether the records are here."""
        return self._cached is not None

    def invalidate(self) -> None:
        """Forget the records."""
        self._cached = None

    def capture(self, collector_id: str) -> list[Transformation]:
        """Operators for a job that contains the node: they send its records and timestamps to the driver."""
        place: dict[str, Any] = {"call_site": self._origin.call_site, "parallelism": self._origin.parallelism}
        factory = partial(ProcessOperator, _WithTimestamp())
        stamp = self._graph.make(OperatorTransformation, "Cache", [self._origin], factory=factory, **place)
        collect = self._graph.make(
            OperatorTransformation,
            "Sink: Cache",
            [stamp],
            factory=CollectOperator,
            coordinator=partial(ResultCoordinator, collector_id, CacheSink.exactly_once),
            is_sink=True,
            collector_id=collector_id,
            **place,
        )
        return [stamp, collect]

    def fill(self, stamped: list[tuple[Any, int | None]]) -> None:
        """Make a source of the records that a job has sent."""
        has_timestamps = any(timestamp is not None for _, timestamp in stamped)
        strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(_timestamp_of)
        source = self._graph.make(
            SourceTransformation,
            f"Source: Cache of {self._origin.name}",
            call_site=self._origin.call_site,
            parallelism=1,
            fixed_parallelism=True,
            source=CollectionSource(stamped),
            watermark_strategy=strategy if has_timestamps else None,
        )
        self._cached = self._graph.make(
            OperatorTransformation,
            "Cached Records",
            [source],
            call_site=self._origin.call_site,
            output_type=self._origin.output_type,
            parallelism=1,
            factory=partial(MapOperator, as_map_function(_value_of)),
        )


class CacheSink:
    """Takes the records for a cache; they count only if the job ends well."""

    exactly_once = True

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._stamped: list[tuple[Any, int | None]] = []

    def accept(self, subtask: int, values: list[Any]) -> None:
        """Keep the records of one subtask."""
        self._stamped.extend(values)

    def finished(self, error: BaseException | None) -> None:
        """Fill the cache if the job ended well."""
        if error is None:
            self._cache.fill(self._stamped)


class _WithTimestamp(ProcessFunction):
    """From record to (record, timestamp)."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        return [(value, ctx.timestamp())]


def _value_of(stamped: tuple[Any, int | None]) -> Any:
    return stamped[0]


def _timestamp_of(stamped: tuple[Any, int], record_timestamp: int) -> int:
    return stamped[1]
