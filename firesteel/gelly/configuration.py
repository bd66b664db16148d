"""How graph iterations run: names, parallelism, aggregators, broadcast sets, and what functions want to know."""

from __future__ import annotations

from typing import TypeVar

from firesteel.dataset import Aggregator, ConvergenceCriterion, DataSet
from firesteel.errors import ConfigurationError
from firesteel.gelly.base import data_set
from firesteel.gelly.records import EdgeDirection

__all__ = ["GSAConfiguration", "IterationConfiguration", "ScatterGatherConfiguration", "VertexCentricConfiguration"]

_C = TypeVar("_C", bound="IterationConfiguration")


class IterationConfiguration:
    """What all kinds of graph iterations can be told."""

    def __init__(self) -> None:
        self._name: str | None = None
        self._parallelism: int | None = None
        self._aggregators: dict[str, Aggregator] = {}
        self._convergence: tuple[str, ConvergenceCriterion] | None = None
        self._num_vertices = False
        self._broadcast: dict[str, list[tuple[str, DataSet]]] = {}

    def set_name(self, name: str) -> None:
        """Name the iteration, for plans and errors."""
        self._name = name

    def get_name(self, default: str = "") -> str:
        """The name, or the default."""
        return self._name or default

    def set_parallelism(self, parallelism: int) -> None:
        """In how many tasks the vertices are kept; the environment's parallelism if it is not set."""
        if isinstance(parallelism, bool) or not isinstance(parallelism, int) or parallelism < 1:
            raise ConfigurationError(f"set_parallelism: expected a whole number of at least 1, got {parallelism!r}")
        self._parallelism = parallelism

    def get_parallelism(self) -> int | None:
        """In how many tasks the vertices are kept; None: as the environment says."""
        return self._parallelism

    def register_aggregator(self, name: str, aggregator: Aggregator) -> None:
        """Let functions add to an aggregator: ``get_iteration_aggregator(name)``."""
        if not isinstance(aggregator, Aggregator):
            raise ConfigurationError(f"register_aggregator: expected an Aggregator, got {aggregator!r:.100}")
        self._aggregators[name] = aggregator

    def register_aggregation_convergence_criterion(
        self, name: str, aggregator: Aggregator, criterion: ConvergenceCriterion
    ) -> None:
        """The same, and the iteration ends after the superstep in which the criterion says so."""
        self.register_aggregator(name, aggregator)
        if not isinstance(criterion, ConvergenceCriterion):
            raise ConfigurationError(f"expected a ConvergenceCriterion, got {criterion!r:.100}")
        self._convergence = (name, criterion)

    def get_aggregators(self) -> dict[str, Aggregator]:
        """The aggregators, by name."""
        return dict(self._aggregators)

    def set_opt_num_vertices(self, opt_num_vertices: bool) -> None:
        """Whether functions can ask for the number of vertices; it has to be counted before the first superstep."""
        self._num_vertices = bool(opt_num_vertices)

    def is_opt_num_vertices(self) -> bool:
        """Whether functions can ask for the number of vertices."""
        return self._num_vertices

    # --- for the iterations themselves --------------------------------------------------------------

    def _add(self, role: str, name: str, data: DataSet, where: str) -> None:
        self._broadcast.setdefault(role, []).append((name, data_set(data, where)))

    def broadcast_sets(self, role: str) -> list[tuple[str, DataSet]]:
        """The broadcast sets of a function: names and data sets."""
        return list(self._broadcast.get(role, ()))

    def get_convergence(self) -> tuple[str, ConvergenceCriterion] | None:
        """Which aggregator ends the iteration, and when."""
        return self._convergence


class VertexCentricConfiguration(IterationConfiguration):
    """How a vertex-centric iteration runs."""

    def add_broadcast_set(self, name: str, data: DataSet) -> None:
        """Give all records of a data set to the compute function: ``get_broadcast_set(name)``."""
        self._add("compute", name, data, "add_broadcast_set")


class _Directed(IterationConfiguration):
    def __init__(self) -> None:
        super().__init__()
        self._direction = EdgeDirection.OUT

    def set_direction(self, direction: EdgeDirection) -> None:
        """Along which edges values go from a vertex: those that go out (if it is not set), come in, or all."""
        if not isinstance(direction, EdgeDirection):
            raise ConfigurationError(f"set_direction: expected EdgeDirection.IN, OUT or ALL, got {direction!r}")
        self._direction = direction

    def get_direction(self) -> EdgeDirection:
        """Along which edges values go."""
        return self._direction


class ScatterGatherConfiguration(_Directed):
    """How a scatter-gather iteration runs."""

    def __init__(self) -> None:
        super().__init__()
        self._degrees = False

    def add_broadcast_set_for_scatter_function(self, name: str, data: DataSet) -> None:
        """Give all records of a data set to the scatter function: ``get_broadcast_set(name)``."""
        self._add("scatter", name, data, "add_broadcast_set_for_scatter_function")

    def add_broadcast_set_for_gather_function(self, name: str, data: DataSet) -> None:
        """Give all records of a data set to the gather function: ``get_broadcast_set(name)``."""
        self._add("gather", name, data, "add_broadcast_set_for_gather_function")

    def set_opt_degrees(self, opt_degrees: bool) -> None:
        """Whether functions can ask for the degrees of a vertex; they have to be counted before."""
        self._degrees = bool(opt_degrees)

    def is_opt_degrees(self) -> bool:
        """Whether functions can ask for the degrees of a vertex."""
        return self._degrees


class GSAConfiguration(_Directed):
    """How a gather-sum-apply iteration runs."""

    def add_broadcast_set_for_gather_function(self, name: str, data: DataSet) -> None:
        """Give all records of a data set to the gather function: ``get_broadcast_set(name)``."""
        self._add("gather", name, data, "add_broadcast_set_for_gather_function")

    def add_broadcast_set_for_sum_function(self, name: str, data: DataSet) -> None:
        """Give all records of a data set to the sum function: ``get_broadcast_set(name)``."""
        self._add("sum", name, data, "add_broadcast_set_for_sum_function")

    def add_broadcast_set_for_apply_function(self, name: str, data: DataSet) -> None:
        """Give all records of a data set to the apply function: ``get_broadcast_set(name)``."""
        self._add("apply", name, data, "add_broadcast_set_for_apply_function")
