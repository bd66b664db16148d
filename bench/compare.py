"""Comparing ratios with recorded ones: what moved, and whether that is more than noise."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

TOLERANCE = 0.15
"""What moved by less than this has not moved, however quiet the machine."""
ELSEWHERE = 0.4
"""The same between two kinds of machine: on another processor a step of the running sum cost 26% more, to the loop."""


class Verdict(Enum):
    """What became of a ratio."""

    SAME = "as before"
    BETTER = "better"
    WORSE = "WORSE"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True)
class Ratio:
    """A ratio that was measured several times."""

    median: float
    spread: float
    """How far the middle half of the values lies apart, as a share of the median."""
    higher_is_better: bool

    @classmethod
    def of(cls, values: Sequence[float], higher_is_better: bool) -> Ratio:
        """Summarise at least two values."""
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, (high - low) / median, higher_is_better)


@dataclass(frozen=True)
class Comparison:
    """A ratio before and now; one of them may be missing."""

    name: str
    before: Ratio | None
    now: Ratio | None
    tolerance: float = TOLERANCE

    @property
    def moved(self) -> float:
        """By which share of what it was; above 0 if it is higher now."""
        return self.now.median / self.before.median - 1 if self.before and self.now else 0.0

    @property
    def noise(self) -> float:
        """What it may move by without meaning anything."""
        return max(self.tolerance, *(ratio.spread for ratio in (self.before, self.now) if ratio is not None))

    @property
    def verdict(self) -> Verdict:
        """What to make of it."""
        if self.before is None or self.now is None:
            return Verdict.NEW if self.before is None else Verdict.GONE
        if abs(self.moved) <= self.noise:
            return Verdict.SAME
        return Verdict.BETTER if (self.moved > 0) == self.now.higher_is_better else Verdict.WORSE

    def line(self, width: int) -> str:
        """For people: the name in so many columns, what it was, what it is, by how much it moved, the verdict."""
        before, now = (f"{ratio.median:.3f}" if ratio else "-" for ratio in (self.before, self.now))
        moved = f"{self.moved:+.0%}" if self.before and self.now else ""
        noise = f"(noise {self.noise:.0%})" if moved else ""
        return f"{self.name:{width}} {before:>8} {now:>8} {moved:>6} {noise:12} {self.verdict.value}"


def compare(before: Mapping[str, Ratio], now: Mapping[str, Ratio], tolerance: float = TOLERANCE) -> list[Comparison]:
    """Every ratio of either, those of now first."""
    names = [*now, *(name for name in before if name not in now)]
    return [Comparison(name, before.get(name), now.get(name), tolerance) for name in names]
