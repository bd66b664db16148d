"""Connectors of tables: files in several formats, and made-up rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.table import TableEnvironment

Make = Callable[..., TableEnvironment]
COLUMNS = "id INT, name STRING, price DECIMAL(8, 2), ts TIMESTAMP(3), tags ARRAY<STRING>, paid BOOLEAN"
VALUES = """
    (1, 'tea', 2.50, TIMESTAMP '2020-01-02 03:04:05.678', ARRAY['a', 'b'], TRUE),
    (2, 'a "quoted", text', CAST(NULL AS DECIMAL(8, 2)), CAST(NULL AS TIMESTAMP(3)), ARRAY['c'], FALSE)
"""


def rows(env: TableEnvironment, sql: str) -> list[tuple[Any, ...]]:
    with env.execute_sql(sql).collect() as found:
        return [tuple(row) for row in found]


@pytest.mark.parametrize("name", ["json", "csv"])
def test_rows_come_back_from_files_as_they_were(table_environment: Make, tmp_path: Path, name: str) -> None:
    env = table_environment()
    columns = COLUMNS if name == "json" else COLUMNS.replace(" tags ARRAY<STRING>,", "")
    values = VALUES if name == "json" else VALUES.replace(" ARRAY['a', 'b'],", "").replace(" ARRAY['c'],", "")
    env.execute_sql(
        f"CREATE TABLE t ({columns}) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = '{name}')"
    )
    env.execute_sql(f"INSERT INTO t VALUES {values}").wait()
    assert sorted(rows(env, "SELECT * FROM t")) == sorted(rows(env, f"SELECT * FROM (VALUES {values}) AS v"))


def test_lines_are_as_flink_writes_them(table_environment: Make, tmp_path: Path) -> None:
    env = table_environment()
    for name in ("json", "csv"):
        env.execute_sql(
            f"CREATE TABLE {name}_files (a INT, b STRING, c DOUBLE, d DATE) WITH ('connector' = 'filesystem', "
            f"'path' = '{tmp_path / name}', 'format' = '{name}')"
        )
        env.execute_sql(f"INSERT INTO {name}_files VALUES (1, 'x,y', 1.5, DATE '2020-01-02')").wait()
    written = {
        name: "".join(file.read_text() for file in (tmp_path / name).rglob("*") if file.is_file())
        for name in ("json", "csv")
    }
    assert written == {"json": '{"a":1,"b":"x,y","c":1.5,"d":"2020-01-02"}\n', "csv": '1,"x,y",1.5,2020-01-02\n'}


def test_partitions_are_folders(table_environment: Make, tmp_path: Path) -> None:
    env = table_environment()
    env.execute_sql(
        "CREATE TABLE t (a INT, dow STRING) PARTITIONED BY (dow) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}', 'format' = 'json')"
    )
    env.execute_sql("INSERT INTO t VALUES (1, 'mon'), (2, 'tue')").wait()
    env.execute_sql("INSERT INTO t PARTITION (dow = 'wed') SELECT 3").wait()
    folders = {path.parent.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert folders == {"dow=mon": '{"a":1}\n', "dow=tue": '{"a":2}\n', "dow=wed": '{"a":3}\n'}


def test_a_line_that_is_no_row_is_an_error_or_skipped(table_environment: Make, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('{"a": 1}\nnonsense\n{"a": "2"}\n')
    env = table_environment()
    create = "CREATE TABLE {} (a INT) WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'json'{})"
    env.execute_sql(create.format("strict", tmp_path, ""))
    env.execute_sql(create.format("lenient", tmp_path, ", 'json.ignore-parse-errors' = 'true'"))
    assert rows(env, "SELECT * FROM lenient") == [(1,), (2,)]
    with pytest.raises(Exception, match="'nonsense' is no row of its columns in format 'json'"):
        rows(env, "SELECT * FROM strict")


def test_made_up_rows_have_the_ranges_that_are_asked_for(table_environment: Make) -> None:
    env = table_environment()
    env.execute_sql(
        "CREATE TABLE t (id BIGINT, n INT, s STRING, d DECIMAL(5, 2), ts TIMESTAMP(3)) WITH ('connector' = 'datagen', "
        "'fields.id.kind' = 'sequence', 'fields.id.start' = '5', 'fields.id.end' = '104', 'fields.n.min' = '1', "
        "'fields.n.max' = '3', 'fields.s.length' = '4')"
    )
    found = rows(env, "SELECT * FROM t")
    assert [row[0] for row in found] == list(range(5, 105))
    assert {row[1] for row in found} == {1, 2, 3}
    assert {len(row[2]) for row in found} == {4}


def test_a_wrong_option_of_a_column_names_the_nearest(table_environment: Make) -> None:
    env = table_environment()
    env.execute_sql("CREATE TABLE t (n INT) WITH ('connector' = 'datagen', 'fields.n.mim' = '1')")
    with pytest.raises(Exception, match=r"Did you mean 'fields.n.min'"):
        env.execute_sql("SELECT * FROM t")
