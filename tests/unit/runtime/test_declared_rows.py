"""What is declared as rows arrives as rows with the declared names."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Configuration, Row, RowKind, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.runtime.declared_rows import row_namer

PERSON = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])


@pytest.mark.parametrize("record", [("Fred", 35), ["Fred", 35], Row("Fred", 35), {"age": 35, "name": "Fred"}])
def test_whatever_fits_becomes_a_named_row(record: Any) -> None:
    assert row_namer(("name", "age"))(record) == Row(name="Fred", age=35)


def test_a_field_that_a_dict_leaves_out_is_none() -> None:
    assert row_namer(("name", "age"))({"name": "Fred"}) == Row(name="Fred", age=None)


def test_the_kind_of_a_row_stays() -> None:
    named = row_namer(("n",))(Row.of_kind(RowKind.DELETE, 1))
    assert (named.n, named.get_row_kind()) == (1, RowKind.DELETE)


@pytest.mark.parametrize("record", [Row(other=1, age=2), ("Fred",), Row("Fred"), {"x": 1}, 7, "Fred"])
def test_what_does_not_fit_is_left_to_those_who_use_the_type(record: Any) -> None:
    assert row_namer(("name", "age"))(record) is record


def test_functions_read_declared_rows_by_name() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.target": "in-process"})
    )
    adults = (
        env.from_collection([("Fred", 35), ("Pebbles", 2)], PERSON)
        .filter(lambda person: person.age >= 18)
        .map(lambda person: (person["name"], person.age + 1), Types.ROW([Types.STRING(), Types.INT()]))
        .map(lambda row: f"{row.f0} {row.f1}")
    )
    assert list(adults.execute_and_collect()) == ["Fred 36"]
