"""Queries, as text."""

from __future__ import annotations

from collections.abc import Iterable

from firesteel.table.sql._writing.expressions import order_by
from firesteel.table.sql._writing.registry import (
    words,
    write,
    write_all,
    write_name,
    write_names,
    write_options,
    writes,
)
from firesteel.table.sql.nodes.base import Expression, Query, TableReference
from firesteel.table.sql.nodes.queries import (
    Aliased,
    CommonTable,
    Cube,
    DerivedTable,
    EmptyGroup,
    ExplicitTable,
    GroupBy,
    GroupingSets,
    Hint,
    Join,
    NamedWindow,
    OrderedQuery,
    Pivot,
    PivotItem,
    Rollup,
    Sample,
    Select,
    SelectItem,
    SetOperation,
    Snapshot,
    Table,
    TableFunction,
    Unnest,
    Unpivot,
    UnpivotItem,
    Values,
    With,
)
from firesteel.table.sql.operators import SET_OPERATORS


def write_hints(hints: Iterable[Hint]) -> str | None:
    """Hints in their comment, if there are any."""
    text = write_all(hints)
    return f"/*+ {text} */" if text else None


@writes(Hint)
def _hint(node: Hint) -> str:
    name = write_name(node.name)
    if node.options:
        return name + write_options(node.options)
    if node.names:
        return name + write_names(node.names)
    return f"{name}({write_all(node.literals)})" if node.literals else name


def _clause(word: str, node: Expression | None) -> str | None:
    return None if node is None else f"{word} {write(node)}"


@writes(SelectItem)
def _select_item(node: SelectItem) -> str:
    return words(write(node.expression), None if node.alias is None else f"AS {write_name(node.alias)}")


@writes(GroupingSets)
def _grouping_sets(node: GroupingSets) -> str:
    return f"GROUPING SETS ({write_all(node.elements)})"


@writes(Rollup)
def _rollup(node: Rollup) -> str:
    return f"ROLLUP ({write_all(node.elements)})"


@writes(Cube)
def _cube(node: Cube) -> str:
    return f"CUBE ({write_all(node.elements)})"


@writes(EmptyGroup)
def _empty_group(node: EmptyGroup) -> str:
    return "()"


@writes(GroupBy)
def _group_by(node: GroupBy) -> str:
    return words("GROUP BY", "DISTINCT" if node.distinct else None, write_all(node.elements))


@writes(NamedWindow)
def _named_window(node: NamedWindow) -> str:
    return f"{write_name(node.name)} AS {write(node.window)}"


@writes(Select)
def _select(node: Select) -> str:
    stream = "STREAM" if node.stream else None
    return words(
        "SELECT",
        write_hints(node.hints),
        stream,
        node.quantifier,
        write_all(node.items),
        None if node.source is None else f"FROM {write(node.source)}",
        _clause("WHERE", node.where),
        None if node.group_by is None else write(node.group_by),
        _clause("HAVING", node.having),
        f"WINDOW {write_all(node.windows)}" if node.windows else None,
        _clause("QUALIFY", node.qualify),
    )


@writes(Values)
def _values(node: Values) -> str:
    return f"VALUES {', '.join(f'({write_all(row.values)})' for row in node.rows)}"


@writes(ExplicitTable)
def _explicit_table(node: ExplicitTable) -> str:
    return f"TABLE {write(node.table)}"


@writes(SetOperation)
def _set_operation(node: SetOperation) -> str:
    # As with operators, a long chain is written without a call for each of its links.
    precedence = SET_OPERATORS[node.operator]
    tail: list[str] = []
    left: Query = node
    while isinstance(left, SetOperation) and SET_OPERATORS[left.operator] == precedence:
        tail.append(f"{left.operator} {'ALL ' if left.all else ''}{_combined(left.right, precedence + 1)}")
        left = left.left
    return " ".join([_combined(left, precedence), *reversed(tail)])


def _combined(node: Query, minimum: int) -> str:
    loose = isinstance(node, SetOperation) and SET_OPERATORS[node.operator] < minimum
    return f"({write(node)})" if loose or isinstance(node, (With, OrderedQuery)) else write(node)


@writes(CommonTable)
def _common_table(node: CommonTable) -> str:
    columns = write_names(node.columns) if node.columns else None
    return words(write_name(node.name), columns, f"AS ({write(node.query)})")


@writes(With)
def _with(node: With) -> str:
    recursive = "RECURSIVE" if node.recursive else None
    body = f"({write(node.body)})" if isinstance(node.body, (With, OrderedQuery)) else write(node.body)
    return words("WITH", recursive, write_all(node.tables), body)


@writes(OrderedQuery)
def _ordered(node: OrderedQuery) -> str:
    query = f"({write(node.query)})" if isinstance(node.query, OrderedQuery) else write(node.query)
    offset = None if node.offset is None else f"OFFSET {write(node.offset)} ROWS"
    fetch = None if node.fetch is None else f"FETCH NEXT {write(node.fetch)} ROWS ONLY"
    return words(query, order_by(node.order_by), offset, fetch)


@writes(Table)
def _table(node: Table) -> str:
    return words(write(node.name), write_hints(node.hints))


@writes(DerivedTable)
def _derived(node: DerivedTable) -> str:
    return words("LATERAL" if node.lateral else None, f"({write(node.query)})")


@writes(TableFunction)
def _table_function(node: TableFunction) -> str:
    return words("LATERAL" if node.lateral else None, f"TABLE({write(node.call)})")


@writes(Unnest)
def _unnest(node: Unnest) -> str:
    return words(f"UNNEST({write_all(node.values)})", "WITH ORDINALITY" if node.ordinality else None)


@writes(Snapshot)
def _snapshot(node: Snapshot) -> str:
    return f"{write(node.table)} FOR SYSTEM_TIME AS OF {write(node.period)}"


@writes(Aliased)
def _aliased(node: Aliased) -> str:
    columns = write_names(node.columns) if node.columns else None
    return words(write_factor(node.table), f"AS {write_name(node.alias)}", columns)


def write_factor(node: TableReference) -> str:
    """A table to which something is added: in parentheses if it has an alias or more already."""
    plain = isinstance(node, (Table, DerivedTable, TableFunction, Unnest, Snapshot, Pivot, Unpivot))
    return write(node) if plain or type(node).__name__ == "MatchRecognize" else f"({write(node)})"


@writes(Join)
def _join(node: Join) -> str:
    right = f"({write(node.right)})" if isinstance(node.right, Join) else write(node.right)
    if node.kind == "COMMA":
        return f"{write(node.left)}, {right}"
    kind = words("NATURAL" if node.natural else None, node.kind, "JOIN")
    using = f"USING {write_names(node.using)}" if node.using else None
    return words(write(node.left), kind, right, _clause("ON", node.condition), using)


@writes(Sample)
def _sample(node: Sample) -> str:
    seed = None if node.seed is None else f"REPEATABLE ({node.seed})"
    table = write(node.table) if isinstance(node.table, Aliased) else write_factor(node.table)
    return words(table, f"TABLESAMPLE {node.method} ({write(node.argument)})", seed)


@writes(PivotItem)
def _pivot_item(node: PivotItem) -> str:
    return words(write(node.value), None if node.alias is None else f"AS {write_name(node.alias)}")


@writes(Pivot)
def _pivot(node: Pivot) -> str:
    inside = f"{write_all(node.aggregates)} FOR {write_names(node.axes)} IN ({write_all(node.values)})"
    return f"{write_factor(node.table)} PIVOT ({inside})"


@writes(UnpivotItem)
def _unpivot_item(node: UnpivotItem) -> str:
    return words(write_names(node.columns), None if node.values is None else f"AS {write(node.values)}")


@writes(Unpivot)
def _unpivot(node: Unpivot) -> str:
    nulls = {None: None, True: "INCLUDE NULLS", False: "EXCLUDE NULLS"}[node.include_nulls]
    inside = f"{write_names(node.measures)} FOR {write_names(node.axes)} IN ({write_all(node.items)})"
    return words(write_factor(node.table), "UNPIVOT", nulls, f"({inside})")
