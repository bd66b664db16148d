"""Showing a plan: as text for people, and as the JSON that Flink's plan visualizer reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from firesteel.dataset.plan.optimizer import BROADCAST, CUSTOM, FORWARD, GATHER, HASH, RANGE, Ship, Step

_WORDS = {
    HASH: "exchange by hash of",
    CUSTOM: "exchange by the user's partitioner of",
    RANGE: "exchange by range of",
}


def as_text(steps: Iterable[Step], indent: str = "") -> str:
    """A line per step: number, what it does, how, and how each input gets there."""
    return "\n".join(line for step in steps for line in _lines(step, indent))


def _lines(step: Step, indent: str) -> Iterator[str]:
    node = step.node
    notes = [f"{step.tasks} task{'s' if step.tasks != 1 else ''}"]
    if step.local:
        notes.append(step.local)
    if step.cached:
        notes.append("computed once and kept")
    yield f"{indent}[{node.id}] {node.kind}: {node.name} ({'; '.join(notes)})"
    for source, ship in zip(node.inputs, step.ships):
        yield f"{indent}      <- [{source.id}] {describe(ship)}"
    for name, source in node.broadcast.items():
        yield f"{indent}      <- [{source.id}] broadcast set {name!r}"
    for inner in step.inner.values():
        yield from _lines(inner, indent + "    ")


def describe(ship: Ship) -> str:
    """How records get to a step, in words."""
    if ship.kept:
        return f"no exchange: already together by {ship.keys}"
    if ship.kind in _WORDS:
        return f"{_WORDS[ship.kind]} {ship.keys}" + (", made once for several steps" if ship.reused else "")
    return {FORWARD: "as they are", GATHER: "to one task", BROADCAST: "whole to every task"}.get(
        ship.kind, "evenly dealt out"
    )


def exchanges(steps: Iterable[Step]) -> int:
    """How many exchanges a plan makes, those in iterations counted once."""
    steps = list(steps)
    own = sum(ship.kind != FORWARD and not ship.reused for step in steps for ship in step.ships)
    return own + sum(exchanges(step.inner.values()) for step in steps)


def as_json(steps: Iterable[Step]) -> str:
    """The plan in the form of Flink's ``getExecutionPlan``."""
    return json.dumps({"nodes": [_node(step) for step in steps]}, indent=2)


def _node(step: Step) -> dict[str, Any]:
    node = step.node
    described: dict[str, Any] = {
        "id": node.id,
        "type": node.kind,
        "pact": node.kind,
        "contents": node.name,
        "parallelism": str(step.tasks),
        "driver_strategy": step.local,
        "cached": "yes" if step.cached else "no",
        "predecessors": [
            {"id": source.id, "ship_strategy": describe(ship)} for source, ship in zip(node.inputs, step.ships)
        ],
    }
    if step.inner:
        described["step_function"] = [_node(inner) for inner in step.inner.values()]
    return described
