"""What is made of the runs: medians, the table, the chart."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import page
from bench.machine import sentence
from bench.peers.catalogue import PEERS, WORKS

Run = Mapping[str, Any]
Cells = dict[tuple[str, str, str], float]
"""A figure by peer, variant and work."""

PICTURES = page.ROOT / "docs" / "pictures" / "bench"


def medians(runs: Sequence[Run], figure: str) -> Cells:
    """The median over the repetitions of a figure of ``times``."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for run in runs:
        found.setdefault(_where(run), []).append(run["times"][figure])
    return {where: statistics.median(values) for where, values in found.items()}


def merged(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One report of several: what has been measured again in a later one counts, on the machine of the first."""
    first, *others = reports
    whole = {**first, "runs": list(first["runs"]), "versions": dict(first["versions"])}
    for other in others:
        again = {_where(run) for run in other["runs"]}
        whole["runs"] = [run for run in whole["runs"] if _where(run) not in again] + other["runs"]
        rows = {(PEERS[peer].row(variant), work) for peer, variant, work in again}
        failed_before = [each for each in whole["failures"] if (each["row"], each["work"]) not in rows]
        whole["failures"] = failed_before + other["failures"]
        whole["versions"].update(other["versions"])
    return whole


def _where(run: Run) -> tuple[str, str, str]:
    return run["peer"], run["variant"], run["work"]


def best_of(rates: Cells) -> dict[tuple[str, str], float]:
    """The rate of a peer's best variant, by peer and work."""
    best: dict[tuple[str, str], float] = {}
    for (peer, _, work), rate in rates.items():
        best[peer, work] = max(rate, best.get((peer, work), 0.0))
    return best


def markdown(report: Mapping[str, Any]) -> str:
    """The measured part of the page, without the chart."""
    rates = medians(report["runs"], "rate")
    works = _works(rates)
    parts = [
        f"{sentence(report['machine'])} Records (of Nexmark: events) per second in the steady state, the median of "
        f"{_repetitions(report['runs'])} runs. The quickest engine of a column is bold.",
        page.table(["", *(WORKS[work] for work in works)], _rate_rows(rates, works)),
        page.table(["engine", "version", "start-up", "whole run", "when a process dies"], _engine_rows(report)),
    ]
    parts += [f"- {note}" for note in _notes(report)]
    return "\n\n".join(part for part in ("\n\n".join(parts[:3]), "\n".join(parts[3:])) if part)


def summary(report: Mapping[str, Any]) -> str:
    """The short form: a row per work, the best variant of each engine."""
    best = best_of(medians(report["runs"], "rate"))
    peers = [peer for peer in PEERS.values() if any(name == peer.name for name, _ in best)]
    highest = _highest(best)
    rows = []
    for work in _works(best):
        rates = [best.get((peer.name, work)) for peer in peers]
        rows.append([WORKS[work], *(_shown(rate, rate == highest.get(work)) for rate in rates)])
    return page.table(["records per second", *(peer.title for peer in peers)], rows)


def _works(figures: Iterable[tuple[str, ...]]) -> list[str]:
    """The works that there are figures of, in their order. A work comes last in what a figure is found by."""
    measured = {where[-1] for where in figures}
    return [work for work in WORKS if work in measured]


def _highest(best: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """The rate of the quickest engine, by work. The loop is none."""
    highest: dict[str, float] = {}
    for (peer, work), rate in best.items():
        if peer != "loop":
            highest[work] = max(rate, highest.get(work, 0.0))
    return highest


def _repetitions(runs: Sequence[Run]) -> str:
    """How many runs there are of the same, in words if that differs."""
    counts = Counter(map(_where, runs)).values()
    fewest, most = min(counts), max(counts)
    return str(most) if fewest == most else f"{fewest} to {most}"


def _rate_rows(rates: Cells, works: Sequence[str]) -> list[list[str]]:
    highest = _highest(best_of(rates))
    rows = []
    for peer in PEERS.values():
        for variant in peer.variants:
            row = [rates.get((peer.name, variant, work)) for work in works]
            if any(row):
                shown = [_shown(rate, rate == highest.get(work)) for rate, work in zip(row, works)]
                rows.append([peer.row(variant), *shown])
    return rows


def _shown(rate: float | None, best: bool) -> str:
    if rate is None:
        return "-"
    text = f"{float(f'{rate:.3g}'):,.0f}"
    return f"**{text}**" if best else text


def _engine_rows(report: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for peer in PEERS.values():
        runs = [run for run in report["runs"] if run["peer"] == peer.name]
        if runs:
            startup, whole = (statistics.median(run["times"][name] for run in runs) for name in ("startup", "whole"))
            version = report["versions"][peer.name]
            rows.append([peer.title, version, f"{startup:.1f} s", f"{whole:.0f} s", peer.guarantee])
    return rows


def _notes(report: Mapping[str, Any]) -> list[str]:
    """What is not in the table, and why."""
    return [f"{failure['row']}, {WORKS[failure['work']]}: {failure['why']}" for failure in report["failures"]]


def chart(report: Mapping[str, Any], folder: Path = PICTURES) -> Path:
    """The best variant of each engine, a group of bars per work; returns the SVG."""
    from bench import plots  # needs matplotlib, which tests of the rest do not

    best = best_of(medians(report["runs"], "rate"))
    works = _works(best)
    bars = {
        peer.title: [best.get((peer.name, work)) for work in works]
        for peer in PEERS.values()
        if any(each == peer.name for each, _ in best)
    }
    title = "Records per second on two cores, the best of each engine"
    return plots.bar_chart("peers", title, "records/s", [WORKS[work] for work in works], bars, folder, log=True)


def write_page(report: Mapping[str, Any]) -> None:
    """Put table and chart on the performance page, and the short table into the README."""
    from bench import plots

    shown = plots.shown("records per second of each engine, by work", chart(report), page.PERFORMANCE)
    page.replace_section(page.PERFORMANCE, "peers", f"{markdown(report)}\n\n{shown}")
    page.replace_section(page.README, "peers", summary(report))
