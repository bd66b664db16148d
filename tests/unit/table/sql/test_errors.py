"""What a user reads when a statement is wrong."""

from __future__ import annotations

import pickle

import pytest

from firesteel.errors import ProgramError, SqlParserError
from firesteel.table.sql import parse_expression, parse_statement, parse_statements, parse_type


def _error(text: str) -> SqlParserError:
    with pytest.raises(SqlParserError) as caught:
        parse_statement(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("SELECT a FORM t", 1, 15),  # FORM is read as an alias, as Flink reads it
        ("SELECT a\nFROM t\nWHERE", 3, 6),
        ("SELECT a,\n  FROM t", 2, 3),
        ("CREATE TABLE t (\n\ta INT\n\tb INT\n)", 3, 2),
        ("SELECT 'a\nb' + # FROM t", 2, 6),
        ("SELECT /* never\nclosed", 1, 8),
        ("SELECT `never closed", 1, 8),
        ("", 1, 1),
        ("SELECT 1) FROM t", 1, 9),
    ],
)
def test_line_and_column_are_where_it_goes_wrong(text: str, line: int, column: int) -> None:
    error = _error(text)
    assert (error.line, error.column) == (line, column)
    assert f"line {line}, column {column}" in str(error)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("SELEC 1", "SELECT"),
        ("CRATE TABLE t (a INT)", "CREATE"),
        ("INSRT INTO t SELECT 1", "INSERT"),
        ("CREATE TABEL t (a INT)", "TABLE"),
        ("SELECT a FROM t GROUP BZ a", "BY"),
        ("SHOW TABELS", "TABLES"),
        ("DROP TABLE t; DORP TABLE u", "DROP"),
    ],
)
def test_the_nearest_keyword_is_named(text: str, meant: str) -> None:
    if meant == "BY":
        assert _error(text).expected == ("BY",)
    else:
        assert f"did you mean {meant}?" in str(_error(text))


def test_a_slip_that_was_read_as_a_name_is_found_too() -> None:
    assert "did you mean GROUP where GROPU stands before it?" in str(_error("SELECT a FROM t GROPU BY a"))
    assert "did you mean FROM where FORM stands before it?" in str(_error("SELECT a FORM t"))
    assert "did you mean" not in str(_error("SELECT a FROM t x BY a"))


def test_what_may_stand_there_is_told() -> None:
    error = _error("ALTER TABLE t FOO")
    assert {"ADD", "DROP", "MODIFY", "RENAME", "RESET", "SET"} <= set(error.expected)
    assert "Expected here: ADD, DROP, MODIFY" in str(error)


def test_the_line_is_shown_with_a_mark_under_the_place() -> None:
    message = str(_error("SELECT a\nFROM t WHERE b >\nORDER BY a"))
    assert message.splitlines()[-2:] == ["  ORDER BY a", "  ^"]


def test_a_long_line_is_cut_around_the_place() -> None:
    message = str(_error("SELECT " + "a, " * 200 + "FROM t"))
    shown, mark = message.splitlines()[-2:]
    assert len(shown) < 130
    assert shown[mark.index("^") :].startswith("FROM t")


def test_a_reserved_word_as_a_name_says_how_to_write_it() -> None:
    assert "`order`" in str(_error("CREATE TABLE t (order INT)"))


def test_what_flink_has_not_is_said_with_what_it_has() -> None:
    assert "<>" in str(_error("SELECT a != b FROM t"))
    assert "EXCEPT" in str(_error("SELECT 1 MINUS SELECT 2"))
    assert "OFFSET" in str(_error("SELECT a FROM t LIMIT 5, 10"))


def test_one_statement_is_one() -> None:
    with pytest.raises(SqlParserError, match="there are 2"):
        parse_statement("SELECT 1; SELECT 2")
    assert len(parse_statements("SELECT 1; SELECT 2;")) == 2


@pytest.mark.parametrize("text", ["(" * 5000, "SELECT " + "(" * 3000 + "1" + ")" * 3000, "SELECT " + "- " * 9000 + "1"])
def test_a_text_that_is_too_deep_is_refused_in_words(text: str) -> None:
    with pytest.raises(SqlParserError, match="too many"):
        parse_statement(text)


def test_a_long_chain_of_operators_is_not_deep() -> None:
    condition = parse_expression(" OR ".join(f"a = {number}" for number in range(3000)))
    assert condition.pos is not None


def test_types_and_expressions_by_themselves_end_where_the_text_ends() -> None:
    with pytest.raises(SqlParserError, match="not expected"):
        parse_type("INT INT")
    with pytest.raises(SqlParserError, match="not expected"):
        parse_expression("a b")


def test_it_is_an_error_of_the_program_and_travels() -> None:
    error = _error("SELEC 1")
    assert isinstance(error, (ProgramError, ValueError))
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.line, copy.column, copy.expected) == (str(error), error.line, error.column, error.expected)
