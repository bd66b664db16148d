"""The soak's section of docs/reliability.md: a table and a chart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.machine import sentence
from bench.page import ROOT, replace_section, table
from bench.plots import Axis, Panel, line_chart, shown

RELIABILITY = ROOT / "docs" / "reliability.md"
_MEMORY = {"jvm_mb": "JVM", "workers_mb": "slots and workers", "driver_mb": "driver"}
_COUNTS = {"descriptors": "descriptors", "checkpoints_files": "files of checkpoints", "tmp_files": "temporary files"}
_NAMES = {
    **{name: f"{text}, MB" for name, text in _MEMORY.items()},
    "threads": "threads",
    **_COUNTS,
    "entries": "state entries",
}
_MOST_POINTS = 120
"""A chart of half an hour needs no more."""


def write(report: Mapping[str, Any]) -> None:
    """Write the section."""
    jobs = report["jobs"]
    rows = [
        [text, *(f"{before:,.0f} → {after:,.0f}" for job in jobs for before, after in [job["growth"][name]])]
        for name, text in _NAMES.items()
    ]
    picture = line_chart("soak", [panel for job in jobs for panel in _panels(job)])
    replace_section(
        RELIABILITY,
        "soak",
        "\n\n".join(
            [
                f"{sentence(report['machine'])} {report['rate']:,} records per second for each of the two jobs, "
                f"a checkpoint every two seconds.",
                table(["", *(job["backend"] for job in jobs)], [*_results(jobs), *rows]),
                shown("Memory, descriptors and files of both jobs over time", picture, RELIABILITY),
            ]
        ),
    )


def _results(jobs: list[Mapping[str, Any]]) -> list[list[str]]:
    return [
        ["records", *(f"{job['records']:,} in {job['minutes']:.0f} min" for job in jobs)],
        ["windows, and wrong ones", *(f"{job['windows']}, {len(job['wrong'])}" for job in jobs)],
        ["late records", *(str(job["late"]) for job in jobs)],
        ["left behind", *(f"{job['left_processes']} processes, {job['left_files']} files" for job in jobs)],
    ]


def _panels(job: Mapping[str, Any]) -> list[Panel]:
    step = max(len(job["samples"]) // _MOST_POINTS, 1)
    samples = job["samples"][::step]

    def lines(names: Mapping[str, str]) -> dict[str, list[tuple[float, float]]]:
        return {text: [(each["minutes"], each.get(name, 0.0)) for each in samples] for name, text in names.items()}

    minutes = Axis("minutes")
    return [
        Panel(f"{job['backend']}: memory", minutes, Axis("MB"), lines(_MEMORY)),
        Panel(f"{job['backend']}: files and descriptors", minutes, Axis("number"), lines(_COUNTS)),
    ]
