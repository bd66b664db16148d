"""What a subtask notices about a program while it runs it: for the driver, which says so once."""

from __future__ import annotations

from dataclasses import dataclass, field

from firesteel.runtime.failure import OperatorInfo


@dataclass(frozen=True)
class MadeWatermarks:
    """An operator that makes watermarks, after an epoch.

    :param last: The last one that its strategy made; the end of all time does not count.
    :param idle: Whether it has said that it is idle.
    :param notices_idleness: Whether its strategy says so by itself, after some time.
    :param has_strategy: Without one it never makes any.
    """

    last: int
    idle: bool
    notices_idleness: bool
    has_strategy: bool


@dataclass
class Remarks:
    """What is worth a hint. Gathered where it costs nothing: per epoch, and where records are dropped anyway."""

    watermarks: dict[str, MadeWatermarks] = field(default_factory=dict)
    """By uid of the operator."""
    undeclared: list[tuple[OperatorInfo, str]] = field(default_factory=list)
    """Side outputs that were emitted and that nobody reads: operator and tag."""
    only_none: dict[int, tuple[OperatorInfo, bool]] = field(default_factory=dict)
    """Edges behind a ``key_by`` over which records went: whether None was their only key."""
