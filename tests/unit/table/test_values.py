"""Values of users become what the engine holds, and come back the same."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common.types import Row
from firesteel.errors import TypeMismatchError
from firesteel.table import DataTypes as T
from firesteel.table.types import DataType
from firesteel.table.values import from_stored, to_stored

POINT = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)


@pytest.mark.parametrize(
    ("data_type", "value", "stored"),
    [
        (T.INT(), 5, 5),
        (T.DECIMAL(5, 2), Decimal("1.50"), Decimal("1.50")),
        (T.STRING(), "x", "x"),
        (T.BYTES(), b"x", b"x"),
        (T.DATE(), datetime.date(1970, 1, 2), 1),
        (T.TIME(3), datetime.time(0, 0, 1, 5000), 1005),
        (T.TIMESTAMP(6), POINT, 1709209815123456),
        (T.TIMESTAMP(9), POINT, 1709209815123456000),
        (T.TIMESTAMP_LTZ(6), POINT, 1709209815123456),
        (T.INTERVAL(T.DAY(), T.SECOND(3)), datetime.timedelta(days=1, milliseconds=5), 86_400_005),
        (T.ARRAY(T.DATE()), [datetime.date(1970, 1, 2), None], (1, None)),
        (T.MAP(T.STRING(), T.INT()), {"a": 1}, {"a": 1}),
        (T.MULTISET(T.STRING()), {"a": 2}, {"a": 2}),
        (T.ROW([T.FIELD("a", T.INT()), T.FIELD("b", T.DATE())]), Row(a=1, b=None), (1, None)),
    ],
)
def test_a_value_comes_back(data_type: DataType, value: Any, stored: Any) -> None:
    assert to_stored(data_type)(value) == stored
    assert from_stored(data_type)(stored) == value
    assert from_stored(data_type)(to_stored(data_type)(None)) is None


def test_rows_come_as_tuples_dicts_and_rows() -> None:
    row = T.ROW([T.FIELD("a", T.INT()), T.FIELD("b", T.STRING())])
    assert {to_stored(row)(each) for each in ((1, "x"), {"b": "x", "a": 1}, Row(1, "x"), Row(b="x", a=1))} == {(1, "x")}


def test_a_zone_says_which_point_in_time_is_meant() -> None:
    ltz = to_stored(T.TIMESTAMP_LTZ(3), "Asia/Tokyo")
    assert ltz(datetime.datetime(1970, 1, 1, 9)) == 0
    assert ltz(datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) == 0


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        (T.TINYINT(), 200),
        (T.INT(), "5"),
        (T.INT(), True),
        (T.INT().not_null(), None),
        (T.DECIMAL(3, 2), Decimal("100")),
        (T.STRING(), 5),
        (T.DATE(), "2024-01-01"),
        (T.TIMESTAMP(3), datetime.date(2024, 1, 1)),
        (T.ARRAY(T.INT()), [1, "x"]),
        (T.ROW([T.FIELD("a", T.INT())]), (1, 2)),
    ],
)
def test_a_value_of_another_type_is_refused(data_type: DataType, value: Any) -> None:
    with pytest.raises(TypeMismatchError, match="no value of"):
        to_stored(data_type)(value)


@given(st.datetimes(min_value=datetime.datetime(1, 1, 2), max_value=datetime.datetime(9999, 12, 30)))
def test_any_time_survives(moment: datetime.datetime) -> None:
    for precision in (6, 9):
        data_type = T.TIMESTAMP(precision)
        assert from_stored(data_type)(to_stored(data_type)(moment)) == moment
