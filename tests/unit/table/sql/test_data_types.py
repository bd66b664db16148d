"""Types of SQL's text become DataTypes, with Flink's defaults."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from firesteel.errors import ConfigurationError, ProgramError
from firesteel.table import DataTypes
from firesteel.table.sql import parse_data_type, parse_expression, to_data_type
from firesteel.table.sql.nodes.expressions import Cast
from firesteel.table.types import DataType

GOLDENS = Path(__file__).parent.parent.parent.parent / "flink_goldens" / "sql" / "types.json"
FLINKS = json.loads(GOLDENS.read_text(encoding="utf-8"))["types"]


@pytest.mark.parametrize("text", [text for text in FLINKS if text != "NULL" and not text.startswith("INTERVAL")])
def test_the_text_of_a_type_is_read_as_that_type(text: str) -> None:
    assert str(parse_data_type(text)) == text


@pytest.mark.parametrize("text", [text for text in FLINKS if text.startswith("INTERVAL")])
def test_intervals_are_types_of_a_cast(text: str) -> None:
    cast = parse_expression(f"CAST(a AS {text})")
    assert isinstance(cast, Cast)
    assert isinstance(to_data_type(cast.type), DataType)
    assert str(to_data_type(cast.type)).startswith("INTERVAL ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INTEGER", DataTypes.INT()),
        ("REAL", DataTypes.FLOAT()),
        ("DOUBLE PRECISION", DataTypes.DOUBLE()),
        ("DECIMAL", DataTypes.DECIMAL(10, 0)),
        ("NUMERIC(5)", DataTypes.DECIMAL(5, 0)),
        ("CHAR", DataTypes.CHAR(1)),
        ("CHARACTER VARYING(7)", DataTypes.VARCHAR(7)),
        ("BINARY VARYING(7)", DataTypes.VARBINARY(7)),
        ("TIME", DataTypes.TIME(0)),
        ("TIMESTAMP", DataTypes.TIMESTAMP(6)),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL", DataTypes.TIMESTAMP_LTZ(3, False)),
        ("INT NOT NULL ARRAY", DataTypes.ARRAY(DataTypes.INT(False))),
        ("ROW(a INT 'x')", DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT(), "x")])),
        ("RAW('x.Y', 'abc')", DataTypes.RAW("x.Y")),
        (
            "STRUCTURED<'x.Y', a INT NOT NULL>",
            DataTypes.STRUCTURED("x.Y", [DataTypes.FIELD("a", DataTypes.INT(False))]),
        ),
    ],
)
def test_synonyms_and_what_is_meant_where_nothing_is_said(text: str, expected: DataType) -> None:
    assert parse_data_type(text) == expected


def test_numbers_that_a_type_cannot_have_name_the_type_and_the_place() -> None:
    with pytest.raises(ConfigurationError, match=r"DECIMAL\(50, 2\) is no type.*line 1, column 7"):
        parse_data_type("ARRAY<DECIMAL(50, 2)>")


def test_a_type_that_nobody_knows_is_named_with_its_place() -> None:
    with pytest.raises(ProgramError, match=r"integr is not a type .*line 1, column 7"):
        parse_data_type("ROW<a integr>")
