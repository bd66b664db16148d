"""The order of rows: a key for each row that Python compares as SQL says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from firesteel.table.evaluation import evaluator
from firesteel.table.logical.plan import SortKey

__all__ = ["sort_key_of"]


class _Descending:
    """A value that comes before those that are smaller."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Descending) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and bool(self.value == other.value)

    __hash__ = None  # type: ignore[assignment]


def sort_key_of(keys: Sequence[SortKey]) -> Callable[[Any], Any]:
    """The function that gives the place of a row in the order: smaller ones first."""
    parts = [_part(each) for each in keys]
    if len(parts) == 1:
        return parts[0]
    return lambda row: tuple([part(row) for part in parts])


def _part(key: SortKey) -> Callable[[Any], Any]:
    value_of = evaluator(key.value)
    null = (0 if key.nulls_first else 2, 0)
    if key.descending:

        def descending(row: Any) -> Any:
            value = value_of(row)
            return null if value is None else (1, _Descending(value))

        return descending

    def ascending(row: Any) -> Any:
        value = value_of(row)
        return null if value is None else (1, value)

    return ascending
