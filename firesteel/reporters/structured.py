"""Reporters that send structured data: Datadog and OpenTelemetry (JSON over HTTP), Ganglia (XDR over UDP)."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Sequence
from typing import Any

import firesteel
from firesteel.errors import ConfigurationError
from firesteel.metrics import DistributionValue
from firesteel.reporters.base import COUNTER, MetricReporter, ReportedMetric, ReporterSettings, post

__all__ = ["DatadogReporter", "GangliaReporter", "OpenTelemetryReporter"]

_DATA_CENTERS = {
    "US": "https://api.datadoghq.com",
    "EU": "https://api.datadoghq.eu",
    "US3": "https://api.us3.datadoghq.com",
    "US5": "https://api.us5.datadoghq.com",
    "AP1": "https://api.ap1.datadoghq.com",
}


class DatadogReporter(MetricReporter):
    """Datadog's series: ``apikey``, ``dataCenter`` (or ``url``), ``tags``, ``maxMetricsPerRequest``."""

    def __init__(self, settings: ReporterSettings) -> None:
        super().__init__(settings)
        center = settings.text("dataCenter", "US").upper()
        if center not in _DATA_CENTERS:
            known = ", ".join(_DATA_CENTERS)
            raise ConfigurationError(
                f"metrics.reporter.{settings.name}.dataCenter has to be one of {known}, got {center!r}"
            )
        self._url = f"{settings.text('url', _DATA_CENTERS[center]).rstrip('/')}/api/v1/series"
        self._headers = {"Content-Type": "application/json", "DD-API-KEY": settings.text("apikey")}
        self._tags = [each.strip() for each in settings.text("tags", "").split(",") if each.strip()]
        self._most = max(settings.number("maxMetricsPerRequest", 2000), 1)
        self._logical = settings.flag("useLogicalIdentifier", False)
        self._told: dict[tuple[str, str], float] = {}

    def report(self, metrics: Sequence[ReportedMetric], now: int) -> None:
        """Send all numbers, in several requests if there are many. Counters are what has been added since."""
        series = [self._serie(metric, part, value, now) for metric in metrics for part, value in metric.numbers()]
        for start in range(0, len(series), self._most):
            post(self._url, json.dumps({"series": series[start : start + self._most]}).encode(), self._headers)

    def _serie(self, metric: ReportedMetric, part: str, value: float, now: int) -> dict[str, Any]:
        base = f"flink.{metric.scope}.{metric.name}" if self._logical else metric.identifier
        if metric.kind == COUNTER:
            key = (metric.identifier, part)
            before = self._told.get(key, 0)
            self._told[key], value = value, value - before if value >= before else value
        return {
            "metric": f"{base}.{part}" if part else base,
            "type": "count" if metric.kind == COUNTER else "gauge",
            "host": metric.variables.get("host", ""),
            "tags": [*self._tags, *(f"{key}:{item}" for key, item in sorted(metric.variables.items()))],
            "points": [[now // 1000, value]],
        }


class OpenTelemetryReporter(MetricReporter):
    """OTLP as JSON over HTTP, to a collector at ``exporter.endpoint``; ``service.name`` and ``service.version``."""

    def __init__(self, settings: ReporterSettings) -> None:
        super().__init__(settings)
        protocol = settings.text("exporter.protocol", "HTTP").upper()
        if protocol != "HTTP":
            raise ConfigurationError(
                f"metrics.reporter.{settings.name}.exporter.protocol has to be HTTP, got {protocol}: collectors "
                "take it on port 4318"
            )
        endpoint = settings.text("exporter.endpoint").rstrip("/")
        self._url = endpoint if endpoint.endswith("/v1/metrics") else f"{endpoint}/v1/metrics"
        self._resource = _attributes(
            {
                "service.name": settings.text("service.name", "firesteel"),
                "service.version": settings.text("service.version", firesteel.__version__),
            }
        )
        self._started: int | None = None

    def report(self, metrics: Sequence[ReportedMetric], now: int) -> None:
        """Send all metrics in one request, each name once with a point for each of its variables."""
        self._started = now if self._started is None else self._started
        families: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for metric in metrics:
            kind = _otlp_kind(metric)
            point = self._point(metric, now)
            if point is not None:
                families.setdefault((f"flink.{metric.scope}.{metric.name}", kind), []).append(point)
        described = [{"name": name, kind: _otlp_body(kind, points)} for (name, kind), points in families.items()]
        scope = {"scope": {"name": "firesteel", "version": firesteel.__version__}, "metrics": described}
        body = {"resourceMetrics": [{"resource": {"attributes": self._resource}, "scopeMetrics": [scope]}]}
        post(self._url, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def _point(self, metric: ReportedMetric, now: int) -> dict[str, Any] | None:
        """Times are texts: JSON's numbers do not hold nanoseconds."""
        point: dict[str, Any] = {
            "attributes": _attributes(metric.variables),
            "startTimeUnixNano": f"{self._started}000000",
            "timeUnixNano": f"{now}000000",
        }
        if isinstance(metric.value, DistributionValue):
            point |= {"count": str(metric.value.count), "sum": float(metric.value.sum)}
            ends = [(0.0, metric.value.min), (1.0, metric.value.max)]
            point["quantileValues"] = [{"quantile": at, "value": value} for at, value in ends if value is not None]
            return point
        for _, value in metric.numbers():
            return point | ({"asInt": str(value)} if isinstance(value, int) else {"asDouble": value})
        return None


def _attributes(values: Any) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in sorted(values.items())]


def _otlp_kind(metric: ReportedMetric) -> str:
    if isinstance(metric.value, DistributionValue):
        return "summary"
    return "sum" if metric.kind == COUNTER else "gauge"


def _otlp_body(kind: str, points: list[dict[str, Any]]) -> dict[str, Any]:
    cumulative = 2
    return {"dataPoints": points} | (
        {"aggregationTemporality": cumulative, "isMonotonic": False} if kind == "sum" else {}
    )


class GangliaReporter(MetricReporter):
    """Ganglia's gmond at ``host`` and ``port``: packets of version 3.1; ``tmax`` and ``dmax`` in seconds, ``ttl``."""

    def __init__(self, settings: ReporterSettings) -> None:
        super().__init__(settings)
        self._host, self._port = settings.text("host", "localhost"), settings.number("port", 8649)
        self._most, self._forgotten = settings.number("tmax", 60), settings.number("dmax", 0)
        self._ttl = settings.number("ttl", 1)

    def report(self, metrics: Sequence[ReportedMetric], now: int) -> None:
        """Send two packets for each number: what it is, and its value."""
        found = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(found[0], socket.SOCK_DGRAM) as sending:
            if found[0] == socket.AF_INET:
                sending.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, self._ttl)
            for metric in metrics:
                for part, value in metric.numbers():
                    name = f"{metric.identifier}.{part}" if part else metric.identifier
                    for packet in self._packets(metric, name, float(value)):
                        sending.sendto(packet, found[4])

    def _packets(self, metric: ReportedMetric, name: str, value: float) -> tuple[bytes, bytes]:
        host = metric.variables.get("host", "")
        head = _xdr(host) + _xdr(name) + _number(0)
        described = (
            _number(128)
            + head
            + _xdr("double")
            + _xdr(name)
            + _xdr("")
            + b"".join(_number(each) for each in (3, self._most, self._forgotten, 1))
            + _xdr("GROUP")
            + _xdr("flink")
        )
        return described, _number(133) + head + _xdr("%s") + _xdr(f"{value}")


def _number(value: int) -> bytes:
    return struct.pack(">i", value)


def _xdr(text: str) -> bytes:
    """A text: its length, its bytes, and zeros up to a multiple of four."""
    data = text.encode()
    return _number(len(data)) + data + b"\0" * (-len(data) % 4)
