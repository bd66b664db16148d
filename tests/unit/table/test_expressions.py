"""Expressions of the Table API: the same trees that SQL has, and the same values."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import pytest

from firesteel.common.types import Row
from firesteel.errors import ConfigurationError, ProgramError
from firesteel.table import DataTypes as T
from firesteel.table import expressions as ex
from firesteel.table.evaluation import evaluator
from firesteel.table.expression import Expression, JsonOnNull, JsonType, TimeIntervalUnit, TimePointUnit
from firesteel.table.expressions import call, col, lit
from firesteel.table.from_sql import expression_of
from firesteel.table.resolution import resolve
from firesteel.table.sql import parse_expression

FIELDS = [T.FIELD("a", T.INT()), T.FIELD("s", T.STRING()), T.FIELD("ts", T.TIMESTAMP(3)), T.FIELD("b", T.BOOLEAN())]
ROW = (6, "firesteel", 1_700_000_000_000, True)


def value(expression: Expression) -> Any:
    return evaluator(resolve(expression.node, FIELDS))(ROW)


@pytest.mark.parametrize(
    ("expression", "sql"),
    [
        (col("a") + 1, "a + 1"),
        (2 - col("a") * 3, "2 - a * 3"),
        ((col("a") > 5) & ~col("b") | (col("s") == "x"), "a > 5 AND NOT b OR s = 'x'"),
        (-col("a") % 4, "-a % 4"),
        (col("a") ** 2, "POWER(a, 2)"),
        (col("s").substring(2, 3).upper_case, "UPPER(SUBSTRING(s, 2, 3))"),
        (col("s").like("f%"), "s LIKE 'f%'"),
        (col("s").trim("f"), "TRIM(BOTH 'f' FROM s)"),
        (col("a").between(1, 9), "a BETWEEN 1 AND 9"),
        (col("a").in_(1, 6), "a IN (1, 6)"),
        (col("s").position("x"), "POSITION(s IN 'x')"),
        (col("ts").extract(TimeIntervalUnit.YEAR), "EXTRACT(YEAR FROM ts)"),
        (col("ts").floor(TimeIntervalUnit.DAY), "FLOOR(ts TO DAY)"),
        (col("a").cast(T.STRING()), "CAST(a AS STRING)"),
        (col("a").is_null, "a IS NULL"),
        (col("s").is_json(JsonType.OBJECT), "s IS JSON OBJECT"),
        (ex.if_then_else(col("b"), 1, 2), "IF(b, 1, 2)"),
        (ex.array(1, 2, col("a"))[3], "ARRAY[1, 2, a][3]"),
        (ex.concat_ws("-", col("s"), "x"), "CONCAT_WS('-', s, 'x')"),
        (ex.timestamp_diff(TimePointUnit.DAY, col("ts"), col("ts")), "TIMESTAMPDIFF(DAY, ts, ts)"),
        (ex.json_object(JsonOnNull.NULL, "k", col("a")), "JSON_OBJECT('k' VALUE a NULL ON NULL)"),
        (ex.coalesce(ex.null_of(T.INT()), col("a")), "COALESCE(CAST(NULL AS INT), a)"),
        (call("char_length", col("s")), "CHAR_LENGTH(s)"),
        (ex.call_sql("a + 1 * 2"), "a + 1 * 2"),
        (ex.log(8, 2), "LOG(2, 8)"),
    ],
)
def test_an_expression_means_what_sql_means(expression: Expression, sql: str) -> None:
    ours = resolve(expression.node, FIELDS)
    theirs = resolve(expression_of(parse_expression(sql)), FIELDS)
    assert (str(ours.type), evaluator(ours)(ROW)) == (str(theirs.type), evaluator(theirs)(ROW))


@pytest.mark.parametrize(
    ("python", "data_type", "stored"),
    [
        (True, "BOOLEAN NOT NULL", True),
        (5, "INT NOT NULL", 5),
        (5_000_000_000, "BIGINT NOT NULL", 5_000_000_000),
        (1.5, "DOUBLE NOT NULL", 1.5),
        ("abc", "CHAR(3) NOT NULL", "abc"),
        (b"ab", "BINARY(2) NOT NULL", b"ab"),
        (Decimal("1.50"), "DECIMAL(3, 2) NOT NULL", Decimal("1.50")),
        (datetime.date(1970, 1, 3), "DATE NOT NULL", 2),
        (datetime.time(0, 0, 1, 500_000), "TIME(0) NOT NULL", 1500),
        (datetime.datetime(1970, 1, 1, 0, 0, 1), "TIMESTAMP(6) NOT NULL", 1_000_000),
        (datetime.timedelta(days=1), "INTERVAL DAY(2) TO SECOND(6) NOT NULL", 86_400_000),
        ([1, 2.5], "ARRAY<DOUBLE NOT NULL> NOT NULL", (1.0, 2.5)),
        ({"a": 1}, "MAP<CHAR(1) NOT NULL, INT NOT NULL> NOT NULL", {"a": 1}),
        (Row(x=1, y="z"), "ROW<`x` INT NOT NULL, `y` CHAR(1) NOT NULL> NOT NULL", (1, "z")),
        (None, "NULL", None),
    ],
)
def test_python_values_are_literals(python: Any, data_type: str, stored: Any) -> None:
    node: Any = lit(python).node
    assert (str(node.type), node.value) == (data_type, stored)


def test_a_literal_takes_the_type_it_is_given() -> None:
    node: Any = lit(5, T.DECIMAL(5, 2)).node
    assert (node.value, str(node.type)) == (Decimal("5.00"), "DECIMAL(5, 2)")


def test_numbers_become_intervals() -> None:
    assert value(col("ts") + lit(2).days) == ROW[2] + 2 * 86_400_000
    assert value(lit(datetime.date(2024, 1, 31)) + lit(1).month) == 19782


def test_fields_of_rows_are_attributes() -> None:
    assert value(ex.row(1, "x").cast(T.ROW([T.FIELD("n", T.INT()), T.FIELD("t", T.STRING())])).t) == "x"


def test_expressions_are_shown_and_pickled() -> None:
    expression = (col("price") * 2 > 10).alias("dear")
    assert str(expression) == "AS(>(*(price, 2), 10), 'dear')"
    assert str(pickle.loads(pickle.dumps(expression))) == str(expression)


def test_an_expression_is_neither_true_nor_false() -> None:
    with pytest.raises(ProgramError, match="Use & for and"):
        bool(col("a") > 1)
    with pytest.raises(ConfigurationError, match=r"lit\(5\)"):
        col(5)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="cannot be a literal"):
        lit(object())
    with pytest.raises(ProgramError, match=r"made by udf\(\)"):
        call(5)
