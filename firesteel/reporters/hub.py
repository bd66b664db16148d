"""Reports the metrics of one job: every reporter in a thread of its own, so that none holds up the job or another."""

from __future__ import annotations

import fnmatch
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from firesteel.common import Configuration
from firesteel.common.config_options import DurationValue
from firesteel.common.options import (
    METRICS_REPORTER,
    METRICS_REPORTERS,
    SCOPE_DELIMITER,
    SCOPE_JM_JOB,
    SCOPE_JM_OPERATOR,
    SCOPE_OPERATOR,
    SCOPE_TASK,
)
from firesteel.errors import ConfigurationError
from firesteel.events import JobDescribed, JobEnded, JobEvent, JobHistory, JobView
from firesteel.reporters.base import MetricReporter, ReportedMetric, ReporterSettings
from firesteel.reporters.collecting import Scopes, reported_metrics
from firesteel.reporters.factories import make_reporter

__all__ = ["MetricReporting"]

log = logging.getLogger("firesteel.metrics")
_ENDING_SECONDS = 15.0


@dataclass
class _Running:
    """One reporter at work."""

    reporter: MetricReporter
    name: str
    interval: float
    scopes: Scopes
    filters: tuple[str, ...]
    excludes: tuple[str, ...]
    thread: threading.Thread | None = None
    failing: bool = False


class MetricReporting:
    """A subscriber of a job's events, which starts its reporters and ends them with it.

    :param history: Has to get each event before this.
    :param clock: Milliseconds since 1970.
    """

    def __init__(self, running: list[_Running], history: JobHistory, clock: Callable[[], int] | None = None) -> None:
        self._running = running
        self._history = history
        self._clock = clock or (lambda: time.time_ns() // 1_000_000)
        self._over = threading.Event()

    @staticmethod
    def of(configuration: Configuration, history: JobHistory) -> MetricReporting | None:
        """What a job's settings ask for; None if that is nothing."""
        settings = _settings(configuration)
        if not settings:
            return None
        return MetricReporting([_running(each, _scopes(configuration, each)) for each in settings], history)

    def __call__(self, event: JobEvent) -> None:
        """Begin with the job, and end with it."""
        if isinstance(event, JobDescribed):
            for each in self._running:
                each.thread = threading.Thread(
                    target=self._report_on, args=(each,), name=f"firesteel-metrics-{each.name}", daemon=True
                )
                each.thread.start()
        elif isinstance(event, JobEnded):
            self._over.set()
            deadline = time.monotonic() + _ENDING_SECONDS
            for each in self._running:
                if each.thread is not None:
                    each.thread.join(max(deadline - time.monotonic(), 0))

    def _report_on(self, running: _Running) -> None:
        while not self._over.wait(running.interval):
            self._report(running)
        self._report(running)
        try:
            running.reporter.close()
        except Exception as error:
            log.warning("metric reporter %s could not be closed: %s", running.name, error)

    def _report(self, running: _Running) -> None:
        """Report once. A receiver that is away is said once, and tried again the next time."""
        now = self._clock()
        try:
            metrics = reported_metrics(JobView(self._history, now), running.scopes)
            running.reporter.report([each for each in metrics if _is_wanted(each, running)], now)
            if running.failing:
                log.info("metric reporter %s works again", running.name)
            running.failing = False
        except Exception as error:
            if not running.failing:
                log.warning("metric reporter %s fails, and is tried again: %s", running.name, error)
            running.failing = True


def _settings(configuration: Configuration) -> list[ReporterSettings]:
    """The reporters that are set up; ``metrics.reporters`` may name some of them only."""
    given: dict[str, str] | None = configuration.get(METRICS_REPORTER)
    by_name: dict[str, dict[str, str]] = {}
    for key, value in (given or {}).items():
        name, dot, setting = key.partition(".")
        if dot:
            by_name.setdefault(name, {})[setting] = value
    text: str | None = configuration.get(METRICS_REPORTERS)
    wanted = list(by_name) if not text else [each.strip() for each in text.split(",") if each.strip()]
    for name in wanted:
        if name not in by_name:
            raise ConfigurationError(
                f"metrics.reporters names {name!r}, of which there is no setting: set "
                f"metrics.reporter.{name}.factory.class"
            )
    return [ReporterSettings(name, by_name[name]) for name in wanted]


def _scopes(configuration: Configuration, settings: ReporterSettings) -> Scopes:
    return Scopes(
        configuration.get(SCOPE_JM_JOB),
        configuration.get(SCOPE_JM_OPERATOR),
        configuration.get(SCOPE_TASK),
        configuration.get(SCOPE_OPERATOR),
        settings.text("scope.delimiter", configuration.get(SCOPE_DELIMITER)),
    )


def _running(settings: ReporterSettings, scopes: Scopes) -> _Running:
    text = settings.text("interval", "10 s")
    try:
        interval = DurationValue().parse(text)
    except ValueError:
        raise ConfigurationError(
            f"metrics.reporter.{settings.name}.interval has to be a duration such as '10 s', got {text!r}"
        ) from None
    filters, excludes = (_patterns(settings.text(key, "")) for key in ("filter.includes", "filter.excludes"))
    return _Running(make_reporter(settings), settings.name, max(interval, 1) / 1000, scopes, filters, excludes)


def _patterns(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(";") if each.strip())


def _is_wanted(metric: ReportedMetric, running: _Running) -> bool:
    """Flink's filters: ``scope:name:kinds``, of which the last two may be left out, with stars."""
    included = not running.filters or any(_matches(metric, each) for each in running.filters)
    return included and not any(_matches(metric, each) for each in running.excludes)


def _matches(metric: ReportedMetric, pattern: str) -> bool:
    scope, name, kinds = [*pattern.split(":"), "*", "*"][:3]
    fits = any(fnmatch.fnmatchcase(metric.scope, each) for each in scope.split(","))
    named = any(fnmatch.fnmatchcase(metric.name, each) for each in name.split(","))
    return fits and named and (kinds == "*" or metric.kind in kinds.split(","))
