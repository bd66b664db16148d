"""Charts in one style, saved as SVG (for the pages) and PNG (for everything else) to docs/pictures/bench/.

The same figures give the same SVG, byte by byte, so that a chart changes in git only if a figure did.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib

from bench.page import ROOT

matplotlib.use("Agg")  # before pyplot: no window

from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

PICTURES = ROOT / "docs" / "pictures" / "bench"
COLOURS = ("#3b82d6", "#cf6a1f", "#2f9456", "#d1495b", "#7a5cc0", "#767f89", "#b08900", "#1f9aa8")
"""Of medium brightness, like those of the other pictures."""
STYLE = {
    "svg.hashsalt": "firesteel",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.prop_cycle": matplotlib.cycler(color=COLOURS),
    "grid.color": "#d9dde1",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "figure.facecolor": "white",
}

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Axis:
    """What is on an axis, with its unit in the label.

    :param log: For values over several powers of ten. Other axes of y begin at zero.
    :param ticks: Where the measured points are, to name exactly these.
    """

    label: str
    log: bool = False
    ticks: Sequence[float] = ()


@dataclass(frozen=True)
class Panel:
    """Lines through points, by name."""

    title: str
    x: Axis
    y: Axis
    lines: Mapping[str, Points]
    marks: Mapping[str, float] = field(default_factory=dict)
    """Values of x to mark with a dashed line, by what to write there."""


def line_chart(name: str, panels: Sequence[Panel], folder: Path = PICTURES) -> Path:
    """Draw panels side by side.

    :param name: Of the files, without an ending.
    :returns: The SVG.
    """
    with matplotlib.rc_context(STYLE):
        figure, all_axes = pyplot.subplots(1, len(panels), figsize=(5.2 * len(panels), 3.6), squeeze=False)
        for axes, panel in zip(all_axes[0], panels):
            for label, points in panel.lines.items():
                axes.plot(*zip(*points), marker="o", label=label)
            for text, at in panel.marks.items():
                axes.axvline(at, color=COLOURS[5], linestyle="--", linewidth=1)
                axes.annotate(
                    text, (at, 1), xycoords=("data", "axes fraction"), rotation=90, va="top", ha="right", fontsize=8
                )
            axes.set_title(panel.title)
            _label(axes.xaxis, panel.x)
            _label(axes.yaxis, panel.y)
            if not panel.y.log:
                axes.set_ylim(bottom=0)
            if len(panel.lines) > 1:
                axes.legend()
        return _save(figure, name, folder)


def bar_chart(
    name: str,
    title: str,
    label: str,
    groups: Sequence[str],
    bars: Mapping[str, Sequence[float | None]],
    folder: Path = PICTURES,
    log: bool = False,
) -> Path:
    """Draw bars, lying: one group per name in ``groups``, in each one bar per name in ``bars``.

    :param label: What the bars' length is, with its unit.
    :param bars: A value per group; None where there is none, which is written there.
    :returns: The SVG.
    """
    with matplotlib.rc_context(STYLE):
        height = 0.8 / len(bars)
        # A logarithmic axis has no zero to begin bars at: they begin at the power of ten below the shortest.
        shortest = min((value for values in bars.values() for value in values if value), default=1.0)
        base = 10.0 ** math.floor(math.log10(shortest)) if log else 0.0
        figure, axes = pyplot.subplots(figsize=(8, 1.0 + 0.22 * len(groups) * (len(bars) + 1)))
        for number, (each, values) in enumerate(bars.items()):
            places = [group + (number - (len(bars) - 1) / 2) * height for group in range(len(groups))]
            axes.barh(places, [(value or base) - base for value in values], height * 0.9, left=base, label=each)
            for place, value in zip(places, values):
                text = "-" if value is None else _short(value)
                axes.annotate(text, (value or base, place), (3, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set_yticks(range(len(groups)), groups)
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set_title(title)
        _label(axes.xaxis, Axis(label, log))
        axes.set_xlim(left=base)
        if len(bars) > 1:
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
        return _save(figure, name, folder)


def shown(description: str, picture: Path, page: Path) -> str:
    """Markdown that shows a picture on a page."""
    return f"![{description}]({picture.relative_to(page.parent).as_posix()})"


def _label(axis: Any, of: Axis) -> None:
    axis.set_label_text(of.label)
    if of.log:
        axis.axes.set(**{f"{axis.axis_name}scale": "log"})
        axis.set_minor_formatter(NullFormatter())
        low, high = axis.get_data_interval()
        decades = math.floor(math.log10(low)), math.ceil(math.log10(high))
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades[1] - decades[0] <= 3 else (1,)))
        if axis.axis_name == "y":
            axis.axes.set_ylim(10.0 ** decades[0], 10.0 ** decades[1])
    if of.ticks:
        axis.set_ticks(of.ticks)
        axis.set_ticks([], minor=True)
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))


def _short(value: float) -> str:
    """A number in few characters: 1.5k, 20M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def _save(figure: Any, name: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    svg = folder / f"{name}.svg"
    figure.savefig(svg, bbox_inches="tight", metadata={"Date": None, "Creator": None})
    _trim(svg)
    figure.savefig(svg.with_suffix(".png"), bbox_inches="tight", dpi=120, metadata={"Software": None})
    pyplot.close(figure)
    return svg


def _trim(svg: Path) -> None:
    """Take away the spaces at the ends of lines, which git and editors do not like."""
    lines: Iterable[str] = svg.read_text(encoding="utf-8").splitlines()
    svg.write_text("".join(f"{line.rstrip()}\n" for line in lines), encoding="utf-8")
