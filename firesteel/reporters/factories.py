"""Which reporter a setting means: one of ours, one of Flink's by its class, or somebody else's by its entry point."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.reporters.base import MetricReporter, ReporterSettings

__all__ = ["ENTRY_POINTS", "make_reporter"]

ENTRY_POINTS = "firesteel.reporters"
_FLINK = "org.apache.flink.metrics."
_OWN = {
    "prometheus": "firesteel.reporters.prometheus:PrometheusReporter",
    "prometheus-push": "firesteel.reporters.prometheus:PrometheusPushGatewayReporter",
    "statsd": "firesteel.reporters.lines:StatsdReporter",
    "graphite": "firesteel.reporters.lines:GraphiteReporter",
    "influxdb": "firesteel.reporters.lines:InfluxdbReporter",
    "log": "firesteel.reporters.lines:LogReporter",
    "datadog": "firesteel.reporters.structured:DatadogReporter",
    "otlp": "firesteel.reporters.structured:OpenTelemetryReporter",
    "ganglia": "firesteel.reporters.structured:GangliaReporter",
    "jmx": "firesteel.execution.spark.jmx:JmxReporter",
}
_FLINKS = {
    f"{_FLINK}prometheus.PrometheusReporterFactory": "prometheus",
    f"{_FLINK}prometheus.PrometheusPushGatewayReporterFactory": "prometheus-push",
    f"{_FLINK}statsd.StatsDReporterFactory": "statsd",
    f"{_FLINK}graphite.GraphiteReporterFactory": "graphite",
    f"{_FLINK}influxdb.InfluxdbReporterFactory": "influxdb",
    f"{_FLINK}slf4j.Slf4jReporterFactory": "log",
    f"{_FLINK}datadog.DatadogHttpReporterFactory": "datadog",
    f"{_FLINK}otel.OpenTelemetryMetricReporterFactory": "otlp",
    f"{_FLINK}ganglia.GangliaReporterFactory": "ganglia",
    f"{_FLINK}jmx.JMXReporterFactory": "jmx",
}


def make_reporter(settings: ReporterSettings) -> MetricReporter:
    """The reporter that ``factory.class`` names: ours or Flink's, an entry point, or ``module:Class``."""
    wanted = settings.text("factory.class")
    place = _OWN.get(_FLINKS.get(wanted, wanted))
    found: Any = None
    if place is None:
        found = next((each.load() for each in entry_points(group=ENTRY_POINTS) if each.name == wanted), None)
        place = wanted
    if found is None:
        found = _loaded(place, settings)
    if not isinstance(found, type) or not issubclass(found, MetricReporter):
        raise ConfigurationError(
            f"metrics.reporter.{settings.name}.factory.class is {wanted!r}, which is {found!r}; expected a class that "
            "extends firesteel.reporters.MetricReporter"
        )
    return found(settings)


def _loaded(place: str, settings: ReporterSettings) -> Any:
    module, colon, name = place.partition(":")
    try:
        if colon:
            return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"metrics.reporter.{settings.name}.factory.class is {place!r}, which cannot be loaded: {error}"
        ) from None
    raise ConfigurationError(
        f"metrics.reporter.{settings.name}.factory.class is {place!r}, which is no reporter. Known are "
        f"{', '.join(sorted(_OWN))}, Flink's classes for these, entry points of {ENTRY_POINTS}, and module:Class"
    )
