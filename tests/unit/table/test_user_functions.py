"""Functions of users, in SQL and in the Table API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firesteel.errors import ProgramError
from firesteel.table import AggregateFunction, DataTypes, FunctionContext, ScalarFunction, Table, TableEnvironment
from firesteel.table.expressions import call, col
from firesteel.table.udf import udaf, udf

Make = Callable[..., TableEnvironment]


@udf(result_type=DataTypes.BIGINT())
def plus_one(number: int | None) -> int | None:
    return None if number is None else number + 1


class Greeting(ScalarFunction):
    def open(self, function_context: FunctionContext) -> None:
        self._word = "hello"

    def eval(self, name: str) -> str:
        return f"{self._word} {name}"


greet = udf(Greeting(), input_types=["STRING"], result_type="STRING")


class Longest(AggregateFunction):
    def create_accumulator(self) -> Any:
        return [""]

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        if len(args[0]) > len(accumulator[0]):
            accumulator[0] = args[0]

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0]


longest = udaf(Longest(), result_type=DataTypes.STRING())


def changes(table: Table) -> list[tuple[Any, ...]]:
    with table.execute().collect() as rows:
        return [(str(row.get_row_kind()), *row) for row in rows]


def people(env: TableEnvironment) -> Table:
    return env.from_elements([(1, "ann"), (1, "hannah"), (2, "bob")], ["k", "name"])


def test_functions_of_a_row(table_environment: Make) -> None:
    env = table_environment()
    table = people(env)
    assert changes(table.select(plus_one(col("k")), greet(col("name")))) == [
        ("+I", 2, "hello ann"),
        ("+I", 2, "hello hannah"),
        ("+I", 3, "hello bob"),
    ]
    env.create_temporary_view("people", table)
    env.create_temporary_function("greet", greet)
    env.create_temporary_system_function("Plus_One", plus_one)
    assert changes(env.sql_query("SELECT greet(name) FROM people WHERE plus_one(k) > 2")) == [("+I", "hello bob")]
    assert changes(table.select(call("plus_one", col("k"))))[0] == ("+I", 2)
    assert env.list_user_defined_functions() == ["greet", "plus_one"]
    assert env.drop_temporary_function("greet")
    with pytest.raises(ProgramError, match="no function GREET"):
        env.sql_query("SELECT greet(name) FROM people")


def test_aggregates(table_environment: Make) -> None:
    env = table_environment()
    table = people(env)
    expected = [("+I", 1, "ann"), ("-U", 1, "ann"), ("+U", 1, "hannah"), ("+I", 2, "bob")]
    assert changes(table.group_by(col("k")).select(col("k"), longest(col("name")))) == expected
    env.create_temporary_view("people", table)
    env.create_temporary_function("longest", longest)
    assert changes(env.sql_query("SELECT k, longest(name) FROM people GROUP BY k")) == expected


def test_wrong_arguments_are_said_before_anything_runs(table_environment: Make) -> None:
    env = table_environment()
    with pytest.raises(ProgramError, match="argument 1 has to be STRING"):
        people(env).select(greet(col("k")))
    with pytest.raises(ProgramError, match="it takes 1 arguments"):
        people(env).select(greet(col("name"), col("name")))


def test_functions_are_found_by_their_modules(table_environment: Make) -> None:
    env = table_environment()
    env.create_temporary_view("people", people(env))
    env.execute_sql(f"CREATE TEMPORARY FUNCTION inc AS '{__name__}.plus_one' LANGUAGE PYTHON")
    assert changes(env.sql_query("SELECT inc(k) FROM people"))[-1] == ("+I", 3)
    env.execute_sql("DROP TEMPORARY FUNCTION inc")
    assert env.list_user_defined_functions() == []
