"""How records travel to the next operator: the partition calls of a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.datastream._internal.stream import AnyStream, S
from firesteel.errors import UnsupportedError
from firesteel.model.functions import Function, KeySelector, Partitioner
from firesteel.model.functions.adapt import as_key_selector, as_partitioner, bound_call, describe
from firesteel.runtime import partitioners
from firesteel.runtime.partitioners import Partitioning


class Repartitioning(AnyStream[S]):
    """The part of a stream that says to which subtasks of the next operator its records go.

    The last call before an operator counts.
    """

    def shuffle(self) -> S:
        """Send each record to a subtask chosen at random, evenly."""
        return self._partition("shuffle()", Partitioning(partitioners.SHUFFLE))

    def rebalance(self) -> S:
        """Send records to all subtasks in turn, so that each gets the same number."""
        return self._partition("rebalance()", Partitioning(partitioners.REBALANCE))

    def rescale(self) -> S:
        """Send records in turn to a part of the subtasks, each sender to its own: cheaper than :meth:`rebalance`."""
        return self._partition("rescale()", Partitioning(partitioners.RESCALE))

    def forward(self) -> S:
        """Send records to the subtask of the same number; both operators need the same parallelism."""
        return self._partition("forward()", Partitioning(partitioners.FORWARD))

    def global_(self) -> S:
        """Send all records to the first subtask."""
        return self._partition("global_()", Partitioning(partitioners.GLOBAL))

    def partition_custom(
        self,
        partitioner: Partitioner | Callable[[Any, int], int],
        key_selector: KeySelector | Callable[[Any], Any] | str | int,
    ) -> S:
        """Send each record to the subtask that a partitioner chooses by its key.

        ::

            numbers.partition_custom(lambda key, count: key % count, lambda n: n)

        :param partitioner: From key and number of subtasks to a subtask, from 0.
        """
        choose = as_partitioner(partitioner)
        _refuse_open("partition_custom", choose)
        partitioning = Partitioning(
            partitioners.CUSTOM,
            key_selector=adapted_key("partition_custom", key_selector),
            partitioner=bound_call(choose, "partition"),
        )
        return self._partition("partition_custom()", partitioning)

    def _partition(self, name: str, partitioning: Partitioning) -> S:
        """A partition node behind this stream; one that is there already is replaced."""
        return self.derive(self._graph.partition(self.get_transformation(), name, partitioning))


def adapted_key(method: str, key_selector: Any) -> Callable[[Any], Any]:
    """The function from record to key that a user's selector means."""
    selector = as_key_selector(key_selector, method)
    _refuse_open(method, selector)
    return bound_call(selector, "get_key")


def _refuse_open(method: str, function: Function) -> None:
    """Key selectors and partitioners belong to no subtask, so there is nobody to open them."""
    if type(function).open is not Function.open or type(function).close is not Function.close:
        raise UnsupportedError(
            f"{method}: {describe(function)} has its own open() or close(), which are not called for key selectors "
            "and partitioners: they run on the sending side, without a runtime context. "
            "Compute the key in a map() before, which may open what it needs."
        )
