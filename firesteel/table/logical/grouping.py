"""GROUP BY: keys, grouping sets, aggregates, the older windows, and what may stand behind them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from firesteel.table.from_sql import Given
from firesteel.table.functions import Function
from firesteel.table.logical.errors import QueryError, query_error
from firesteel.table.logical.expressions import (
    Expressions,
    Queries,
    aggregate_of,
    has_aggregate,
    is_grouping,
    typed_call,
)
from firesteel.table.logical.plan import (
    Aggregate,
    AggregateCall,
    GroupingCall,
    GroupWindow,
    OuterColumn,
    Relation,
    WindowProperty,
)
from firesteel.table.logical.rewriting import Settled, children, mapped, within
from firesteel.table.logical.scope import Scope
from firesteel.table.resolution import ColumnValue, ConstantValue, Typed
from firesteel.table.sql.nodes import base, queries
from firesteel.table.sql.nodes import expressions as sql
from firesteel.table.types import (
    DataType,
    DataTypes,
    DayTimeIntervalType,
    LocalZonedTimestampType,
    RowField,
    TimeAttribute,
    TimestampType,
)

__all__ = ["Grouping", "GroupedExpressions", "milliseconds"]

_WINDOWS = {"TUMBLE": 1, "HOP": 2, "SESSION": 1}
_PROPERTIES = ("START", "END", "ROWTIME", "PROCTIME")
_AUXILIARIES = {f"{window}_{name}": (window, name) for window in _WINDOWS for name in _PROPERTIES}
_MOST_SETS = 4096


def milliseconds(value: Typed, node: base.Node) -> int:
    """How long an interval is that stands in a query as a literal."""
    if not isinstance(value, ConstantValue) or not isinstance(value.type, DayTimeIntervalType):
        raise query_error(
            node, f"the length of a window is an interval of days or less as a literal, got {value.type}."
        )
    length = value.value
    assert isinstance(length, int)
    return length


class Grouping:
    """The groups of a query: collects keys and calls, and then gives the node."""

    def __init__(self, rows: Expressions, queries: Queries, group_by: queries.GroupBy | None) -> None:
        self.rows = rows
        self.queries = queries
        self.keys: list[Typed] = []
        self.names: list[str] = []
        self.calls: list[AggregateCall | GroupingCall | WindowProperty] = []
        self.results: list[DataType] = []
        self.window: GroupWindow | None = None
        self._sets = self._grouping_sets(group_by)

    # Keys

    def _grouping_sets(self, group_by: queries.GroupBy | None) -> list[tuple[int, ...]]:
        if group_by is None:
            return [()]
        parts = [self._alternatives(element) for element in group_by.elements]
        count = 1
        for part in parts:
            count *= len(part)
        if count > _MOST_SETS:
            raise query_error(group_by, f"GROUP BY has {count} grouping sets, {_MOST_SETS} are the most.")
        combined = [tuple(sorted(set(itertools.chain(*choice)))) for choice in itertools.product(*parts)]
        return list(dict.fromkeys(combined)) if group_by.distinct else combined

    def _alternatives(self, element: base.Expression) -> list[tuple[int, ...]]:
        """The sets of keys that an element of GROUP BY stands for."""
        if isinstance(element, queries.EmptyGroup):
            return [()]
        if isinstance(element, queries.GroupingSets):
            return [each for inner in element.elements for each in self._alternatives(inner)]
        if isinstance(element, (queries.Rollup, queries.Cube)):
            groups = [self._alternatives(inner)[0] for inner in element.elements]
            if isinstance(element, queries.Rollup):
                chosen: list[Sequence[tuple[int, ...]]] = [groups[:size] for size in range(len(groups), -1, -1)]
            else:
                flags = itertools.product((True, False), repeat=len(groups))
                chosen = [[group for group, flag in zip(groups, each) if flag] for each in flags]
            return [tuple(itertools.chain(*each)) for each in chosen]
        if isinstance(element, sql.Row):
            return [tuple(key for value in element.values for key in self._key(value))]
        return [self._key(element)]

    def _key(self, node: base.Expression) -> tuple[int, ...]:
        if isinstance(node, sql.FunctionCall) and node.name.simple.upper() in _WINDOWS:
            self._set_window(node)
            return ()
        value = self.rows.typed(node)
        if value not in self.keys:
            self.keys.append(value)
            self.names.append(node.simple if isinstance(node, base.Identifier) else f"$key{len(self.keys) - 1}")
        return (self.keys.index(value),)

    def _set_window(self, node: sql.FunctionCall) -> None:
        if self.window is not None:
            raise query_error(node, "GROUP BY may have one window only.")
        self.window = self._group_window(node.name.simple.upper(), node)

    def _group_window(self, kind: str, node: sql.FunctionCall) -> GroupWindow:
        wanted = _WINDOWS[kind]
        if len(node.arguments) != wanted + 1:
            raise query_error(node, f"{kind} takes a time and {wanted} intervals, got {len(node.arguments)} arguments.")
        time = self.rows.typed(node.arguments[0])
        if not isinstance(time.type, (TimestampType, LocalZonedTimestampType)):
            raise query_error(node, f"{kind} takes a TIMESTAMP or TIMESTAMP_LTZ, got {time.type}.")
        lengths = tuple(milliseconds(self.rows.typed(each), each) for each in node.arguments[1:])
        return GroupWindow(kind, time, lengths)

    # What the groups give

    def key_column(self, value: Typed) -> ColumnValue | None:
        """The column of the groups that an expression over the rows is, if it is a key."""
        if value not in self.keys:
            return None
        at = self.keys.index(value)
        return ColumnValue(self._key_type(at), at, self.names[at])

    def _key_type(self, at: int) -> DataType:
        """NULL stands for a key that a grouping set does not have."""
        everywhere = all(at in each for each in self._sets)
        return self.keys[at].type if everywhere else self.keys[at].type.nullable()

    def _column(self, call: AggregateCall | GroupingCall | WindowProperty, result: DataType) -> ColumnValue:
        if call not in self.calls:
            self.calls.append(call)
            self.results.append(result)
        at = self.calls.index(call)
        return ColumnValue(self.results[at], len(self.keys) + at, f"$call{at}")

    def aggregate(self, node: base.Expression, function: Function) -> ColumnValue:
        """The column of an aggregate."""
        if any(map(has_aggregate, children(node))):
            raise query_error(node, "Aggregate expressions cannot be nested.")
        written = getattr(node, "filter", None)
        condition = None if written is None else self._filter(written)
        always = condition is None and (all(self._sets) or self.window is not None)
        call, arguments, result = typed_call(node, function, self.rows.typed, self.queries.session, always)
        order = self.rows.order((*getattr(node, "order_by", ()), *getattr(node, "within_group", ())))
        distinct = getattr(node, "quantifier", None) == "DISTINCT"
        return self._column(AggregateCall(function, call, arguments, distinct, condition, order), result)

    def _filter(self, node: base.Expression) -> Typed:
        clause, self.rows.clause = self.rows.clause, "FILTER"
        try:
            return self.rows.condition(node)
        finally:
            self.rows.clause = clause

    def grouping(self, node: sql.FunctionCall) -> ColumnValue:
        """The column of GROUPING, GROUPING_ID or GROUP_ID."""
        name = node.name.simple.upper()
        keys = []
        for argument in node.arguments:
            value = self.rows.typed(argument)
            if value not in self.keys:
                raise query_error(argument, f"Argument to {name} operator must be a grouped expression.")
            keys.append(self.keys.index(value))
        return self._column(GroupingCall(name, tuple(keys)), DataTypes.BIGINT(False))

    def window_property(self, node: base.Expression) -> ColumnValue | None:
        """The column of TUMBLE_START and its kin; of anything else, None."""
        if not isinstance(node, sql.FunctionCall) or node.name.simple.upper() not in _AUXILIARIES:
            return None
        name = node.name.simple.upper()
        kind, wanted = _AUXILIARIES[name]
        if self.window is None or self._group_window(kind, node) != self.window:
            raise query_error(
                node,
                f"Call to auxiliary group function '{name}' must have matching call to group function "
                f"'{kind}' in GROUP BY clause.",
            )
        return self._column(WindowProperty(wanted), _property_type(wanted, self.window.time.type))

    def node(self, source: Relation) -> Aggregate:
        """The groups as a node of the plan, once all calls are known."""
        keys = [RowField(name, self._key_type(at)) for at, name in enumerate(self.names)]
        calls = [RowField(f"$call{at}", each) for at, each in enumerate(self.results)]
        return Aggregate((*keys, *calls), source, tuple(self.keys), tuple(self._sets), tuple(self.calls), self.window)


def _property_type(name: str, time: DataType) -> DataType:
    if name in {"START", "END"}:
        return DataTypes.TIMESTAMP(3, False)
    if name == "PROCTIME":
        return DataTypes.TIMESTAMP_LTZ(3, False).with_attribute(TimeAttribute.PROCTIME)
    return time


class GroupedExpressions(Expressions):
    """Resolves expressions over groups: keys, aggregates, and what is made of these."""

    def __init__(self, grouping: Grouping, rows: Expressions, queries: Queries, **more: object) -> None:
        visible = Scope(rows.scope.tables, rows.scope.parent, self._visible)
        super().__init__(visible, queries, rows.clause, **more)  # type: ignore[arg-type]
        self._grouping = grouping

    def known(self, node: base.Expression) -> Typed | None:
        """What a part of an expression means, if a key, an aggregate or a query is needed to say it."""
        if isinstance(node, Settled):
            value: Typed = node.value
            return value
        key = self._key(node)
        if key is not None:
            return key
        if isinstance(node, Given):
            raise query_error(node, f"Expression '{_label(node)}' is not being grouped.")
        if isinstance(node, base.Identifier):
            return self._visible(self._grouping.rows.scope.find(node.parts, node), node)
        function = aggregate_of(node)
        if function is not None:
            return self._grouping.aggregate(node, function)
        if isinstance(node, sql.FunctionCall) and is_grouping(node):
            return self._grouping.grouping(node)
        return self._grouping.window_property(node) or super().known(node)

    def _key(self, node: base.Expression) -> Typed | None:
        if isinstance(node, Given):
            return self._grouping.key_column(node.value)
        if isinstance(node, sql.Star) or has_aggregate(node) or any(map(_asks_more, within(node))):
            return None
        try:
            value = self._grouping.rows.typed(node)
        except QueryError:
            return None  # a part of it will say what is wrong
        return self._grouping.key_column(value)

    def _visible(self, value: Typed, node: base.Node) -> Typed:
        """A value of the rows, as the groups have it: it is a key, it is made of keys, or it comes from outside."""

        def change(each: Typed) -> Typed | None:
            key = self._grouping.key_column(each)
            if key is None and isinstance(each, ColumnValue):
                name = ".".join(node.parts) if isinstance(node, base.Identifier) else each.name
                raise query_error(node, f"Expression '{name}' is not being grouped.")
            return key if key is not None or not isinstance(each, OuterColumn) else each

        return mapped(value, change)


def _label(node: Given) -> str:
    return str(getattr(node.value, "name", node.value.type))


def _asks_more(node: base.Node) -> bool:
    """Whether it is more than an expression over a row: it has a query or OVER in it."""
    if isinstance(node, (sql.Subquery, sql.InQuery, sql.Quantified)):
        return True
    if not isinstance(node, sql.FunctionCall):
        return False
    return node.over is not None or node.name.simple.upper() in _AUXILIARIES
