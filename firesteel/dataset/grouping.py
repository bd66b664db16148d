"""Records grouped by a key, in any order or sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.dataset.aggregations import Aggregations
from firesteel.dataset.data_set import AggregateOperator, Aggregating, DataSet, aggregated, group_reduce, sort_key
from firesteel.dataset.functions import GroupCombineFunction, as_function
from firesteel.dataset.keys import Keys
from firesteel.dataset.plan.nodes import CombineGroupNode, Node, Order, ReduceNode
from firesteel.errors import ConfigurationError
from firesteel.model.functions.adapt import as_reduce_function
from firesteel.plan.graph import user_call_site

if TYPE_CHECKING:
    from firesteel.dataset.environment import ExecutionEnvironment

__all__ = ["SortedGrouping", "UnsortedGrouping"]


class _Grouping:
    """What both kinds of groups can do."""

    def __init__(
        self, environment: ExecutionEnvironment, source: Node, keys: Keys, order: tuple[tuple[Keys, Order], ...] = ()
    ) -> None:
        self._environment = environment
        self._source = source
        self._keys = keys
        self._order = order

    def reduce_group(self, reducer: Any) -> DataSet:
        """A function of all records of a group; takes an iterable and yields results."""
        return DataSet(self._environment, group_reduce(self._source, self._keys, self._order, reducer))

    def combine_group(self, combiner: Any) -> DataSet:
        """A function of the records of a group that are in one task; nothing is exchanged."""
        function = as_function(combiner, "combine_group", (GroupCombineFunction,), "combine", 1)
        node = CombineGroupNode(
            "CombineGroup", user_call_site(), (self._source,), keys=self._keys, order=self._order, function=function
        )
        return DataSet(self._environment, node)

    def first(self, n: int) -> DataSet:
        """The first ``n`` records of each group; any if the group is not sorted."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ConfigurationError(f"first: expected a whole number of at least 1, got {n!r}")
        return self.reduce_group(_FirstOf(n)).name(f"First {n}")

    def sort_group(self, field: Any, order: Order = Order.ASCENDING) -> SortedGrouping:
        """Sort the records of each group by a field or function; call it again for further fields."""
        return SortedGrouping(self._environment, self._source, self._keys, (*self._order, sort_key(field, order)))


class UnsortedGrouping(_Grouping, Aggregating):
    """Records grouped by a key."""

    def reduce(self, reducer: Any) -> DataSet:
        """The records of each group reduced to one, two at a time. The result must have the key of the group."""
        node = ReduceNode(
            "Reduce", user_call_site(), (self._source,), keys=self._keys, function=as_reduce_function(reducer)
        )
        return DataSet(self._environment, node)

    def aggregate(self, aggregation: Aggregations, field: int | str) -> AggregateOperator:
        """The sum, minimum or maximum of a field in each group; more with ``.and_(aggregation, field)``."""
        return aggregated(self._environment, self._source, self._keys, aggregation, field)


class SortedGrouping(_Grouping):
    """Records grouped by a key, sorted within each group."""


class _FirstOf:
    def __init__(self, n: int) -> None:
        self._n = n

    def __call__(self, values: Any) -> Any:
        return [value for _, value in zip(range(self._n), values)]
