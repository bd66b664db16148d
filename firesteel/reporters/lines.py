"""Reporters that write lines of text: StatsD, Graphite, InfluxDB, and the log."""

from __future__ import annotations

import logging
import re
import socket
import urllib.parse
from base64 import b64encode
from collections.abc import Iterable, Sequence

from firesteel.errors import ConfigurationError
from firesteel.reporters.base import COUNTER, METER, MetricReporter, ReportedMetric, ReporterSettings, post

__all__ = ["GraphiteReporter", "InfluxdbReporter", "LogReporter", "StatsdReporter"]

log = logging.getLogger("firesteel.metrics")
_DATAGRAM = 1400
"""What fits into one packet of any network."""


def _dotted(metric: ReportedMetric, part: str) -> str:
    return f"{metric.identifier}.{part}" if part else metric.identifier


def _family(host: str, port: int, kind: socket.SocketKind) -> tuple[socket.AddressFamily, object]:
    found = socket.getaddrinfo(host, port, type=kind)[0]
    return found[0], found[4]


def _datagrams(lines: Iterable[str]) -> list[bytes]:
    """Lines in as few packets as they fit into."""
    packets: list[bytes] = []
    for line in lines:
        data = line.encode()
        if packets and len(packets[-1]) + 1 + len(data) <= _DATAGRAM:
            packets[-1] += b"\n" + data
        else:
            packets.append(data)
    return packets


def _send_datagrams(host: str, port: int, packets: Iterable[bytes]) -> None:
    family, address = _family(host, port, socket.SOCK_DGRAM)
    with socket.socket(family, socket.SOCK_DGRAM) as sending:
        for packet in packets:
            sending.sendto(packet, address)  # type: ignore[call-overload]


class StatsdReporter(MetricReporter):
    """StatsD over UDP at ``host`` and ``port``: counters as what has been added since, everything else as gauges."""

    def __init__(self, settings: ReporterSettings) -> None:
        super().__init__(settings)
        self._host, self._port = settings.text("host", "localhost"), settings.number("port", 8125)
        self._told: dict[str, float] = {}

    def report(self, metrics: Sequence[ReportedMetric], now: int) -> None:
        """Send one line for each number."""
        lines = [
            line for metric in metrics for part, value in metric.numbers() for line in self._lines(metric, part, value)
        ]
        _send_datagrams(self._host, self._port, _datagrams(lines))

    def _lines(self, metric: ReportedMetric, part: str, value: float) -> list[str]:
        name = _dotted(metric, part).translate(_STATSD)
        if metric.kind == COUNTER:
            before = self._told.get(metric.identifier, 0)
            self._told[metric.identifier] = value
            added = value - before if value >= before else value  # a restart began to count anew
            return [f"{name}:{added}|c"]
        # A gauge with a sign is a change of the one before: one below zero is set to zero first.
        return [f"{name}:0|g", f"{name}:{value}|g"] if value < 0 else [f"{name}:{value}|g"]


_STATSD = str.maketrans({":": "-", "|": "-", "\n": " ", "@": "-"})
_SPACES = re.compile(r"\s")


class GraphiteReporter(MetricReporter):
    """Graphite at ``host`` and ``port``: lines of name, value and seconds, over ``protocol`` TCP or UDP."""

    def __init__(self, settings: ReporterSettings) -> None:
        super().__init__(settings)
        self._host, self._port = settings.text("host", "localhost"), settings.number("port", 2003)
        self._protocol = settings.text("protocol", "TCP").upper()
        if self._protocol not in ("TCP", "UDP"):
            raise ConfigurationError(
                f"metrics.reporter.{settings.name}.protocol has to be TCP or UDP, got {self._protocol!r}"
            )

    def report(self, metrics: Sequence[ReportedMetric], now: int) -> None:
        """Send one line for each number."""
        lines = [
            f"{_SPACES.sub('_', _dotted(metric, part))} {value} {now // 1000}\n"
            for metric in metrics
            for part, value in metric.numbers()
        ]
        if self._protocol == "UDP":
            _send_datagrams(self._host, self._port, [line.encode() for line in lines])
            return
        with socket.create_connection((self._host, self._port), timeout=10) as sending:
            sending.sendall("".join(lines).encode())


class InfluxdbReporter(MetricReporter):
    """InfluxDB's line protocol over HTTP: ``scheme``, ``host``, ``port``, ``db``, ``username``, ``password``."""

    def __init__(self, settings: ReporterSettings) -> None:
        super().__init__(settings)
        place = (
            f"{settings.text('scheme', 'http')}://{settings.text('host', 'localhost')}:{settings.number('port', 8086)}"
        )
        parameters = {"db": settings.text("db"), "precision": "ms"}
        for key, parameter in (("retentionPolicy", "rp"), ("consistency", "consistency")):
            if settings.values.get(key):
                parameters[parameter] = settings.values[key]
        self._url = f"{place}/write?{urllib.parse.urlencode(parameters)}"
        self._headers = {"Content-Type": "text/plain; charset=utf-8"}
        user = settings.values.get("username")
        if user is not None:
            shown = b64encode(f"{user}:{settings.text('password', '')}".encode()).decode()
            self._headers["Authorization"] = f"Basic {shown}"

    def report(self, metrics: Sequence[ReportedMetric], now: int) -> None:
        """Send one line for each metric, with its variables as tags."""
        lines = [line for metric in metrics if (line := _point(metric, now)) is not None]
        post(self._url, "\n".join(lines).encode(), self._headers)


def _escaped(text: str, marks: str) -> str:
    for mark in ("\\", *marks):
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")


def _point(metric: ReportedMetric, now: int) -> str | None:
    """A line of InfluxDB's protocol; None for what has no value."""
    numbers = dict(metric.numbers())
    if metric.kind == METER and "" in numbers:
        fields = {"rate": float(numbers[""])} | ({} if metric.count is None else {"count": float(metric.count)})
        shown = [f"{name}={value}" for name, value in fields.items()]
    elif numbers:
        whole = "count" if metric.kind == COUNTER else "value"
        shown = [f"{name or whole}={_field(value)}" for name, value in numbers.items()]
    elif isinstance(metric.value, str):
        shown = ['value="' + metric.value.replace("\\", "\\\\").replace('"', '\\"') + '"']
    else:
        return None
    name = _escaped(f"{metric.scope}.{metric.name}".replace(".", "_"), ", ")
    tags = "".join(
        f",{_escaped(key, ',= ')}={_escaped(value, ',= ')}" for key, value in sorted(metric.variables.items()) if value
    )
    return f"{name}{tags} {','.join(shown)} {now}"


def _field(value: float) -> str:
    return f"{value}i" if isinstance(value, int) else str(value)


class LogReporter(MetricReporter):
    """Writes all metrics to the log ``firesteel.metrics``, on the level INFO."""

    def report(self, metrics: Sequence[ReportedMetric], now: int) -> None:
        """Write one line for each number or text."""
        for metric in metrics:
            shown = list(metric.numbers()) or ([("", metric.value)] if metric.value is not None else [])
            for part, value in shown:
                log.info("%s %s: %s", metric.kind, _dotted(metric, part), value)
