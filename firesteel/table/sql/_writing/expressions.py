"""Expressions, as text: with as few parentheses as the precedence of the operators allows."""

from __future__ import annotations

from collections.abc import Iterable

from firesteel.table.sql._writing.registry import words, write, write_all, write_name, write_names, write_string, writes
from firesteel.table.sql.keywords import FUNCTION_NAMES, NON_RESERVED
from firesteel.table.sql.nodes.base import Expression, Identifier, Node, Query
from firesteel.table.sql.nodes.expressions import (
    Between,
    BinaryLiteral,
    BooleanLiteral,
    Case,
    Cast,
    Constructor,
    ContextVariable,
    Cursor,
    DateTimeLiteral,
    DefaultValue,
    Extract,
    FieldAccess,
    FrameBound,
    FunctionCall,
    Infix,
    InList,
    InQuery,
    IntervalExpression,
    IntervalLiteral,
    Item,
    JdbcCall,
    Like,
    ModelReference,
    NamedArgument,
    NewObject,
    NullLiteral,
    NumberLiteral,
    OrderItem,
    Parameter,
    Postfix,
    Prefix,
    Quantified,
    Row,
    SequenceValue,
    Star,
    StringLiteral,
    Subquery,
    TableArgument,
    TimeUnit,
    Transcode,
    Trim,
    WindowSpecification,
)
from firesteel.table.sql.operators import COMPARISON, INFIX, ITEM, MULTISET, POSTFIX, PREDICATE, PREFIXES

_ATOM = 200
_CONSTRUCTORS = {"MAP", "PERIOD"}  # what follows them in parentheses are not arguments
# Calls whose name is a keyword and whose parentheses have a syntax of their own.
_OWN_SYNTAX = {
    *("FLOOR", "CEIL", "CEILING", "SUBSTRING", "OVERLAY", "POSITION", "TRANSLATE", "CONTAINS_SUBSTR"),
    *("TIMESTAMPADD", "TIMESTAMPDIFF", "DATE_DIFF", "DATETIME_DIFF", "TIMESTAMP_DIFF", "TIME_DIFF"),
    *("DATE_TRUNC", "DATETIME_TRUNC", "TIMESTAMP_TRUNC", "TIME_TRUNC", "DATE", "TIME", "DATETIME", "TIMESTAMP"),
    *("FIRST", "LAST", "PREV", "NEXT", "TUMBLE", "HOP", "SESSION", "CLASSIFIER", "MATCH_NUMBER"),
    *("ARRAY_AGG", "ARRAY_CONCAT_AGG", "GROUP_CONCAT", "STRING_AGG", "INSERT"),
}


def _precedence(node: Node) -> int:
    if isinstance(node, Infix):
        multiset = node.operator.startswith("MULTISET")
        return MULTISET[node.operator.split()[1]] if multiset else INFIX.get(node.operator, COMPARISON)
    if isinstance(node, Prefix):
        return PREFIXES.get(node.operator, _ATOM)
    if isinstance(node, Postfix):
        return POSTFIX
    if isinstance(node, Quantified):  # read like the comparison it begins with
        return COMPARISON
    if isinstance(node, (Between, Like, InList, InQuery)):
        return PREDICATE
    return ITEM if isinstance(node, (Item, FieldAccess)) else _ATOM


def _operand(node: Expression, minimum: int) -> str:
    text = write(node)
    return f"({text})" if _precedence(node) < minimum else text


@writes(NumberLiteral)
def _number(node: NumberLiteral) -> str:
    exact = not node.approximate and any(each in node.text for each in "eE+-")
    return f"DECIMAL '{node.text}'" if exact else node.text


@writes(StringLiteral)
def _string(node: StringLiteral) -> str:
    text = write_string(node.value)
    return text if node.character_set is None else f"_{node.character_set}{text}"


@writes(BinaryLiteral)
def _binary(node: BinaryLiteral) -> str:
    return f"X'{node.digits}'"


@writes(BooleanLiteral)
def _boolean(node: BooleanLiteral) -> str:
    return {True: "TRUE", False: "FALSE", None: "UNKNOWN"}[node.value]


@writes(NullLiteral)
def _null(node: NullLiteral) -> str:
    return "NULL"


@writes(DateTimeLiteral)
def _date_time(node: DateTimeLiteral) -> str:
    kind = "TIMESTAMP WITH LOCAL TIME ZONE" if node.kind == "TIMESTAMP_LTZ" else node.kind
    return f"{kind} {write_string(node.text)}"


@writes(IntervalLiteral)
def _interval(node: IntervalLiteral) -> str:
    sign = "-" if node.negative else ""
    return f"INTERVAL {sign}{write_string(node.text)} {write(node.qualifier)}"


@writes(IntervalExpression)
def _interval_expression(node: IntervalExpression) -> str:
    if isinstance(node.value, Infix) and node.value.operator == "-":
        return f"({write(node.value)}) {write(node.qualifier)}"
    if isinstance(node.value, Prefix) and node.value.operator == "-":
        return f"INTERVAL -{_interval_value(node.value.operand)} {write(node.qualifier)}"
    return f"INTERVAL {_interval_value(node.value)} {write(node.qualifier)}"


def _interval_value(node: Expression) -> str:
    plain = isinstance(node, (NumberLiteral, Identifier))
    return write(node) if plain else f"({write(node)})"


@writes(TimeUnit)
def _time_unit(node: TimeUnit) -> str:
    return node.name


@writes(Star)
def _star(node: Star) -> str:
    return ".".join([*map(write_name, node.prefix), "*"])


@writes(Parameter)
def _parameter(node: Parameter) -> str:
    return "?"


@writes(DefaultValue)
def _default(node: DefaultValue) -> str:
    return "DEFAULT"


@writes(ContextVariable)
def _context_variable(node: ContextVariable) -> str:
    return node.name


@writes(Prefix)
def _prefix(node: Prefix) -> str:
    blank = "" if node.operator in "+-" and not isinstance(node.operand, Prefix) else " "
    return f"{node.operator}{blank}{_operand(node.operand, _precedence(node) if node.operator in PREFIXES else 0)}"


@writes(Postfix)
def _postfix(node: Postfix) -> str:
    return f"{_operand(node.operand, POSTFIX)} {node.operator}"


@writes(Infix)
def _infix(node: Infix) -> str:
    # A long chain of the same operator is written without a call for each of its links.
    precedence = _precedence(node)
    tail: list[str] = []
    left: Expression = node
    while isinstance(left, Infix) and _precedence(left) == precedence:
        tail.append(f"{left.operator} {_operand(left.right, precedence + 1)}")
        left = left.left
    return " ".join([_operand(left, precedence), *reversed(tail)])


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


@writes(Between)
def _between(node: Between) -> str:
    bounds = f"{_operand(node.lower, PREDICATE + 1)} AND {_operand(node.upper, PREDICATE + 1)}"
    symmetric = "SYMMETRIC " if node.symmetric else ""
    return f"{_operand(node.operand, PREDICATE + 1)} {_not(node.negated)}BETWEEN {symmetric}{bounds}"


@writes(Like)
def _like(node: Like) -> str:
    text = f"{_operand(node.operand, PREDICATE + 1)} {_not(node.negated)}{node.operator} "
    text += _operand(node.pattern, PREDICATE + 1)
    return text if node.escape is None else f"{text} ESCAPE {_operand(node.escape, _ATOM)}"


@writes(InList)
def _in_list(node: InList) -> str:
    return f"{_operand(node.operand, PREDICATE + 1)} {_not(node.negated)}IN ({write_all(node.values)})"


@writes(InQuery)
def _in_query(node: InQuery) -> str:
    return f"{_operand(node.operand, PREDICATE + 1)} {_not(node.negated)}IN ({write(node.query)})"


@writes(Quantified)
def _quantified(node: Quantified) -> str:
    inside = write(node.values) if isinstance(node.values, Query) else write_all(node.values)
    return f"{_operand(node.operand, PREDICATE + 1)} {node.operator} {node.quantifier} ({inside})"


@writes(Subquery)
def _subquery(node: Subquery) -> str:
    return f"({write(node.query)})"


@writes(Case)
def _case(node: Case) -> str:
    branches = [f"WHEN {write_all(each.conditions)} THEN {write(each.result)}" for each in node.branches]
    operand = None if node.operand is None else write(node.operand)
    otherwise = None if node.otherwise is None else f"ELSE {write(node.otherwise)}"
    return words("CASE", operand, *branches, otherwise, "END")


@writes(Cast)
def _cast(node: Cast) -> str:
    return f"{node.function}({write(node.operand)} AS {write(node.type)})"


@writes(Row)
def _row(node: Row) -> str:
    return f"ROW({write_all(node.values)})"


@writes(Constructor)
def _constructor(node: Constructor) -> str:
    if isinstance(node.values, Query):
        return f"{node.kind}({write(node.values)})"
    brackets = "()" if node.kind == "PERIOD" else "[]"
    return f"{node.kind}{brackets[0]}{write_all(node.values)}{brackets[1]}"


@writes(Item)
def _item(node: Item) -> str:
    return f"{_operand(node.container, ITEM)}[{words(node.mode, _indexed(node))}]"


def _indexed(node: Item) -> str:
    return write(node.index) if node.mode is None else f"({write(node.index)})"


@writes(FieldAccess)
def _field_access(node: FieldAccess) -> str:
    bare = isinstance(node.container, (FieldAccess, FunctionCall, Item))
    container = write(node.container) if bare else f"({write(node.container)})"
    return f"{container}.{write(node.member)}"


@writes(OrderItem)
def _order_item(node: OrderItem) -> str:
    nulls = {None: None, True: "NULLS FIRST", False: "NULLS LAST"}[node.nulls_first]
    return words(write(node.expression), "DESC" if node.descending else None, nulls)


def order_by(items: Iterable[OrderItem]) -> str | None:
    """ORDER BY and its items, if there are any."""
    text = write_all(items)
    return f"ORDER BY {text}" if text else None


def partition_by(keys: Iterable[Expression]) -> str | None:
    """PARTITION BY and its keys, if there are any."""
    text = write_all(keys)
    return f"PARTITION BY {text}" if text else None


@writes(FrameBound)
def _frame_bound(node: FrameBound) -> str:
    if node.kind == "CURRENT ROW":
        return node.kind
    return f"{'UNBOUNDED' if node.offset is None else write(node.offset)} {node.kind}"


@writes(WindowSpecification)
def _window(node: WindowSpecification) -> str:
    frame = None
    if node.frame is not None and node.lower is not None:
        between = f"BETWEEN {write(node.lower)} AND {write(node.upper)}" if node.upper is not None else None
        frame = f"{node.frame} {between or write(node.lower)}"
    partial = {None: None, True: "ALLOW PARTIAL", False: "DISALLOW PARTIAL"}[node.allow_partial]
    name = None if node.reference is None else write_name(node.reference)
    return f"({words(name, partition_by(node.partition_by), order_by(node.order_by), frame, partial)})"


@writes(NamedArgument)
def _named_argument(node: NamedArgument) -> str:
    name = node.name if node.name == "JSON_SCOPE" else write_name(node.name)
    return f"{name} => {write(node.value)}"


@writes(TableArgument)
def _table_argument(node: TableArgument) -> str:
    table = f"({write(node.table)})" if isinstance(node.table, Query) else f"TABLE {write(node.table)}"
    partition = f"PARTITION BY {write_names(node.partition_by)}" if node.partition_by else None
    order = f"ORDER BY ({write_all(node.order_by)})" if node.order_by else None
    return words(table, partition, order)


@writes(ModelReference)
def _model(node: ModelReference) -> str:
    return f"MODEL {write(node.name)}"


@writes(Cursor)
def _cursor(node: Cursor) -> str:
    return f"CURSOR ({write(node.query)})"


def _function_name(node: FunctionCall) -> str:
    word = node.name.simple.upper()
    known = word in FUNCTION_NAMES or word in _OWN_SYNTAX or (word in NON_RESERVED and word not in _CONSTRUCTORS)
    bare = len(node.name.parts) == 1 and known
    return node.name.simple if bare else write(node.name)


def _arguments(node: FunctionCall) -> str:
    word = node.name.simple.upper()
    if word in ("FLOOR", "CEIL", "CEILING") and len(node.arguments) == 2 and isinstance(node.arguments[1], TimeUnit):
        return f"{write(node.arguments[0])} TO {write(node.arguments[1])}"
    if word == "POSITION":
        rest = [f"FROM {write(each)}" for each in node.arguments[2:]]
        return words(f"{_operand(node.arguments[0], _ATOM)} IN {write(node.arguments[1])}", *rest)
    if word == "OVERLAY":
        parts = zip(("", "PLACING ", "FROM ", "FOR "), node.arguments)
        return " ".join(f"{each}{write(argument)}" for each, argument in parts)
    return write_all(node.arguments)


@writes(FunctionCall)
def _function_call(node: FunctionCall) -> str:
    separator = None if node.separator is None else f"SEPARATOR {write_string(node.separator)}"
    inside = words(node.quantifier, _arguments(node), order_by(node.order_by), separator)
    distinct = f"WITHIN DISTINCT ({write_all(node.within_distinct)})" if node.within_distinct else None
    group = f"WITHIN GROUP ({order_by(node.within_group)})" if node.within_group else None
    condition = None if node.filter is None else f"FILTER (WHERE {write(node.filter)})"
    over = None
    if node.over is not None:
        over = f"OVER {write_name(node.over) if isinstance(node.over, str) else write(node.over)}"
    call = f"{'SPECIFIC ' if node.specific else ''}{_function_name(node)}({inside})"
    return words(call, node.null_treatment, distinct, group, condition, over)


@writes(JdbcCall)
def _jdbc(node: JdbcCall) -> str:
    return f"{{fn {write(node.call)}}}"


@writes(Trim)
def _trim(node: Trim) -> str:
    characters = None if node.characters is None else write(node.characters)
    return f"TRIM({words(node.side, characters)} FROM {write(node.operand)})"


@writes(Extract)
def _extract(node: Extract) -> str:
    return f"EXTRACT({write(node.unit)} FROM {write(node.operand)})"


@writes(Transcode)
def _transcode(node: Transcode) -> str:
    sets = [write_name(each) for each in node.character_sets]
    if len(sets) == 1:
        return f"{node.function}({write(node.operand)} USING {sets[0]})"
    return f"{node.function}({', '.join([write(node.operand), *sets])})"


@writes(SequenceValue)
def _sequence(node: SequenceValue) -> str:
    return f"{node.which} VALUE FOR {write(node.sequence)}"


@writes(NewObject)
def _new(node: NewObject) -> str:
    return f"NEW {write(node.call)}"
