"""Expressions as they are written: operators, calls, literals, constructors."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.table.sql.nodes.base import Expression, Identifier, Node, Query, TypeNode
from firesteel.table.sql.nodes.types import IntervalQualifier


@dataclass(frozen=True)
class NumberLiteral(Expression):
    """A number as its digits; ``approximate`` if it has an exponent."""

    text: str
    approximate: bool = False


@dataclass(frozen=True)
class StringLiteral(Expression):
    """A text; ``character_set`` only where a prefix like ``_UTF8`` names one."""

    value: str
    character_set: str | None = None


@dataclass(frozen=True)
class BinaryLiteral(Expression):
    """Bytes, as hexadecimal digits: ``x'0aff'``."""

    digits: str


@dataclass(frozen=True)
class BooleanLiteral(Expression):
    """TRUE, FALSE, or UNKNOWN, which is None."""

    value: bool | None


@dataclass(frozen=True)
class NullLiteral(Expression):
    """NULL."""


@dataclass(frozen=True)
class DateTimeLiteral(Expression):
    """``DATE '2024-01-01'``: ``kind`` is DATE, TIME, TIMESTAMP, TIMESTAMP_LTZ or DATETIME."""

    kind: str
    text: str


@dataclass(frozen=True)
class IntervalLiteral(Expression):
    """``INTERVAL '1' DAY``."""

    text: str
    qualifier: IntervalQualifier
    negative: bool = False


@dataclass(frozen=True)
class IntervalExpression(Expression):
    """``INTERVAL x DAY``: an interval whose length is an expression."""

    value: Expression
    qualifier: IntervalQualifier


@dataclass(frozen=True)
class TimeUnit(Expression):
    """The unit in ``FLOOR(t TO DAY)``, ``EXTRACT(DAY FROM t)``, ``TIMESTAMPADD(DAY, 1, t)``."""

    name: str


@dataclass(frozen=True)
class Star(Expression):
    """``*``, or ``t.*`` with a prefix."""

    prefix: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parameter(Expression):
    """``?``, numbered from 0 in the order of the text."""

    index: int


@dataclass(frozen=True)
class DefaultValue(Expression):
    """DEFAULT in the place of an argument or of a value."""


@dataclass(frozen=True)
class ContextVariable(Expression):
    """``CURRENT_DATE``, ``LOCALTIMESTAMP`` and the like, without parentheses."""

    name: str


@dataclass(frozen=True)
class Prefix(Expression):
    """An operator before its operand: ``-``, ``+``, NOT, EXISTS, UNIQUE, RUNNING, FINAL."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Postfix(Expression):
    """An operator behind its operand: IS NULL, IS NOT TRUE, IS JSON OBJECT, FORMAT JSON, ..."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Infix(Expression):
    """An operator between its operands: arithmetic, comparison, AND, OR, ``||``, MULTISET UNION, ..."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Between(Expression):
    """``x [NOT] BETWEEN [SYMMETRIC] a AND b``."""

    operand: Expression
    lower: Expression
    upper: Expression
    negated: bool = False
    symmetric: bool = False


@dataclass(frozen=True)
class Like(Expression):
    """``x [NOT] LIKE pattern [ESCAPE e]``; ``operator`` is LIKE, ILIKE, RLIKE or SIMILAR TO."""

    operator: str
    operand: Expression
    pattern: Expression
    escape: Expression | None = None
    negated: bool = False


@dataclass(frozen=True)
class InList(Expression):
    """``x [NOT] IN (a, b)``."""

    operand: Expression
    values: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True)
class InQuery(Expression):
    """``x [NOT] IN (SELECT ...)``."""

    operand: Expression
    query: Query
    negated: bool = False


@dataclass(frozen=True)
class Quantified(Expression):
    """``x > ALL (...)``, ``x = SOME (...)``: of a list or of one query."""

    operator: str
    quantifier: str
    operand: Expression
    values: tuple[Expression, ...] | Query


@dataclass(frozen=True)
class Subquery(Expression):
    """A query where a value is expected, or behind EXISTS."""

    query: Query


@dataclass(frozen=True)
class When(Node):
    """A branch of CASE; several conditions are alternatives."""

    conditions: tuple[Expression, ...]
    result: Expression


@dataclass(frozen=True)
class Case(Expression):
    """``CASE [operand] WHEN ... THEN ... [ELSE ...] END``."""

    operand: Expression | None
    branches: tuple[When, ...]
    otherwise: Expression | None = None


@dataclass(frozen=True)
class Cast(Expression):
    """``CAST(x AS t)``; ``function`` is CAST, TRY_CAST or SAFE_CAST."""

    function: str
    operand: Expression
    type: TypeNode


@dataclass(frozen=True)
class Row(Expression):
    """``ROW(a, b)`` or ``(a, b)``."""

    values: tuple[Expression, ...]


@dataclass(frozen=True)
class Constructor(Expression):
    """``ARRAY[a]``, ``MAP[k, v]``, ``MULTISET[a]``, ``PERIOD (a, b)``; or of one query, as ``ARRAY(SELECT ...)``."""

    kind: str
    values: tuple[Expression, ...] | Query


@dataclass(frozen=True)
class Item(Expression):
    """``a[i]``; ``mode`` is OFFSET, ORDINAL, SAFE_OFFSET, SAFE_ORDINAL or nothing."""

    container: Expression
    index: Expression
    mode: str | None = None


@dataclass(frozen=True)
class FieldAccess(Expression):
    """``(row).name``, ``f(x).name``, ``a[1].name``, or a call on a value."""

    container: Expression
    member: Expression


@dataclass(frozen=True)
class OrderItem(Node):
    """``x [DESC] [NULLS FIRST | NULLS LAST]``; ``nulls_first`` is None where nothing is said."""

    expression: Expression
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True)
class FrameBound(Node):
    """``UNBOUNDED PRECEDING``, ``x FOLLOWING``, ``CURRENT ROW``.

    ``kind`` is PRECEDING, FOLLOWING or CURRENT ROW; no offset means unbounded.
    """

    kind: str
    offset: Expression | None = None


@dataclass(frozen=True)
class WindowSpecification(Node):
    """What stands in the parentheses of OVER or of a WINDOW clause."""

    reference: str | None = None
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    frame: str | None = None  # ROWS or RANGE
    lower: FrameBound | None = None
    upper: FrameBound | None = None
    allow_partial: bool | None = None


@dataclass(frozen=True)
class NamedArgument(Expression):
    """``name => value``."""

    name: str
    value: Expression


@dataclass(frozen=True)
class TableArgument(Expression):
    """A table given to a function: ``TABLE t``, or a query, with how it is partitioned and ordered."""

    table: Identifier | Query
    partition_by: tuple[str, ...] = ()
    order_by: tuple[OrderItem, ...] = ()


@dataclass(frozen=True)
class ModelReference(Expression):
    """``MODEL m`` as an argument."""

    name: Identifier


@dataclass(frozen=True)
class Cursor(Expression):
    """``CURSOR (SELECT ...)``."""

    query: Query


@dataclass(frozen=True)
class FunctionCall(Expression):
    """A call, with all that may follow the parentheses of an aggregate.

    Functions with a syntax of their own are brought into this shape where nothing is lost by it:
    ``SUBSTRING(a FROM 1 FOR 2)``, ``POSITION(a IN b)``, ``OVERLAY(a PLACING b FROM 1)``, ``FLOOR(t TO DAY)``,
    ``TIMESTAMPADD(DAY, 1, t)``.
    """

    name: Identifier
    arguments: tuple[Expression, ...] = ()
    quantifier: str | None = None  # DISTINCT or ALL
    order_by: tuple[OrderItem, ...] = ()  # inside the parentheses
    separator: str | None = None
    null_treatment: str | None = None  # IGNORE NULLS or RESPECT NULLS
    within_distinct: tuple[Expression, ...] = ()
    within_group: tuple[OrderItem, ...] = ()
    filter: Expression | None = None
    over: str | WindowSpecification | None = None
    specific: bool = False


@dataclass(frozen=True)
class JdbcCall(Expression):
    """``{fn name(a, b)}``."""

    call: FunctionCall


@dataclass(frozen=True)
class Trim(Expression):
    """``TRIM([BOTH | LEADING | TRAILING] [characters] FROM x)``."""

    operand: Expression
    side: str = "BOTH"
    characters: Expression | None = None


@dataclass(frozen=True)
class Extract(Expression):
    """``EXTRACT(DAY FROM t)``."""

    unit: TimeUnit
    operand: Expression


@dataclass(frozen=True)
class Transcode(Expression):
    """``CONVERT(x USING s)``, ``TRANSLATE(x USING s)``, ``CONVERT(x, from, to)``."""

    function: str
    operand: Expression
    character_sets: tuple[str, ...]


@dataclass(frozen=True)
class SequenceValue(Expression):
    """``NEXT VALUE FOR s``, ``CURRENT VALUE FOR s``."""

    which: str
    sequence: Identifier


@dataclass(frozen=True)
class NewObject(Expression):
    """``NEW t(a, b)``."""

    call: FunctionCall


@dataclass(frozen=True)
class JsonBehavior(Node):
    """``DEFAULT 1 ON EMPTY``, ``NULL ON ERROR``: ``action`` on ``event``."""

    action: str
    event: str
    default: Expression | None = None


@dataclass(frozen=True)
class JsonPassing(Node):
    """``PASSING x AS name``."""

    value: Expression
    name: str


@dataclass(frozen=True)
class JsonRead(Expression):
    """JSON_EXISTS, JSON_VALUE and JSON_QUERY."""

    function: str
    document: Expression
    path: Expression
    passing: tuple[JsonPassing, ...] = ()
    returning: TypeNode | None = None
    wrapper: str | None = None  # WITHOUT, CONDITIONAL or UNCONDITIONAL
    behaviors: tuple[JsonBehavior, ...] = ()


@dataclass(frozen=True)
class JsonPair(Node):
    """``KEY k VALUE v``."""

    key: Expression
    value: Expression


@dataclass(frozen=True)
class JsonObject(Expression):
    """JSON_OBJECT, and JSON_OBJECTAGG, which has one pair."""

    function: str
    pairs: tuple[JsonPair, ...] = ()
    on_null: str | None = None  # NULL or ABSENT


@dataclass(frozen=True)
class JsonArray(Expression):
    """JSON_ARRAY, and JSON_ARRAYAGG, which has one value."""

    function: str
    values: tuple[Expression, ...] = ()
    on_null: str | None = None
    order_by: tuple[OrderItem, ...] = ()
    within_group: tuple[OrderItem, ...] = ()
