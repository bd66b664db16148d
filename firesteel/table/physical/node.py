"""The physical plan: which operators carry a query out, and what flows between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from firesteel.table.changelog import ChangelogMode
from firesteel.table.types import RowField

__all__ = ["Connect", "PhysicalNode"]

Connect = Callable[[Sequence[Any]], Any]
"""Makes of the streams of the inputs the stream of the node: its records are pairs ``(kind, row)``."""


@dataclass(frozen=True)
class PhysicalNode:
    """A step that the engine does.

    :param name: What it is, in one word: ``GroupAggregate``.
    :param detail: What it does to which columns, for EXPLAIN: ``groupBy=[a], select=[a, COUNT(*)]``.
    :param fields: The columns of its rows.
    :param mode: Which changes come out of it.
    :param connect: Puts its operator into the program; called once per job.
    :param unique_keys: Sets of columns of which no two rows at a time have the same values.
    """

    name: str
    detail: str
    fields: tuple[RowField, ...]
    mode: ChangelogMode
    connect: Connect = field(compare=False)
    inputs: tuple[PhysicalNode, ...] = ()
    unique_keys: tuple[frozenset[int], ...] = ()
