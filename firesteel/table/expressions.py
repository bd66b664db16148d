"""Where expressions begin: columns, literals, calls, and functions that belong to no value. PyFlink's names."""

from __future__ import annotations

from typing import Any

from firesteel.errors import ConfigurationError, ProgramError
from firesteel.table._expression.base import literal, node_of, symbol
from firesteel.table._expression.options import JsonOnNull, TimePointUnit
from firesteel.table.expression import Expression
from firesteel.table.tree import Apply, Column, Constant
from firesteel.table.types import DataType, DataTypes

__all__ = [
    "CURRENT_RANGE",
    "CURRENT_ROW",
    "UNBOUNDED_RANGE",
    "UNBOUNDED_ROW",
    "and_",
    "array",
    "atan2",
    "call",
    "call_sql",
    "coalesce",
    "col",
    "concat",
    "concat_ws",
    "convert_tz",
    "current_database",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_watermark",
    "date_format",
    "descriptor",
    "e",
    "from_unixtime",
    "if_then_else",
    "json",
    "json_array",
    "json_array_agg",
    "json_object",
    "json_object_agg",
    "json_string",
    "lag",
    "lead",
    "lit",
    "local_time",
    "local_timestamp",
    "log",
    "map_",
    "map_from_arrays",
    "negative",
    "not_",
    "null_of",
    "object_of",
    "or_",
    "pi",
    "rand",
    "rand_integer",
    "range_",
    "row",
    "row_interval",
    "source_watermark",
    "temporal_overlaps",
    "timestamp_diff",
    "to_date",
    "to_timestamp",
    "to_timestamp_ltz",
    "unix_timestamp",
    "uuid",
    "with_all_columns",
    "with_columns",
    "without_columns",
]


def _apply(name: str, *arguments: Any) -> Expression:
    return Expression(Apply(name, tuple(map(node_of, arguments))))


def _given(name: str, *arguments: Any) -> Expression:
    """A call without the arguments at the end that were not given."""
    given = list(arguments)
    while given and given[-1] is None:
        given.pop()
    return _apply(name, *given)


def col(name: str) -> Expression:
    """A column of the table, by its name; ``$`` begins a name in the plan only."""
    if not isinstance(name, str):
        raise ConfigurationError(f"col() takes the name of a column, got {name!r}. A value is lit({name!r}).")
    return Expression(Column((name,)))


def lit(v: Any, data_type: DataType | None = None) -> Expression:
    """A literal: of the type given, or of the one that the Python value has by itself.

    ::

        >>> print(lit("it's"), lit(5), lit(None, DataTypes.INT()))
        'it''s' 5 null
    """
    return Expression(literal(v, data_type))


def range_(start: str | int, end: str | int) -> Expression:
    """The columns from one to another, by names or by positions from 1, for :func:`with_columns`."""
    return Expression(Apply("RANGETO", (symbol(start), symbol(end))))


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression:
    """Whether all are true."""
    return _apply("AND", predicate0, predicate1, *predicates)


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression:
    """Whether one is true."""
    return _apply("OR", predicate0, predicate1, *predicates)


def not_(expression: Expression) -> Expression:
    """Whether it is false."""
    return _apply("NOT", expression)


# The bounds of OVER windows.
UNBOUNDED_ROW = Expression(Apply("UNBOUNDED_ROW"))
UNBOUNDED_RANGE = Expression(Apply("UNBOUNDED_RANGE"))
CURRENT_ROW = Expression(Apply("CURRENT_ROW"))
CURRENT_RANGE = Expression(Apply("CURRENT_RANGE"))


def current_database() -> Expression:
    """The name of the database in use."""
    return _apply("CURRENT_DATABASE")


def current_date() -> Expression:
    """Today, in the session's time zone."""
    return _apply("CURRENT_DATE")


def current_time() -> Expression:
    """The time of day, in the session's time zone."""
    return _apply("CURRENT_TIME")


def current_timestamp() -> Expression:
    """The point in time it is: TIMESTAMP_LTZ(3)."""
    return _apply("CURRENT_TIMESTAMP")


def current_watermark(rowtimeAttribute: Any) -> Expression:
    """The watermark of an event-time column; NULL before there is one."""
    return _apply("CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Expression:
    """The time of day, in the session's time zone."""
    return _apply("LOCALTIME")


def local_timestamp() -> Expression:
    """What calendar and clock show in the session's time zone: TIMESTAMP(3)."""
    return _apply("LOCALTIMESTAMP")


def to_date(date_str: Any, format: Any = None) -> Expression:
    """A text as a date, by a pattern or as ``yyyy-MM-dd``."""
    return _given("TO_DATE", date_str, format)


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression:
    """A text as a timestamp, by a pattern or as ``yyyy-MM-dd HH:mm:ss``."""
    return _given("TO_TIMESTAMP", timestamp_str, format)


def to_timestamp_ltz(*args: Any) -> Expression:
    """A point in time from a number with its precision, or from a text with its pattern and time zone."""
    if not 1 <= len(args) <= 3:
        raise ConfigurationError(f"to_timestamp_ltz() takes 1 to 3 arguments, got {len(args)}.")
    return _apply("TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression:
    """Whether two spans of time have something in common; each is from a point to another, or for an interval."""
    return _apply("OVERLAPS", left_time_point, left_temporal, right_time_point, right_temporal)


def date_format(timestamp: Any, format: Any) -> Expression:
    """A timestamp as a text, by a pattern of Java."""
    return _apply("DATE_FORMAT", timestamp, format)


def timestamp_diff(time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any) -> Expression:
    """How many whole units it is from one point in time to another."""
    return _apply("TIMESTAMPDIFF", time_point_unit, time_point1, time_point2)


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression:
    """A text with a time in one time zone as one in another."""
    return _apply("CONVERT_TZ", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression:
    """Seconds since 1970 as a text in the session's time zone."""
    return _given("FROM_UNIXTIME", unixtime, format)


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression:
    """Seconds since 1970: now, or of a text in the session's time zone."""
    return _given("UNIX_TIMESTAMP", date_str, format)


def array(head: Any, *tail: Any) -> Expression:
    """An array of values."""
    return _apply("ARRAY", head, *tail)


def row(head: Any, *tail: Any) -> Expression:
    """A row of values."""
    return _apply("ROW", head, *tail)


def map_(key: Any, value: Any, *tail: Any) -> Expression:
    """A map of keys and values, given in turn."""
    return _apply("MAP", key, value, *tail)


def map_from_arrays(key: Any, value: Any) -> Expression:
    """A map of an array of keys and an array of values."""
    return _apply("MAP_FROM_ARRAYS", key, value)


def descriptor(*column_names: str) -> Expression:
    """Names of columns as an argument of a table function."""
    return Expression(Apply("DESCRIPTOR", tuple(map(symbol, column_names))))


def object_of(class_name: str, *args: Any) -> Expression:
    """An object of a class, of names and values of its attributes in turn."""
    return _apply("OBJECT_OF", symbol(class_name), *args)


def row_interval(rows: int) -> Expression:
    """So many rows, as the size of a window."""
    return Expression(Apply("ROW_INTERVAL", (Constant(rows, DataTypes.BIGINT(False)),)))


def pi() -> Expression:
    """The number pi."""
    return _apply("PI")


def e() -> Expression:
    """The number e."""
    return _apply("E")


def rand(seed: Any = None) -> Expression:
    """A number from 0 to 1 by chance; the same row of numbers for the same seed."""
    return _given("RAND", seed)


def rand_integer(bound: Any, seed: Any = None) -> Expression:
    """A whole number from 0 up to a bound by chance; the same row of numbers for the same seed."""
    return _apply("RAND_INTEGER", bound) if seed is None else _apply("RAND_INTEGER", seed, bound)


def atan2(y: Any, x: Any) -> Expression:
    """The angle of a point."""
    return _apply("ATAN2", y, x)


def negative(v: Any) -> Expression:
    """The number with the other sign."""
    return _apply("- PREFIX", v)


def concat(first: Any, *others: Any) -> Expression:
    """Texts one behind the other; NULL if one is."""
    return _apply("CONCAT", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression:
    """Texts one behind the other with a separator between; those that are NULL are left out."""
    return _apply("CONCAT_WS", separator, first, *others)


def uuid() -> Expression:
    """A random UUID, as a text."""
    return _apply("UUID")


def null_of(data_type: DataType) -> Expression:
    """NULL of a type."""
    return Expression(Constant(None, data_type.nullable()))


def log(v: Any, base: Any = None) -> Expression:
    """The natural logarithm, or the one to a base."""
    return _apply("LN", v) if base is None else _apply("LOG", base, v)


def source_watermark() -> Expression:
    """In a schema: the watermarks that the source gives by itself."""
    return _apply("SOURCE_WATERMARK")


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression:
    """One value where a condition is true, another where not."""
    return _apply("IF", condition, if_true, if_false)


def coalesce(*args: Any) -> Expression:
    """The first value that is not NULL."""
    return _apply("COALESCE", *args)


def with_all_columns() -> Expression:
    """All columns of the table."""
    return _apply("WITHALLCOLUMNS")


def with_columns(head: Any, *tails: Any) -> Expression:
    """Some columns of the table; :func:`range_` gives several at once."""
    return _apply("WITHCOLUMNS", head, *tails)


def without_columns(head: Any, *tails: Any) -> Expression:
    """All columns of the table but some; :func:`range_` gives several at once."""
    return _apply("WITHOUTCOLUMNS", head, *tails)


def json(value: Any) -> Expression:
    """A text that is JSON already, for the functions that build JSON."""
    return _apply("JSON", value)


def json_string(value: Any) -> Expression:
    """A value as JSON."""
    return _apply("JSON_STRING", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression:
    """An object of JSON, of keys and values in turn."""
    return _apply("JSON_OBJECT", on_null, *args)


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Expression:
    """Aggregate: an object of JSON, of a key and a value from each row."""
    return _apply("JSON_OBJECTAGG", on_null, key_expr, value_expr)


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression:
    """An array of JSON."""
    return _apply("JSON_ARRAY", on_null, *args)


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression:
    """Aggregate: an array of JSON, of a value from each row."""
    return _apply("JSON_ARRAYAGG", on_null, item_expr)


def lag(expr: Any, offset: int = 1, default: Any = None) -> Expression:
    """The value of a row before this one in the window."""
    return _given("LAG", expr, offset, default)


def lead(expr: Any, offset: int = 1, default: Any = None) -> Expression:
    """The value of a row behind this one in the window."""
    return _given("LEAD", expr, offset, default)


def call(f: Any, *args: Any) -> Expression:
    """A call of a function: one of the catalogue, by its name, or one of the user's."""
    if not isinstance(f, str) and not callable(f):
        raise ProgramError(f"call() takes the name of a function, or a function made by udf(), got {f!r}.")
    return Expression(Apply(f, tuple(map(node_of, args))))


def call_sql(sql_expression: str) -> Expression:
    """An expression written in SQL."""
    return Expression(Apply("CALL_SQL", (symbol(sql_expression),)))
