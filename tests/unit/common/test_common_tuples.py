from __future__ import annotations

import pickle

import pytest

from firesteel.common import Tuple
from firesteel.common.tuples import MAX_TUPLE_ARITY, Tuple0, Tuple2, Tuple25
from firesteel.errors import ConfigurationError


@pytest.mark.parametrize("arity", range(MAX_TUPLE_ARITY + 1))
def test_fields_are_read_by_index_and_by_name(arity: int) -> None:
    values = tuple(f"v{i}" for i in range(arity))
    made = Tuple.of(*values)
    assert type(made).__name__ == f"Tuple{arity}"
    assert made == values and hash(made) == hash(values)
    assert [getattr(made, f"f{i}") for i in range(arity)] == [made[i] for i in range(arity)]
    twin = pickle.loads(pickle.dumps(made))
    assert twin == made and type(twin) is type(made)
    with pytest.raises(AttributeError):
        getattr(made, f"f{arity}")


def test_flinks_example() -> None:
    person = Tuple2.of("Fred", 35)
    name, age = person
    assert (person.f0, person.f1, name, age) == ("Fred", 35, "Fred", 35)
    assert ("Fred", 35) in {person}


def test_the_edges() -> None:
    assert Tuple0.of() == ()
    assert Tuple25.of(*range(25)).f24 == 24


def test_more_than_25_fields_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="at most 25 fields, got 26"):
        Tuple.of(*range(26))


def test_a_wrong_number_of_fields_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="Tuple2 takes 2 fields, got 3"):
        Tuple2.of(1, 2, 3)


def test_a_field_beyond_the_last_says_how_many_there_are() -> None:
    with pytest.raises(AttributeError, match="2 fields has no f2"):
        _ = Tuple2(1, 2).f2
