"""JDBC without a server: what options refuse and hide, statements in the style of each driver, retries, marks."""

from __future__ import annotations

import datetime
import decimal
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Instant, Row, RowKind, Types
from firesteel.connectors.jdbc.committer import MarkerCommitter
from firesteel.connectors.jdbc.database import Database, JdbcError, written_for
from firesteel.connectors.jdbc.session import Session
from firesteel.connectors.jdbc.statements import Upserts, upsert_statement
from firesteel.connectors.jdbc.values import parameters_of, row_maker
from firesteel.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
    JdbcGenericParameterValuesProvider,
    JdbcLookupFunction,
    JdbcNumericBetweenParametersProvider,
    JdbcSink,
    JdbcSource,
)
from firesteel.errors import CommitError, ConfigurationError, TypeMismatchError
from firesteel.model.sink import CommitRequest
from tests.unit.connectors.driving import read_all

PAIR = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
INSERT = "INSERT INTO people (id, name) VALUES (?, ?)"


def builder() -> Any:
    return JdbcConnectionOptions.JdbcConnectionOptionsBuilder()


def sqlite_at(path: Path) -> JdbcConnectionOptions:
    options: JdbcConnectionOptions = builder().with_url(f"jdbc:sqlite:{path}").build()
    return options


@pytest.fixture
def people(tmp_path: Path) -> JdbcConnectionOptions:
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
        connection.executemany("INSERT INTO people VALUES (?, ?)", [(n, f"name {n}") for n in range(10)])
    connection.close()
    return sqlite_at(tmp_path / "db")


def rows_of(options: JdbcConnectionOptions, query: str) -> list[Any]:
    session = Session(options.database)
    try:
        return list(session.execute(query).fetchall())
    finally:
        session.close()


# ---- options -----------------------------------------------------------------------------------------------------


def test_options_say_what_they_were_given() -> None:
    made = builder().with_url("jdbc:postgresql://db/shop").with_driver_name("org.postgresql.Driver")
    options = made.with_user_name("ada").with_password("lovelace").build()
    assert options.get_db_url() == "jdbc:postgresql://db/shop"
    assert options.get_driver_name() == "org.postgresql.Driver"
    assert (options.get_user_name(), options.get_password()) == ("ada", "lovelace")
    plain = builder().with_url("jdbc:postgresql://db/shop").build()
    assert (plain.get_driver_name(), plain.get_user_name(), plain.get_password()) == ("psycopg", None, None)
    defaults = JdbcExecutionOptions.defaults()
    assert (defaults.get_batch_size(), defaults.get_batch_interval_ms(), defaults.get_max_retries()) == (5000, 0, 3)
    own = JdbcExecutionOptions.builder().with_batch_size(7).with_batch_interval_ms(20).with_max_retries(1).build()
    assert (own.get_batch_size(), own.get_batch_interval_ms(), own.get_max_retries()) == (7, 20, 1)


def test_no_password_is_ever_printed() -> None:
    secret = "s3cr3t"
    made = builder().with_url(f"jdbc:postgresql://ada:{secret}@db/shop?password={secret}&sslmode=require")
    options = made.with_password(secret).build()
    told = options.database.explained(Exception(f"login with {secret} refused"), "connecting")
    for text in (repr(options), str(options), repr(options.database), str(options.database), str(told)):
        assert secret not in text
    assert "jdbc:postgresql://db/shop?password=***&sslmode=require" in str(told)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: builder().build(), "with_url"),
        (lambda: builder().with_url("jdbc:informix://db/shop").build(), "with_connection_factory"),
        (lambda: builder().with_url(None), "takes a text"),
        (lambda: builder().with_password(5), "takes a text, got a int"),
        (lambda: builder().with_connection_factory("sqlite3"), "takes a function"),
        (lambda: JdbcExecutionOptions.builder().with_batch_size(0), "from 1 on"),
        (lambda: JdbcExecutionOptions.builder().with_max_retries(-1), "from 0 on"),
        (lambda: JdbcExecutionOptions.builder().with_batch_interval_ms(True), "from 0 on"),
        (lambda: JdbcExactlyOnceOptions.builder().with_marker_table("a; DROP TABLE b"), "name of a table"),
        (lambda: JdbcSink.sink("", PAIR, sqlite_at(Path("db"))), "statement of SQL"),
        (lambda: JdbcSink.sink(INSERT, PAIR, "jdbc:sqlite:db"), "JdbcConnectionOptionsBuilder"),  # type: ignore[arg-type]
        (lambda: JdbcSink.sink(INSERT, [1], sqlite_at(Path("db"))), "type of the records"),  # type: ignore[arg-type]
        (lambda: JdbcSink.sink(INSERT, Types.STRING(), sqlite_at(Path("db"))), "has 2 parameters .*has 1 fields"),
        (lambda: JdbcSink.sink(INSERT, PAIR, sqlite_at(Path("db")), 5), "JdbcExecutionOptions"),  # type: ignore[arg-type]
        (lambda: JdbcSink.upsert_sink("t", ["key"], PAIR, sqlite_at(Path("db"))), "names among id, name"),
        (lambda: JdbcSink.upsert_sink("t", ["id"], Types.STRING(), sqlite_at(Path("db"))), "ROW_NAMED"),
        (lambda: upsert_statement(None, "t", ["id"], ["id"]), "MERGE"),
        (lambda: JdbcSource.builder().set_db_url("jdbc:sqlite:db").build(), "set_sql"),
        (lambda: JdbcSource.builder().set_sql("SELECT 1").build(), "with_url"),
        (lambda: JdbcSource.builder().set_db_url("jdbc:sqlite:db").set_sql("SELECT ?").build(), "a split gives 0"),
        (lambda: JdbcNumericBetweenParametersProvider(2, 1), "from the smallest"),
        (lambda: JdbcNumericBetweenParametersProvider(1, 2).of_batch_num(0), "number of splits"),
    ],
)
def test_what_cannot_work_is_refused(build: Callable[[], Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        build()


def test_a_driver_that_is_not_installed_is_named() -> None:
    options = builder().with_url("jdbc:whatever:x").with_driver_name("no_such_driver").build()
    with pytest.raises(ConfigurationError, match=r"jdbc:whatever:x needs the Python package no_such_driver"):
        options.database.connect()


def test_a_database_that_is_away_is_named(tmp_path: Path) -> None:
    with pytest.raises(JdbcError, match=r"jdbc:sqlite:.*nowhere/db: connecting: OperationalError"):
        sqlite_at(tmp_path / "nowhere" / "db").database.connect()


# ---- statements --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("qmark", "SELECT '?', \"?\", a ? b -- ?\n/* ? */ FROM t WHERE x LIKE '5%' AND y = ? AND z = ?"),
        ("format", "SELECT '?', \"?\", a ? b -- ?\n/* ? */ FROM t WHERE x LIKE '5%%' AND y = %s AND z = %s"),
        ("numeric", "SELECT '?', \"?\", a ? b -- ?\n/* ? */ FROM t WHERE x LIKE '5%' AND y = :1 AND z = :2"),
        ("named", "SELECT '?', \"?\", a ? b -- ?\n/* ? */ FROM t WHERE x LIKE '5%' AND y = :p1 AND z = :p2"),
    ],
)
def test_parameters_are_written_in_the_style_of_the_driver(style: str, text: str) -> None:
    sql = "SELECT '?', \"?\", a ?? b -- ?\n/* ? */ FROM t WHERE x LIKE '5%' AND y = ? AND z = ?"
    made, count, parameters = written_for(sql, style)
    assert (made, count) == (text, 2)
    assert parameters([1, 2]) == ({"p1": 1, "p2": 2} if style == "named" else (1, 2))


def test_upserts_are_those_of_the_database() -> None:
    assert upsert_statement("postgresql", "t", ["id", "name"], ["id"]) == (
        'INSERT INTO t ("id", "name") VALUES (?, ?) ON CONFLICT ("id") DO UPDATE SET "name" = excluded."name"'
    )
    assert upsert_statement("mysql", "t", ["id", "name"], ["id"]) == (
        "INSERT INTO t (`id`, `name`) VALUES (?, ?) ON DUPLICATE KEY UPDATE `name` = VALUES(`name`)"
    )
    assert upsert_statement("sqlite", "t", ["id"], ["id"]).endswith("DO NOTHING")


def test_of_a_key_in_a_batch_the_last_row_holds() -> None:
    statements = pickle.loads(pickle.dumps(Upserts("t", ["id"], PAIR, Database("jdbc:sqlite:db"))))
    for kind, number, name in [
        (RowKind.INSERT, 1, "a"),
        (RowKind.INSERT, 2, "b"),
        (RowKind.UPDATE_BEFORE, 1, "a"),
        (RowKind.UPDATE_AFTER, 1, "c"),
        (RowKind.DELETE, 2, "b"),
        (RowKind.DELETE, 3, "?"),
        (RowKind.INSERT, 3, "d"),
    ]:
        statements.add(Row.of_kind(kind, number, name))
    (deleted, keys), (_, rows) = statements.take()
    assert deleted == 'DELETE FROM t WHERE "id" = ?'
    assert [tuple(key) for key in keys] == [(2,)]
    assert [tuple(row) for row in rows] == [(1, "c"), (3, "d")]
    assert statements.take() == []


# ---- values ------------------------------------------------------------------------------------------------------

MOMENT = datetime.datetime(2024, 5, 17, 12, 30, 15, 250000)
TYPES = [
    (Types.BOOLEAN(), True),
    (Types.LONG(), 2**40),
    (Types.DOUBLE(), 1.5),
    (Types.STRING(), "ä ?"),
    (Types.BIG_DEC(), decimal.Decimal("12.345")),
    (Types.SQL_DATE(), MOMENT.date()),
    (Types.SQL_TIME(), MOMENT.time()),
    (Types.SQL_TIMESTAMP(), MOMENT),
    (Types.INSTANT(), Instant(1_700_000_000, 123_456_000)),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff"),
]


def test_values_of_every_type_come_back_from_sqlite() -> None:
    kinds, values = [kind for kind, _ in TYPES], [value for _, value in TYPES]
    row_type = Types.TUPLE(kinds)
    parameters = parameters_of(row_type, sqlite=True)(tuple(values))
    connection = sqlite3.connect(":memory:")
    marks = ", ".join("?" * len(values))
    found = connection.execute(f"SELECT {marks}", parameters).fetchall()
    nothing = connection.execute(f"SELECT {marks}", [None] * len(values)).fetchall()
    connection.close()
    names = [f"f{number}" for number in range(len(values))]
    assert row_maker(row_type)(names, found) == [tuple(values)]
    assert row_maker(row_type)(names, nothing) == [(None,) * len(values)]


def test_records_of_all_shapes_become_parameters() -> None:
    take = parameters_of(PAIR, sqlite=False)
    assert [list(take(each)) for each in (Row(1, "a"), Row(id=1, name="a"), (1, "a"), {"name": "a", "id": 1})] == [
        [1, "a"]
    ] * 4
    assert list(parameters_of(Types.STRING(), sqlite=False)("ab")) == ["ab"]


def test_a_record_of_another_type_is_named(people: JdbcConnectionOptions) -> None:
    statements = JdbcSink.sink(INSERT, PAIR, people)._statements
    for wrong in ((1, "a", 2), 5, None):
        with pytest.raises(TypeMismatchError, match="a record for the JDBC sink"):
            statements.add(wrong)


# ---- the source --------------------------------------------------------------------------------------------------


def source(options: JdbcConnectionOptions, provider: Any, sql: str) -> JdbcSource:
    made = JdbcSource.builder().set_connection_options(options).set_sql(sql).set_type_information(PAIR)
    return made.set_jdbc_parameter_values_provider(provider).set_result_set_fetch_size(2).build()


@pytest.mark.parametrize("fresh", [False, True])
def test_a_query_is_read_in_splits(people: JdbcConnectionOptions, fresh: bool) -> None:
    sql = "SELECT id, name FROM people WHERE id BETWEEN ? AND ? ORDER BY id"
    splits = read_all(source(people, JdbcNumericBetweenParametersProvider(0, 9).of_batch_num(3), sql), fresh=fresh)
    assert [[row.id for row in rows] for rows in splits] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert splits[2][2] == Row(id=9, name="name 9")


def test_ranges_cover_everything_once() -> None:
    provider = JdbcNumericBetweenParametersProvider(-3, 7)
    for ranges in (provider.of_batch_size(4).get_parameter_values(), provider.of_batch_num(99).get_parameter_values()):
        assert [number for first, last in ranges for number in range(first, last + 1)] == list(range(-3, 8))


def test_splits_may_have_any_parameters(people: JdbcConnectionOptions) -> None:
    made = source(
        people, JdbcGenericParameterValuesProvider([("name 3",), ("nobody",)]), "SELECT * FROM people WHERE name = ?"
    )
    assert read_all(made) == [[Row(id=3, name="name 3")], []]


def test_a_query_that_fails_is_shown(people: JdbcConnectionOptions) -> None:
    made = JdbcSource.builder().set_connection_options(people).set_sql("SELECT * FROM strangers").build()
    with pytest.raises(JdbcError, match=r"reading by 'SELECT \* FROM strangers' with \(\): .*no such table"):
        read_all(made)
    wrong = JdbcSource.builder().set_connection_options(people).set_sql("SELECT id FROM people")
    with pytest.raises(ConfigurationError, match=r"gives 1 columns \(id\), the declared type has 2"):
        read_all(wrong.set_type_information(PAIR).build())


# ---- sessions ----------------------------------------------------------------------------------------------------


class OperationalError(Exception):
    """As drivers call what may pass."""


class Fake:
    """A driver whose first calls fail."""

    paramstyle = "qmark"

    def __init__(self, failures: list[Exception]) -> None:
        self.failures = failures
        self.connections = 0
        self.pauses: list[float] = []

    def connect(self) -> Any:
        self.connections += 1
        return sqlite3.connect(":memory:")

    def session(self, monkeypatch: pytest.MonkeyPatch) -> Session:
        monkeypatch.setattr(Session, "pause", staticmethod(self.pauses.append))
        return Session(Database(None, "sqlite3", factory=self.connect))

    def work(self) -> str:
        if self.failures:
            raise self.failures.pop(0)
        return "done"


def test_a_lost_connection_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake([OperationalError("gone"), OperationalError("gone")])
    session = fake.session(monkeypatch)
    assert session.transact("writing", fake.work, retries=2) == "done"
    assert (fake.connections, fake.pauses) == (3, [1.0, 2.0])
    fake.failures = [OperationalError("gone")] * 3
    with pytest.raises(JdbcError, match="writing: OperationalError: gone"):
        session.transact("writing", fake.work, retries=2)
    session.close()


def test_wrong_data_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake([sqlite3.IntegrityError("double"), sqlite3.OperationalError("no such table: t")])
    session = fake.session(monkeypatch)
    for said in ("double", "no such table"):
        with pytest.raises(JdbcError, match=said):
            session.transact("writing", fake.work, retries=5)
    assert fake.pauses == []
    session.close()


# ---- marks -------------------------------------------------------------------------------------------------------


def request(name: str, number: int, recovered: bool = False) -> CommitRequest:
    return CommitRequest({"id": name, "changes": [(INSERT, [(number, name)])]}, checkpoint_id=1, recovered=recovered)


def committer(options: JdbcConnectionOptions) -> MarkerCommitter:
    return MarkerCommitter(options.database, JdbcExecutionOptions.defaults(), JdbcExactlyOnceOptions.defaults())


def test_what_has_a_mark_is_not_written_again(people: JdbcConnectionOptions) -> None:
    first, second = committer(people), committer(people)
    first.commit([request("a", 11), request("b", 12)])
    again = [request("a", 11, recovered=True), request("b", 12, recovered=True), request("c", 13)]
    second.commit(again)
    assert [each.was_committed for each in again] == [True, True, False]
    assert rows_of(people, "SELECT id, name FROM people WHERE id > 10") == [(11, "a"), (12, "b"), (13, "c")]
    assert sorted(rows_of(people, "SELECT id FROM firesteel_commits")) == [("a",), ("b",), ("c",)]
    first.close()
    second.close()


def test_rows_and_marks_come_together_or_not_at_all(people: JdbcConnectionOptions) -> None:
    made = committer(people)
    with pytest.raises(CommitError, match="committing 2 parts of checkpoint 1: IntegrityError"):
        made.commit([request("a", 11), request("b", 5)])  # there is a 5
    made.close()
    assert rows_of(people, "SELECT id FROM people WHERE id > 10") == []
    assert rows_of(people, "SELECT id FROM firesteel_commits") == []


def test_a_database_that_is_busy_is_asked_later(people: JdbcConnectionOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    made = committer(people)
    made.commit([request("a", 11)])
    monkeypatch.setattr(made._session, "execute_many", lambda *_: (_ for _ in ()).throw(OperationalError("gone")))
    wait = [request("b", 12)]
    made.commit(wait)
    assert wait[0].later
    monkeypatch.undo()
    wait[0].later = False
    made.commit(wait)
    made.close()
    assert not wait[0].later
    assert rows_of(people, "SELECT id FROM people WHERE id > 10") == [(11,), (12,)]


def test_old_marks_are_forgotten(people: JdbcConnectionOptions) -> None:
    made = committer(people)
    made.commit([request("old", 11)])
    made.close()
    session = Session(people.database)
    session.transact("ageing", lambda: session.execute("UPDATE firesteel_commits SET committed_ms = 5"), 0)
    session.close()
    made = committer(people)
    made.commit([request("new", 12)])
    made.close()
    assert rows_of(people, "SELECT id FROM firesteel_commits") == [("new",)]


def test_look_ups_refuse_what_cannot_work(people: JdbcConnectionOptions) -> None:
    with pytest.raises(ConfigurationError, match="at least one connection"):
        JdbcLookupFunction(people, "SELECT 1", key=lambda value: (), connections=0)
    with pytest.raises(ConfigurationError, match="JdbcConnectionOptions"):
        JdbcLookupFunction("db", "SELECT 1", key=lambda value: ())  # type: ignore[arg-type]
