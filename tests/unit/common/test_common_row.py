from __future__ import annotations

import copy
import pickle

import pytest

from firesteel.common import Row, RowKind


def test_named_fields_are_read_by_name_position_and_attribute() -> None:
    row = Row(city="Oslo", rides=11)
    assert (row.city, row["rides"], row[0], row[-1]) == ("Oslo", 11, "Oslo", 11)
    assert list(row) == ["Oslo", 11] and len(row) == 2
    assert "city" in row and "Oslo" not in row


def test_positional_row_knows_its_values_only() -> None:
    row = Row("Oslo", 11)
    assert row[0] == "Oslo" and "Oslo" in row
    assert row[0:2] == ["Oslo", 11]
    with pytest.raises(AttributeError, match="no field names"):
        _ = row.city


def test_fields_are_written_by_position_or_name() -> None:
    row = Row(city="Oslo", rides=11)
    row["rides"] = 12
    row[0] = "Bergen"
    assert row == Row(city="Bergen", rides=12)
    with pytest.raises(AttributeError, match=r"row\['rides'\]"):
        row.rides = 13
    with pytest.raises(KeyError, match="it has city, rides"):
        row["size"] = 1


def test_mixing_positions_and_names_is_refused() -> None:
    with pytest.raises(ValueError, match="all fields or none"):
        Row(1, city="x")


def test_a_row_of_strings_is_a_template() -> None:
    stop = Row("city", "rides")
    assert repr(stop("Oslo", 11)) == "Row(city='Oslo', rides=11)"
    assert stop("Oslo").as_dict() == {"city": "Oslo"}
    with pytest.raises(ValueError, match="at most 2"):
        stop(1, 2, 3)


def test_named_rows_are_equal_whatever_the_order_of_names() -> None:
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert hash(Row(a=1, b=2)) == hash(Row(b=2, a=1))
    assert Row(a=1, b=2) != Row(a=2, b=1)
    assert Row(1, 2) != Row(a=1, b=2)
    assert Row(1, 2) == Row(1, 2)
    assert Row(1) != (1,)


def test_the_row_kind_is_part_of_a_row() -> None:
    row = Row.of_kind(RowKind.UPDATE_AFTER, 1)
    assert row.get_row_kind() is RowKind.UPDATE_AFTER
    assert row != Row(1)
    row.set_row_kind(RowKind.INSERT)
    assert row == Row(1)
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]


def test_field_names_can_be_set_later() -> None:
    row = Row(1, 2)
    row.set_field_names(["x", "y"])
    assert row.y == 2
    assert row.get_fields_by_names(["y", "x"]) == [2, 1]
    with pytest.raises(ValueError, match="one name for each"):
        row.set_field_names(["x"])


def test_as_dict_goes_inside_only_if_asked() -> None:
    row = Row(key=1, value=Row(city="a"), more=[Row(n=1)])
    assert row.as_dict()["value"] == Row(city="a")
    assert row.as_dict(True) == {"key": 1, "value": {"city": "a"}, "more": [{"n": 1}]}
    with pytest.raises(TypeError, match="set_field_names"):
        Row(1).as_dict()


def test_printing() -> None:
    assert str(Row(city="Oslo", rides=11)) == "Row(city='Oslo', rides=11)"
    assert str(Row("Oslo", 11)) == "<Row('Oslo', 11)>"


@pytest.mark.parametrize("row", [Row(1, "x"), Row(a=1, b=None), Row.of_kind(RowKind.DELETE, a=[1])])
def test_pickle_and_copy_keep_everything(row: Row) -> None:
    for twin in (pickle.loads(pickle.dumps(row)), copy.deepcopy(row), copy.copy(row)):
        assert twin == row
        assert twin.get_row_kind() is row.get_row_kind()
        assert repr(twin) == repr(row)


def test_a_batch_pickles_the_names_once() -> None:
    one = len(pickle.dumps([Row(some_long_city=1, another_long_city=2)], 5))
    many = len(pickle.dumps([Row(some_long_city=1, another_long_city=2) for _ in range(101)], 5))
    assert (many - one) / 100 < 20
