"""Functions of windows: each row gets its number, its rank or its neighbour's value."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.table import DataTypes as T
from firesteel.table.functions import FunctionError, find_function
from firesteel.table.functions.bitmaps import BitmapError, bitmap_bytes, bitmap_from_bytes
from firesteel.table.functions.definition import Argument, Call

VALUES = [1, 2, 2, 3, 5, 8]
PEERS = [0, 1, 1, 2, 3, 4]


def compute(name: str, *literals: Any) -> tuple[str, list[Any]]:
    function = find_function(name)
    value = [Argument(T.INT())] if name in {"LAG", "LEAD"} else []
    known = [Argument(T.INT().not_null(), True, each) for each in literals]
    call = Call(name, (*value, *known))
    rows = [((row,) if value else ()) + literals for row in VALUES]
    return str(function.infer(call)), function.make(call).compute(rows, PEERS)


@pytest.mark.parametrize(
    ("name", "literals", "data_type", "expected"),
    [
        ("ROW_NUMBER", (), "BIGINT NOT NULL", [1, 2, 3, 4, 5, 6]),
        ("RANK", (), "BIGINT NOT NULL", [1, 2, 2, 4, 5, 6]),
        ("DENSE_RANK", (), "BIGINT NOT NULL", [1, 2, 2, 3, 4, 5]),
        ("PERCENT_RANK", (), "DOUBLE NOT NULL", [0.0, 0.2, 0.2, 0.6, 0.8, 1.0]),
        ("CUME_DIST", (), "DOUBLE NOT NULL", [1 / 6, 0.5, 0.5, 4 / 6, 5 / 6, 1.0]),
        ("NTILE", (4,), "BIGINT NOT NULL", [1, 1, 2, 2, 3, 4]),
        ("LAG", (), "INT", [None, 1, 2, 2, 3, 5]),
        ("LEAD", (2, 99), "INT", [2, 3, 5, 8, 99, 99]),
    ],
)
def test_each_row_gets_its_value(name: str, literals: tuple[Any, ...], data_type: str, expected: list[Any]) -> None:
    assert compute(name, *literals) == (data_type, expected)


def test_buckets_have_to_be_positive() -> None:
    with pytest.raises(FunctionError, match="has to be positive"):
        compute("NTILE", 0)


@pytest.mark.parametrize("numbers", [[], [1, 2, 3], [0, 65535, 65536, 2**32 - 1], range(0, 20000, 2)])
def test_bitmaps_come_back_from_their_bytes(numbers: Any) -> None:
    assert bitmap_from_bytes(bitmap_bytes(frozenset(numbers))) == frozenset(numbers)


def test_bytes_with_runs_are_read_and_others_refused() -> None:
    runs = (12347).to_bytes(4, "little") + b"\x01" + b"\x00\x00\x04\x00" + b"\x01\x00" + b"\x0a\x00\x04\x00"
    assert bitmap_from_bytes(runs) == frozenset(range(10, 15))
    with pytest.raises(BitmapError):
        bitmap_from_bytes(b"nonsense")
