"""Queries have the columns that Flink 2.3 gives them: `make flink-goldens` asks it and writes flink_goldens/queries."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.errors import FiresteelError, UnsupportedError
from firesteel.table.catalog import CatalogBaseTable, GenericInMemoryCatalog, ObjectPath
from firesteel.table.logical import CatalogTables, QueryError, Relation, resolve_query
from firesteel.table.logical.plan import Over, Project
from firesteel.table.schema import Schema
from firesteel.table.sql import parse_statement, to_data_type, unparse
from firesteel.table.sql.nodes import ddl

PLACE = Path(__file__).parents[2] / "flink_goldens" / "queries"
CASES: list[dict[str, Any]] = json.loads((PLACE / "columns.json").read_text())
NULL_AS_NOT_NULL = "Flink says NOT NULL where NULL can come"
LATER = "Flink refuses it too, but only when it plans the query"
OF_BOTH = "Flink has the type of the value and NOT NULL of the default; ours is common to both"
WINDOW = "SELECT * FROM TABLE({}, DESCRIPTOR(ts), INTERVAL {}))"
DIFFERENCES = {
    "SELECT LISTAGG(item), COLLECT(item), ARRAY_AGG(id) FROM orders": NULL_AS_NOT_NULL,
    "SELECT item, SUM(id) AS s FROM orders GROUP BY GROUPING SETS ((item), ())": NULL_AS_NOT_NULL,
    "SELECT id, LAG(amount, 2, 0) OVER (ORDER BY ts) AS l FROM orders": OF_BOTH,
    "SELECT id, LAG(user_id, 1, id) OVER (ORDER BY ts) AS l FROM orders": OF_BOTH,
    "SELECT id FROM orders WHERE item IN (SELECT user_id FROM users)": LATER,
    "SELECT id FROM orders WHERE item = 1": LATER,
    "SELECT id FROM orders WHERE id = item": LATER,
    "SELECT item, (SELECT MAX(name) FROM users u WHERE u.user_id = o.user_id) AS m FROM orders o GROUP BY item": LATER,
    WINDOW.format("CUMULATE(TABLE orders", "'3' MINUTES, INTERVAL '10' MINUTES"): LATER,
    WINDOW.format("SESSION(TABLE orders PARTITION BY nothing", "'5' MINUTES"): LATER,
    "SELECT TUMBLE_START(ts, INTERVAL '1' HOUR) FROM orders": LATER,
    "SELECT id FROM orders WHERE TRUE AND NULL": "NULL is a truth value like any other: unknown",
    "SELECT address.zip FROM orders GROUP BY address": "a field of a key is known where the key is",
}


def _schema(written: ddl.TableSchema) -> Schema:
    schema = Schema.new_builder()
    for column in written.columns:
        if isinstance(column, ddl.PhysicalColumn):
            schema.column(column.name.simple, to_data_type(column.type))
        elif isinstance(column, ddl.ComputedColumn):
            schema.column_by_expression(column.name.simple, unparse(column.expression))
    if written.watermark is not None:
        schema.watermark(written.watermark.column.simple, unparse(written.watermark.expression))
    return schema.build()


@pytest.fixture(scope="module")
def tables() -> CatalogTables:
    catalog = GenericInMemoryCatalog("default_catalog", "default_database")
    found = CatalogTables({"default_catalog": catalog}, ("default_catalog", "default_database"))
    for text in json.loads((PLACE / "tables.json").read_text()):
        statement = parse_statement(text)
        if isinstance(statement, ddl.CreateTable):
            assert statement.table.schema is not None
            name = statement.table.name.simple
            table = CatalogBaseTable.create_table(_schema(statement.table.schema))
        else:
            assert isinstance(statement, ddl.CreateView)
            name, query = statement.name.simple, unparse(statement.query)
            fields = resolve_query(statement.query, found).fields
            schema = Schema.new_builder().from_fields([f.name for f in fields], [f.data_type for f in fields]).build()
            table = CatalogBaseTable.create_view(query, query, schema, {})
        catalog.create_table(ObjectPath("default_database", name), table, False)
    return found


def _resolve(text: str, tables: CatalogTables) -> Relation:
    return resolve_query(parse_statement(text).query, tables)  # type: ignore[attr-defined]


def _outcome(text: str, tables: CatalogTables) -> Any:
    try:
        return [[field.name, str(field.data_type)] for field in _resolve(text, tables).fields]
    except FiresteelError as error:
        return error


def test_queries_have_the_columns_that_flink_gives_them(tables: CatalogTables) -> None:
    differing = {}
    for case in CASES:
        ours = _outcome(case["sql"], tables)
        same = isinstance(ours, FiresteelError) if "error" in case else ours == case["columns"]
        # A listed difference that is none any more has to leave the list.
        if same == (case["sql"] in DIFFERENCES):
            differing[case["sql"]] = {"flink": case.get("columns", case.get("error")), "ours": ours}
    assert differing == {}


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("SELECT id,\n  itm FROM orders", 2, 3, "Column 'itm' not found in any table; did you mean 'item'?"),
        ("SELECT o.idd FROM orders o", 1, 8, "Column 'idd' not found in table 'o'; did you mean 'id'?"),
        ("SELECT orders.id FROM orders AS o", 1, 8, "Table 'orders' not found"),
        ("SELECT id FROM order_s", 1, 16, "Object 'order_s' not found within 'default_catalog.default_database'; did"),
        ("SELECT id FROM nodb.orders", 1, 16, "Database 'nodb' not found in 'default_catalog'"),
        ("SELECT 1 +\n  UPPER(NOSUCH(item)) FROM orders", 2, 9, "there is no function NOSUCH."),
        ("SELECT CASE WHEN TRUE THEN ABS(item) END FROM orders", 1, 28, "ABS(STRING)"),
        ("SELECT id FROM orders WHERE amount", 1, 29, "WHERE clause must be a condition"),
        ("SELECT item, amount FROM orders GROUP BY item", 1, 14, "Expression 'amount' is not being grouped."),
        ("SELECT * FROM users GROUP BY name", 1, 8, "Expression 'user_id' is not being grouped."),
        ("SELECT SUM(COUNT(*)) FROM orders", 1, 8, "Aggregate expressions cannot be nested."),
        ("SELECT id FROM orders UNION ALL SELECT name FROM users", 1, 1, "Type mismatch in column 1 of UNION ALL"),
        ("SELECT * FROM users u JOIN orders u ON TRUE", 1, 28, "Duplicate relation name 'u' in FROM clause."),
        ("SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM users WHERE o.idd = 1)", 1, 65, "did you mean 'id'?"),
    ],
)
def test_errors_say_where_and_what_was_perhaps_meant(
    text: str, line: int, column: int, says: str, tables: CatalogTables
) -> None:
    with pytest.raises(QueryError) as caught:
        _resolve(text, tables)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"line {line}, column {column}: ")
    assert says in str(caught.value)


def _shape(relation: Relation) -> list[str]:
    """The nodes of a plan, each with those it reads behind it."""
    return [relation.describe(), *(line for each in relation.inputs() for line in _shape(each))]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (
            "SELECT id FROM orders WHERE id > 1",
            ["Project id", "Filter", "Scan default_catalog.default_database.orders"],
        ),
        (
            "SELECT item FROM orders GROUP BY CUBE (item, id) HAVING COUNT(*) > 1 ORDER BY MAX(id) LIMIT 3",
            [
                "Project item",
                "Sort",
                "Project item, $order0",
                "Filter",
                "Aggregate by item, id in 4 grouping sets",
                "Scan default_catalog.default_database.orders",
            ],
        ),
        (
            "SELECT DISTINCT name FROM users u, UNNEST(ARRAY[1]) AS t (n)",
            [
                "Aggregate by name",
                "Project name",
                "Correlate INNER",
                "Scan default_catalog.default_database.users",
                "Unnest",
            ],
        ),
        ("VALUES (1), (2)", ["Values of 2 rows"]),
    ],
)
def test_a_plan_says_what_is_made_from_what(text: str, shape: list[str], tables: CatalogTables) -> None:
    assert _shape(_resolve(text, tables)) == shape


def test_calls_with_over_stand_behind_the_columns_of_groups(tables: CatalogTables) -> None:
    plan = _resolve("SELECT item, RANK() OVER (ORDER BY MAX(id)) + COUNT(*) AS r FROM orders GROUP BY item", tables)
    (over,) = plan.inputs()
    assert isinstance(over, Over)
    assert [field.name for field in over.fields] == ["item", "$call0", "$call1", "$over0"]
    assert isinstance(plan, Project)
    rank, count = plan.expressions[1].arguments  # type: ignore[attr-defined]
    assert (over.fields[rank.index].name, over.fields[count.index].name) == ("$over0", "$call1")


def test_a_column_of_an_outer_query_says_how_far_out_it_is(tables: CatalogTables) -> None:
    inner = "SELECT 1 FROM users v WHERE v.user_id = o.user_id AND v.name = u.name"
    text = f"SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM users u WHERE EXISTS ({inner}))"
    condition = _resolve(text, tables).inputs()[0].condition  # type: ignore[attr-defined]
    nested = condition.query.inputs()[0].condition.query.inputs()[0].condition
    found = [each.arguments[1] for each in nested.arguments]
    assert [(each.name, each.depth) for each in found] == [("user_id", 2), ("name", 1)]


def test_a_view_that_reads_itself_is_refused() -> None:
    catalog = GenericInMemoryCatalog("c", "d")
    schema = Schema.new_builder().column("n", "INT").build()
    view = CatalogBaseTable.create_view("SELECT n FROM v", "SELECT n FROM v", schema, {})
    catalog.create_table(ObjectPath("d", "v"), view, False)
    with pytest.raises(QueryError, match=r"the view c\.d\.v reads itself"):
        _resolve("SELECT * FROM v", CatalogTables({"c": catalog}, ("c", "d")))


def test_an_error_can_be_sent_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(QueryError("line 1, column 2: no", line=1, column=2)))
    assert (str(error), error.line, error.column) == ("line 1, column 2: no", 1, 2)


@pytest.fixture
def _usual_depth() -> Iterator[None]:
    """Jobs that ran in this process before may have asked Python for more."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("_usual_depth")
def test_long_chains_are_resolved_and_deep_nesting_is_refused(tables: CatalogTables) -> None:
    chain = " OR ".join(f"id = {number}" for number in range(1500))
    assert [field.name for field in _resolve(f"SELECT id FROM orders WHERE {chain}", tables).fields] == ["id"]
    sums = "SELECT id FROM orders WHERE " + " + ".join(["id"] * 1500) + " > 1"
    with pytest.raises(QueryError, match="in each other"):
        _resolve(sums, tables)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) WITHIN DISTINCT (item) FROM orders",
        "SELECT FIRST_VALUE(id) IGNORE NULLS OVER (ORDER BY ts) FROM orders",
        "SELECT * FROM orders TABLESAMPLE BERNOULLI (10)",
        "SELECT * FROM orders FOR SYSTEM_TIME AS OF TIMESTAMP '2020-01-01 00:00:00'",
    ],
)
def test_what_has_no_meaning_yet_is_refused_and_not_ignored(text: str, tables: CatalogTables) -> None:
    with pytest.raises(UnsupportedError, match=r"^line 1, column \d+: .* is not supported"):
        _resolve(text, tables)
