"""Keys that are lists: routed and remembered as tuples."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.errors import KeyError_
from firesteel.runtime import partitioners
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.emitters import Emitter
from firesteel.runtime.failure import OperatorInfo
from firesteel.runtime.frozen_key import frozen
from firesteel.runtime.partitioners import Partitioning
from firesteel.runtime.routing import make_emitter


def emitter(select: Any) -> Emitter:
    partitioning = Partitioning(partitioners.HASH, key_selector=select)
    return make_emitter(
        partitioning,
        edge=0,
        level=1,
        subtask=0,
        producers=1,
        targets=2,
        max_parallelism=128,
        chunk_records=100,
        producer=OperatorInfo("uid", "Source", "here"),
    )


def routed(out: Emitter) -> list[tuple[Any, Any]]:
    return sorted((pair for writer in out.writers for pair in zip(writer.values, writer.keys)), key=str)


@pytest.mark.parametrize("timestamps", [None, [1, 2, 3]])
def test_a_list_key_becomes_a_tuple(timestamps: list[int] | None) -> None:
    out = emitter(lambda value: [value % 2, [value]])
    out.emit(RowBatch([1, 2, 3], timestamps))
    assert routed(out) == [(1, (1, (1,))), (2, (0, (2,))), (3, (1, (3,)))]


def test_records_before_the_first_list_key_are_routed_once() -> None:
    out = emitter(lambda value: value if value < 3 else bytearray(b"x") if value == 4 else [value])
    out.emit(RowBatch([1, 2, 3, 4]))
    out.emit(RowBatch([5]))
    assert routed(out) == [(1, 1), (2, 2), (3, (3,)), (4, b"x"), (5, (5,))]


def test_what_cannot_be_frozen_is_refused_still() -> None:
    for key in ({"a": 1}, [{"a": 1}], {1}):
        with pytest.raises(KeyError_, match="gave a key that cannot be used"):
            emitter(lambda _, key=key: key).emit(RowBatch([1]))


def test_the_error_of_a_selector_is_its_own() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        emitter(lambda value: value + "x").emit(RowBatch([1]))


def test_equal_lists_are_one_key() -> None:
    assert frozen([1, [2, bytearray(b"a")]]) == (1, (2, b"a"))
    assert frozen("abc") == "abc"
