"""Sorting by key and time, in memory and on disk."""

from __future__ import annotations

import datetime
import decimal
import itertools
import random
import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.state.sorting import KeySorter, order_of

RECORDS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 4), st.one_of(st.none(), st.integers(0, 5))), max_size=60
)
NOTHING, EVERYTHING = 1, 2**40


def sorted_by(memory: int, records: list[tuple[int, Any, int | None]], batch: int = 3) -> list[tuple[Any, ...]]:
    """What comes out, record by record, as (key, input, number, timestamp)."""
    sorter = KeySorter(2, memory)
    numbered = [(number, *record) for number, record in enumerate(records)]
    for start in range(0, len(numbered), batch):
        for number, index, key, stamp in numbered[start : start + batch]:
            sorter.add(index, [number], None if stamp is None else [stamp], [key], 10)
    out = [
        (piece.key, piece.input_index, value, stamp)
        for piece in sorter.pieces()
        for value, stamp in zip(piece.values, piece.stamps, strict=True)
    ]
    sorter.close()
    return out


@pytest.mark.parametrize("memory", [NOTHING, 400, EVERYTHING])
@given(RECORDS)
def test_records_come_by_key_then_time_then_input_and_keep_their_order(
    memory: int, records: list[tuple[int, int, int | None]]
) -> None:
    def place(record: tuple[int, int, int, int | None]) -> Any:
        number, index, key, stamp = record
        return key, -1 if stamp is None else stamp, index, number

    numbered = [(number, *record) for number, record in enumerate(records)]
    expected = [(key, index, number, stamp) for number, index, key, stamp in sorted(numbered, key=place)]
    assert sorted_by(memory, records) == expected


@dataclass(frozen=True)
class Place:
    street: str
    number: int


KEYS = [
    3,
    2.5,
    decimal.Decimal("2.75"),
    "b",
    "a",
    b"x",
    None,
    (1, "x"),
    (1, None),
    frozenset({1, 2}),
    datetime.date(2024, 1, 2),
    datetime.datetime(2024, 1, 2),
    uuid.UUID(int=7),
    Place("a", 1),
    Place("a", 2),
]


@pytest.mark.parametrize("memory", [NOTHING, EVERYTHING])
def test_keys_of_all_kinds_can_be_sorted_and_equal_ones_come_together(memory: int) -> None:
    equals = [3.0, decimal.Decimal("2.5"), (1.0, "x"), frozenset({2, 1}), Place("a", 1)]
    keys = [*KEYS, *equals] * 3
    random.Random(4).shuffle(keys)
    out = [key for key, *_ in sorted_by(memory, [(0, key, None) for key in keys])]
    changes = sum(before != after for before, after in itertools.pairwise(out))
    assert len(out) == len(keys) and changes == len(KEYS) - 1


def test_numbers_and_texts_keep_their_own_order() -> None:
    assert sorted(["b", "a", 10, 9.5], key=order_of) == [9.5, 10, "a", "b"]


def test_many_runs_are_merged_in_between() -> None:
    sorter = KeySorter(1, NOTHING)
    for number in range(100):
        sorter.add(0, [number], [100 - number], [number % 3], 10)
    assert sorter.runs < 40
    out = [value for piece in sorter.pieces() for value in piece.values]
    assert out == sorted(range(100), key=lambda number: (number % 3, -number))
    sorter.close()
