"""Answers about metrics: their names, their values, and what those of several subtasks or jobs add up to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from firesteel.rest.summaries import skew

__all__ = ["AGGREGATIONS", "aggregate", "listed"]

Metrics = dict[str, Any]
AGGREGATIONS = ("min", "max", "avg", "sum", "skew")


def listed(metrics: Metrics, wanted: Sequence[str] | None) -> list[dict[str, str]]:
    """The names of all metrics; or those that are asked for by name, with their values as text."""
    if wanted is None:
        return [{"id": name} for name in sorted(metrics)]
    return [{"id": name, "value": _text(metrics[name])} for name in wanted if name in metrics]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def aggregate(several: Iterable[Metrics], wanted: Sequence[str] | None, how: Sequence[str]) -> list[dict[str, Any]]:
    """Metrics of several subtasks or jobs taken together; what is no number is left out."""
    everything = list(several)
    if wanted is None:
        return [{"id": name} for name in sorted({name for each in everything for name in each})]
    answer = []
    for name in wanted:
        found = (each[name] for each in everything if name in each)
        values = [float(each) for each in found if isinstance(each, (int, float)) and math.isfinite(each)]
        if values:
            figures = _figures(values)
            answer.append({"id": name, **{each: figures[each] for each in AGGREGATIONS if each in how}})
    return answer


def _figures(values: Sequence[float]) -> dict[str, float]:
    whole = sum(values)
    return {
        "min": min(values),
        "max": max(values),
        "avg": whole / len(values),
        "sum": whole,
        "skew": skew(values),
    }
