"""Results are printed as Flink 2.3 prints them: `make flink-goldens` asks it and writes tests/flink_goldens/printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firesteel.table import DataTypes as T
from firesteel.table.evaluation import evaluator
from firesteel.table.functions import Session
from firesteel.table.logical import CatalogTables, Relation, resolve_query
from firesteel.table.logical.plan import Filter, Project, Values
from firesteel.table.printing import printed_by_content, printed_by_type
from firesteel.table.sql import parse_statement

PLACE = Path(__file__).parents[2] / "flink_goldens" / "printed"
CASES: list[dict[str, Any]] = json.loads((PLACE / "rows.json").read_text())


def _rows(plan: Relation) -> list[tuple[Any, ...]]:
    """The rows of a plan of values, filters and projections."""
    if isinstance(plan, Values):
        return [tuple(evaluator(value)(()) for value in row) for row in plan.rows]
    assert isinstance(plan, (Filter, Project))
    rows = _rows(plan.input)
    if isinstance(plan, Filter):
        keep = evaluator(plan.condition)
        return [row for row in rows if keep(row)]
    values = [evaluator(each) for each in plan.expressions]
    return [tuple(value(row) for value in values) for row in rows]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['mode']} {case['sql'][:40]}")
def test_rows_are_printed_as_flink_prints_them(case: dict[str, Any]) -> None:
    tables = CatalogTables({}, ("default_catalog", "default_database"))
    plan = resolve_query(parse_statement(case["sql"]).query, tables)  # type: ignore[attr-defined]
    rows = (("+I", row) for row in _rows(plan))
    lines = printed_by_type(plan.fields, rows, Session(), with_kinds=case["mode"] == "streaming")
    assert "".join(f"{line}\n" for line in lines) == case["printed"]


def test_what_is_all_there_has_columns_as_wide_as_their_content() -> None:
    fields = [T.FIELD("name", T.STRING()), T.FIELD("used", T.BOOLEAN())]
    long = "a name that is longer than thirty characters"
    assert list(printed_by_content(fields, [("core", True), (long, None)], Session())) == [
        "+----------------------------------------------+--------+",
        "|                                         name |   used |",
        "+----------------------------------------------+--------+",
        "|                                         core |   TRUE |",
        "| a name that is longer than thirty characters | <NULL> |",
        "+----------------------------------------------+--------+",
        "2 rows in set",
    ]
    assert list(printed_by_content(fields, [], Session())) == ["Empty set"]
