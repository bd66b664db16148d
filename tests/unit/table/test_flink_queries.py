"""Queries have the columns that Flink 2.3 gives them: `make flink-goldens` asks it and writes tests/flink_goldens/queries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firesteel.errors import FiresteelError
from firesteel.table.catalog import CatalogBaseTable, GenericInMemoryCatalog, ObjectPath
from firesteel.table.logical import CatalogTables, QueryError, Relation, resolve_query
from firesteel.table.schema import Schema
from firesteel.table.sql import parse_statement, to_data_type, unparse
from firesteel.table.sql.nodes import ddl

PLACE = Path(__file__).parents[2] / "flink_goldens" / "queries"
CASES: list[dict[str, Any]] = json.loads((PLACE / "columns.json").read_text())
DIFFERENCES: dict[str, str] = {}


def _schema(written: ddl.TableSchema) -> Schema:
    schema = Schema.new_builder()
    for column in written.columns:
        if isinstance(column, ddl.PhysicalColumn):
            schema.column(column.name.simple, to_data_type(column.type))
        elif isinstance(column, ddl.ComputedColumn):
            schema.column_by_expression(column.name.simple, unparse(column.expression))
    if written.watermark is not None:
        schema.watermark(written.watermark.column.simple, unparse(written.watermark.expression))
    return schema.build()


@pytest.fixture(scope="module")
def tables() -> CatalogTables:
    catalog = GenericInMemoryCatalog("default_catalog", "default_database")
    found = CatalogTables({"default_catalog": catalog}, ("default_catalog", "default_database"))
    for text in json.loads((PLACE / "tables.json").read_text()):
        statement = parse_statement(text)
        if isinstance(statement, ddl.CreateTable):
            assert statement.table.schema is not None
            name = statement.table.name.simple
            table = CatalogBaseTable.create_table(_schema(statement.table.schema))
        else:
            assert isinstance(statement, ddl.CreateView)
            name, query = statement.name.simple, unparse(statement.query)
            fields = resolve_query(statement.query, found).fields
            schema = Schema.new_builder().from_fields([f.name for f in fields], [f.data_type for f in fields]).build()
            table = CatalogBaseTable.create_view(query, query, schema, {})
        catalog.create_table(ObjectPath("default_database", name), table, False)
    return found


def _resolve(text: str, tables: CatalogTables) -> Relation:
    return resolve_query(parse_statement(text).query, tables)  # type: ignore[attr-defined]


def _outcome(text: str, tables: CatalogTables) -> Any:
    try:
        return [[field.name, str(field.data_type)] for field in _resolve(text, tables).fields]
    except FiresteelError as error:
        return error


def test_queries_have_the_columns_that_flink_gives_them(tables: CatalogTables) -> None:
    differing = {}
    for case in CASES:
        ours = _outcome(case["sql"], tables)
        same = isinstance(ours, FiresteelError) if "error" in case else ours == case["columns"]
        # A listed difference that is none any more has to leave the list.
        if same == (case["sql"] in DIFFERENCES):
            differing[case["sql"]] = {"flink": case.get("columns", case.get("error")), "ours": ours}
    assert differing == {}
