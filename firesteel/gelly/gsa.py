"""Gather-sum-apply iterations: values for the edges of changed vertices, summed up for neighbours, which may change."""

from __future__ import annotations

from abc import abstractmethod
from functools import reduce
from typing import Any, NamedTuple

from firesteel.dataset import DataSet
from firesteel.dataset.messages import (
    UNCHANGED,
    Around,
    Combiner,
    Messages,
    Outbox,
    Receiver,
    Sender,
    iterate_messages,
)
from firesteel.gelly.configuration import GSAConfiguration
from firesteel.gelly.supersteps import SuperstepDelegate, SuperstepFunction, along, checked, is_plain, part

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
        self._new_value = UNCHANGED
        self.apply(new_value, current_value)
        return self._new_value


class _Gather(SuperstepDelegate, Sender):
    """A vertex that has changed: what each neighbour gets."""

    def begin(self, around: Around, outbox: Outbox) -> None:
        assert isinstance(self._function, GatherFunction)
        self._around, self._outbox, self._gather = around, outbox, self._function.gather

    def send(self, key: Any, value: Any) -> None:
        around, outbox, gather = self._around, self._outbox, self._gather
        for other, edge_value in zip(around.others(), around.values()):
            outbox[other].append(gather(Neighbor(value, edge_value)))


class _Sum(SuperstepDelegate, Combiner):
    def combine(self, messages: list[Any]) -> Any:
        assert isinstance(self._function, SumFunction)
        return reduce(self._function.sum, messages)


class _Apply(SuperstepDelegate, Receiver):
    def receive(self, key: Any, value: Any, messages: list[Any]) -> Any:
        assert isinstance(self._function, ApplyFunction)
        return self._function.applied(messages[0], value)


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
    messages = Messages(
        part("Apply", _Apply(apply), "apply", vertices, own),
        part("Gather", _Gather(gather), "gather", vertices, own),
        part("Sum", _Sum(add), "sum", vertices, own),
        aggregators=own.get_aggregators(),
        convergence=own.get_convergence(),
        sends_at_once=is_plain(gather) and is_plain(add),
        along=along(own.get_direction()),
    )
    name = own.get_name("Gather-sum-apply iteration")
    return iterate_messages(vertices, edges, messages, most, name, own.get_parallelism())
