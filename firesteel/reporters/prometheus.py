"""Prometheus: its text format, a server that is scraped, and the push gateway."""

from __future__ import annotations

import re
import threading
import urllib.parse
import uuid
from collections.abc import Callable, Iterable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from firesteel.errors import ConfigurationError
from firesteel.metrics import DistributionValue
from firesteel.reporters.base import HISTOGRAM, MetricReporter, ReportedMetric, ReporterSettings, post

__all__ = ["CONTENT_TYPE", "PrometheusPushGatewayReporter", "PrometheusReporter", "exposition"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9:_]")
_DEFAULT_PORT = 9249
"""Flink's."""


def _name(metric: ReportedMetric) -> str:
    return "flink_" + _NOT_IN_NAMES.sub("_", f"{metric.scope}.{metric.name}")


def _label(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def exposition(metrics: Iterable[ReportedMetric], filter_values: bool = True) -> str:
    """Metrics in Prometheus's text format. Counters are gauges, as Flink reports them: they may go down.

    :param filter_values: Replace what is neither letter, digit, colon nor underscore in labels, as Flink does.
    """
    families: dict[str, list[str]] = {}
    kinds: dict[str, str] = {}
    for metric in metrics:
        clean = (lambda text: _NOT_IN_NAMES.sub("_", text)) if filter_values else _label
        labels = ",".join(f'{key}="{clean(value)}"' for key, value in sorted(metric.variables.items()))
        name = _name(metric)
        if metric.kind == HISTOGRAM and isinstance(metric.value, DistributionValue):
            kinds[name] = "summary"
            lines = families.setdefault(name, [])
            lines += [f"{name}_sum{{{labels}}} {metric.value.sum}", f"{name}_count{{{labels}}} {metric.value.count}"]
            for part, value in metric.numbers():
                if part in ("min", "max"):
                    families.setdefault(f"{name}_{part}", []).append(f"{name}_{part}{{{labels}}} {value}")
            continue
        families.setdefault(name, []).extend(f"{name}{{{labels}}} {value}" for _, value in metric.numbers())
    written = [(name, lines) for name, lines in families.items() if lines]
    return "".join(f"# TYPE {name} {kinds.get(name, 'gauge')}\n" + "\n".join(lines) + "\n" for name, lines in written)


class _Server:
    """Answers a scrape with what all jobs of the process report; shared by those that ask for the same port."""

    def __init__(self, host: str, port: int) -> None:
        self.jobs: dict[object, Callable[[], str]] = {}
        jobs = self.jobs

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = "".join([text() for text in list(jobs.values())]).encode()
                self.send_response(200)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Scrapes are not logged."""

        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="firesteel-prometheus", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


_servers: dict[tuple[str, str], _Server] = {}
_lock = threading.Lock()


def _ports(text: str, name: str) -> list[int]:
    first, _, last = text.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal():
        raise ConfigurationError(f"metrics.reporter.{name}.port has to be a port or a range of them, got {text!r}")
    return list(range(int(first), int(last or first) + 1))


class PrometheusReporter(MetricReporter):
    """Is scraped: on ``port`` (one, a range of which the first free one is taken, or 0) of ``host``, the loopback."""

    def __init__(self, settings: ReporterSettings) -> None:
        super().__init__(settings)
        self._filter = settings.flag("filterLabelValueCharacters", True)
        self._text = ""
        host, ports = settings.text("host", "127.0.0.1"), settings.text("port", str(_DEFAULT_PORT))
        self._key = (host, ports)
        with _lock:
            server = _servers.get(self._key)
            if server is None:
                server = _servers[self._key] = self._listening(host, _ports(ports, settings.name))
            server.jobs[self] = lambda: self._text
        self.url = f"http://{host}:{server.port}/metrics"
        """Where it is scraped."""

    def _listening(self, host: str, ports: Sequence[int]) -> _Server:
        for port in ports:
            try:
                return _Server(host, port)
            except OSError as error:
                problem = error
        raise ConfigurationError(
            f"the Prometheus reporter cannot listen on {host}, port {self.settings.text('port', str(_DEFAULT_PORT))}: "
            f"{problem}. A range such as 9249-9260 takes the first free one"
        )

    def report(self, metrics: Sequence[ReportedMetric], now: int) -> None:
        """Keep the text for the next scrape."""
        self._text = exposition(metrics, self._filter)

    def close(self) -> None:
        """Tell nothing of this job any more; the last job of the process closes the server."""
        with _lock:
            server = _servers[self._key]
            del server.jobs[self]
            if server.jobs:
                return
            del _servers[self._key]
        server.close()


class PrometheusPushGatewayReporter(MetricReporter):
    """Pushes to a gateway at ``hostUrl`` (or ``host`` and ``port``), under ``jobName`` and ``groupingKey``."""

    def __init__(self, settings: ReporterSettings) -> None:
        super().__init__(settings)
        url = settings.values.get("hostUrl") or f"http://{settings.text('host')}:{settings.number('port', 9091)}"
        job = settings.text("jobName", "")
        if settings.flag("randomJobNameSuffix", True):
            job += uuid.uuid4().hex
        if not job:
            raise ConfigurationError(f"metrics.reporter.{settings.name}.jobName is empty: a gateway groups by it")
        groups = {"job": job, **settings.pairs("groupingKey")}
        path = "/".join(urllib.parse.quote(part, safe="") for pair in groups.items() for part in pair)
        self._url = f"{url.rstrip('/')}/metrics/{path}"
        self._filter = settings.flag("filterLabelValueCharacters", True)
        self._delete = settings.flag("deleteOnShutdown", True)

    def report(self, metrics: Sequence[ReportedMetric], now: int) -> None:
        """Replace what the gateway has of this job."""
        post(self._url, exposition(metrics, self._filter).encode(), {"Content-Type": CONTENT_TYPE}, "PUT")

    def close(self) -> None:
        """Take the job's metrics away from the gateway, unless they shall stay."""
        if self._delete:
            post(self._url, b"", {}, "DELETE")
