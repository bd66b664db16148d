"""How much vertices count, judged by the edges between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from firesteel.dataset import (
    Aggregations,
    ConvergenceCriterion,
    DataSet,
    DoubleSumAggregator,
    JoinHint,
    RichFlatJoinFunction,
    RichMapFunction,
)
from firesteel.dataset.functions import (
    CoGroupFunction,
    forwarded_fields,
    forwarded_fields_first,
    forwarded_fields_second,
)
from firesteel.dataset.messages import Around, Combiner, Messages, Outbox, Part, Receiver, iterate_messages
from firesteel.errors import ConfigurationError
from firesteel.gelly.graph import Graph, GraphAlgorithm

__all__ = ["HITS", "HITSResult", "PageRank", "PageRankResult"]

_COUNTS, _CHANGE, _STRANDED = "counts", "change", "stranded"
_NORMS = ("squares of hubs", "squares of authorities")
_UNBOUNDED = 1 << 30


class PageRankResult(NamedTuple):
    """A vertex and its rank; all ranks sum up to 1."""

    vertex_id: Any
    page_rank_score: float

    def get_page_rank_score(self) -> float:
        """The rank."""
        return self.page_rank_score


class HITSResult(NamedTuple):
    """A vertex and its scores; the squares of each kind sum up to 1."""

    vertex_id: Any
    hub_score: float
    authority_score: float

    def get_hub_score(self) -> float:
        """How good the vertices are that it points to."""
        return self.hub_score

    def get_authority_score(self) -> float:
        """How good the vertices are that point to it."""
        return self.authority_score


def _limits(iterations: int, threshold: float, where: str) -> tuple[int, float]:
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise ConfigurationError(
            f"{where}: the most iterations must be a whole number of at least 1, got {iterations!r}"
        )
    if not threshold >= 0:
        raise ConfigurationError(f"{where}: the threshold must be a number of 0 or more, got {threshold!r}")
    if iterations == _UNBOUNDED and threshold == 0:
        raise ConfigurationError(
            f"{where}: give the most iterations, or a threshold at which it has converged, or both"
        )
    return iterations, float(threshold)


class _BelowThreshold(ConvergenceCriterion):
    def __init__(self, threshold: float) -> None:
        self._threshold = threshold

    def is_converged(self, iteration: int, value: Any) -> bool:
        """Whether all changes together are below the threshold; in the first superstep, scores are just given."""
        return iteration > 1 and bool(value < self._threshold)


# --- PageRank ---------------------------------------------------------------------------------------


class PageRank(GraphAlgorithm):
    """The probability of being at a vertex for someone who follows edges, and now and then goes to any vertex.

    Who comes to a vertex without edges goes to any vertex too. Edge values do not matter.

    :param damping_factor: The probability of following an edge.
    :param max_iterations: At most so many supersteps.
    :param convergence_threshold: It ends when all ranks together change by less; 0 to go on to the last superstep.
    """

    def __init__(
        self, damping_factor: float, max_iterations: int = _UNBOUNDED, convergence_threshold: float = 0.0
    ) -> None:
        if not 0 < damping_factor < 1:
            raise ConfigurationError(f"PageRank: the damping factor is between 0 and 1, got {damping_factor!r}")
        self._damping = float(damping_factor)
        self._iterations, self._threshold = _limits(max_iterations, convergence_threshold, "PageRank")

    def run(self, graph: Graph) -> DataSet:
        """A :class:`PageRankResult` per vertex."""
        vertices = graph.get_vertices_as_tuple2()
        counts = vertices.map_partition(_count).name("Number of vertices")
        messages = Messages(
            Part("Ranks", _Ranks(self._damping), {_COUNTS: counts}),
            combine=Part("Shares", _Shares()),
            everyone=True,
            aggregators={_STRANDED: DoubleSumAggregator(), _CHANGE: DoubleSumAggregator()},
            convergence=(_CHANGE, _BelowThreshold(self._threshold)) if self._threshold else None,
        )
        edges = graph.get_edges_as_tuple3().map(_without_value).with_forwarded_fields("f0; f1")
        found = iterate_messages(vertices, edges, messages, self._iterations + 1, "PageRank")
        return found.map(PageRankResult._make).name("PageRank")


def _count(records: Iterable[Any]) -> list[int]:
    return [sum(1 for _ in records)]


def _without_value(edge: tuple[Any, Any, Any]) -> tuple[Any, Any, None]:
    return edge[0], edge[1], None


class _Ranks(Receiver):
    """A vertex sums up the shares of ranks that it gets, and shares its own rank among its targets.

    In the first superstep all ranks are alike. The aggregators hold the ranks of vertices without edges, which everyone
    gets a share of in the next superstep, and by how much all ranks have changed.
    """

    def __init__(self, damping: float) -> None:
        self._damping = damping

    def open(self, runtime_context: Any) -> None:
        vertices = max(1, sum(runtime_context.get_broadcast_variable(_COUNTS)))
        self._iteration = runtime_context.get_iteration_runtime_context()
        stranded = self._iteration.get_previous_iteration_aggregate(_STRANDED)
        self._first_rank = 1.0 / vertices if stranded is None else None
        self._everywhere = (1.0 - self._damping + self._damping * (stranded or 0.0)) / vertices
        self._stranded = self._change = 0.0

    def begin(self, around: Around, outbox: Outbox) -> None:
        self._around, self._outbox = around, outbox

    def receive(self, key: Any, value: Any, messages: list[Any]) -> Any:
        rank = self._first_rank
        if rank is None:
            rank = self._everywhere + self._damping * sum(messages)
            self._change += abs(rank - value)
        targets = self._around.others()
        if targets:
            share, outbox = rank / len(targets), self._outbox
            for target in targets:
                outbox[target].append(share)
        else:
            self._stranded += rank
        return rank

    def close(self) -> None:
        self._iteration.get_iteration_aggregator(_STRANDED).aggregate(self._stranded)
        self._iteration.get_iteration_aggregator(_CHANGE).aggregate(self._change)


class _Shares(Combiner):
    def combine(self, messages: list[Any]) -> Any:
        return sum(messages)


# --- HITS -------------------------------------------------------------------------------------------


@forwarded_fields_first("f0")
@forwarded_fields_second("f0")
class _Targets(CoGroupFunction):
    """For each vertex the ids that its edges go to: ``(id, [target, ...])``."""

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[tuple[Any, list[Any]]]:
        for vertex in first:
            yield vertex[0], [target for _, target, _ in second]


def _targets(graph: Graph) -> DataSet:
    grouped = graph.get_vertices_as_tuple2().co_group(graph.get_edges_as_tuple3()).where(0).equal_to(0)
    return grouped.with_(_Targets()).name("Targets by vertex")


class HITS(GraphAlgorithm):
    """Hubs and authorities: a good hub points to good authorities, a good authority is pointed to by good hubs.

    :param max_iterations: At most so many supersteps.
    :param convergence_threshold: It ends when all scores together change by less; 0 to go on to the last superstep.
    """

    def __init__(self, max_iterations: int = _UNBOUNDED, convergence_threshold: float = 0.0) -> None:
        self._iterations, self._threshold = _limits(max_iterations, convergence_threshold, "HITS")

    def run(self, graph: Graph) -> DataSet:
        """A :class:`HITSResult` per vertex."""
        links = _links(graph)
        first = links.map(lambda entry: (entry[0], 1.0, 1.0, 0.0, 0.0)).with_forwarded_fields("f0").name("First scores")
        iteration = first.iterate(self._iterations)
        for name in _NORMS:
            iteration.register_aggregator(name, DoubleSumAggregator())
        if self._threshold:
            criterion = _BelowThreshold(self._threshold)
            iteration.register_aggregation_convergence_criterion(_CHANGE, DoubleSumAggregator(), criterion)
        else:
            iteration.register_aggregator(_CHANGE, DoubleSumAggregator())
        at_hubs = iteration.join(links, JoinHint.REPARTITION_HASH_FIRST).where(0).equal_to(0).with_(_HubsToTargets())
        authorities = _summed(at_hubs, 3).name("Authorities")
        at_authorities = authorities.join(links, JoinHint.REPARTITION_HASH_FIRST).where(0).equal_to(0)
        hubs = _summed(at_authorities.with_(_authorities_to_sources), 4).name("Hubs")
        found = iteration.close_with(hubs.map(_AddSquares()).name("Scores"))
        squares = found.map_partition(_squares).name("Squares")
        return found.map(_FinalScores()).with_broadcast_set(squares, _COUNTS).name("HITS")


def _links(graph: Graph) -> DataSet:
    """For each vertex the ids that its edges go to, and those that they come from: ``(id, targets, sources)``."""
    targets = _targets(graph)
    grouped = targets.co_group(graph.get_edges_as_tuple3()).where(0).equal_to(1)
    return (
        grouped.with_(_sources).with_forwarded_fields_first("f0").with_forwarded_fields_second("f1->f0").name("Links")
    )


def _sources(first: Iterable[Any], second: Iterable[Any]) -> Iterator[tuple[Any, list[Any], list[Any]]]:
    for number, targets in first:
        yield number, targets, [source for source, _, _ in second]


def _summed(shares: DataSet, fields: int) -> DataSet:
    """The sums of some fields for each vertex; each field comes from one record but the first."""
    summed = shares.group_by(0).sum(1)
    for field in range(2, fields + 1):
        summed = summed.and_(Aggregations.SUM, field)
    return summed


class _HubsToTargets(RichFlatJoinFunction):
    """Each vertex tells its targets how good a hub it is. Scores are divided by the norms of the superstep before."""

    def open(self, runtime_context: Any) -> None:
        iteration = runtime_context.get_iteration_runtime_context()
        squares = [iteration.get_previous_iteration_aggregate(name) for name in _NORMS]
        self._norms = [math.sqrt(square) if square else 1.0 for square in squares]
        self._change = iteration.get_iteration_aggregator(_CHANGE)

    def join(self, first: Any, second: Any) -> Iterator[tuple[Any, float, float, float]]:
        number, hub, authority, hub_before, authority_before = first
        hub, authority = hub / self._norms[0], authority / self._norms[1]
        self._change.aggregate(abs(hub - hub_before) + abs(authority - authority_before))
        yield number, 0.0, hub, authority
        for target in second[1]:
            yield target, hub, 0.0, 0.0


def _authorities_to_sources(first: Any, second: Any) -> Iterator[tuple[Any, float, float, float, float]]:
    """Each vertex tells those that point to it how good an authority it is."""
    number, authority, hub_before, authority_before = first
    yield number, 0.0, authority, hub_before, authority_before
    for source in second[2]:
        yield source, authority, 0.0, 0.0, 0.0


@forwarded_fields("f0")
class _AddSquares(RichMapFunction):
    def open(self, runtime_context: Any) -> None:
        iteration = runtime_context.get_iteration_runtime_context()
        self._squares = [iteration.get_iteration_aggregator(name) for name in _NORMS]

    def map(self, value: Any) -> Any:
        self._squares[0].aggregate(value[1] ** 2)
        self._squares[1].aggregate(value[2] ** 2)
        return value


def _squares(records: Iterable[Any]) -> list[tuple[float, float]]:
    scores = [(record[1], record[2]) for record in records]
    return [(sum(hub**2 for hub, _ in scores), sum(authority**2 for _, authority in scores))]


class _FinalScores(RichMapFunction):
    def open(self, runtime_context: Any) -> None:
        parts = runtime_context.get_broadcast_variable(_COUNTS)
        self._norms = [math.sqrt(sum(column)) or 1.0 for column in zip(*parts)]

    def map(self, value: Any) -> HITSResult:
        return HITSResult(value[0], value[1] / self._norms[0], value[2] / self._norms[1])
