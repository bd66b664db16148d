"""Queries and what may stand in a FROM clause."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.table.sql.nodes.base import Expression, Identifier, Node, Option, Query, TableReference
from firesteel.table.sql.nodes.expressions import FunctionCall, IntervalLiteral, OrderItem, Row, WindowSpecification


@dataclass(frozen=True)
class Hint(Node):
    """A hint of ``/*+ ... */``: with options, or with names, or with literals, or with nothing."""

    name: str
    options: tuple[Option, ...] = ()
    names: tuple[str, ...] = ()
    literals: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class SelectItem(Node):
    """``x [AS name]``."""

    expression: Expression
    alias: str | None = None


@dataclass(frozen=True)
class GroupingSets(Expression):
    """``GROUPING SETS (...)``."""

    elements: tuple[Expression, ...]


@dataclass(frozen=True)
class Rollup(Expression):
    """``ROLLUP (...)``."""

    elements: tuple[Expression, ...]


@dataclass(frozen=True)
class Cube(Expression):
    """``CUBE (...)``."""

    elements: tuple[Expression, ...]


@dataclass(frozen=True)
class EmptyGroup(Expression):
    """``()``: all rows in one group."""


@dataclass(frozen=True)
class GroupBy(Node):
    """``GROUP BY [DISTINCT] a, ROLLUP (b, c)``."""

    elements: tuple[Expression, ...]
    distinct: bool = False


@dataclass(frozen=True)
class NamedWindow(Node):
    """``WINDOW name AS (...)``."""

    name: str
    window: WindowSpecification


@dataclass(frozen=True)
class Select(Query):
    """``SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... WINDOW ... QUALIFY ...``."""

    items: tuple[SelectItem, ...]
    source: TableReference | None = None
    where: Expression | None = None
    group_by: GroupBy | None = None
    having: Expression | None = None
    windows: tuple[NamedWindow, ...] = ()
    qualify: Expression | None = None
    quantifier: str | None = None  # DISTINCT or ALL
    stream: bool = False
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True)
class Values(Query):
    """``VALUES (1, 'a'), (2, 'b')``."""

    rows: tuple[Row, ...]


@dataclass(frozen=True)
class ExplicitTable(Query):
    """``TABLE t``."""

    table: Identifier


@dataclass(frozen=True)
class SetOperation(Query):
    """``left UNION [ALL] right``; ``operator`` is UNION, INTERSECT or EXCEPT."""

    operator: str
    left: Query
    right: Query
    all: bool = False


@dataclass(frozen=True)
class CommonTable(Node):
    """``name (columns) AS (query)`` of a WITH."""

    name: str
    query: Query
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class With(Query):
    """``WITH a AS (...), b AS (...) body``."""

    tables: tuple[CommonTable, ...]
    body: Query
    recursive: bool = False


@dataclass(frozen=True)
class OrderedQuery(Query):
    """A query with ORDER BY, OFFSET, and LIMIT or FETCH, which are one thing."""

    query: Query
    order_by: tuple[OrderItem, ...] = ()
    offset: Expression | None = None
    fetch: Expression | None = None


@dataclass(frozen=True)
class Table(TableReference):
    """A table by its name, with hints behind it."""

    name: Identifier
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True)
class DerivedTable(TableReference):
    """A query in parentheses."""

    query: Query
    lateral: bool = False


@dataclass(frozen=True)
class TableFunction(TableReference):
    """``TABLE(f(...))``, or ``f(...)`` by itself."""

    call: FunctionCall
    lateral: bool = False


@dataclass(frozen=True)
class Unnest(TableReference):
    """``UNNEST(x) [WITH ORDINALITY]``."""

    values: tuple[Expression, ...]
    ordinality: bool = False


@dataclass(frozen=True)
class Snapshot(TableReference):
    """``t FOR SYSTEM_TIME AS OF x``."""

    table: TableReference
    period: Expression


@dataclass(frozen=True)
class Aliased(TableReference):
    """``t [AS] alias [(columns)]``."""

    table: TableReference
    alias: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Join(TableReference):
    """Two tables; ``kind`` is INNER, LEFT, RIGHT, FULL, CROSS or COMMA."""

    left: TableReference
    right: TableReference
    kind: str
    condition: Expression | None = None
    using: tuple[str, ...] = ()
    natural: bool = False


@dataclass(frozen=True)
class Sample(TableReference):
    """``TABLESAMPLE BERNOULLI (10) [REPEATABLE (1)]``, SYSTEM, or SUBSTITUTE with a name."""

    table: TableReference
    method: str
    argument: Expression
    seed: int | None = None


@dataclass(frozen=True)
class PivotItem(Node):
    """An aggregate or a value of PIVOT, with its name."""

    value: Expression
    alias: str | None = None


@dataclass(frozen=True)
class Pivot(TableReference):
    """``PIVOT (aggregates FOR axes IN (values))``."""

    table: TableReference
    aggregates: tuple[PivotItem, ...]
    axes: tuple[str, ...]
    values: tuple[PivotItem, ...]


@dataclass(frozen=True)
class UnpivotItem(Node):
    """Columns of UNPIVOT and the values they stand for."""

    columns: tuple[str, ...]
    values: Row | None = None


@dataclass(frozen=True)
class Unpivot(TableReference):
    """``UNPIVOT [INCLUDE NULLS] (measures FOR axes IN (columns))``."""

    table: TableReference
    measures: tuple[str, ...]
    axes: tuple[str, ...]
    items: tuple[UnpivotItem, ...]
    include_nulls: bool | None = None


@dataclass(frozen=True)
class PatternNode(Node):
    """A part of a row pattern."""


@dataclass(frozen=True)
class PatternVariable(PatternNode):
    """``A``."""

    name: str


@dataclass(frozen=True)
class PatternConcatenation(PatternNode):
    """``A B``."""

    left: PatternNode
    right: PatternNode


@dataclass(frozen=True)
class PatternAlternation(PatternNode):
    """``A | B``."""

    left: PatternNode
    right: PatternNode


@dataclass(frozen=True)
class PatternQuantifier(PatternNode):
    """``A+``, ``A{2,3}?``: at least, and at most, where there is a bound."""

    pattern: PatternNode
    at_least: str | None
    at_most: str | None
    reluctant: bool = False


@dataclass(frozen=True)
class PatternExclusion(PatternNode):
    """``{- A -}``."""

    pattern: PatternNode


@dataclass(frozen=True)
class PatternPermutation(PatternNode):
    """``PERMUTE(A, B)``."""

    patterns: tuple[PatternNode, ...]


@dataclass(frozen=True)
class Measure(Node):
    """``x AS name``."""

    expression: Expression
    name: str


@dataclass(frozen=True)
class Definition(Node):
    """``A AS condition``."""

    variable: str
    condition: Expression


@dataclass(frozen=True)
class Subset(Node):
    """``S = (A, B)``."""

    name: str
    members: tuple[Expression, ...]


@dataclass(frozen=True)
class AfterMatch(Node):
    """``AFTER MATCH SKIP ...``: ``kind`` is PAST LAST ROW, TO NEXT ROW, TO FIRST or TO LAST."""

    kind: str
    variable: str | None = None


@dataclass(frozen=True)
class MatchRecognize(TableReference):
    """``t MATCH_RECOGNIZE (...)``."""

    table: TableReference
    pattern: PatternNode
    definitions: tuple[Definition, ...]
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows_per_match: str | None = None  # ONE ROW or ALL ROWS
    after: AfterMatch | None = None
    strict_start: bool = False
    strict_end: bool = False
    within: IntervalLiteral | None = None
    subsets: tuple[Subset, ...] = ()
