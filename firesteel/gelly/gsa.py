"""Gather-sum-apply iterations: values for the edges of changed vertices, summed up for neighbours, which may change."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

from firesteel.dataset import DataSet, JoinHint
from firesteel.dataset.functions import (
    FlatJoinFunction,
    ReduceFunction,
    forwarded_fields_first,
    forwarded_fields_second,
)
from firesteel.gelly.configuration import GSAConfiguration
from firesteel.gelly.supersteps import (
    UNSET,
    SuperstepDelegate,
    SuperstepFunction,
    adjacency,
    checked,
    with_broadcast_sets,
)

__all__ = ["ApplyFunction", "GSAConfiguration", "GatherFunction", "Neighbor", "SumFunction"]


class Neighbor(NamedTuple):
    """What a vertex sees of a neighbour: its value, and the value of the edge between them."""

    value: Any
    edge_value: Any

    def get_neighbor_value(self) -> Any:
        """The value of the neighbour."""
        return self.value

    def get_edge_value(self) -> Any:
        """The value of the edge."""
        return self.edge_value


class GatherFunction(SuperstepFunction):
    """Makes a value of a neighbour that has changed."""

    @abstractmethod
    def gather(self, neighbor: Neighbor) -> Any:
        """Called once per edge of a vertex that has changed; in the first superstep, for every edge."""


class SumFunction(SuperstepFunction):
    """Makes one value of two."""

    @abstractmethod
    def sum(self, arg0: Any, arg1: Any) -> Any:
        """Must not depend on the order of values."""


class ApplyFunction(SuperstepFunction):
    """Makes a new value of a vertex."""

    _new_value: Any

    @abstractmethod
    def apply(self, new_value: Any, current_value: Any) -> None:
        """Called once per vertex that has a sum, with it and the value of the vertex; :meth:`set_result` changes it."""

    def set_result(self, result: Any) -> None:
        """Give the vertex a new value, which its neighbours gather in the next superstep."""
        self._new_value = result

    def applied(self, new_value: Any, current_value: Any) -> Any:
        """For the iteration: the new value of a vertex, or the mark that it has none."""
        self._new_value = UNSET
        self.apply(new_value, current_value)
        return self._new_value


class _Gather(SuperstepDelegate, FlatJoinFunction):
    """A vertex that has changed, and its edges: what each neighbour gets."""

    def join(self, first: Any, second: Any) -> Iterator[tuple[Any, Any]]:
        assert isinstance(self._function, GatherFunction)
        gather, value = self._function.gather, first[1]
        return ((other, gather(Neighbor(value, edge[2]))) for other, edge in second[1])


class _Sum(SuperstepDelegate, ReduceFunction):
    def reduce(self, value1: tuple[Any, Any], value2: tuple[Any, Any]) -> tuple[Any, Any]:
        assert isinstance(self._function, SumFunction)
        return value1[0], self._function.sum(value1[1], value2[1])


@forwarded_fields_first("f0")
@forwarded_fields_second("f0")
class _Apply(SuperstepDelegate, FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Iterator[tuple[Any, Any]]:
        assert isinstance(self._function, ApplyFunction)
        result = self._function.applied(first[1], second[1])
        if result is not UNSET:
            yield second[0], result


def iterate(
    vertices: DataSet,
    edges: DataSet,
    functions: tuple[GatherFunction, SumFunction, ApplyFunction],
    most: int,
    parameters: GSAConfiguration | None,
) -> DataSet:
    """The vertices after the last superstep."""
    kinds = (GatherFunction, SumFunction, ApplyFunction)
    gather, add, apply = (checked(*each, "run_gather_sum_apply_iteration") for each in zip(functions, kinds))
    own = parameters or GSAConfiguration()
    placed = vertices.partition_by_hash(0).name("Vertices by id")
    iteration = placed.iterate_delta(placed, most, 0)
    own.apply_to(iteration, "Gather-sum-apply iteration")
    neighbors = iteration.get_workset().join(adjacency(edges, own.get_direction()), JoinHint.REPARTITION_HASH_FIRST)
    gathered = neighbors.where(0).equal_to(0).with_(_Gather(gather)).name("Gather")
    gathered = with_broadcast_sets(gathered, placed, own, "gather")
    summed = with_broadcast_sets(gathered.group_by(0).reduce(_Sum(add)).name("Sum"), placed, own, "sum")
    applied = summed.join(iteration.get_solution_set(), JoinHint.REPARTITION_HASH_FIRST).where(0).equal_to(0)
    changed = with_broadcast_sets(applied.with_(_Apply(apply)).name("Apply"), placed, own, "apply")
    return iteration.close_with(changed, changed)
