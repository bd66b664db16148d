from __future__ import annotations

import pickle
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from firesteel.common.tuples import Tuple2
from firesteel.common.types import Row
from firesteel.errors import ConfigurationError, TypeMismatchError
from firesteel.model.functions.fields import Field, field_names


@dataclass
class Ride:
    cell: str
    fare: int


@dataclass(frozen=True)
class FrozenRide:
    cell: str
    fare: int


class NamedRide(NamedTuple):
    cell: str
    fare: int


class CountingRide(NamedTuple):
    """Has a field that is also the name of a tuple method."""

    cell: str
    count: int


class PlainRide:
    def __init__(self, cell, fare):
        self.cell = cell
        self.fare = fare

    def __eq__(self, other):
        return vars(self) == vars(other)


NAMED = [
    Ride("x", 5),
    FrozenRide("x", 5),
    NamedRide("x", 5),
    PlainRide("x", 5),
    Row(cell="x", fare=5),
    {"cell": "x", "fare": 5},
    OrderedDict(cell="x", fare=5),
]
POSITIONED = [("x", 5), ["x", 5], NamedRide("x", 5), Row("x", 5), Row(cell="x", fare=5), Ride("x", 5), Tuple2("x", 5)]


@pytest.mark.parametrize("record", NAMED, ids=lambda record: type(record).__name__)
def test_fields_are_read_and_replaced_by_name(record):
    before = pickle.dumps(record)
    fare = Field("fare")
    assert fare(record) == 5
    changed = fare.replace(record, 7)
    assert type(changed) is type(record)
    assert (Field("cell")(changed), fare(changed)) == ("x", 7)
    assert pickle.dumps(record) == before


@pytest.mark.parametrize("record", POSITIONED, ids=lambda record: type(record).__name__)
def test_fields_are_read_and_replaced_by_position(record):
    fare = Field(1)
    assert fare(record) == 5
    changed = fare.replace(record, 7)
    assert type(changed) is type(record)
    assert (Field(0)(changed), fare(changed), fare(record)) == ("x", 7, 5)


def test_tuples_have_flinks_field_names():
    assert Field("f1")(("x", 5)) == 5
    assert Field("f0")(Tuple2("x", 5)) == "x"
    assert Field("f0").replace(("x", 5), "y") == ("y", 5)


def test_a_field_wins_over_a_method_of_the_same_name():
    assert Field("count")(CountingRide("x", 9)) == 9
    assert Field("items")({"items": 3}) == 3


def test_records_of_several_types_may_be_mixed():
    fare = Field("fare")
    assert [fare(record) for record in NAMED] == [5] * len(NAMED)


@pytest.mark.parametrize(
    ("field", "record", "message"),
    [
        ("tip", Ride("x", 5), r"key_by\('tip'\): a record of type Ride .* its fields are: cell, fare"),
        ("tip", {"cell": 1}, "its fields are: cell"),
        ("tip", Row(cell=1), "its fields are: cell"),
        ("tip", Row(1, 2), "type Row"),
        ("tip", NamedRide("x", 5), "its fields are: cell, fare"),
        ("tip", ("x", 5), "2 fields, which are read by position"),
        ("f2", ("x", 5), "2 fields"),
        (2, ("x", 5), "does not have a position 2"),
        (2, Ride("x", 5), "does not have a position 2"),
        (0, {"cell": 1}, "does not have a position 0"),
        (0, 17, "give a function"),
        (0, "text", "type str"),
    ],
)
def test_a_field_that_is_not_there_is_named_with_those_that_are(field, record, message):
    with pytest.raises(TypeMismatchError, match=message):
        Field(field, "key_by")(record)


@pytest.mark.parametrize("field", [True, -1, "", 1.5, None])
def test_a_field_is_a_name_or_a_position(field):
    with pytest.raises(ConfigurationError, match="sum: "):
        Field(field, "sum")


def test_fields_compare_by_what_they_name_and_pickle_without_what_they_learned():
    fare = Field("fare")
    fare(Ride("x", 5))
    copy = pickle.loads(pickle.dumps(fare))
    assert copy == fare
    assert hash(copy) == hash(fare)
    assert len(pickle.dumps(fare)) == len(pickle.dumps(Field("fare")))
    assert fare != Field("cell")


def test_field_names_of_records():
    assert [field_names(record) for record in NAMED] == [["cell", "fare"]] * len(NAMED)
    assert field_names(("x", 5)) is None
