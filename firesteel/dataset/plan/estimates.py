"""Guesses of how many records a step gives. Only good enough to tell a small side of a join from a large one."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence

from firesteel.dataset.plan.nodes import (
    AggregateNode,
    ApplyNode,
    CollectionNode,
    CrossNode,
    FirstNode,
    GroupReduceNode,
    JoinNode,
    Node,
    ReduceNode,
    SequenceNode,
    TextNode,
    UnionNode,
)
from firesteel.state.file_systems import local_path

_BYTES_PER_LINE = 50


def estimate(node: Node, inputs: Sequence[int | None]) -> int | None:
    """About how many records come out, or None if nobody can tell."""
    if isinstance(node, CollectionNode):
        return len(node.records)
    if isinstance(node, SequenceNode):
        return max(node.last - node.first + 1, 0)
    if isinstance(node, TextNode):
        return _lines(node.path)
    if isinstance(node, FirstNode):
        return node.count
    if not inputs or any(each is None for each in inputs):
        return None
    known = [each for each in inputs if each is not None]
    if isinstance(node, (ReduceNode, AggregateNode, GroupReduceNode)):
        return 1 if node.keys is None else max(known[0] // 10, 1)
    if isinstance(node, ApplyNode) and node.method == "filter":
        return max(known[0] // 2, 1)
    if isinstance(node, CrossNode):
        return known[0] * known[1]
    if isinstance(node, UnionNode):
        return sum(known)
    return max(known) if isinstance(node, JoinNode) else known[0]


def _lines(path: str) -> int | None:
    local = local_path(path)
    if local is None:
        return None
    found = [entry for each in glob.glob(local) or [local] for entry in _files(each)]
    return sum(os.path.getsize(file) for file in found) // _BYTES_PER_LINE if found else None


def _files(path: str) -> list[str]:
    if os.path.isdir(path):
        return [entry.path for entry in os.scandir(path) if entry.is_file()]
    return [path] if os.path.isfile(path) else []
