"""What a reporter gets, and what it has to do with it."""

from __future__ import annotations

import math
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.metrics import DistributionValue

__all__ = ["MetricReporter", "ReportedMetric", "ReporterSettings", "post"]

COUNTER, GAUGE, METER, HISTOGRAM = "counter", "gauge", "meter", "histogram"
_SECONDS = 10.0


@dataclass(frozen=True)
class ReportedMetric:
    """One metric with its value.

    :param scope: What it is about, without names: ``jobmanager.job`` or ``taskmanager.job.task.operator``.
    :param name: The metric's own name; groups of the user's are parts of it, with dots between.
    :param identifier: Scope and name as the scope formats (``metrics.scope.*``) put them together.
    :param variables: What it is about by names, such as ``job_name`` and ``subtask_index``.
    :param kind: counter, gauge, meter or histogram.
    :param value: A number; of a gauge anything; of a histogram a :class:`DistributionValue`.
    :param count: How many events a meter has counted.
    """

    scope: str
    name: str
    identifier: str
    variables: Mapping[str, str]
    kind: str
    value: Any
    count: int | None = None

    def numbers(self) -> Iterator[tuple[str, float]]:
        """What of it is a number: one without a name, or those of a histogram with theirs; none that is infinite."""
        if isinstance(self.value, DistributionValue):
            parts = {"count": self.value.count, "min": self.value.min, "max": self.value.max, "mean": self.value.mean}
            found = [(name, value) for name, value in parts.items() if value is not None]
        else:
            found = [("", self.value)] if isinstance(self.value, (bool, int, float)) else []
        yield from (
            (name, int(value) if isinstance(value, bool) else value) for name, value in found if math.isfinite(value)
        )


@dataclass(frozen=True)
class ReporterSettings:
    """The settings of one reporter: what follows ``metrics.reporter.<name>.``"""

    name: str
    values: Mapping[str, str] = field(default_factory=dict)

    def text(self, key: str, default: str | None = None) -> str:
        """A setting; one without a default has to be there."""
        value = self.values.get(key, default)
        if value is None:
            raise ConfigurationError(f"metrics.reporter.{self.name}.{key} is not set, and the reporter needs it")
        return value

    def number(self, key: str, default: int | None = None) -> int:
        """A setting that is a whole number."""
        text = self.text(key, None if default is None else str(default))
        try:
            return int(text)
        except ValueError:
            raise ConfigurationError(f"metrics.reporter.{self.name}.{key} has to be a number, got {text!r}") from None

    def flag(self, key: str, default: bool) -> bool:
        """A setting that is true or false."""
        text = self.text(key, str(default)).lower()
        if text not in ("true", "false"):
            raise ConfigurationError(f"metrics.reporter.{self.name}.{key} has to be true or false, got {text!r}")
        return text == "true"

    def pairs(self, key: str) -> dict[str, str]:
        """A setting of pairs such as ``k1=v1;k2=v2``."""
        parts = [each.partition("=") for each in self.text(key, "").split(";") if each.strip()]
        return {name.strip(): value.strip() for name, _, value in parts}


class MetricReporter(ABC):
    """Sends metrics somewhere. It is called in a thread of its own; what it raises is logged, and tried again later."""

    def __init__(self, settings: ReporterSettings) -> None:
        self.settings = settings

    @abstractmethod
    def report(self, metrics: Sequence[ReportedMetric], now: int) -> None:
        """Send the present values of all metrics.

        :param now: Milliseconds since 1970.
        """

    def close(self) -> None:
        """The job has ended; :meth:`report` has been called for the last time."""
        return


def post(url: str, body: bytes, headers: Mapping[str, str], method: str = "POST") -> None:
    """Send something over HTTP; an answer that is no success is an error that tells it."""
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError(f"expected a URL that begins with http:// or https://, got {url!r}")
    request = urllib.request.Request(url, body, dict(headers), method=method)
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS):
            pass
    except urllib.error.HTTPError as error:
        told = error.read().decode(errors="replace").strip()[:500]
        raise OSError(f"{url} answers {error.code}: {told}") from None
