"""In how many subtasks each operator runs, and how many key groups it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from firesteel.errors import ConfigurationError
from firesteel.plan.graph import FeedbackTransformation, PhysicalTransformation
from firesteel.plan.rewrites.settings import CompileSettings


class Width(NamedTuple):
    """How many subtasks, and how many there can ever be."""

    parallelism: int
    max_parallelism: int


def resolve_widths(nodes: Sequence[PhysicalTransformation], settings: CompileSettings) -> dict[int, Width]:
    """The width of each operator: its own, or that of the environment. The tail of a loop is as wide as its head."""
    return {node.id: _width(node, settings) for node in nodes}


def _width(node: PhysicalTransformation, settings: CompileSettings) -> Width:
    if isinstance(node, FeedbackTransformation):
        return _width(node.head, settings)
    parallelism = node.parallelism or settings.default_parallelism
    maximum = node.max_parallelism or settings.max_parallelism
    if parallelism > maximum:
        raise ConfigurationError(
            f"operator {node.name!r} (made at {node.call_site}) has parallelism {parallelism}, "
            f"but its max parallelism is {maximum}. Call set_max_parallelism({parallelism}) or higher"
        )
    return Width(parallelism, maximum)
