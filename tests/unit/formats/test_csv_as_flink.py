"""Lines of CSV are those that Flink writes, as it was seen to do (tests/flink_goldens/csv.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import CsvRowDeserializationSchema, CsvRowSerializationSchema, Row, Types

CASES = json.loads((Path(__file__).parents[2] / "flink_goldens" / "csv.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("dialect", {json.dumps(case["dialect"]): case["dialect"] for case in CASES}.values(), ids=str)
def test_lines_are_those_of_flink(dialect: list[Any]) -> None:
    for case in CASES:
        if case["dialect"] != dialect:
            continue
        builder = CsvRowSerializationSchema.Builder(Types.ROW([eval(case["type"]), Types.INT()]))
        for method, arguments in dialect:
            getattr(builder, method)(*arguments)
        assert builder.build().serialize(Row(case["value"], 7)).decode() == case["line"], case


def test_what_is_quoted_is_read_back() -> None:
    row_type = Types.ROW([Types.STRING(), Types.INT()])
    write = CsvRowSerializationSchema.Builder(row_type).build()
    read = CsvRowDeserializationSchema.Builder(row_type).build()
    for case in CASES:
        if isinstance(case["value"], str):
            row = read.deserialize(write.serialize(Row(case["value"], 7)))
            assert row is not None and list(row) == [case["value"], 7]
