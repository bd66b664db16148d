"""Metrics of jobs on their way to other systems: what is reported, and how each system wants it.

A reporter is chosen by settings in Flink's form, or made by the user::

    metrics.reporter.prom.factory.class: prometheus
    metrics.reporter.prom.port: 9249

Others come as packages with an entry point in the group ``firesteel.reporters``: its name is the factory's.
"""

from __future__ import annotations

from firesteel.reporters.base import MetricReporter, ReportedMetric, ReporterSettings
from firesteel.reporters.collecting import Scopes, reported_metrics
from firesteel.reporters.factories import make_reporter
from firesteel.reporters.hub import MetricReporting

__all__ = [
    "MetricReporter",
    "MetricReporting",
    "ReportedMetric",
    "ReporterSettings",
    "Scopes",
    "make_reporter",
    "reported_metrics",
]
