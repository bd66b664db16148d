"""Queries and statements, end to end in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.errors import ProgramError
from firesteel.table import ChangelogMode, DataTypes, RowKind, StreamTableEnvironment, Table, TableEnvironment
from firesteel.table.connectors.values import register_changes
from firesteel.table.expressions import col, lit
from firesteel.table.types import Row

Make = Callable[..., TableEnvironment]
ORDERS = [("a", 3), ("b", 5), ("a", 4), ("c", 1), ("b", 2)]


def orders(env: TableEnvironment) -> Table:
    return env.from_elements(ORDERS, ["shop", "amount"])


def changes(table: Table) -> list[tuple[str, tuple[Any, ...]]]:
    with table.execute().collect() as rows:
        return [(str(row.get_row_kind()), tuple(row)) for row in rows]


def test_a_query_gives_its_rows(table_environment: Make) -> None:
    env = table_environment()
    env.create_temporary_view("orders", orders(env))
    assert changes(env.sql_query("SELECT shop, amount * 2 AS twice FROM orders WHERE amount > 3")) == [
        ("+I", ("b", 10)),
        ("+I", ("a", 8)),
    ]


def test_group_by_says_what_has_changed(table_environment: Make) -> None:
    env = table_environment()
    env.create_temporary_view("orders", orders(env))
    assert changes(env.sql_query("SELECT shop, SUM(amount) FROM orders GROUP BY shop")) == [
        ("+I", ("a", 3)),
        ("+I", ("b", 5)),
        ("-U", ("a", 3)),
        ("+U", ("a", 7)),
        ("+I", ("c", 1)),
        ("-U", ("b", 5)),
        ("+U", ("b", 7)),
    ]


def test_in_batch_mode_only_the_final_table_comes(table_environment: Make) -> None:
    env = table_environment(batch=True)
    env.create_temporary_view("orders", orders(env))
    assert sorted(changes(env.sql_query("SELECT shop, SUM(amount) FROM orders GROUP BY shop"))) == [
        ("+I", ("a", 7)),
        ("+I", ("b", 7)),
        ("+I", ("c", 1)),
    ]
    assert changes(env.sql_query("SELECT COUNT(*) FROM orders WHERE amount > 99")) == [("+I", (0,))]


def test_table_api_and_sql_give_the_same(table_environment: Make) -> None:
    env = table_environment()
    table = orders(env)
    by_calls = table.where(col("amount") > 1).group_by(col("shop")).select(
        col("shop"), (col("amount").sum + lit(1)).alias("s"), col("amount").count.distinct.alias("d")
    )  # fmt: skip
    env.create_temporary_view("orders", table)
    by_sql = env.sql_query(
        "SELECT shop, SUM(amount) + 1 AS s, COUNT(DISTINCT amount) AS d FROM orders WHERE amount > 1 GROUP BY shop"
    )
    assert changes(by_calls) == changes(by_sql)
    assert by_calls.get_resolved_schema().get_column_names() == ["shop", "s", "d"]


def test_rows_that_replace_those_with_their_key_become_a_whole_changelog(table_environment: Make) -> None:
    env = table_environment()
    rows = [Row("a", 1), Row("b", 2), Row("a", 3), Row("b", 2)]
    kinds = [RowKind.INSERT, RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE]
    for row, kind in zip(rows, kinds):
        row.set_row_kind(kind)
    env.execute_sql(
        "CREATE TABLE t (k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'values', "
        f"'data-id' = '{register_changes(rows)}', 'changelog-mode' = 'I,UA,D')"
    )
    assert changes(env.from_path("t")) == [
        ("+I", ("a", 1)),
        ("+I", ("b", 2)),
        ("-U", ("a", 1)),
        ("+U", ("a", 3)),
        ("-D", ("b", 2)),
    ]
    assert changes(env.sql_query("SELECT SUM(v), COUNT(*) FROM t"))[-1] == ("+U", (3, 1))


def test_insert_writes_columns_in_their_places(table_environment: Make, capsys: pytest.CaptureFixture[str]) -> None:
    env = table_environment()
    env.create_temporary_view("orders", orders(env))
    env.execute_sql("CREATE TABLE results (n BIGINT, name STRING, x INT) WITH ('connector' = 'print')")
    env.execute_sql("INSERT INTO results (name, n) SELECT shop, SUM(amount) FROM orders GROUP BY shop").wait()
    assert capsys.readouterr().out.splitlines()[:3] == ["+I[3, a, null]", "+I[5, b, null]", "-U[3, a, null]"]


def test_a_statement_set_is_one_job(table_environment: Make, capsys: pytest.CaptureFixture[str]) -> None:
    env = table_environment()
    env.create_temporary_view("orders", orders(env))
    for name in ("low", "high"):
        env.execute_sql(f"CREATE TABLE {name} (s STRING) WITH ('connector' = 'print', 'print-identifier' = '{name}')")
    inserts = env.create_statement_set()
    inserts.add_insert_sql("INSERT INTO low SELECT shop FROM orders WHERE amount < 3")
    inserts.add_insert("high", env.sql_query("SELECT shop FROM orders WHERE amount > 3"))
    inserts.execute().wait()
    assert sorted(capsys.readouterr().out.splitlines()) == ["high> +I[a]", "high> +I[b]", "low> +I[b]", "low> +I[c]"]


def test_not_null_columns_take_no_null(table_environment: Make) -> None:
    env = table_environment()
    env.create_temporary_view(
        "t", env.from_elements([(None,), (1,)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]))
    )
    env.execute_sql("CREATE TABLE results (a INT NOT NULL) WITH ('connector' = 'blackhole')")
    with pytest.raises(Exception, match=r"Column 'a' of .*results is NOT NULL"):
        env.execute_sql("INSERT INTO results SELECT a FROM t").wait()
    env.get_config().set("table.exec.sink.not-null-enforcer", "DROP")
    env.execute_sql("INSERT INTO results SELECT a FROM t").wait()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("'connector' = 'prnt'", "Did you mean 'print'"),
        ("'connector' = 'print', 'print-identifer' = 'x'", "Did you mean 'print-identifier'"),
        ("'connector' = 'values'", "needs the option 'data-id'"),
        ("'x' = 'y'", "has no option 'connector'"),
    ],
)
def test_errors_of_options_name_the_nearest(table_environment: Make, options: str, message: str) -> None:
    env = table_environment()
    env.execute_sql(f"CREATE TABLE t (a INT) WITH ({options})")
    with pytest.raises(Exception, match=message):
        env.execute_sql("INSERT INTO t SELECT 1" if "data-id" not in message else "SELECT * FROM t")


def test_explain_shows_nodes_and_modes(table_environment: Make) -> None:
    env = table_environment()
    env.create_temporary_view("orders", orders(env))
    result = env.execute_sql("EXPLAIN CHANGELOG_MODE SELECT shop, COUNT(*) FROM orders GROUP BY shop").collect()
    (text,) = [row[0] for row in result]
    assert "GroupAggregate(groupBy=[shop], select=[shop, COUNT(*)], changelogMode=[I,UB,UA])" in text
    assert "== Abstract Syntax Tree ==" in text


def test_what_does_not_fit_is_said_before_anything_runs(table_environment: Make) -> None:
    env = table_environment()
    env.create_temporary_view("orders", orders(env))
    env.execute_sql("CREATE TABLE results (a INT) WITH ('connector' = 'print')")
    with pytest.raises(ProgramError, match="Different number of columns"):
        env.execute_sql("INSERT INTO results SELECT * FROM orders")
    with pytest.raises(ProgramError, match="Incompatible types for sink column 'a'"):
        env.execute_sql("INSERT INTO results SELECT shop FROM orders")


def test_pandas_there_and_back(table_environment: Make) -> None:
    import pandas

    env = table_environment()
    table = env.from_pandas(pandas.DataFrame({"k": ["x", "y", "x"], "v": [1, 2, 3]}))
    frame = table.group_by(col("k")).select(col("k"), col("v").sum.alias("s")).to_pandas()
    assert sorted(frame.itertuples(index=False, name=None)) == [("x", 4), ("y", 2)]


def test_insert_overwrite_is_refused(table_environment: Make) -> None:
    env = table_environment()
    env.execute_sql("CREATE TABLE results (a INT) WITH ('connector' = 'blackhole')")
    with pytest.raises(ProgramError, match="INSERT OVERWRITE is not supported"):
        env.execute_sql("INSERT OVERWRITE results SELECT 1")


def test_a_stream_of_changes_has_the_kinds_that_are_asked_for() -> None:
    configuration = Configuration.from_dict({"execution.target": "in-process", "parallelism.default": "1"})
    stream_env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env = StreamTableEnvironment.create(stream_env)
    env.create_temporary_view("orders", orders(env))
    totals = env.sql_query("SELECT shop, SUM(amount) FROM orders GROUP BY shop")
    with env.to_changelog_stream(totals, None, ChangelogMode.upsert()).execute_and_collect() as rows:
        assert [f"{row.get_row_kind()} {row[0]}" for row in rows] == ["+I a", "+I b", "+U a", "+I c", "+U b"]
    with pytest.raises(ProgramError, match="has not all of them"):
        env.to_changelog_stream(totals, None, ChangelogMode.insert_only())
    with pytest.raises(ProgramError, match=r"Use to_changelog_stream\(\)"):
        env.to_data_stream(totals)
