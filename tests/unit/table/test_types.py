"""Logical types: texts, common types, casts and decimal results, all as Flink's own classes answer (types.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from firesteel.errors import ConfigurationError, TypeMismatchError
from firesteel.table import DataTypes as T
from firesteel.table.types import (
    DataType,
    DecimalType,
    RowType,
    TimeAttribute,
    UserDefinedType,
    can_cast,
    can_cast_implicitly,
    common_type,
    create_arrow_schema,
    from_arrow_type,
    to_arrow_type,
)
from firesteel.table.types import decimals as rules

GOLDEN = json.loads((Path(__file__).parents[2] / "flink_goldens" / "sql" / "types.json").read_text())


def _row(*fields: tuple[str, DataType]) -> RowType:
    return T.ROW([T.FIELD(name, data_type) for name, data_type in fields])


INTERVALS = [
    T.INTERVAL(T.YEAR()),
    T.INTERVAL(T.YEAR(), T.MONTH()),
    T.INTERVAL(T.MONTH()),
    T.INTERVAL(T.DAY()),
    T.INTERVAL(T.DAY(), T.SECOND(3)),
    T.INTERVAL(T.HOUR()),
    T.INTERVAL(T.SECOND(3)),
    T.INTERVAL(T.SECOND(6)),
]
ALL = [
    *(T.CHAR(2), T.CHAR(5), T.VARCHAR(3), T.STRING(), T.BOOLEAN()),
    *(T.BINARY(2), T.VARBINARY(3), T.BYTES()),
    *(T.DECIMAL(5, 2), T.DECIMAL(20, 0), T.DECIMAL(38, 18), T.DECIMAL(38, 0)),
    *(T.TINYINT(), T.SMALLINT(), T.INT(), T.BIGINT(), T.FLOAT(), T.DOUBLE()),
    *(T.DATE(), T.TIME(0), T.TIME(3), T.TIMESTAMP(0), T.TIMESTAMP(3), T.TIMESTAMP(9)),
    *(T.TIMESTAMP_LTZ(3), T.TIMESTAMP_LTZ(6), *INTERVALS),
    *(T.ARRAY(T.INT()), T.ARRAY(T.BIGINT().not_null()), T.ARRAY(T.STRING())),
    *(T.MAP(T.STRING(), T.INT()), T.MAP(T.CHAR(2), T.BIGINT()), T.MULTISET(T.INT())),
    *(_row(("a", T.INT()), ("b", T.STRING())), _row(("c", T.BIGINT()), ("d", T.STRING())), _row(("a", T.INT()))),
    *(T.NULL(), T.VARIANT(), T.INT().not_null(), T.BIGINT().not_null(), T.STRING().not_null()),
]
BY_TEXT = {str(each): each for each in ALL}
PAIRS = [(left, right) for left in ALL for right in ALL]


def test_every_type_is_written_as_flink_writes_it() -> None:
    assert list(BY_TEXT) == GOLDEN["types"]
    assert {text: BY_TEXT[text].serializable() for text in GOLDEN["serializable"]} == GOLDEN["serializable"]


def test_the_common_type_of_each_pair_is_flinks() -> None:
    ours = {f"{a} & {b}": str(merged) for a, b in PAIRS if (merged := common_type([a, b])) is not None}
    assert _differences(ours, GOLDEN["common"]) == {}


@pytest.mark.parametrize(("which", "check"), [("implicit", can_cast_implicitly), ("explicit", can_cast)])
def test_the_casts_that_there_are_are_flinks(which: str, check: Any) -> None:
    ours = {f"{a} > {b}": True for a, b in PAIRS if check(a, b)}
    assert _differences(ours, dict.fromkeys(GOLDEN[which], True)) == {}


def _differences(ours: dict[str, Any], flinks: dict[str, Any]) -> dict[str, Any]:
    return {
        key: (ours.get(key), flinks.get(key)) for key in ours.keys() | flinks.keys() if ours.get(key) != flinks.get(key)
    }


def test_the_decimal_that_an_operation_gives_is_flinks() -> None:
    two = {
        "add": rules.add_result,
        "mul": rules.multiply_result,
        "div": rules.divide_result,
        "mod": rules.modulo_result,
    }
    for key, expected in GOLDEN["decimals"].items():
        types = [DecimalType(*map(int, each.split(","))).not_null() for each in key.split()]
        if len(types) == 2:
            ours = {name: str(rule(*types).not_null()) for name, rule in two.items()}
        else:
            digits = [int(name.removeprefix("round")) for name in expected if name.startswith("round")]
            ours = {"sum": str(rules.sum_result(types[0])), "avg": str(rules.average_result(types[0]))}
            ours |= {f"round{each}": str(rules.round_result(types[0], each)) for each in digits}
        assert (key, ours) == (key, expected)


def test_types_are_values() -> None:
    assert T.ARRAY(T.INT()) == T.ARRAY(T.INT()) != T.ARRAY(T.INT().not_null())
    assert len({T.VARCHAR(3), T.VARCHAR(3), T.VARCHAR(3).not_null(), T.CHAR(3)}) == 3
    nullable = T.INT()
    assert nullable.not_null().is_nullable is False and nullable.is_nullable and nullable.nullable() is nullable


def test_a_common_type_is_nullable_if_one_of_them_is() -> None:
    assert str(common_type([T.INT().not_null(), T.NULL()])) == "INT"
    assert str(common_type([T.INT().not_null(), T.BIGINT().not_null(), T.TINYINT().not_null()])) == "BIGINT NOT NULL"
    assert common_type([T.INT(), T.STRING()]) is None
    assert common_type([]) is None


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: T.DECIMAL(39, 0), "from 1 to 38"),
        (lambda: T.DECIMAL(3, 4), "must not exceed its precision"),
        (lambda: T.TIMESTAMP(10), "from 0 to 9"),
        (lambda: T.CHAR(-1), "length of CHAR"),
        (lambda: T.ARRAY(int), "DataTypes.INT"),  # type: ignore[arg-type]
        (lambda: T.ROW(["a"]), "DataTypes.FIELD"),  # type: ignore[list-item]
        (lambda: T.INTERVAL(T.SECOND(), T.DAY()), "no INTERVAL SECOND TO DAY"),
        (lambda: T.ROW().add("a"), "needs the type"),
    ],
)
def test_a_type_that_cannot_be_says_why(make: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        make()


def test_rows_are_read_by_name_position_and_slice() -> None:
    row = T.ROW().add("a", T.INT()).add(T.FIELD("b", T.STRING(), "what it is"))
    assert (row["a"], row[1].name, len(row), row[:1].field_names()) == (row.fields[0], "b", 2, ["a"])
    assert str(row) == "ROW<`a` INT, `b` STRING 'what it is'>"
    with pytest.raises(KeyError):
        row["c"]


def test_time_attributes_are_marked() -> None:
    rowtime = T.TIMESTAMP(3).with_attribute(TimeAttribute.ROWTIME)
    assert str(rowtime) == "TIMESTAMP(3) *ROWTIME*"
    assert str(rowtime.not_null()) == "TIMESTAMP(3) NOT NULL *ROWTIME*"
    assert rowtime != T.TIMESTAMP(3) and rowtime.with_attribute(TimeAttribute.REGULAR) == T.TIMESTAMP(3)


class _Point(UserDefinedType):
    @classmethod
    def sql_type(cls) -> DataType:
        return T.ARRAY(T.DOUBLE())


def test_other_types_and_their_texts() -> None:
    structured = T.STRUCTURED("com.example.User", [T.FIELD("age", T.INT())]).not_null()
    assert str(structured) == "STRUCTURED<'com.example.User', `age` INT> NOT NULL"
    assert str(T.RAW("Thing")) == "RAW('Thing', '...')"
    assert (_Point.type_name(), _Point.module(), _Point() == _Point()) == ("_point", __name__, True)
    assert repr(T.DECIMAL(5, 2)) == "DecimalType(5, 2, true)" and repr(T.VARCHAR(3)) == "VarCharType(3, true)"


@pytest.mark.parametrize("data_type", [each for each in ALL if str(each) not in {"VARIANT"}])
def test_types_come_back_from_arrow(data_type: DataType) -> None:
    arrow = to_arrow_type(data_type)
    again = to_arrow_type(from_arrow_type(arrow, data_type.is_nullable))
    assert again == arrow or "INTERVAL" in str(data_type)


def test_points_in_time_are_counted_in_the_coarsest_unit_that_holds_them() -> None:
    units = [to_arrow_type(T.TIMESTAMP(precision)).unit for precision in range(10)]
    assert units == ["s", "ms", "ms", "ms", "us", "us", "us", "ns", "ns", "ns"]
    assert to_arrow_type(T.TIMESTAMP_LTZ(3)) == pa.timestamp("ms", "UTC")
    assert str(from_arrow_type(pa.timestamp("ns", "UTC"), False)) == "TIMESTAMP_LTZ(9) NOT NULL"


def test_schemas_keep_names_and_nullability() -> None:
    schema = create_arrow_schema(["a", "b"], [T.INT().not_null(), T.ARRAY(_row(("x", T.STRING())))])
    assert [field.nullable for field in schema] == [False, True]
    assert str(from_arrow_type(schema.field("b").type)) == "ARRAY<ROW<`x` STRING>>"


def test_a_type_without_counterpart_is_refused() -> None:
    with pytest.raises(TypeMismatchError, match="no logical type"):
        from_arrow_type(pa.month_day_nano_interval())
    with pytest.raises(TypeMismatchError, match="no Arrow array"):
        to_arrow_type(T.LIST_VIEW(T.INT()))
