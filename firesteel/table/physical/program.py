"""A physical plan put into a program of the engine, and shown as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.table.physical.node import PhysicalNode

__all__ = ["Program", "shown"]


class Program:
    """The streams of the nodes of one job: a node that several others read is put into it once."""

    def __init__(self) -> None:
        self._streams: dict[int, tuple[Any, Any]] = {}

    def stream(self, node: PhysicalNode) -> Any:
        """The stream of a node's changes: pairs ``(kind, row)``."""
        # A node whose columns are only called otherwise shares the step that makes its rows.
        found = self._streams.get(id(node.connect))
        if found is None:
            stream = node.connect([self.stream(each) for each in node.inputs])
            found = self._streams[id(node.connect)] = (node.connect, stream)
        return found[1]


def shown(node: PhysicalNode, modes: bool = False, prefix: str = "", own: str = "") -> Iterator[str]:
    """The lines of a plan, each node with its inputs below it."""
    mode = f", changelogMode=[{str(node.mode)[1:-1]}]" if modes else ""
    inside = f"{node.detail}{mode}".removeprefix(", ")
    yield f"{prefix}{own}{node.name}({inside})"
    below = prefix + {"": "", "+- ": "   ", ":- ": ":  "}[own]
    for at, each in enumerate(node.inputs):
        yield from shown(each, modes, below, "+- " if at == len(node.inputs) - 1 else ":- ")
