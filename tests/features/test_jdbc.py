"""Databases end to end, on SQLite: written once whatever fails, upserted, read in splits, looked up."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Row, RowKind, Time, Types, WatermarkStrategy
from firesteel.connectors.jdbc import session as sessions
from firesteel.datastream import AsyncDataStream
from firesteel.datastream.connectors.base import Sink
from firesteel.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcLookupFunction,
    JdbcNumericBetweenParametersProvider,
    JdbcSink,
    JdbcSource,
)
from firesteel.errors import JobError
from firesteel.testing import use_clock
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.kill_points import POINTS, FailsAt
from tests.features.scripts import checkpoint_each_epoch, recovering

COUNT = 60
SMALL_EPOCHS = {"firesteel.epoch.max-records": 5}
INSERT = "INSERT INTO result (value) VALUES (?)"


def database(path: Path, create: str) -> JdbcConnectionOptions:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(create)
    return JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(f"jdbc:sqlite:{path}").build()


def values(path: Path, query: str = "SELECT value FROM result ORDER BY value") -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] if len(row) == 1 else row for row in connection.execute(query)]


def run_numbers(env: Any, sink: Sink) -> None:
    env.from_collection(range(COUNT), Types.INT()).add_sink(sink)
    with use_clock(checkpoint_each_epoch()):
        env.execute()


@pytest.mark.feature("CN-05", "EO-02")
@pytest.mark.parametrize("point", POINTS)
def test_each_row_is_there_once_wherever_the_job_fails(make_env: MakeEnv, tmp_path: Path, point: str) -> None:
    options = database(tmp_path / "db", "CREATE TABLE result (value)")
    once = JdbcSink.exactly_once_sink(INSERT, Types.INT(), options)
    assert once.guarantee == "exactly-once"
    env = recovering(make_env(2, SMALL_EPOCHS))
    run_numbers(env, FailsAt(once, point, tmp_path / "mark"))
    assert (tmp_path / "mark").exists()
    assert values(tmp_path / "db") == list(range(COUNT))


@pytest.mark.feature("CN-05")
@on_both
def test_rows_are_upserted_and_deleted_by_key(make_env: MakeEnv, tmp_path: Path) -> None:
    options = database(tmp_path / "db", "CREATE TABLE result (key INTEGER PRIMARY KEY, value TEXT)")
    row_type = Types.ROW_NAMED(["key", "value"], [Types.INT(), Types.STRING()])
    rows = [Row(key=number % 5, value=f"v{number}") for number in range(20)]
    rows += [Row.of_kind(RowKind.DELETE, 3, "v18"), Row.of_kind(RowKind.UPDATE_AFTER, 4, "last")]
    env = make_env(1, {"firesteel.epoch.max-records": 7})
    execution = JdbcExecutionOptions.builder().with_batch_size(2).build()
    env.from_collection(rows, row_type).sink_to(JdbcSink.upsert_sink("result", ["key"], row_type, options, execution))
    env.execute()
    found = values(tmp_path / "db", "SELECT key, value FROM result ORDER BY key")
    assert found == [(0, "v15"), (1, "v16"), (2, "v17"), (4, "last")]


@pytest.mark.feature("CN-05")
def test_a_table_goes_through_a_job_in_splits_and_is_looked_up(make_env: MakeEnv, tmp_path: Path) -> None:
    options = database(tmp_path / "db", "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
    with closing(sqlite3.connect(tmp_path / "db")) as connection, connection:
        connection.executemany("INSERT INTO people VALUES (?, ?)", [(number, f"n{number}") for number in range(100)])
    source = (
        JdbcSource.builder()
        .set_connection_options(options)
        .set_sql("SELECT id FROM people WHERE id BETWEEN ? AND ? ORDER BY id")
        .set_jdbc_parameter_values_provider(JdbcNumericBetweenParametersProvider(0, 99).of_batch_num(4))
        .set_type_information(Types.LONG())
        .build()
    )
    env = make_env(2)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "people")
    lookup = JdbcLookupFunction(
        options,
        "SELECT name FROM people WHERE id = ?",
        key=lambda number: (number % 10 * 20,),  # 0 to 180: half of them are nobody
        join=lambda number, rows: [(number, rows[0].name if rows else None)],
        cache_size=100,
    )
    found = collect(AsyncDataStream.unordered_wait(numbers, lookup, Time.seconds(60), 10))
    assert sorted(found) == [(n, f"n{n % 10 * 20}" if n % 10 < 5 else None) for n in range(100)]


@pytest.mark.feature("CN-05")
def test_a_key_that_was_looked_up_is_remembered(make_env: MakeEnv, tmp_path: Path, monkeypatch: Any) -> None:
    options = database(tmp_path / "db", "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
    asked: list[Any] = []
    execute = sessions.Session.execute

    def noted(self: Any, sql: str, parameters: Any = ()) -> Any:
        asked.append(parameters)
        return execute(self, sql, parameters)

    monkeypatch.setattr(sessions.Session, "execute", noted)
    lookup = JdbcLookupFunction(options, "SELECT name FROM people WHERE id = ?", key=lambda n: (n % 2,), cache_size=5)
    stream = make_env(1).from_collection(range(50), Types.INT())
    assert collect(AsyncDataStream.ordered_wait(stream, lookup, Time.seconds(60), 10)) == []
    assert sorted(asked) == [(0,), (1,)]


@pytest.mark.feature("CN-05")
def test_what_the_database_refuses_names_database_statement_and_rows(make_env: MakeEnv, tmp_path: Path) -> None:
    options = database(tmp_path / "db", "CREATE TABLE result (value INTEGER PRIMARY KEY)")
    env = make_env(1)
    env.from_collection([1, 2, 2], Types.INT()).add_sink(JdbcSink.sink(INSERT, Types.INT(), options))
    with pytest.raises(JobError, match=r"jdbc:sqlite:.*writing 3 rows by 'INSERT INTO result .*IntegrityError"):
        env.execute()
    assert values(tmp_path / "db") == []
