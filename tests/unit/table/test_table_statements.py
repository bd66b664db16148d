"""Statements that define, change and show; what they print is what Flink 2.3 prints."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from firesteel.errors import ProgramError
from firesteel.table import TableEnvironment

Make = Callable[..., TableEnvironment]
ORDERS = """
    CREATE TABLE orders (id BIGINT NOT NULL COMMENT 'the id', name STRING, ts TIMESTAMP(3),
        m BIGINT METADATA FROM 'k' VIRTUAL,
        WATERMARK FOR ts AS ts, PRIMARY KEY (id) NOT ENFORCED)
    COMMENT 'all' PARTITIONED BY (name) WITH ('connector'='datagen','rows-per-second'='1')
"""


def printed(env: TableEnvironment, capsys: pytest.CaptureFixture[str], sql: str) -> str:
    env.execute_sql(sql).print()
    return capsys.readouterr().out


def values(env: TableEnvironment, sql: str) -> list[str]:
    return [row[0] for row in env.execute_sql(sql).collect()]


def test_describe_prints_as_flink(table_environment: Make, capsys: pytest.CaptureFixture[str]) -> None:
    env = table_environment()
    assert printed(env, capsys, ORDERS) == "OK\n"
    assert printed(env, capsys, "DESCRIBE orders") == (
        "+------+------------------------+-------+---------+---------------------------+-----------+---------+\n"
        "| name |                   type |  null |     key |                    extras | watermark | comment |\n"
        "+------+------------------------+-------+---------+---------------------------+-----------+---------+\n"
        "|   id |                 BIGINT | FALSE | PRI(id) |                           |           |  the id |\n"
        "| name |                 STRING |  TRUE |         |                           |           |         |\n"
        "|   ts | TIMESTAMP(3) *ROWTIME* |  TRUE |         |                           |        ts |         |\n"
        "|    m |                 BIGINT |  TRUE |         | METADATA FROM 'k' VIRTUAL |           |         |\n"
        "+------+------------------------+-------+---------+---------------------------+-----------+---------+\n"
        "4 rows in set\n"
    )


def test_show_create_table_can_be_run_again(table_environment: Make) -> None:
    env = table_environment()
    env.execute_sql(ORDERS)
    (text,) = values(env, "SHOW CREATE TABLE orders")
    assert text.startswith(
        "CREATE TABLE `default_catalog`.`default_database`.`orders` (\n  `id` BIGINT NOT NULL COMMENT"
    )
    assert (
        "CONSTRAINT `PK_id` PRIMARY KEY (`id`) NOT ENFORCED\n)\nCOMMENT 'all'\nPARTITIONED BY (`name`)\nWITH (\n"
        in text
    )
    env.execute_sql("DROP TABLE orders")
    env.execute_sql(text)
    assert values(env, "SHOW CREATE TABLE orders") == [text]


def test_show_lists_what_is_there(table_environment: Make) -> None:
    env = table_environment()
    env.execute_sql("CREATE TABLE o1 (a INT) WITH ('connector' = 'print')")
    env.execute_sql("CREATE TEMPORARY VIEW v AS SELECT 1 AS a")
    env.execute_sql("CREATE DATABASE db")
    assert values(env, "SHOW TABLES") == ["o1", "v"]
    assert values(env, "SHOW TABLES LIKE 'o%'") == ["o1"]
    assert values(env, "SHOW VIEWS") == ["v"]
    assert values(env, "SHOW DATABASES") == ["db", "default_database"]
    env.execute_sql("USE db")
    assert values(env, "SHOW CURRENT DATABASE") == ["db"]
    assert values(env, "SHOW TABLES") == []
    assert values(env, "SHOW TABLES FROM default_database") == ["o1", "v"]
    assert "sum" in values(env, "SHOW FUNCTIONS")
    with pytest.raises(ProgramError, match="currently in use"):
        env.execute_sql("DROP DATABASE db")


def test_alter_changes_tables(table_environment: Make) -> None:
    env = table_environment()
    env.execute_sql("CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'print')")
    env.execute_sql("ALTER TABLE t ADD (c INT FIRST, d DOUBLE AFTER a)")
    env.execute_sql("ALTER TABLE t RENAME b TO e")
    env.execute_sql("ALTER TABLE t MODIFY a BIGINT")
    env.execute_sql("ALTER TABLE t DROP d")
    env.execute_sql("ALTER TABLE t SET ('print-identifier' = 'x')")
    env.execute_sql("ALTER TABLE t RENAME TO u")
    assert env.list_tables() == ["u"]
    schema = env.from_path("u").get_schema()
    assert schema.get_field_names() == ["c", "a", "e"]
    assert str(schema.get_field_data_type("a")) == "BIGINT"
    (text,) = values(env, "SHOW CREATE TABLE u")
    assert "'print-identifier' = 'x'" in text
    with pytest.raises(ProgramError, match=r"does not exist in the base table"):
        env.execute_sql("ALTER TABLE u DROP nothing")


def test_create_like_and_as(table_environment: Make, capsys: pytest.CaptureFixture[str]) -> None:
    env = table_environment()
    env.execute_sql("CREATE TABLE t (a INT, b AS a + 1) WITH ('connector' = 'print', 'print-identifier' = 'x')")
    env.execute_sql("CREATE TABLE l (c INT) WITH ('print-identifier' = 'y') LIKE t (EXCLUDING GENERATED)")
    assert env.from_path("l").get_schema().get_field_names() == ["a", "c"]
    env.execute_sql("CREATE TABLE made WITH ('connector' = 'print') AS SELECT 1 AS a, 'x' AS b").wait()
    assert capsys.readouterr().out == "+I[1, x]\n"


def test_set_and_reset(table_environment: Make) -> None:
    env = table_environment()
    env.execute_sql("SET 'table.exec.state.ttl' = '1 h'")
    assert env.get_config().get_idle_state_retention() == 3_600_000
    env.execute_sql("RESET 'table.exec.state.ttl'")
    assert env.get_config().get_idle_state_retention() == 0


def test_unknown_names_are_said_with_near_ones(table_environment: Make) -> None:
    env = table_environment()
    env.execute_sql("CREATE TABLE orders (a INT) WITH ('connector' = 'print')")
    with pytest.raises(ProgramError, match="did you mean 'orders'"):
        env.execute_sql("DESCRIBE order_s")
    with pytest.raises(ProgramError, match="did you mean 'default_database'"):
        env.execute_sql("USE default_databas")
