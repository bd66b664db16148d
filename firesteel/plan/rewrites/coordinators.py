"""The halves of operators that are in the driver."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from firesteel.common import Configuration
from firesteel.common.options import SINK_COMMITTER_RETRIES
from firesteel.errors import ProgramError, UnsupportedError
from firesteel.model.coordinator import Coordinator
from firesteel.model.source import Boundedness, DriverSource
from firesteel.plan.graph import (
    IterationTransformation,
    OperatorTransformation,
    PhysicalTransformation,
    SourceTransformation,
)
from firesteel.plan.job_plan import PlannedCoordinator
from firesteel.plan.rewrites.resolved import ResolvedGraph
from firesteel.plan.serialization import pickle_for_workers
from firesteel.runtime.coordination.driver_sources import DriverSourceCoordinator
from firesteel.runtime.coordination.sinks import SinkCoordinator
from firesteel.runtime.coordination.sources import SourceCoordinator


def plan_coordinators(
    graph: ResolvedGraph, configuration: Configuration, batch_mode: bool
) -> tuple[PlannedCoordinator, ...]:
    """The operators' halves in the driver, in the order of levels."""
    planned = []
    for node in graph.nodes:
        if isinstance(node, IterationTransformation):
            _check_loop(node, batch_mode)
        factory = _coordinator(node, configuration)
        if factory is not None:
            planned.append(_planned(graph, node, factory))
    return tuple(sorted(planned, key=lambda each: each.level))


def _planned(
    graph: ResolvedGraph, node: PhysicalTransformation, factory: Callable[[], Coordinator]
) -> PlannedCoordinator:
    tails = node.feedback if isinstance(node, IterationTransformation) else ()
    return PlannedCoordinator(
        info=graph.info(node),
        level=graph.levels[graph.chain_of[node.id]],
        parallelism=graph.widths[node.id].parallelism,
        factory=factory,
        listens_to=tuple(graph.uids[each.id] for each in (node, *tails)),
        bounded=not isinstance(node, SourceTransformation) or node.source.boundedness is Boundedness.BOUNDED,
    )


def _coordinator(node: PhysicalTransformation, configuration: Configuration) -> Callable[[], Coordinator] | None:
    if isinstance(node, SourceTransformation):
        if isinstance(node.source, DriverSource):
            return partial(DriverSourceCoordinator, node.source)
        alignment = node.watermark_strategy.alignment if node.watermark_strategy else None
        return partial(SourceCoordinator, node.source, alignment)
    assert isinstance(node, OperatorTransformation)
    if node.committer_factory is None:
        return node.coordinator
    committer = pickle_for_workers(node.committer_factory, f"operator {node.name!r}", node.call_site)
    return partial(SinkCoordinator, committer, configuration.get(SINK_COMMITTER_RETRIES))


def _check_loop(head: IterationTransformation, batch_mode: bool) -> None:
    if batch_mode:
        raise UnsupportedError(
            f"iterate() (at {head.call_site}) cannot run in BATCH mode, in which operators emit at the end of "
            "their input only, so that nothing could go round. Set the runtime mode STREAMING or AUTOMATIC"
        )
    if not head.feedback:
        raise ProgramError(
            f"iterate() (at {head.call_site}) is not closed, so nothing goes round. Call close_with(stream)"
        )
