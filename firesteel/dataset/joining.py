"""Joins and co-groups, in the words of Flink: ``first.join(second).where(key).equal_to(key).with_(function)``."""

from __future__ import annotations

from typing import Any

from firesteel.dataset.data_set import DataSet, sort_key
from firesteel.dataset.functions import as_function, is_flat
from firesteel.dataset.keys import Keys, as_keys
from firesteel.dataset.plan.nodes import CoGroupNode, JoinHint, JoinKind, JoinNode, Order
from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.model.functions import CoGroupFunction, FlatJoinFunction, JoinFunction
from firesteel.model.functions.adapt import as_partitioner
from firesteel.plan.graph import user_call_site

__all__ = ["CoGroupOperator", "CoGroupOperatorSets", "JoinOperator", "JoinOperatorSets"]

_REFUSED = {
    JoinKind.LEFT: {JoinHint.BROADCAST_HASH_FIRST},
    JoinKind.RIGHT: {JoinHint.BROADCAST_HASH_SECOND},
    JoinKind.FULL: {JoinHint.BROADCAST_HASH_FIRST, JoinHint.BROADCAST_HASH_SECOND},
}
"""A side that is sent to every task cannot tell which of its records have no partner at all."""


class JoinOperatorSets:
    """A join that has no keys yet."""

    def __init__(self, first: DataSet, second: DataSet, kind: JoinKind, hint: JoinHint) -> None:
        if not isinstance(hint, JoinHint):
            raise ConfigurationError(f"join: expected a JoinHint, got {hint!r}")
        if hint in _REFUSED.get(kind, ()):
            raise UnsupportedError(
                f"a {kind.value} cannot be carried out as {hint.name}: no task would know which records of the side "
                "that is sent to all of them have no partner. Use another hint, or none"
            )
        self._first, self._second, self._kind, self._hint = first, second, kind, hint

    def where(self, *keys: Any) -> JoinKeys:
        """The key of the first data set: fields, or a function of the record."""
        return JoinKeys(self._first, self._second, self._kind, self._hint, as_keys(keys, "where"))


class JoinKeys:
    """A join that has the key of its first data set."""

    def __init__(self, first: DataSet, second: DataSet, kind: JoinKind, hint: JoinHint, keys: Keys) -> None:
        self._first, self._second, self._kind, self._hint, self._keys = first, second, kind, hint, keys

    def equal_to(self, *keys: Any) -> JoinOperator:
        """The key of the second data set."""
        second = as_keys(keys, "equal_to")
        _same_length(self._keys, second)
        name = f"{self._kind.value.capitalize()} {self._keys} = {second}"
        node = JoinNode(
            name,
            user_call_site(),
            (self._first.node, self._second.node),
            first=self._keys,
            second=second,
            join=self._kind,
            hint=self._hint,
        )
        return JoinOperator(self._first.get_execution_environment(), node)


class JoinOperator(DataSet):
    """A join: a data set of pairs, unless a function or a projection makes something else of them."""

    @property
    def _join_node(self) -> JoinNode:
        assert isinstance(self._node, JoinNode)
        return self._node

    def with_(self, function: Any) -> DataSet:
        """Make something else of each pair: a JoinFunction, a FlatJoinFunction, or a function of both records."""
        flat = isinstance(function, FlatJoinFunction) or (
            not isinstance(function, JoinFunction) and callable(function) and is_flat(function, 2)
        )
        node = self._join_node
        node.function = as_function(function, "join", (JoinFunction, FlatJoinFunction), "join", 2)
        node.method = "flat_join" if flat else "join"
        node.forwarded = dict(getattr(node.function, "forwarded_input_fields", {}))
        return DataSet(self._environment, node)

    def project_first(self, *fields: int | str) -> JoinOperator:
        """Keep these fields of the first record, or all of it; call more to add more."""
        return self._project(0, fields)

    def project_second(self, *fields: int | str) -> JoinOperator:
        """Keep these fields of the second record, or all of it; call more to add more."""
        return self._project(1, fields)

    def _project(self, side: int, fields: tuple[int | str, ...]) -> JoinOperator:
        node = self._join_node
        if node.join is not JoinKind.INNER and fields:
            raise UnsupportedError(
                "a projection of an outer join would read fields of records that are not there; use with_(function)"
            )
        node.projection += tuple((side, field) for field in as_keys(fields, "project").fields or (None,))
        return self

    def with_partitioner(self, partitioner: Any) -> JoinOperator:
        """Bring records together by a function of the key and the number of tasks instead of a hash."""
        self._join_node.partitioner = as_partitioner(partitioner, "with_partitioner")
        return self


class CoGroupOperatorSets:
    """A co-group that has no keys yet."""

    def __init__(self, first: DataSet, second: DataSet) -> None:
        self._first, self._second = first, second

    def where(self, *keys: Any) -> CoGroupKeys:
        """The key of the first data set: fields, or a function of the record."""
        return CoGroupKeys(self._first, self._second, as_keys(keys, "where"))


class CoGroupKeys:
    """A co-group that has the key of its first data set."""

    def __init__(self, first: DataSet, second: DataSet, keys: Keys) -> None:
        self._first, self._second, self._keys = first, second, keys

    def equal_to(self, *keys: Any) -> CoGroupOperator:
        """The key of the second data set."""
        second = as_keys(keys, "equal_to")
        _same_length(self._keys, second)
        return CoGroupOperator(self._first, self._second, self._keys, second)


class CoGroupOperator:
    """A co-group that has its keys, and wants a function."""

    def __init__(self, first: DataSet, second: DataSet, first_keys: Keys, second_keys: Keys) -> None:
        self._environment = first.get_execution_environment()
        self._node = CoGroupNode(
            f"CoGroup {first_keys} = {second_keys}",
            user_call_site(),
            (first.node, second.node),
            first=first_keys,
            second=second_keys,
        )

    def sort_first_group(self, field: Any, order: Order = Order.ASCENDING) -> CoGroupOperator:
        """Sort the records of the first side of each group."""
        self._node.first_order += (sort_key(field, order),)
        return self

    def sort_second_group(self, field: Any, order: Order = Order.ASCENDING) -> CoGroupOperator:
        """Sort the records of the second side of each group."""
        self._node.second_order += (sort_key(field, order),)
        return self

    def with_partitioner(self, partitioner: Any) -> CoGroupOperator:
        """Bring records together by a function of the key and the number of tasks instead of a hash."""
        self._node.partitioner = as_partitioner(partitioner, "with_partitioner")
        return self

    def with_(self, function: Any) -> DataSet:
        """A function of both sides of each group, of which one may be empty; takes two iterables and yields results."""
        self._node.function = as_function(function, "co_group", (CoGroupFunction,), "co_group", 2)
        self._node.forwarded = dict(getattr(self._node.function, "forwarded_input_fields", {}))
        return DataSet(self._environment, self._node)


def _same_length(first: Keys, second: Keys) -> None:
    if first.fields and second.fields and len(first.fields) != len(second.fields):
        raise ConfigurationError(
            f"where{first} has {len(first.fields)} fields and equal_to{second} has {len(second.fields)}: "
            "keys that are compared need as many"
        )
