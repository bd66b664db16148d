"""The catalogue of functions: what a call means, what it gives, and what it refuses."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest

from firesteel.errors import FiresteelError
from firesteel.table import DataTypes as T
from firesteel.table.evaluation import evaluator
from firesteel.table.functions import FAMILIES, CastError, FunctionError, Session, find_function, functions
from firesteel.table.functions.dates import civil, days, instant_of_local, local_of_instant
from firesteel.table.functions.java_patterns import PatternError, format_time, parse_time_text
from firesteel.table.functions.java_regex import compile_java, compile_like, compile_similar
from firesteel.table.resolution import ResolveError, Typed, resolve
from firesteel.table.tree import Apply, Column, Constant, Node, TypeNode
from firesteel.table.types import DataType, SymbolType

FIELDS = [
    T.FIELD("i", T.INT()),
    T.FIELD("s", T.STRING()),
    T.FIELD("r", T.ROW([T.FIELD("x", T.INT().not_null())])),
    T.FIELD("ts", T.TIMESTAMP(3)),
]
ROW = (5, "abc", (7,), 1_600_000_000_123)


def _node(value: Any) -> Node:
    if isinstance(value, Node):
        return value
    if isinstance(value, DataType):
        return TypeNode(value)
    kinds: dict[type, DataType] = {int: T.INT(), str: T.STRING(), bool: T.BOOLEAN(), float: T.DOUBLE()}
    return Constant(value, T.NULL() if value is None else kinds[type(value)].not_null())


def apply(name: str, *arguments: Any) -> Apply:
    return Apply(name, tuple(map(_node, arguments)))


def typed(node: Node, zone: str = "UTC") -> Typed:
    return resolve(node, FIELDS, Session(time_zone=zone, now=lambda: 1_000_000_000_123_456_789))


def value(node: Node, row: Any = ROW, zone: str = "UTC") -> Any:
    return evaluator(typed(node, zone))(row)


COUNT, S = Column(("i",)), Column(("s",))
NULL_INT = apply("CAST", None, T.INT())


@pytest.mark.parametrize(
    ("node", "data_type", "expected"),
    [
        (apply("+", COUNT, 2147483647), "INT", -2147483644),
        (apply("/", -7, 2), "INT NOT NULL", -3),
        (apply("AND", False, apply("=", 1, NULL_INT)), "BOOLEAN", False),
        (apply("OR", apply("=", 1, NULL_INT), True), "BOOLEAN", True),
        (apply("NOT IN", 4, 1, NULL_INT), "BOOLEAN", None),
        (apply("CASE", apply("=", COUNT, 0), 0, apply("/", 10, COUNT)), "INT", 2),
        (apply("COALESCE", NULL_INT, 7), "INT NOT NULL", 7),
        (apply("UPPER", S), "STRING", "ABC"),
        (apply("CAST", "1.25", T.DECIMAL(5, 1)), "DECIMAL(5, 1) NOT NULL", Decimal("1.3")),
        (apply("TRY_CAST", "x", T.INT()), "INT", None),
        (apply("ARRAY", 1, 2.5), "ARRAY<DOUBLE NOT NULL> NOT NULL", (1.0, 2.5)),
        (apply("ITEM", apply("MAP", "a", 1), "a"), "INT", 1),
        (Column(("r", "x")), "INT", 7),
        (apply("JSON_VALUE", '{"a": [1, {"b": "x"}]}', "lax $.a[1].b"), "STRING", "x"),
        (apply("DATE_FORMAT", Column(("ts",)), "yyyy/MM/dd HH:mm:ss.SSS"), "STRING", "2020/09/13 12:26:40.123"),
        (apply("CURRENT_TIMESTAMP"), "TIMESTAMP_LTZ(3) NOT NULL", 1_000_000_000_123),
        (apply("CURRENT_DATE"), "DATE NOT NULL", 11574),
    ],
)
def test_a_call_has_a_type_and_a_value(node: Node, data_type: str, expected: Any) -> None:
    assert (str(typed(node).type), value(node)) == (data_type, expected)


def test_what_is_not_chosen_is_not_evaluated() -> None:
    guarded = apply("CASE", apply("=", COUNT, 0), 0, apply("/", 10, COUNT))
    assert value(guarded, (0, "", None, None)) == 0
    with pytest.raises(ArithmeticError, match="division by zero"):
        value(apply("/", 10, COUNT), (0, "", None, None))


@pytest.mark.parametrize(
    ("node", "error", "text"),
    [
        (apply("UPER", S), FunctionError, "Did you mean UPPER"),
        (apply("UPPER", COUNT), FunctionError, r"UPPER\(INT\): argument 1 has to be a text"),
        (apply("UPPER"), FunctionError, "takes 1 arguments, got 0"),
        (apply("+", S, 1), FunctionError, "STRING is no number"),
        (apply("CASE", True, 1, "a"), FunctionError, "no common type"),
        (apply("CAST", COUNT, T.DATE()), FunctionError, "INT cannot be cast to DATE"),
        (apply("=", S, 1), FunctionError, "CAST one of them"),
        (Column(("ss",)), ResolveError, "there is no column 'ss'. Did you mean s"),
        (Column(("r", "y")), FunctionError, "there is no field 'y'; there are x"),
        (Column(("i", "y")), ResolveError, "it is no row"),
    ],
)
def test_what_means_nothing_says_why(node: Node, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        typed(node)


def test_values_that_do_not_fit_raise() -> None:
    with pytest.raises(CastError, match="cannot cast 'x' to INT"):
        value(apply("CAST", "x", T.INT()))
    with pytest.raises(FiresteelError, match="counts from 1"):
        value(apply("ITEM", apply("ARRAY", 1), 0))


def test_names_are_found_in_any_case_and_each_function_is_listed_once() -> None:
    assert find_function("char_length") is find_function("CHARACTER_LENGTH")
    names = [function.name for function in functions()]
    assert len(names) == len(set(names)) and len(names) > 200
    assert set(FAMILIES) >= {"arithmetic", "dates and times"}


def test_points_in_time_are_seen_in_the_zone_of_the_session() -> None:
    point = apply("TO_TIMESTAMP_LTZ", 0, 3)
    text = apply("CAST", point, T.STRING())
    assert value(text) == "1970-01-01 00:00:00.000"
    assert value(text, zone="America/Los_Angeles") == "1969-12-31 16:00:00.000"
    hour = Constant("HOUR", SymbolType(False))
    assert value(apply("EXTRACT", hour, point), zone="Asia/Kolkata") == 5


def test_nanoseconds_and_years_beyond_python() -> None:
    assert value(apply("CAST", apply("CAST", "0000-02-29 23:59:59.123456789", T.TIMESTAMP(9)), T.STRING())) == (
        "0000-02-29 23:59:59.123456789"
    )
    assert [civil(days(*day)) for day in ((0, 1, 1), (1969, 12, 31), (2000, 2, 29), (9999, 12, 31))] == [
        (0, 1, 1),
        (1969, 12, 31),
        (2000, 2, 29),
        (9999, 12, 31),
    ]


def test_a_clock_that_jumps() -> None:
    zone, hour = "Europe/Berlin", 3_600_000_000_000
    missing = (days(2024, 3, 31) * 24 * hour) + 2 * hour + hour // 2
    assert local_of_instant(instant_of_local(missing, zone), zone) == missing + hour
    twice = (days(2024, 10, 27) * 24 * hour) + 2 * hour + hour // 2
    assert instant_of_local(twice, zone) == twice - 2 * hour


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"(?<word>\w+) \k<word>", "go go", "go go"),
        (r"\p{Alpha}+\p{Digit}", "abc1", "abc1"),
        (r"[a-z&&[^b]]+", "acb", "ac"),
        (r"[a-c[x-z]]+", "axq", "ax"),
        (r"\Qa.b\E", "a.b", "a.b"),
        (r"a.b", "a\rb", None),
        (r"(?s)a.b", "a\rb", "a\rb"),
        (r"\w+", "é", None),
        (r"a++b", "aab", "aab"),
        (r"\h+x\z", "\t x", "\t x"),
    ],
)
def test_java_s_regular_expressions(pattern: str, text: str, found: str | None) -> None:
    match = compile_java(pattern).search(text)
    assert (match.group() if match else None) == found


def test_an_expression_that_is_none() -> None:
    for pattern in ("(", "[a", "a\\", "\\p{Nope}", "[a[^b]]"):
        with pytest.raises(re.error):
            compile_java(pattern)


def test_patterns_of_sql() -> None:
    assert compile_like("a#%_%", "#").fullmatch("a%bcd\n") and not compile_like("a#%_%", "#").fullmatch("axbcd")
    assert compile_similar("(a|b)+[[:DIGIT:]]_%").fullmatch("abb1xyz")
    with pytest.raises(ValueError, match="escape"):
        compile_like("a#b", "#")


@pytest.mark.parametrize(
    ("text", "pattern", "again"),
    [
        ("2024-02-29 23:59:58.123", "yyyy-MM-dd HH:mm:ss.SSS", None),
        ("29/Feb/24 11:59 PM", "dd/MMM/yy hh:mm a", None),
        ("20240229", "yyyyMMdd", None),
        ("2024-060", "yyyy-DDD", None),
        ("2024-02-29", "yyyy-MM-dd[ HH:mm]", None),
    ],
)
def test_what_a_pattern_reads_it_writes(text: str, pattern: str, again: str | None) -> None:
    assert format_time(parse_time_text(text, pattern).nanos, pattern).startswith(text)


def test_texts_that_do_not_follow_their_pattern() -> None:
    for text, pattern in (("2024-13-01", "yyyy-MM-dd"), ("x", "yyyy"), ("2024", "bbbb"), ("2024", "yyyy'")):
        with pytest.raises(PatternError):
            parse_time_text(text, pattern)
