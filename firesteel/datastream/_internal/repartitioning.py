"""How records travel to the next operator: the partition calls of a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from firesteel.errors import UnsupportedError
from firesteel.model.functions import Function, KeySelector, Partitioner
from firesteel.model.functions.adapt import as_key_selector, as_partitioner, bound_call, describe
from firesteel.model.state import MapStateDescriptor
from firesteel.plan.graph import PartitionTransformation, Transformation, user_call_site
from firesteel.runtime import partitioners
from firesteel.runtime.partitioners import Partitioning

if TYPE_CHECKING:
    from firesteel.datastream._internal.broadcast_streams import BroadcastStream
    from firesteel.datastream._internal.stream import DataStream
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment


class Repartitioning(ABC):
    """The part of a stream that says to which subtasks of the next operator its records go.

    The last call before an operator counts.
    """

    _environment: StreamExecutionEnvironment

    @property
    @abstractmethod
    def _transformation(self) -> Transformation:
        """The node that makes the records."""

    def shuffle(self) -> DataStream:
        """Send each record to a subtask chosen at random, evenly."""
        return self._partition("shuffle()", Partitioning(partitioners.SHUFFLE))

    def rebalance(self) -> DataStream:
        """Send records to all subtasks in turn, so that each gets the same number."""
        return self._partition("rebalance()", Partitioning(partitioners.REBALANCE))

    def rescale(self) -> DataStream:
        """Send records in turn to a part of the subtasks, each sender to its own: cheaper than :meth:`rebalance`."""
        return self._partition("rescale()", Partitioning(partitioners.RESCALE))

    def forward(self) -> DataStream:
        """Send records to the subtask of the same number; both operators need the same parallelism."""
        return self._partition("forward()", Partitioning(partitioners.FORWARD))

    def global_(self) -> DataStream:
        """Send all records to the first subtask."""
        return self._partition("global_()", Partitioning(partitioners.GLOBAL))

    @overload
    def broadcast(self) -> DataStream: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Send every record to all subtasks.

        With descriptors of broadcast states the result is a :class:`BroadcastStream`, to be connected with the stream
        whose function keeps the records in these states::

            RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())
            items.connect(rules.broadcast(RULES)).process(MatchRules())
        """
        stream = self._partition("broadcast()", Partitioning(partitioners.BROADCAST))
        if broadcast_state_descriptor is None and not other_broadcast_state_descriptors:
            return stream
        from firesteel.datastream._internal.broadcast_streams import BroadcastStream

        descriptors = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        return BroadcastStream(stream, descriptors)  # type: ignore[arg-type]  # None among several is refused there

    def partition_custom(
        self,
        partitioner: Partitioner | Callable[[Any, int], int],
        key_selector: KeySelector | Callable[[Any], Any] | str | int,
    ) -> DataStream:
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

    def _partition(self, name: str, partitioning: Partitioning) -> DataStream:
        """A partition node behind this stream; one that is there already is replaced."""
        from firesteel.datastream._internal.stream import DataStream

        node = partition_node(self._environment, self._transformation, name, partitioning)
        return DataStream(self._environment, node)


def partition_node(
    environment: StreamExecutionEnvironment, source: Transformation, name: str, partitioning: Partitioning
) -> Transformation:
    """Add a partition node. Only the last partitioning before an operator counts, so a former one is skipped."""
    if isinstance(source, PartitionTransformation):
        source = source.inputs[0]
    return environment._add(
        PartitionTransformation(
            id=environment._next_id(),
            name=name,
            inputs=[source],
            call_site=user_call_site(),
            output_type=source.output_type,
            partitioning=partitioning,
        )
    )


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
