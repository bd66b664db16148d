"""Metrics that user functions keep, and how they travel from the subtasks to the driver.

A function gets its group from ``runtime_context.get_metrics_group()``::

    def open(self, runtime_context):
        self.seen = runtime_context.get_metrics_group().add_group("rides").counter("seen")

Each subtask keeps its own metrics. With every epoch it reports :meth:`MetricGroup.snapshot`, plain data that
can be pickled, and the driver puts the latest snapshots of all subtasks together with
:func:`merge_snapshots`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from firesteel.errors import ConfigurationError

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

logger = logging.getLogger(__name__)


class Metric:
    """Base class of the metrics that a group hands out."""


M = TypeVar("M", bound=Metric)


class Counter(Metric):
    """A number that functions raise and lower."""

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Raise the count."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Lower the count."""
        self._count -= n

    def get_count(self) -> int:
        """The count of this subtask."""
        return self._count


class Meter(Metric):
    """Counts events; the driver derives the rate per second over the time span (see :class:`MeterRate`)."""

    def __init__(self, time_span_in_seconds: int = 60) -> None:
        if time_span_in_seconds <= 0:
            raise ConfigurationError(f"the time span of a meter must be positive, got {time_span_in_seconds} s.")
        self._count = 0
        self._time_span_in_seconds = time_span_in_seconds

    def mark_event(self, value: int = 1) -> None:
        """Count so many events."""
        self._count += value

    def get_count(self) -> int:
        """The number of events in this subtask."""
        return self._count

    def get_time_span(self) -> int:
        """The time span of the rate, in seconds."""
        return self._time_span_in_seconds


class Distribution(Metric):
    """Keeps number, sum, least and greatest of the values it is told."""

    def __init__(self) -> None:
        # Four plain fields: update() is called for every record, and an object each time would be dear.
        self._count = 0
        self._sum: float = 0
        self._min: float | None = None
        self._max: float | None = None

    def update(self, value: float) -> None:
        """Take in a value."""
        self._count += 1
        self._sum += value
        if self._min is None or value < self._min:
            self._min = value
        if self._max is None or value > self._max:
            self._max = value

    def get_value(self) -> DistributionValue:
        """What this subtask has seen."""
        return DistributionValue(self._count, self._sum, self._min, self._max)


@dataclass(frozen=True)
class DistributionValue:
    """Number, sum, least and greatest of some values; two of them add up."""

    count: int = 0
    sum: float = 0
    min: float | None = None
    max: float | None = None

    @property
    def mean(self) -> float | None:
        """The mean, or None if there is no value."""
        return self.sum / self.count if self.count else None

    def __add__(self, other: DistributionValue) -> DistributionValue:
        least = [value for value in (self.min, other.min) if value is not None]
        greatest = [value for value in (self.max, other.max) if value is not None]
        return DistributionValue(
            self.count + other.count,
            self.sum + other.sum,
            min(least, default=None),
            max(greatest, default=None),
        )


@dataclass(frozen=True)
class MeterValue:
    """The events that a meter counted, and the time span of its rate."""

    count: int
    time_span_in_seconds: int


@dataclass
class MetricSnapshot:
    """The metrics of one subtask as plain data, by their full names (groups and name joined by dots)."""

    counters: dict[str, int] = field(default_factory=dict)
    meters: dict[str, MeterValue] = field(default_factory=dict)
    distributions: dict[str, DistributionValue] = field(default_factory=dict)
    gauges: dict[str, Any] = field(default_factory=dict)

    def joined(self, other: MetricSnapshot) -> MetricSnapshot:
        """These metrics and others of the same subtask; where both have one of a name, this one's."""
        return MetricSnapshot(
            {**other.counters, **self.counters},
            {**other.meters, **self.meters},
            {**other.distributions, **self.distributions},
            {**other.gauges, **self.gauges},
        )


@dataclass
class MergedMetrics:
    """The metrics of all subtasks together. A gauge has no sum, so it keeps its value for each subtask."""

    counters: dict[str, int] = field(default_factory=dict)
    meters: dict[str, MeterValue] = field(default_factory=dict)
    distributions: dict[str, DistributionValue] = field(default_factory=dict)
    gauges: dict[str, dict[int, Any]] = field(default_factory=dict)


class MetricGroup:
    """A named set of metrics and further groups. Asking twice for one metric returns the same object."""

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        self._scope = scope
        self._groups: dict[str, MetricGroup] = {}
        self._metrics: dict[str, Metric] = {}
        self._gauges: dict[str, Callable[[], Any]] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """The group of this name in this one; with `extra`, the group of that value in the one of that key."""
        group = self._groups.setdefault(name, MetricGroup((*self._scope, name)))
        return group if extra is None else group.add_group(extra)

    def counter(self, name: str) -> Counter:
        """The counter of this name."""
        return self._metric(name, Counter, Counter())

    def gauge(self, name: str, obj: Callable[[], Any]) -> None:
        """Report what `obj`, called without arguments once per epoch, returns. A later one replaces it."""
        if not callable(obj):
            raise ConfigurationError(f"gauge {self._full(name)} takes a function without arguments, got {obj!r}.")
        if name in self._metrics:
            raise self._taken(name, "gauge")
        self._gauges[name] = obj

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """The meter of this name, whose rate is taken over that time span."""
        return self._metric(name, Meter, Meter(time_span_in_seconds))

    def distribution(self, name: str) -> Distribution:
        """The distribution of this name."""
        return self._metric(name, Distribution, Distribution())

    def snapshot(self) -> MetricSnapshot:
        """The present values in this group and all groups inside it, as plain data."""
        result = MetricSnapshot()
        self.collect_into(result)
        return result

    def _full(self, name: str) -> str:
        return ".".join((*self._scope, name))

    def _metric(self, name: str, kind: type[M], fresh: M) -> M:
        found = self._metrics.get(name, fresh)
        if not isinstance(found, kind) or name in self._gauges:
            raise self._taken(name, kind.__name__.lower())
        self._metrics[name] = found
        return found

    def _taken(self, name: str, wanted: str) -> ConfigurationError:
        have = "gauge" if name in self._gauges else type(self._metrics[name]).__name__.lower()
        return ConfigurationError(
            f"metric {self._full(name)} is a {have} already and cannot be a {wanted} too. Use another name."
        )

    def collect_into(self, into: MetricSnapshot) -> None:
        """Put the values of this group, and of those below it, into a snapshot."""
        for name, metric in self._metrics.items():
            full = self._full(name)
            if isinstance(metric, Counter):
                into.counters[full] = metric.get_count()
            elif isinstance(metric, Meter):
                into.meters[full] = MeterValue(metric.get_count(), metric.get_time_span())
            elif isinstance(metric, Distribution):
                into.distributions[full] = metric.get_value()
        for name, read in self._gauges.items():
            try:
                into.gauges[self._full(name)] = read()
            except Exception:
                # A job must not fail because a value for the operator's eyes cannot be had.
                logger.warning("gauge %s failed and is left out of this report", self._full(name), exc_info=True)
        for group in self._groups.values():
            group.collect_into(into)


def merge_snapshots(snapshots: Mapping[int, MetricSnapshot]) -> MergedMetrics:
    """The metrics of all subtasks, given the latest snapshot of each.

    Counters and meters add up, distributions join, gauges stay apart.
    """
    merged = MergedMetrics()
    for subtask, snapshot in sorted(snapshots.items()):
        for name, count in snapshot.counters.items():
            merged.counters[name] = merged.counters.get(name, 0) + count
        for name, meter in snapshot.meters.items():
            before = merged.meters.get(name)
            total = meter.count + (0 if before is None else before.count)
            merged.meters[name] = MeterValue(total, meter.time_span_in_seconds)
        for name, value in snapshot.distributions.items():
            merged.distributions[name] = merged.distributions.get(name, DistributionValue()) + value
        for name, gauge in snapshot.gauges.items():
            merged.gauges.setdefault(name, {})[subtask] = gauge
    return merged


class MeterRate:
    """Events per second of one meter over its time span, from counts seen now and then.

    The driver keeps one for each meter and tells it the merged count with the time of each epoch.
    """

    def __init__(self, time_span_in_seconds: int) -> None:
        self._span_ms = time_span_in_seconds * 1000
        self._seen: deque[tuple[int, int]] = deque()

    def observe(self, now_ms: int, count: int) -> None:
        """Take in the count at a time not before the last one."""
        if self._seen and count < self._seen[-1][1]:
            self._seen.clear()  # the job was restarted and its metrics began again
        self._seen.append((now_ms, count))
        # Keep one observation from before the span, so that the rate covers all of it.
        while len(self._seen) > 2 and self._seen[1][0] <= now_ms - self._span_ms:
            self._seen.popleft()

    def per_second(self) -> float:
        """The rate over the time span, or over the time since the first observation if that is shorter."""
        if len(self._seen) < 2:
            return 0.0
        (first_time, first_count), (last_time, last_count) = self._seen[0], self._seen[-1]
        elapsed = last_time - first_time
        return (last_count - first_count) * 1000 / elapsed if elapsed else 0.0
