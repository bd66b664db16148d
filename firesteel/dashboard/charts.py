"""Charts of the last while, as SVG: a line each, with its least and its greatest value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from firesteel.dashboard.graph import is_source
from firesteel.dashboard.text import Html, amount, el
from firesteel.events import EpochEnded, JobView

__all__ = ["charts", "line"]

_WIDTH, _HEIGHT = 320, 70


def line(title: str, values: Sequence[float], shown: Callable[[float], str]) -> Html:
    """One chart; of fewer than two values there is nothing to draw."""
    now = shown(values[-1]) if values else "no numbers yet"
    heading = el("figcaption", title, " ", el("strong", now))
    if len(values) < 2:
        return el("figure", heading)
    top = max(values) or 1.0
    step = _WIDTH / (len(values) - 1)
    points = " ".join(
        f"{place * step:.1f},{_HEIGHT - value / top * (_HEIGHT - 4):.1f}" for place, value in enumerate(values)
    )
    drawn = el("polyline", points=points)
    area = el("polygon", points=f"0,{_HEIGHT} {points} {_WIDTH},{_HEIGHT}")
    svg = el(
        "svg",
        area,
        drawn,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{title}: now {now}, at most {shown(max(values))}",
        class_="chart",
    )
    return el("figure", heading, svg, el("small", f"at most {shown(max(values))}"))


def _read(view: JobView, epoch: EpochEnded) -> int:
    """How many records all sources have read by then."""
    sources = {each.id for each in view.job.vertices if is_source(each)}
    heads = [each.operators[:1] for each in epoch.subtasks if each.vertex in sources]
    return sum(first.records_out for operators in heads for first in operators)


def charts(view: JobView) -> Html:
    """Rates, work and state of the last minutes."""
    samples = view.history.sampled_epochs
    rates = [
        max(_read(view, after) - _read(view, before), 0) / max((after.time - before.time) / 1000, 0.001)
        for before, after in pairwise(samples)
    ]
    busy = [max((each.busy_ratio for each in epoch.subtasks), default=0.0) for epoch in samples]
    seconds = [epoch.seconds for epoch in samples]
    entries = [
        float(sum(operator.keyed_state_entries for each in epoch.subtasks for operator in each.operators))
        for epoch in samples
    ]
    return el(
        "div",
        line("Records from sources", rates, lambda value: f"{amount(value)}/s"),
        line("Busiest subtask", busy, lambda value: f"{value:.0%}"),
        line("Epochs take", seconds, lambda value: f"{value * 1000:.0f} ms"),
        line("Entries of keyed state", entries, amount),
        class_="charts",
    )
