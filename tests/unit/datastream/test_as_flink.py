"""What Flink itself printed for values of declared types, and what functions saw (tests/flink_goldens/values.json)."""

from __future__ import annotations

import datetime
import decimal
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Instant, Row, Types
from firesteel.common.declared_form import declared_form
from firesteel.datastream._internal.formatting import LineFormat
from firesteel.errors import TypeMismatchError

GOLDENS = json.loads((Path(__file__).parents[2] / "flink_goldens" / "values.json").read_text(encoding="utf-8"))
NAMES = {"datetime": datetime, "decimal": decimal, "Instant": Instant, "Row": Row, "Types": Types}


DEVIATIONS = {
    "datetime.date(1, 1, 1)": "Java counts days before 1582 by another calendar",
    "datetime.time(23, 59, 59, 999999)": "times keep their microseconds",
    "datetime.datetime(2018, 3, 11, 3, 0, 0, 123456)": "times keep their microseconds",
    "datetime.datetime(2018, 3, 11, 3, 0, 0, 100)": "times keep their microseconds",
    "Instant(1520737200, 123456789)": "instants keep their nanoseconds",
    "Instant(1520737200, 123456000)": "instants keep their nanoseconds",
    "2**70": "large numbers come through unharmed",
    "-2**70": "large numbers come through unharmed",
}
MISFITS = {("Types.STRING()", "1"), ("Types.ROW([Types.INT(), Types.STRING()])", "Row('x', 1)")}


def golden(kind: str) -> list[Any]:
    """The cases in which Flink gave something, by type and value."""
    return [
        pytest.param(case, id=f"{case['type']} {case['value']}")
        for case in GOLDENS
        if case[kind] is not None
        and "@" not in case[kind]  # the address of an array
        and case["value"] not in DEVIATIONS
        and (case["type"], case["value"]) not in MISFITS
    ]


def declared(case: dict[str, str]) -> tuple[Any, Any]:
    """The type of a case, and its value as it comes from a collection of that type."""
    type_info, value = eval(case["type"], NAMES), eval(case["value"], NAMES)
    form = declared_form(type_info)
    return type_info, value if form is None else form(value)


def same_number(ours: str, theirs: str, single: bool) -> bool:
    """Whether two texts stand for one float. Java before 19 writes more digits than it needs."""
    width = "f" if single else "d"
    return len(ours) <= len(theirs) and struct.pack(width, float(ours)) == struct.pack(width, float(theirs))


@pytest.mark.parametrize("case", golden("collected"))
def test_collections_print_as_in_flink(case: dict[str, str]) -> None:
    type_info, value = declared(case)
    text, expected = LineFormat(type_info, "print()")(value), case["collected"]
    if type_info in (Types.FLOAT(), Types.DOUBLE()) and text != expected:
        assert same_number(text, expected, single=type_info == Types.FLOAT()), (text, expected)
    else:
        assert text == expected


@pytest.mark.parametrize("case", golden("seen"))
def test_functions_see_what_they_see_in_flink(case: dict[str, str]) -> None:
    _, value = declared(case)
    assert repr(value).removeprefix("<").removesuffix(">") == case["seen"].removeprefix("<").removesuffix(">")


@pytest.mark.parametrize(("kind", "value"), sorted(MISFITS))
def test_what_flink_lets_through_by_chance_is_refused(kind: str, value: str) -> None:
    with pytest.raises(TypeMismatchError):
        LineFormat(eval(kind, NAMES), "print()")(eval(value, NAMES))
