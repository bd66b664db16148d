"""Metrics that user functions keep, and how they travel from the subtasks to the driver."""

from __future__ import annotations

from firesteel.metrics.metricbase import (
    Counter,
    Distribution,
    DistributionValue,
    MergedMetrics,
    Meter,
    MeterRate,
    MeterValue,
    Metric,
    MetricGroup,
    MetricSnapshot,
    merge_snapshots,
)

__all__ = [
    "Counter",
    "Distribution",
    "DistributionValue",
    "MergedMetrics",
    "Meter",
    "MeterRate",
    "MeterValue",
    "Metric",
    "MetricGroup",
    "MetricSnapshot",
    "merge_snapshots",
]
