"""Figures about several numbers: least, greatest, mean, and how they are spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["aggregated", "distribution", "quantile", "skew"]


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which such a share of the (sorted, not empty) values lies, between two of them if need be."""
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)


def distribution(values: Sequence[int]) -> dict[str, Any]:
    """As in Flink's checkpoint statistics; of no values there are no quantiles."""
    shares = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
    if not values:
        return {"min": 0, "max": 0, "avg": 0, **dict.fromkeys(shares, "NaN")}
    ordered = sorted(values)
    quantiles = {name: float(quantile(ordered, share)) for name, share in shares.items()}
    return {"min": ordered[0], "max": ordered[-1], "avg": sum(ordered) // len(ordered), **quantiles}


def aggregated(values: Sequence[float]) -> dict[str, int]:
    """As in Flink's figures of a vertex over its subtasks."""
    ordered = sorted(values) or [0]
    return {
        "min": int(ordered[0]),
        "max": int(ordered[-1]),
        "avg": int(sum(ordered) / len(ordered)),
        "sum": int(sum(ordered)),
        "median": int(quantile(ordered, 0.5)),
        "p25": int(quantile(ordered, 0.25)),
        "p75": int(quantile(ordered, 0.75)),
        "p95": int(quantile(ordered, 0.95)),
    }


def skew(values: Sequence[float]) -> float:
    """Mean deviation from the mean, as per cent of the mean: 0 if all are alike, at most 100."""
    mean = sum(values) / len(values)
    if not mean:
        return 0.0
    deviation = sum(abs(each - mean) for each in values) / len(values)
    return min(abs(deviation / mean) * 100, 100.0)
