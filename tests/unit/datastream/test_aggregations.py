"""sum, min, max, min_by and max_by, called directly, on every kind of record."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common import Row, Tuple, Types
from firesteel.datastream._internal.aggregations import ExtremeByFunction, ExtremeFunction, KeyAndMeasure, SumFunction
from firesteel.datastream._internal.fields import RollingField, declared_field_type
from firesteel.errors import ConfigurationError, TypeMismatchError


@dataclass(frozen=True)
class Sale:
    who: str
    amount: int


class Named(NamedTuple):
    who: str
    amount: int


RECORDS = [
    pytest.param(lambda n: ("a", n), 1, id="tuple by position"),
    pytest.param(lambda n: ("a", n), "f1", id="tuple by Flink's name"),
    pytest.param(lambda n: Tuple.of("a", n), "f1", id="Tuple"),
    pytest.param(lambda n: Named("a", n), "amount", id="NamedTuple by name"),
    pytest.param(lambda n: Named("a", n), 1, id="NamedTuple by position"),
    pytest.param(lambda n: ["a", n], 1, id="list"),
    pytest.param(lambda n: Row("a", n), 1, id="Row by position"),
    pytest.param(lambda n: Row(who="a", amount=n), "amount", id="Row by name"),
    pytest.param(lambda n: Sale("a", n), "amount", id="dataclass by name"),
    pytest.param(lambda n: Sale("a", n), 1, id="dataclass by position"),
    pytest.param(lambda n: {"who": "a", "amount": n}, "amount", id="dict"),
    pytest.param(lambda n: n, 0, id="bare number"),
]


@pytest.mark.feature("KS-06")
@pytest.mark.parametrize(("make", "field"), RECORDS)
def test_sum_min_and_max_change_the_field_and_keep_class_and_inputs(make: Any, field: Any) -> None:
    for function, expected in [
        (SumFunction(RollingField(field, "sum")), 6),
        (ExtremeFunction(RollingField(field, "min"), largest=False), 1),
        (ExtremeFunction(RollingField(field, "max"), largest=True), 3),
    ]:
        records = [make(2), make(1), make(3)]
        before = copy.deepcopy(records)
        result = reduce(function.reduce, records)
        assert result == make(expected)
        assert type(result) is type(records[0])
        assert records == before


@pytest.mark.feature("KS-06")
def test_other_fields_stay_those_of_the_first_record() -> None:
    summing = SumFunction(RollingField(1, "sum"))
    largest = ExtremeFunction(RollingField(1, "max"), largest=True)
    assert summing.reduce(("first", 1), ("second", 2)) == ("first", 3)
    assert largest.reduce(("first", 1), ("second", 2)) == ("first", 2)


def test_strings_decimals_and_floats_can_be_summed() -> None:
    summing = SumFunction(RollingField(0, "sum"))
    assert summing.reduce("ab", "c") == "abc"
    assert summing.reduce(Decimal("0.1"), Decimal("0.2")) == Decimal("0.3")


@pytest.mark.feature("KS-05")
@pytest.mark.parametrize(("make", "field"), RECORDS)
def test_min_by_and_max_by_keep_the_whole_record(make: Any, field: Any) -> None:
    records = [make(1), make(5), make(3)]
    largest = ExtremeByFunction(RollingField(field, "max_by"), largest=True)
    smallest = ExtremeByFunction(RollingField(field, "min_by"), largest=False)
    assert reduce(largest.reduce, records) is records[1]
    assert reduce(smallest.reduce, records) is records[0]


@pytest.mark.feature("KS-05")
def test_the_first_record_wins_on_ties() -> None:
    first, second = ("a", 5, "first"), ("a", 5, "second")
    assert ExtremeByFunction(RollingField(1, "max_by"), largest=True).reduce(first, second) is first
    assert ExtremeByFunction(RollingField(1, "min_by"), largest=False).reduce(first, second) is first
    assert ExtremeFunction(RollingField(1, "max"), largest=True).reduce(first, second) is first


@given(st.lists(st.tuples(st.text(max_size=2), st.integers()), min_size=1))
def test_max_by_is_pythons_max_and_min_by_its_min(records: list[tuple[str, int]]) -> None:
    by_number = RollingField(1, "max_by")
    assert reduce(ExtremeByFunction(by_number, largest=True).reduce, records) is max(records, key=by_number)
    assert reduce(ExtremeByFunction(by_number, largest=False).reduce, records) is min(records, key=by_number)


def test_min_by_takes_a_function() -> None:
    longest = ExtremeByFunction(len, largest=True)
    assert reduce(longest.reduce, ["a", "ccc", "bb"]) == "ccc"


def test_a_missing_field_is_an_error_that_names_it() -> None:
    with pytest.raises(TypeMismatchError, match=r"max_by.*'price'.*who, amount"):
        ExtremeByFunction(RollingField("price", "max_by"), largest=True).reduce(Sale("a", 1), Sale("b", 2))
    with pytest.raises(TypeMismatchError, match="sum"):
        SumFunction(RollingField(1, "sum")).reduce(3, 4)


def test_values_that_do_not_go_together_are_an_error_that_shows_both() -> None:
    with pytest.raises(
        TypeMismatchError, match=r"sum: the values of field 1 cannot be added: 1 \(int\) and 'x' \(str\)"
    ):
        SumFunction(RollingField(1, "sum")).reduce(("a", 1), ("a", "x"))
    with pytest.raises(TypeMismatchError, match=r"max: the values of field 0 cannot be compared"):
        ExtremeFunction(RollingField(0, "max"), largest=True).reduce(1, "x")


def test_key_and_measure_and_fields_can_be_pickled() -> None:
    assert KeyAndMeasure(len, str.upper)("ab") == (2, "AB")
    field = pickle.loads(pickle.dumps(RollingField(0, "sum")))
    assert isinstance(field, RollingField)
    assert field(7) == 7


def test_declared_types_know_their_fields() -> None:
    row = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    pair = Types.TUPLE([Types.INT(), Types.STRING()])
    assert declared_field_type("key_by", "name", row) == Types.STRING()
    assert declared_field_type("key_by", 0, row) == Types.INT()
    assert declared_field_type("key_by", "f1", pair) == Types.STRING()
    assert declared_field_type("key_by", 0, Types.STRING()) is None
    assert declared_field_type("key_by", "x", None) is None
    with pytest.raises(ConfigurationError, match=r"key_by: .*no field 'nam'.*id, name"):
        declared_field_type("key_by", "nam", row)
    with pytest.raises(ConfigurationError, match="no field 2"):
        declared_field_type("sum", 2, pair)
