"""Every function gives what Flink 2.3 itself gave: `make flink-goldens` asks it and writes tests/flink_goldens/sql."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firesteel.table import DataTypes as T
from firesteel.table.evaluation import evaluator
from firesteel.table.from_sql import expression_of
from firesteel.table.functions import Aggregator, Session, find_function, text_function
from firesteel.table.functions.definition import Argument, Call, FunctionKind
from firesteel.table.resolution import resolve
from firesteel.table.sql import parse_expression, parse_statement
from firesteel.table.types import BinaryType, DataType, RowField, VarBinaryType, common_type

PLACE = Path(__file__).parents[2] / "flink_goldens" / "sql"
SCALAR = sorted(path.stem for path in PLACE.glob("*.json") if path.stem not in {"types", "aggregate"})

FOLDED = "Flink compares or casts the literals before it runs, not the values of their types"
BEFORE_1970 = "Flink divides times before 1970 toward zero, so they fall on the wrong day"
WIDER = "Flink's own code for these argument types does not compile; they are harmless"
NULL_AS_NOT_NULL = "Flink says NOT NULL and then gives NULL, which its sink refuses or writes as an empty text"
CUT_TO_LENGTH = "Flink's sink cuts the result to the length that its type was given"
NOT_FAILING = "Flink fails the job with a ClassCastException though NULL ON ERROR is what was asked for"
DIFFERENCES = {
    "CAST('NaN' AS DOUBLE) = CAST('NaN' AS DOUBLE)": "Flink's planner takes x = x for true",
    "CAST(0.1 AS FLOAT) = CAST(0.1 AS DOUBLE)": FOLDED,
    "CAST(0.1 AS DOUBLE) = CAST(0.1 AS FLOAT)": FOLDED,
    "TRUE = 'true'": FOLDED,
    "CAST(CAST(0.1 AS FLOAT) AS DOUBLE)": FOLDED,
    "CAST('x' AS DECIMAL(5, 1))": "Flink gives 0.0 for a text that is no number, where it fails for every other type",
    "CAST('Infinity' AS FLOAT)": "Flink's planner fails on a folded infinity; as a value it is one of FLOAT's",
    "ATAN2(1.5, CAST(2 AS DOUBLE))": WIDER,
    "ATAN2(CAST(1 AS DOUBLE), 2.5)": WIDER,
    "SIGN(CAST(3 AS TINYINT))": WIDER,
    "UPPER('straße')": CUT_TO_LENGTH,
    "LOWER('İ')": CUT_TO_LENGTH,
    "REGEXP_REPLACE('foobar', '(', 'x')": NULL_AS_NOT_NULL,
    "LPAD('hi', -1, 'a')": NULL_AS_NOT_NULL,
    "LPAD('hi', 4, '')": NULL_AS_NOT_NULL,
    "RPAD('hi', 4, '')": NULL_AS_NOT_NULL,
    "RPAD('hi', -1, 'a')": NULL_AS_NOT_NULL,
    "CAST(123456 AS DECIMAL(5, 2))": NULL_AS_NOT_NULL,
    "CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0)) + 1": NULL_AS_NOT_NULL,
    "CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0)) * 2": NULL_AS_NOT_NULL,
    "EXTRACT(DAY FROM TIMESTAMP '1969-12-31 23:59:59.999')": BEFORE_1970,
    "EXTRACT(SECOND FROM TIMESTAMP '1969-12-31 23:59:59.999')": BEFORE_1970,
    "EXTRACT(HOUR FROM TO_TIMESTAMP_LTZ(0, 3))": BEFORE_1970,
    "CEIL(TIMESTAMP '2020-05-17 12:44:31.123' TO WEEK)": "Flink rounds a timestamp down to its week, a date up",
    "IFNULL('a', 'bcd')": "Flink's planner drops what is never needed, and its type with it",
    "JSON_VALUE('{\"a\": \"x\"}', '$.a' RETURNING INTEGER)": NOT_FAILING,
    "JSON_VALUE('{\"a\": \"1\"}', '$.a' RETURNING DOUBLE)": NOT_FAILING,
    "AVG(y)": "Flink's batch planner divides a sum that has wrapped around; the average itself fits",
    "ARRAY_AGG(i)": "the order of an array of unordered rows is not defined",
    "ARRAY_AGG(DISTINCT i)": "the order of an array of unordered rows is not defined",
    "ARRAY_AGG(s)": "the order of an array of unordered rows is not defined",
    "JSON_ARRAYAGG(s NULL ON NULL)": "the order of an array of unordered rows is not defined",
    "SUM0(i)": "Flink has SUM0 in the Table API only",
}
# Over no rows Flink's planner gives constants, with types that an aggregate over rows does not have.
EMPTY_DIFFERENCES = {"LISTAGG(s)"}
CLOCKS = ("CURRENT_", "LOCALTIME", "NOW()", "UNIX_TIMESTAMP()", "PROCTIME()")


def _cases(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((PLACE / f"{name}.json").read_text())
    return cases


def _text(value: Any, data_type: DataType, session: Session) -> str | None:
    if value is None:
        return None
    if isinstance(data_type, (BinaryType, VarBinaryType)):
        return str(value.decode("latin-1"))
    return text_function(data_type, session)(value)


def _outcome(case: dict[str, Any]) -> tuple[str | None, str | None]:
    """Type and text of a case's value; of one that is refused or fails, nothing."""
    session = Session(time_zone=case.get("zone", "UTC"))
    try:
        typed = resolve(expression_of(parse_expression(case["sql"])), (), session)
        return str(typed.type), _text(evaluator(typed)(()), typed.type, session)
    except (ValueError, ArithmeticError):
        return None, None
    except Exception as error:
        if type(error).__module__.startswith("firesteel"):
            return None, None
        raise


def _expected(case: dict[str, Any]) -> tuple[str | None, str | None]:
    return (None, None) if "error" in case else (case["type"], case["text"])


@pytest.mark.parametrize("name", SCALAR)
def test_scalar_functions_give_what_flink_gave(name: str) -> None:
    differing = {}
    for case in _cases(name):
        ours, flinks = _outcome(case), _expected(case)
        if case["sql"].startswith(CLOCKS) and " " not in case["sql"]:
            ours, flinks = (ours[0], None), (flinks[0], None)
        # A listed difference that is none any more has to leave the list.
        if (ours != flinks) != (case["sql"] in DIFFERENCES):
            differing[case["sql"]] = {"flink": flinks, "ours": ours, "error": case.get("error")}
    assert differing == {}


# Aggregates: over the rows that stand behind FROM.


def _table(source: str) -> tuple[list[RowField], list[tuple[Any, ...]]]:
    select = parse_statement(f"SELECT 1 FROM {source}").query  # type: ignore[attr-defined]
    values = select.source.table.query.rows
    typed = [[resolve(expression_of(each)) for each in row.values] for row in values]
    kinds = [common_type([row[at].type for row in typed]) for at in range(len(typed[0]))]
    fields = [T.FIELD(name, kind) for name, kind in zip(select.source.columns, kinds) if kind is not None]
    rows = [tuple(evaluator(each)(()) for each in row) for row in typed]
    if select.where is not None:
        keep = evaluator(resolve(expression_of(select.where), fields))
        rows = [row for row in rows if keep(row)]
    return fields, rows


def _aggregate(case: dict[str, Any]) -> tuple[str | None, str | None]:
    text = case["sql"]
    node = parse_expression(text)
    fields, rows = _table(case["from"])
    quantifier, condition = getattr(node, "quantifier", None), getattr(node, "filter", None)
    stripped = text.partition(" FILTER")[0].replace("DISTINCT ", "").replace("COUNT(*)", "COUNT(1)")
    try:
        apply = expression_of(parse_expression(stripped))
        arguments = [resolve(each, fields) for each in apply.arguments]  # type: ignore[attr-defined]
        function = find_function(apply.function)  # type: ignore[attr-defined]
        assert function.kind is FunctionKind.AGGREGATE
        literals = [hasattr(each, "value") for each in arguments]
        known = [Argument(a.type, flag, getattr(a, "value", None)) for a, flag in zip(arguments, literals)]
        call = Call(function.name, tuple(known))
        result = function.infer(call)
        if condition is not None:
            keep = evaluator(resolve(expression_of(condition), fields))
            rows = [row for row in rows if keep(row)]
        readers = [evaluator(each) for each in arguments]
        value = _run(function.make(call), [tuple(read(row) for read in readers) for row in rows], quantifier)
        return str(result), _text(value, result, Session())
    except (ValueError, ArithmeticError):
        return None, None


def _run(aggregator: Aggregator, rows: list[tuple[Any, ...]], quantifier: str | None) -> Any:
    wanted = rows if aggregator.takes_nulls else [row for row in rows if None not in row[:1]]
    wanted = list(dict.fromkeys(wanted)) if quantifier == "DISTINCT" else wanted
    accumulator = aggregator.create()
    for row in wanted:
        accumulator = aggregator.accumulate(accumulator, *row)
    plain = aggregator.value(accumulator)
    assert _value_with_detours(aggregator, wanted) == (pytest.approx(plain) if _is_number(plain) else plain)
    return plain


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, tuple) and None not in value)


def _value_with_detours(aggregator: Aggregator, rows: list[tuple[Any, ...]]) -> Any:
    """The result over two accumulators that are merged, with a row that is added and taken back."""
    halves = []
    for part in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
        accumulator = aggregator.create()
        for row in part:
            accumulator = aggregator.accumulate(accumulator, *row)
        if rows:
            accumulator = aggregator.retract(aggregator.accumulate(accumulator, *rows[-1]), *rows[-1])
        halves.append(accumulator)
    return aggregator.value(aggregator.merge(*halves))


def test_aggregates_give_what_flink_gave() -> None:
    differing = {}
    for case in _cases("aggregate"):
        ours, flinks = _aggregate(case), _expected(case)
        empty = "i > 5" in case["from"]
        if (ours != flinks) != (case["sql"] in DIFFERENCES or (empty and case["sql"] in EMPTY_DIFFERENCES)):
            differing[case["sql"], empty] = {
                "flink": flinks,
                "ours": ours,
                "error": case.get("error"),
            }
    assert differing == {}
