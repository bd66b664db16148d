"""What texts become: the shapes that the layers above rely on."""

from __future__ import annotations

import pytest

from firesteel.table.sql import parse_expression, parse_identifier, parse_statement, parse_type, unparse
from firesteel.table.sql.nodes import ddl, expressions, queries, statements, types
from firesteel.table.sql.nodes.base import Identifier


def _column(name: str) -> Identifier:
    return Identifier((name,))


def test_parts_know_where_they_were_read_and_are_equal_without_it() -> None:
    statement = parse_statement("SELECT a,\n  b + 1 FROM t")
    assert isinstance(statement, statements.QueryStatement)
    assert isinstance(statement.query, queries.Select)
    pos = statement.query.items[1].expression.pos
    assert pos is not None
    assert (pos.line, pos.column, pos.end_line, pos.end_column) == (2, 3, 2, 7)
    assert statement == parse_statement("select a, b+1 from t")


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a OR b AND c", "a OR (b AND c)"),
        ("NOT a = b AND c", "(NOT (a = b)) AND c"),
        ("a + b * -c", "a + (b * (-c))"),
        ("a - b - c", "(a - b) - c"),
        ("a || b + c", "(a || b) + c"),
        ("a = b IS NULL", "(a = b) IS NULL"),
        ("a IS NULL AND b", "(a IS NULL) AND b"),
        ("a BETWEEN b AND c AND d", "(a BETWEEN b AND c) AND d"),
        ("a BETWEEN b OR c AND d", "a BETWEEN (b OR c) AND d"),
        ("a LIKE b LIKE c", "a LIKE (b LIKE c)"),
        ("a = b LIKE c", "a = (b LIKE c)"),
        ("a = NOT b = c", "a = (NOT (b = c))"),
        ("-a[1]", "-(a[1])"),
        ("a + 1 IN (2) AND b", "((a + 1) IN (2)) AND b"),
        ("EXISTS (SELECT 1) AND a", "(EXISTS (SELECT 1)) AND a"),
    ],
)
def test_operators_bind_as_in_flink(text: str, grouped: str) -> None:
    assert parse_expression(text) == parse_expression(grouped)


def test_parentheses_are_written_only_where_they_are_needed() -> None:
    assert unparse(parse_expression("((a + (b)) * (c))")) == "(a + b) * c"
    assert unparse(parse_expression("a - (b - c) - d")) == "a - (b - c) - d"
    assert unparse(parse_expression("- (-1)")) == "- -1"


def test_names_are_quoted_only_where_they_need_it() -> None:
    assert unparse(parse_expression("`a`.`order`.`b c`.`d``e`")) == "a.`order`.`b c`.`d``e`"
    assert parse_identifier("cat.`db x`.t") == Identifier(("cat", "db x", "t"))


def test_names_of_functions_are_not_quoted_where_a_parenthesis_tells() -> None:
    text = "IF(a, DESCRIPTOR(ts), JSON(b), COUNT(*))"
    assert unparse(parse_expression(text)) == text
    assert unparse(parse_expression("`map`(1)")) == "`map`(1)"


def test_functions_with_a_syntax_of_their_own_become_calls() -> None:
    assert parse_expression("SUBSTRING(a FROM 1 FOR 2)") == parse_expression("SUBSTRING(a, 1, 2)")
    call = parse_expression("FLOOR(ts TO DAY)")
    assert isinstance(call, expressions.FunctionCall)
    assert call.arguments == (_column("ts"), expressions.TimeUnit("DAY"))


def test_types() -> None:
    assert parse_type("INTEGER NOT NULL") == types.BasicType("INT", nullable=False)
    assert parse_type("TIMESTAMP(3) WITH LOCAL TIME ZONE") == types.BasicType("TIMESTAMP_LTZ", 3)
    assert parse_type("INT ARRAY") == parse_type("ARRAY<INT>")
    row = parse_type("ROW<a INT NOT NULL 'first', b MAP<STRING, BYTES>>")
    assert isinstance(row, types.RowType)
    assert row.fields[0] == types.Field("a", types.BasicType("INT", nullable=False), "first")
    assert unparse(row) == "ROW<a INT NOT NULL 'first', b MAP<STRING, BYTES>>"


def test_a_table_definition() -> None:
    created = parse_statement(
        "CREATE TABLE IF NOT EXISTS db.t (a INT PRIMARY KEY NOT ENFORCED, b AS a + 1,"
        " c TIMESTAMP(3) METADATA FROM 'ts' VIRTUAL COMMENT 'x', WATERMARK FOR c AS c - INTERVAL '5' SECOND)"
        " COMMENT 'it''s' DISTRIBUTED BY HASH (a) INTO 4 BUCKETS PARTITIONED BY (a) WITH ('k' = 'v')"
    )
    assert isinstance(created, ddl.CreateTable)
    assert created.if_not_exists
    table, schema = created.table, created.table.schema
    assert schema is not None
    physical, computed, metadata = schema.columns
    assert isinstance(physical, ddl.PhysicalColumn)
    assert physical.constraint == ddl.Constraint("PRIMARY KEY", (), enforced=False)
    assert isinstance(computed, ddl.ComputedColumn)
    assert metadata == ddl.MetadataColumn(
        _column("c"), types.BasicType("TIMESTAMP", 3), key="ts", virtual=True, comment="x"
    )
    assert schema.watermark is not None
    assert schema.watermark.column == _column("c")
    assert table.comment == "it's"
    assert table.distribution == ddl.Distribution(("a",), "HASH", 4)
    assert table.options == (("k", "v"),)


def test_a_window_table_function() -> None:
    statement = parse_statement("SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES)) AS w")
    assert isinstance(statement, statements.QueryStatement)
    assert isinstance(statement.query, queries.Select)
    source = statement.query.source
    assert isinstance(source, queries.Aliased)
    assert isinstance(source.table, queries.TableFunction)
    table, descriptor, size = source.table.call.arguments
    assert table == expressions.TableArgument(_column("t"))
    assert descriptor == expressions.FunctionCall(_column("DESCRIPTOR"), (_column("ts"),))
    assert size == expressions.IntervalLiteral("10", types.IntervalQualifier("MINUTE"))


def test_hints_keep_their_options() -> None:
    statement = parse_statement("SELECT /*+ BROADCAST(t) */ * FROM t /*+ OPTIONS('scan.mode' = 'latest') */")
    assert isinstance(statement, statements.QueryStatement)
    assert isinstance(statement.query, queries.Select)
    assert statement.query.hints == (queries.Hint("BROADCAST", names=("t",)),)
    assert statement.query.source == queries.Table(
        _column("t"), (queries.Hint("OPTIONS", options=(("scan.mode", "latest"),)),)
    )


def test_a_temporal_join() -> None:
    statement = parse_statement("SELECT * FROM o JOIN r FOR SYSTEM_TIME AS OF o.ts AS x ON o.k = x.k")
    assert isinstance(statement, statements.QueryStatement)
    assert isinstance(statement.query, queries.Select)
    join = statement.query.source
    assert isinstance(join, queries.Join)
    assert join.right == queries.Aliased(queries.Snapshot(queries.Table(_column("r")), Identifier(("o", "ts"))), "x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SET 'a' = 'b'", statements.SetOption("a", "b")),
        ("SET table.exec.state.ttl=1d;", statements.SetOption("table.exec.state.ttl", "1d")),
        ("set a = 'b c'", statements.SetOption("a", "b c")),
        ("SET", statements.SetOption()),
        ("RESET a.b", statements.ResetOption("a.b")),
        ("QUIT;", statements.ClientCommand("QUIT")),
        ("exit", statements.ClientCommand("QUIT")),
    ],
)
def test_settings_are_read_with_and_without_quotes(text: str, expected: statements.Statement) -> None:
    assert parse_statement(text) == expected


def test_set_operations_bind_as_in_flink() -> None:
    left = parse_statement("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3 EXCEPT SELECT 4")
    assert left == parse_statement("(SELECT 1 UNION (SELECT 2 INTERSECT SELECT 3)) EXCEPT SELECT 4")


def test_set_operations_are_written_with_few_parentheses_however_many_there_are() -> None:
    text = "SELECT 1 UNION SELECT 2 INTERSECT ALL SELECT 3 EXCEPT (SELECT 4 UNION SELECT 5)"
    assert unparse(parse_statement(text)) == text
    long = " UNION ALL ".join(f"SELECT {number}" for number in range(2000))
    assert unparse(parse_statement(long)) == long


def test_parameters_are_numbered() -> None:
    found = parse_expression("? + f(?)")
    assert isinstance(found, expressions.Infix)
    assert found.left == expressions.Parameter(0)
    assert found.right == expressions.FunctionCall(_column("f"), (expressions.Parameter(1),))
