"""What the expressions of a query mean: names by its scope, sub-queries by its resolver, calls with OVER apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from firesteel.errors import ProgramError, UnsupportedError
from firesteel.table.from_sql import Given, MeaningError, expression_of
from firesteel.table.functions import Argument, Call, Function, FunctionError, FunctionKind, Session, find_function
from firesteel.table.logical.errors import QueryError, query_error
from firesteel.table.logical.plan import (
    ExistsQuery,
    InQuery,
    OverBound,
    OverCall,
    OverWindow,
    QuantifiedQuery,
    Relation,
    ScalarQuery,
    SortKey,
)
from firesteel.table.logical.rewriting import children, replaced, within
from firesteel.table.logical.scope import Scope
from firesteel.table.resolution import ColumnValue, ConstantValue, Typed, resolve
from firesteel.table.sql.nodes import base
from firesteel.table.sql.nodes import expressions as sql
from firesteel.table.tree import Apply, Known, Node
from firesteel.table.types import (
    BooleanType,
    DataType,
    DataTypes,
    IntegralType,
    IntervalType,
    NullType,
    NumericType,
    RowField,
)

__all__ = ["Expressions", "Overs", "Queries", "aggregate_of", "is_grouping", "typed_call"]

_GROUPING = {"GROUPING", "GROUPING_ID", "GROUP_ID"}
_JSON_AGGREGATES = {"JSON_OBJECTAGG", "JSON_ARRAYAGG"}
# Of these Flink knows that a group with rows has a value, if its rows all have one.
_NOT_NULL_OF_ROWS = {"SUM", "AVG", "MIN", "MAX", "STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP"}
_NOT_NULL_OF_FRAMES = {"FIRST_VALUE", "LAST_VALUE"}
_RANKS = {"RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST"}
_WORDS = ("PRECEDING", "CURRENT ROW", "FOLLOWING")


class Queries(Protocol):
    """Who resolves the queries in an expression."""

    session: Session

    def subquery(self, query: base.Query, scope: Scope) -> Relation:
        """The plan of a query that can see a scope around it."""


def _function(node: base.Expression) -> Function | None:
    if isinstance(node, (sql.JsonObject, sql.JsonArray)):
        return find_function(node.function) if node.function in _JSON_AGGREGATES else None
    if not isinstance(node, sql.FunctionCall) or len(node.name.parts) > 1:
        return None
    try:
        return find_function(node.name.simple)
    except FunctionError:
        return None


def is_grouping(node: base.Expression) -> bool:
    """Whether it is a call of GROUPING and its kin."""
    return isinstance(node, sql.FunctionCall) and node.name.simple.upper() in _GROUPING


def aggregate_of(node: base.Expression) -> Function | None:
    """The aggregate that an expression is a call of, without OVER."""
    function = _function(node)
    over = isinstance(node, sql.FunctionCall) and node.over is not None
    return function if function is not None and function.kind is FunctionKind.AGGREGATE and not over else None


def has_aggregate(node: base.Node) -> bool:
    """Whether an aggregate, or GROUPING, is called somewhere in an expression; what has OVER is none, its parts may."""
    return any(
        isinstance(part, base.Expression) and (aggregate_of(part) is not None or is_grouping(part))
        for part in within(node)
    )


def typed_call(
    node: base.Expression,
    function: Function,
    typed: Callable[[base.Expression], Typed],
    session: Session,
    always_rows: bool,
) -> tuple[Call, tuple[Typed, ...], DataType]:
    """A call of an aggregate or of a function of windows: what it gets, and of which type its value is.

    `always_rows` says that it never sees no rows at all.
    """
    _refuse_options(node)
    arguments = _arguments(node, typed)
    known = (Argument(each.type, isinstance(each, ConstantValue), getattr(each, "value", None)) for each in arguments)
    call = Call(function.name, tuple(known), session)
    try:
        result = function.infer(call)
    except FunctionError as error:
        raise query_error(node, str(error)) from None
    if always_rows and function.name in _NOT_NULL_OF_ROWS:
        result = result.with_nullability(call.nullable)
    return replace(call, result=result), arguments, result


def _refuse_options(node: base.Expression) -> None:
    """What Flink's parser reads behind a call, but nothing here gives a meaning."""
    if not isinstance(node, sql.FunctionCall):
        return
    given = {
        "WITHIN DISTINCT": node.within_distinct,
        "IGNORE NULLS": node.null_treatment == "IGNORE NULLS",
        "SEPARATOR": node.separator,
        "ORDER BY in a call with OVER": node.over is not None and (node.order_by or node.within_group),
    }
    for name, there in given.items():
        if there:
            raise UnsupportedError(str(query_error(node, f"{name} is not supported.")))


def _arguments(node: base.Expression, typed: Callable[[base.Expression], Typed]) -> tuple[Typed, ...]:
    if isinstance(node, sql.FunctionCall):
        given = [] if node.arguments == (sql.Star(),) else node.arguments
        return tuple(map(typed, given))
    # JSON's aggregates have keywords among their arguments, which only the conversion knows.
    shape = expression_of(replaced(node, lambda part: None if part is node else typed(part)))
    assert isinstance(shape, Apply)
    return tuple(resolve(each) for each in shape.arguments)


class Overs:
    """The calls with OVER of a query, which stand behind the columns of its rows."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.calls: list[OverCall] = []
        self.fields: list[RowField] = []

    def add(self, call: OverCall, result: DataType) -> ColumnValue:
        """The column that a call gets; the same call gets the same one."""
        if call not in self.calls:
            self.calls.append(call)
            self.fields.append(RowField(f"$over{len(self.calls) - 1}", result))
        at = self.calls.index(call)
        return ColumnValue(self.fields[at].data_type, self.width + at, self.fields[at].name)


class Expressions:
    """Resolves expressions over the rows of a FROM clause.

    :param clause: where they stand, for messages.
    :param overs: where calls with OVER go; None if they may not stand there.
    """

    def __init__(
        self,
        scope: Scope,
        queries: Queries,
        clause: str,
        overs: Overs | None = None,
        windows: dict[str, sql.WindowSpecification] | None = None,
    ) -> None:
        self.scope = scope
        self.clause = clause
        self.overs = overs
        self._queries = queries
        self._windows = windows or {}

    def typed(self, node: base.Expression) -> Typed:
        """What an expression means."""
        return self._meaning(replaced(node, self.known))

    def condition(self, node: base.Expression) -> Typed:
        """What a condition means; it is true, false or unknown."""
        value = self.typed(node)
        if not isinstance(value.type, (BooleanType, NullType)):
            raise query_error(node, f"{self.clause} clause must be a condition, it is {value.type}.")
        return value

    def _meaning(self, node: base.Expression) -> Typed:
        if isinstance(node, Given):
            value: Typed = node.value
            return value
        try:
            return self._resolve(expression_of(node))
        except (QueryError, MeaningError):
            raise
        except ProgramError as error:
            raise self._located(node, error) from None

    def _resolve(self, node: Node) -> Typed:
        return resolve(node, (), self._queries.session)

    def _located(self, node: base.Node, error: ProgramError) -> QueryError:
        """The error at the smallest part of the expression that has it by itself."""
        for part in children(node):
            if isinstance(part, base.Expression) and not isinstance(part, Given):
                try:
                    self._resolve(expression_of(part))
                except MeaningError:
                    continue  # it means something only where it stands
                except ProgramError as inner:
                    return self._located(part, inner)
            elif not isinstance(part, base.Expression):
                found = self._located(part, error)
                if found.args[0] != query_error(part, str(error)).args[0]:
                    return found
        return query_error(node, str(error))

    def known(self, node: base.Expression) -> Typed | None:
        """What a part of an expression means, if a query is needed to say it."""
        if isinstance(node, Given):
            value: Typed = node.value
            return value
        if isinstance(node, base.Identifier):
            return self.scope.find(node.parts, node)
        if isinstance(node, sql.FunctionCall) and node.over is not None:
            return self.over(node)
        if isinstance(node, sql.Star):
            raise query_error(node, "'*' cannot stand here.")
        self._refuse_aggregates(node)
        return self.of_query(node)

    def _refuse_aggregates(self, node: base.Expression) -> None:
        function = _function(node)
        if is_grouping(node):
            raise query_error(node, f"{_name(node)} operator may only occur in an aggregate query.")
        if function is None or function.kind is FunctionKind.SCALAR:
            return
        if function.kind is FunctionKind.WINDOW:
            raise query_error(node, f"OVER clause is necessary for window functions such as {function.name}.")
        if function.kind is FunctionKind.AGGREGATE:
            raise query_error(node, f"Aggregate expression is illegal in {self.clause} clause.")

    # Sub-queries

    def of_query(self, node: base.Expression) -> Typed | None:
        """What an expression with a query in it means; of any other, None."""
        if isinstance(node, sql.Subquery):
            return self._scalar(node)
        if isinstance(node, sql.Prefix) and node.operator == "EXISTS" and isinstance(node.operand, sql.Subquery):
            return ExistsQuery(DataTypes.BOOLEAN(False), self._queries.subquery(node.operand.query, self.scope))
        if isinstance(node, sql.InQuery):
            return self._in(node)
        if isinstance(node, sql.Quantified):
            return self._quantified(node)
        return None

    def _scalar(self, node: sql.Subquery) -> Typed:
        query = self._queries.subquery(node.query, self.scope)
        if len(query.fields) != 1:
            raise query_error(node, f"a query in the place of a value has one column, this one has {_names(query)}.")
        return ScalarQuery(query.fields[0].data_type.nullable(), query)

    def _in(self, node: sql.InQuery) -> Typed:
        operands = node.operand.values if isinstance(node.operand, sql.Row) else (node.operand,)
        values = tuple(map(self.typed, operands))
        query = self._queries.subquery(node.query, self.scope)
        if len(values) != len(query.fields):
            raise query_error(
                node,
                f"Values passed to IN operator must have compatible types: {len(values)} on the left, "
                f"the query has {_names(query)}.",
            )
        compared = [self._compared("=", one, query.fields[at].data_type, node) for at, one in enumerate(values)]
        result = DataTypes.BOOLEAN().with_nullability(any(each.type.is_nullable for each in compared))
        return InQuery(result, values, query, node.negated)

    def _quantified(self, node: sql.Quantified) -> Typed:
        if not isinstance(node.values, base.Query):
            return self.typed(_spelled_out(node, node.values))
        operand = self.typed(node.operand)
        query = self._queries.subquery(node.values, self.scope)
        if len(query.fields) != 1:
            raise query_error(node, f"the query of {node.quantifier} has one column, this one has {_names(query)}.")
        compared = self._compared(node.operator, operand, query.fields[0].data_type, node)
        return QuantifiedQuery(compared.type, node.operator, node.quantifier, operand, query)

    def _compared(self, operator: str, value: Typed, other: DataType, node: base.Node) -> Typed:
        try:
            return self._resolve(Apply(operator, (Known(value), Known(ColumnValue(other, 0, "")))))
        except ProgramError as error:
            raise query_error(node, str(error)) from None

    # OVER

    def over(self, node: sql.FunctionCall) -> Typed:
        """The column that a call with OVER gets."""
        assert node.over is not None
        function = _function(node)
        if function is None or function.kind not in {FunctionKind.AGGREGATE, FunctionKind.WINDOW}:
            raise query_error(node, f"OVER must be applied to aggregate function, {node.name} is none.")
        if self.overs is None:
            raise query_error(node, f"Windowed aggregate expression is illegal in {self.clause} clause.")
        overs, self.overs = self.overs, None
        try:
            window = self._window(self._specification(node.over, node), function)
            condition = None if node.filter is None else self.condition(node.filter)
            call, arguments, result = typed_call(node, function, self.typed, self._queries.session, condition is None)
            if condition is None and function.name in _NOT_NULL_OF_FRAMES:
                result = result.with_nullability(call.nullable)
        finally:
            self.overs = overs
        return overs.add(OverCall(function, call, arguments, window, node.quantifier == "DISTINCT", condition), result)

    def _specification(self, over: str | sql.WindowSpecification, node: base.Node) -> sql.WindowSpecification:
        name = over if isinstance(over, str) else over.reference
        if name is None:
            assert not isinstance(over, str)
            return over
        if name not in self._windows:
            raise query_error(node, f"Window '{name}' not found.")
        base_window = self._specification(self._windows[name], node)
        if isinstance(over, str):
            return base_window
        return replace(
            over,
            reference=None,
            partition_by=over.partition_by or base_window.partition_by,
            order_by=over.order_by or base_window.order_by,
        )

    def _window(self, written: sql.WindowSpecification, function: Function) -> OverWindow:
        upper = written.upper or sql.FrameBound("CURRENT ROW")
        lower = written.lower or sql.FrameBound("PRECEDING")
        frame = written.frame or "RANGE"
        if written.frame is None and not written.order_by:
            upper = sql.FrameBound("FOLLOWING")
        if _WORDS.index(upper.kind) < _WORDS.index(lower.kind):
            raise query_error(written, f"a frame cannot begin with {lower.kind} and end with {upper.kind}.")
        if function.name in _RANKS and not written.order_by:
            raise query_error(written, f"{function.name} requires ORDER BY clause in window specification.")
        if function.kind is FunctionKind.WINDOW and written.frame is not None and function.name != "NTILE":
            raise query_error(written, f"ROW/RANGE not allowed with {function.name} function.")
        keys = tuple(map(self.typed, written.partition_by))
        ends = [self._bound(each, frame) for each in (lower, upper)]
        return OverWindow(keys, self.order(written.order_by), frame, *ends)

    def _bound(self, bound: sql.FrameBound, frame: str) -> OverBound:
        if bound.offset is None:
            return OverBound(bound.kind)
        offset = self.typed(bound.offset)
        wanted = IntegralType if frame == "ROWS" else (NumericType, IntervalType)
        if not isinstance(offset, ConstantValue) or not isinstance(offset.type, wanted) or offset.value < 0:  # type: ignore[operator]
            kinds = "a whole number" if frame == "ROWS" else "a number or an interval"
            raise query_error(bound, f"{frame} takes {kinds} as a literal that is not negative, got {offset.type}.")
        return OverBound(bound.kind, offset)

    def order(self, items: Sequence[sql.OrderItem]) -> tuple[SortKey, ...]:
        """What rows are ordered by; without a word about it NULL is the smallest."""
        return tuple(sort_key(self.typed(item.expression), item) for item in items)


def sort_key(value: Typed, item: sql.OrderItem) -> SortKey:
    """A key as it is written: without a word about NULL it is the smallest."""
    return SortKey(value, item.descending, not item.descending if item.nulls_first is None else item.nulls_first)


def _spelled_out(node: sql.Quantified, values: tuple[base.Expression, ...]) -> base.Expression:
    """``x > ALL (a, b)`` is ``x > a AND x > b``."""
    joined: base.Expression | None = None
    for value in values:
        one = sql.Infix(node.operator, node.operand, value, pos=node.pos)
        word = "AND" if node.quantifier == "ALL" else "OR"
        joined = one if joined is None else sql.Infix(word, joined, one, pos=node.pos)
    assert joined is not None
    return joined


def _name(node: base.Expression) -> str:
    return node.name.simple.upper() if isinstance(node, sql.FunctionCall) else type(node).__name__


def _names(query: Relation) -> str:
    return f"{len(query.fields)}: {', '.join(field.name for field in query.fields)}"
