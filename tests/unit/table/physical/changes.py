"""What tests of table operators share: changelogs in short, what a changelog says, and tables that change at random."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from firesteel.table.changelog import ADDS, DELETE, INSERT, KIND_NAMES, UPDATE_AFTER, UPDATE_BEFORE
from firesteel.table.functions import Argument, Call, find_function
from firesteel.table.logical.plan import AggregateCall, SortKey
from firesteel.table.resolution import ColumnValue, FunctionValue, Typed
from firesteel.table.types import DataTypes
from firesteel.testing import KeyedOneInputOperatorHarness, KeyedTwoInputOperatorHarness

KINDS = {name: kind for kind, name in enumerate(KIND_NAMES)}


def shown(changes: Iterable[tuple[int, Any]]) -> list[str]:
    """Changes as text: ``+I a 1``."""
    return [f"{KIND_NAMES[kind]} {' '.join(map(str, row))}" for kind, row in changes]


def replayed(changes: Iterable[tuple[int, Any]]) -> Counter[Any]:
    """The table that a changelog ends with. What goes must have been there."""
    table: Counter[Any] = Counter()
    for kind, row in changes:
        if ADDS[kind]:
            table[row] += 1
        else:
            assert table[row] > 0, f"{KIND_NAMES[kind]} of {row}, which is not there"
            table[row] -= 1
    return +table


def first_column(change: Any) -> Any:
    """A key: the first column."""
    return (change[1][0],)


def no_key(change: Any) -> Any:
    """All rows together."""
    return ()


def column(index: int, data_type: Any = None) -> Typed:
    """A column of numbers."""
    return ColumnValue(data_type or DataTypes.INT(), index, f"c{index}")


def less(left: Typed, right: Typed) -> Typed:
    """A condition."""
    function = find_function("<")
    call = Call("<", (Argument(left.type), Argument(right.type)))
    return FunctionValue(DataTypes.BOOLEAN(), function, call, (left, right))


def ascending(index: int) -> SortKey:
    """An order: NULL first."""
    return SortKey(column(index), False, True)


def descending(index: int) -> SortKey:
    """An order: NULL last."""
    return SortKey(column(index), True, False)


def aggregate(name: str, *arguments: int, distinct: bool = False) -> AggregateCall:
    """An aggregate of columns."""
    columns = tuple(column(index) for index in arguments)
    function = find_function(name)
    call = Call(name, tuple(Argument(each.type) for each in columns))
    return AggregateCall(function, call, columns, distinct)


@st.composite
def changelogs(draw: Any, rows: st.SearchStrategy[Any], max_size: int = 14) -> list[tuple[int, Any]]:
    """A changelog in which what goes was there, and updates are pairs."""
    there: list[Any] = []
    changes: list[tuple[int, Any]] = []
    for _ in range(draw(st.integers(0, max_size))):
        what = draw(st.sampled_from(["+I", "+I", "-D", "update"])) if there else "+I"
        if what == "+I":
            there.append(draw(rows))
            changes.append((INSERT, there[-1]))
            continue
        gone = there.pop(draw(st.integers(0, len(there) - 1)))
        if what == "-D":
            changes.append((DELETE, gone))
        else:
            there.append(draw(rows))
            changes.extend([(UPDATE_BEFORE, gone), (UPDATE_AFTER, there[-1])])
    return changes


def run(
    factory: Callable[[], Any], steps: Sequence[Any], key: Callable[[Any], Any] = first_column, cut: int | None = None
) -> list[tuple[int, Any]]:
    """What an operator of one input makes of changes and watermarks (numbers), cut and restored before a step."""
    harness = KeyedOneInputOperatorHarness(factory, key)
    output: list[Any] = []
    for at, step in enumerate(steps):
        if at == cut:
            stored = harness.snapshot()
            output.extend(harness.output_values())
            harness.close()
            harness = KeyedOneInputOperatorHarness(factory, key).restore(stored)
        if isinstance(step, int):
            harness.process_watermark(step)
        else:
            harness.process_element(step)
    harness.end_input()
    output.extend(harness.output_values())
    harness.close()
    return output


def run_two(
    factory: Callable[[], Any],
    steps: Sequence[Any],
    keys: tuple[Callable[[Any], Any], Callable[[Any], Any]] = (first_column, first_column),
    cut: int | None = None,
) -> list[tuple[int, Any]]:
    """The same for an operator of two inputs: a step is (side, change), or a watermark of both."""
    harness = KeyedTwoInputOperatorHarness(factory, *keys)
    output: list[Any] = []
    for at, step in enumerate(steps):
        if at == cut:
            stored = harness.snapshot()
            output.extend(harness.output_values())
            harness.close()
            harness = KeyedTwoInputOperatorHarness(factory, *keys).restore(stored)
        if isinstance(step, int):
            harness.process_both_watermarks(step)
        elif step[0] == 0:
            harness.process_element1(step[1])
        else:
            harness.process_element2(step[1])
    harness.end_input()
    output.extend(harness.output_values())
    harness.close()
    return output


@st.composite
def shuffled(draw: Any, left: list[Any], right: list[Any]) -> list[tuple[int, Any]]:
    """Changes of two sides in one order that keeps theirs."""
    steps, left, right = [], list(left), list(right)
    while left or right:
        side = 0 if not right else 1 if not left else draw(st.integers(0, 1))
        steps.append((side, (left if side == 0 else right).pop(0)))
    return steps
