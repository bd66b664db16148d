"""The logical plan of a query: which rows are made from which, with all names found and all types known.

Every node is a value and says which columns it has. Expressions read the row of the node's input by position; of a
join they read the columns of the left side and then those of the right.
"""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.table.functions import Call, Function
from firesteel.table.resolution import Typed
from firesteel.table.types import RowField

__all__ = [
    "Aggregate",
    "AggregateCall",
    "Correlate",
    "ExistsQuery",
    "Filter",
    "GroupWindow",
    "GroupingCall",
    "InQuery",
    "Join",
    "OuterColumn",
    "Over",
    "OverBound",
    "OverCall",
    "OverWindow",
    "Project",
    "QuantifiedQuery",
    "Relation",
    "ScalarQuery",
    "Scan",
    "SetOperation",
    "Snapshot",
    "Sort",
    "SortKey",
    "Unnest",
    "Values",
    "WindowProperty",
    "WindowTable",
]


@dataclass(frozen=True)
class Relation:
    """Something with rows."""

    fields: tuple[RowField, ...]

    def inputs(self) -> tuple[Relation, ...]:
        """The nodes whose rows this one reads."""
        return ()

    def describe(self) -> str:
        """One line about it, without its inputs."""
        return type(self).__name__


@dataclass(frozen=True)
class Scan(Relation):
    """A table of a catalog, by its full name; `options` are those of a hint."""

    path: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()

    def describe(self) -> str:
        """The name, and what the hint says."""
        hint = ", ".join(f"{key}={value}" for key, value in self.options)
        return f"Scan {'.'.join(self.path)}" + (f" [{hint}]" if hint else "")


@dataclass(frozen=True)
class Values(Relation):
    """Rows that stand in the query; a SELECT without FROM reads one row without columns."""

    rows: tuple[tuple[Typed, ...], ...]

    def describe(self) -> str:
        """How many."""
        return f"Values of {len(self.rows)} rows"


@dataclass(frozen=True)
class Unnest(Relation):
    """A row for each element of arrays, multisets and maps, with its number if `ordinality` says so."""

    values: tuple[Typed, ...]
    ordinality: bool = False


@dataclass(frozen=True)
class _Single(Relation):
    input: Relation

    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Project(_Single):
    """A row made of each row."""

    expressions: tuple[Typed, ...]

    def describe(self) -> str:
        """The names of its columns."""
        return f"Project {', '.join(field.name for field in self.fields)}"


@dataclass(frozen=True)
class Filter(_Single):
    """The rows for which a condition is true."""

    condition: Typed


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate over the rows of a group: those for which `filter` is true."""

    function: Function
    call: Call
    arguments: tuple[Typed, ...]
    distinct: bool = False
    filter: Typed | None = None
    order: tuple[SortKey, ...] = ()


@dataclass(frozen=True)
class GroupingCall:
    """GROUPING, GROUPING_ID or GROUP_ID: which of some keys the row's grouping set leaves out."""

    name: str
    keys: tuple[int, ...] = ()


@dataclass(frozen=True)
class GroupWindow:
    """The window of an older GROUP BY: `kind` is TUMBLE, HOP or SESSION, lengths are in milliseconds."""

    kind: str
    time: Typed
    lengths: tuple[int, ...]


@dataclass(frozen=True)
class WindowProperty:
    """What an older GROUP BY says of its window: START, END, ROWTIME or PROCTIME."""

    name: str


@dataclass(frozen=True)
class Aggregate(_Single):
    """Groups: first the keys, then what the calls give. Each grouping set names the keys it has, by position."""

    keys: tuple[Typed, ...]
    grouping_sets: tuple[tuple[int, ...], ...]
    calls: tuple[AggregateCall | GroupingCall | WindowProperty, ...] = ()
    window: GroupWindow | None = None

    def describe(self) -> str:
        """The names of its keys, and how many sets of them there are."""
        keys = ", ".join(field.name for field in self.fields[: len(self.keys)])
        sets = f" in {len(self.grouping_sets)} grouping sets" if len(self.grouping_sets) != 1 else ""
        return f"Aggregate by {keys or 'nothing'}{sets}"


@dataclass(frozen=True)
class SortKey:
    """What rows are ordered by."""

    value: Typed
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class OverBound:
    """Where a frame begins or ends: `kind` is PRECEDING, FOLLOWING or CURRENT ROW; no offset is unbounded."""

    kind: str
    offset: Typed | None = None


@dataclass(frozen=True)
class OverWindow:
    """The rows that a call with OVER looks at; `frame` is ROWS or RANGE."""

    partition_by: tuple[Typed, ...]
    order_by: tuple[SortKey, ...]
    frame: str
    lower: OverBound
    upper: OverBound


@dataclass(frozen=True)
class OverCall:
    """A function over a window of rows."""

    function: Function
    call: Call
    arguments: tuple[Typed, ...]
    window: OverWindow
    distinct: bool = False
    filter: Typed | None = None


@dataclass(frozen=True)
class Over(_Single):
    """Each row, with what the calls give for it behind its own columns."""

    calls: tuple[OverCall, ...]


@dataclass(frozen=True)
class Sort(_Single):
    """Rows in order, or some of them: as many as `fetch` says after leaving out `offset`."""

    keys: tuple[SortKey, ...] = ()
    offset: int = 0
    fetch: int | None = None


@dataclass(frozen=True)
class WindowTable(_Single):
    """Each row once for every window it falls into: TUMBLE, HOP, CUMULATE or SESSION of a column of times.

    Lengths are in milliseconds, in Flink's order: size; slide and size; step and size; gap.
    """

    kind: str
    time: int
    lengths: tuple[int, ...]
    offset: int = 0
    partition_by: tuple[int, ...] = ()


@dataclass(frozen=True)
class Snapshot(_Single):
    """A table as it was at a time, which an expression over the other side of the join gives."""

    period: Typed


@dataclass(frozen=True)
class _Double(Relation):
    left: Relation
    right: Relation

    def inputs(self) -> tuple[Relation, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class Join(_Double):
    """Pairs of rows for which the condition is true; `kind` is INNER, LEFT, RIGHT or FULL."""

    kind: str
    condition: Typed | None = None

    def describe(self) -> str:
        """The kind."""
        return f"Join {self.kind}"


@dataclass(frozen=True)
class Correlate(_Double):
    """Each row of the left side with the rows that the right side has for it: there it is an outer row."""

    kind: str
    condition: Typed | None = None

    def describe(self) -> str:
        """The kind."""
        return f"Correlate {self.kind}"


@dataclass(frozen=True)
class SetOperation(_Double):
    """UNION, INTERSECT or EXCEPT; both sides have the same types."""

    operator: str
    all: bool = False

    def describe(self) -> str:
        """The operator."""
        return self.operator + (" ALL" if self.all else "")


# Expressions that only queries have.


@dataclass(frozen=True)
class OuterColumn(Typed):
    """A column of the row of an outer query: the next one at depth 1."""

    depth: int
    index: int
    name: str


@dataclass(frozen=True)
class ScalarQuery(Typed):
    """The one value of a query's one row; NULL if it has none."""

    query: Relation


@dataclass(frozen=True)
class ExistsQuery(Typed):
    """Whether a query has rows."""

    query: Relation


@dataclass(frozen=True)
class InQuery(Typed):
    """Whether a value, or several, are a row of a query."""

    operands: tuple[Typed, ...]
    query: Relation
    negated: bool = False


@dataclass(frozen=True)
class QuantifiedQuery(Typed):
    """Whether a comparison is true for ALL or for SOME rows of a query."""

    operator: str
    quantifier: str
    operand: Typed
    query: Relation
