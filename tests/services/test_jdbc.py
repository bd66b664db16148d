"""JDBC on a real PostgreSQL: values of all types, upserts, lost connections, each row once whatever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Row, RowKind, Types, WatermarkStrategy
from firesteel.connectors.jdbc.database import JdbcError
from firesteel.connectors.jdbc.session import Session
from firesteel.datastream.connectors.jdbc import JdbcExecutionOptions, JdbcSink, JdbcSource
from tests.services.places import finished
from tests.services.postgres import PASSWORD, USER, Postgres
from tests.services.program import environment
from tests.services.servers import ROOT
from tests.unit.connectors.test_connectors_jdbc import TYPES

IN_PROCESS = {"execution.target": "in-process"}
KILLS = ["manifest:before:2", "manifest:after:2", "commit:before:2", "transaction:after:3", "commit:after:2"]


def run(server: Postgres, directory: Path, *more: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "tests.services.jdbc_program", server.url, USER, "numbers", "copies"]
    return subprocess.run(
        [*program, str(directory / "checkpoints"), "--records", "1500", *more],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "DATABASE_PASSWORD": PASSWORD},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.feature("CN-05")
def test_killed_at_every_point_each_row_is_there_once(postgres: Postgres, tmp_path: Path) -> None:
    """One run is killed again and again, at another point each time, and resumed each time; then it ends."""
    postgres.run("CREATE TABLE numbers AS SELECT generate_series(0, 1499)::bigint AS id")
    postgres.run("CREATE TABLE copies (id bigint)")
    for point in KILLS:
        killed = run(postgres, tmp_path, "--crash", point)
        assert killed.returncode == -signal.SIGKILL, (point, killed.stderr[-3000:])
    finished(run(postgres, tmp_path))
    assert postgres.run("SELECT id FROM copies ORDER BY id") == [(number,) for number in range(1500)]


@pytest.mark.feature("CN-05")
def test_values_of_every_type_come_back(postgres: Postgres) -> None:
    columns = ["bool", "bigint", "float8", "text", "numeric", "date", "time", "timestamp", "timestamptz", "bytea"]
    postgres.run(f"CREATE TABLE kinds ({', '.join(f'c{n} {kind}' for n, kind in enumerate(columns))})")
    row_type = Types.TUPLE([kind for kind, _ in TYPES])
    record = tuple(value for _, value in TYPES)
    nothing = (None,) * len(record)
    env = environment(IN_PROCESS, 1)
    insert = f"INSERT INTO kinds VALUES ({', '.join('?' * len(record))})"
    env.from_collection([record]).add_sink(JdbcSink.sink(insert, row_type, postgres.options()))
    env.from_collection([nothing]).add_sink(JdbcSink.sink(insert, row_type, postgres.options()))
    env.execute()
    query = JdbcSource.builder().set_connection_options(postgres.options()).set_type_information(row_type)
    source = query.set_sql("SELECT * FROM kinds ORDER BY c1").build()
    with (
        environment(IN_PROCESS, 1)
        .from_source(source, WatermarkStrategy.no_watermarks(), "kinds")
        .map(tuple)
        .execute_and_collect() as results
    ):
        assert list(results) == [record, nothing]


@pytest.mark.feature("CN-05")
def test_rows_are_upserted_and_deleted_by_key(postgres: Postgres) -> None:
    postgres.run('CREATE TABLE latest ("key" int PRIMARY KEY, "order" text)')
    row_type = Types.ROW_NAMED(["key", "order"], [Types.INT(), Types.STRING()])
    rows = [Row(number % 500, f"100% v{number}") for number in range(5000)] + [Row.of_kind(RowKind.DELETE, 3, "")]
    env = environment(IN_PROCESS, 1)
    execution = JdbcExecutionOptions.builder().with_batch_size(700).build()
    sink = JdbcSink.upsert_sink("latest", ["key"], row_type, postgres.options(), execution)
    env.from_collection(rows, row_type).sink_to(sink)
    env.execute()
    found = dict(postgres.run('SELECT "key", "order" FROM latest'))
    assert found == {number: f"100% v{number + 4500}" for number in range(500) if number != 3}


def test_a_connection_that_is_cut_is_made_anew(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "pause", staticmethod(lambda _: None))
    postgres.run("CREATE TABLE cut (id int)")
    session = Session(postgres.options().database)
    cut = []

    def work() -> None:
        session.execute_many("INSERT INTO cut VALUES (?)", [(1,), (2,)])
        if not cut:
            (number,) = session.execute("SELECT pg_backend_pid()").fetchone()
            cut.append(postgres.run(f"SELECT pg_terminate_backend({number})"))
        session.execute_many("INSERT INTO cut VALUES (?)", [(3,)])

    session.transact("writing", work, retries=3)
    session.close()
    assert cut == [[(True,)]]
    assert postgres.run("SELECT id FROM cut ORDER BY id") == [(1,), (2,), (3,)]


def test_a_login_that_is_refused_is_told_without_the_password(postgres: Postgres) -> None:
    with pytest.raises(JdbcError) as refused:
        postgres.options("wr0ng-p4ss").database.connect()
    told: Any = str(refused.value)
    assert f"jdbc:postgresql://127.0.0.1:{postgres.port}/postgres: connecting:" in told
    assert "wr0ng-p4ss" not in told
