"""The section "curves" of the performance page: a chart and a table per curve."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import Any

from bench.machine import sentence
from bench.page import PERFORMANCE, replace_section, table

Point = dict[str, Any]


def write_page(report: dict[str, Any]) -> None:
    """Draw the charts and write the section, from the report of the part "curves"."""
    from bench import plots  # needs the extra "bench"

    curves = report["curves"]
    text = [_wrap(_ABOUT), _wrap(sentence(report["machine"]))]
    for title, name, about, draw, tell in (
        ("Number of keys", "keys", _KEYS, _draw_keys, keys_table),
        ("Number of levels", "levels", _LEVELS, _draw_levels, levels_table),
        ("Parallelism", "parallelism", _PARALLELISM, _draw_parallelism, parallelism_table),
        ("Epoch size", "epochs", _EPOCHS, _draw_epochs, epochs_table),
        ("Latency by rate", "rates", _RATES, _draw_rates, rates_table),
    ):
        points = curves[name]
        picture: Path = plots.line_chart(f"curve-{name}", draw(points))
        ending = limit_of(points) if name == "rates" else ""
        text += [f"### {title}", _wrap(f"{about} {ending}"), plots.shown(title, picture, PERFORMANCE), tell(points)]
    replace_section(PERFORMANCE, "curves", "\n\n".join(text))


_ABOUT = """
Written by `python -m bench curves --page`. Each point is a job that is watched for a few seconds once it is in its
steady state. Compare what is far apart: neighbours differ by less than a machine's moods.
"""
_KEYS = """
The keyed running sum, keys scattered, all of them in state before the measurement begins. The snapshot is full, as
a savepoint holds it. The memory is what the slots have beyond those of the job with the fewest keys:
a rough figure, because the records of the present epoch are in it. It is left out for
few keys, which vanish in what a slot needs anyway, and for RocksDB, whose memory is bounded by
`state.backend.rocksdb.memory.fixed-per-slot`.
"""
_LEVELS = "One map per level, and a `key_by` between levels: what it costs to move each record once more."
_PARALLELISM = """
The keyed running sum of 10,000 keys on two cores. More subtasks than cores gain nothing; this is what they cost.
"""
_EPOCHS = """
The keyed running sum of 10,000 keys with `firesteel.epoch.max-records` as the bound, for all subtasks together. An
epoch costs about the same however few records it has.
"""
_RATES = """
Two levels, from the moment at which a record is due by the rate until it is with the driver. The source is read in the
slots, and about a thousand records per second are brought to the driver.
"""
_MEMORY_FROM = 1000
"""Times the fewest keys: from there on the memory of a key can be told from that of a job."""


def _wrap(text: str) -> str:
    return fill(" ".join(text.split()), 120, break_on_hyphens=False)


def limit_of(points: Sequence[Point]) -> str:
    """Where the rate broke, in words."""
    held = [point["rate"] for point in points if point["holds"]]
    broken = [point for point in points if not point["holds"]]
    if not broken:
        return f"Every rate up to {max(held):,} records/s held."
    first = min(broken, key=lambda point: point["rate"])
    kept = f"The job kept up with {max(held):,} records/s" if held else "The job kept up with none of these rates"
    return f"{kept}; at {first['rate']:,} records/s latency grew by {first['growth']:.2f} s per second: there it broke."


def keys_table(points: Sequence[Point]) -> str:
    """One row per number of keys and backend."""
    smallest = min(points, key=lambda point: point["keys"])  # the first of them: no other job was before it
    fewest, base = smallest["keys"], smallest["slot_memory_bytes"]
    rows = [
        (
            point["backend"],
            f"{point['keys']:,}",
            _rate(point),
            f"{point['state_bytes'] / 1e6:,.2f} MB",
            f"{point['state_bytes'] / point['keys']:,.0f}",
            _memory_per_key(point, base, fewest),
        )
        for point in points
    ]
    return table(["backend", "keys", "records/s", "snapshot", "snapshot, bytes per key", "memory, bytes per key"], rows)


def _memory_per_key(point: Point, base: int, fewest: int) -> str:
    if point["backend"] != "hashmap" or point["keys"] < _MEMORY_FROM * fewest:
        return "-"
    return f"{(point['slot_memory_bytes'] - base) / (point['keys'] - fewest):,.0f}"


def levels_table(points: Sequence[Point]) -> str:
    """One row per number of levels, with the time that the level added."""
    costs = [1e9 / point["records_per_second"] for point in points]
    added = ["-", *(f"{cost - before:,.0f}" for before, cost in pairwise(costs))]
    rows = [(point["levels"], _rate(point), f"{cost:,.0f}", more) for point, cost, more in zip(points, costs, added)]
    return table(["levels", "records/s", "ns per record", "more than with one level less"], rows)


def parallelism_table(points: Sequence[Point]) -> str:
    """One row per parallelism."""
    rows = [(point["parallelism"], _rate(point), _epoch(point)) for point in points]
    return table(["parallelism", "records/s", "epoch"], rows)


def epochs_table(points: Sequence[Point]) -> str:
    """One row per epoch size."""
    rows = [(f"{point['epoch_records']:,}", _rate(point), _epoch(point)) for point in points]
    return table(["records per epoch", "records/s", "epoch"], rows)


def rates_table(points: Sequence[Point]) -> str:
    """One row per rate."""
    rows = [
        (
            f"{point['rate']:,}",
            f"{point['p50_ms']:,.0f} ms",
            f"{point['p99_ms']:,.0f} ms",
            "yes" if point["holds"] else "no",
        )
        for point in points
    ]
    return table(["records/s", "p50", "p99", "holds"], rows)


def _rate(point: Point) -> str:
    return f"{point['records_per_second']:,.0f}"


def _epoch(point: Point) -> str:
    return f"{point['epoch_seconds'] * 1000:,.0f} ms"


def _draw_keys(points: Sequence[Point]) -> list[Any]:
    from bench.plots import Axis, Panel

    x = Axis("keys", True, sorted({point["keys"] for point in points}))
    backends = {point["backend"]: [each for each in points if each["backend"] == point["backend"]] for point in points}
    speed = {name: [(each["keys"], each["records_per_second"]) for each in of] for name, of in backends.items()}
    size = {name: [(each["keys"], each["state_bytes"]) for each in of] for name, of in backends.items()}
    return [
        Panel("Throughput by number of keys", x, Axis("records/s"), speed),
        Panel("Full snapshot by number of keys", x, Axis("bytes", True), size),
    ]


def _draw_levels(points: Sequence[Point]) -> list[Any]:
    from bench.plots import Axis, Panel

    x = Axis("levels", ticks=[point["levels"] for point in points])
    rates = [(point["levels"], point["records_per_second"]) for point in points]
    costs = [(point["levels"], 1e9 / point["records_per_second"]) for point in points]
    return [
        Panel("Throughput by number of levels", x, Axis("records/s"), {"all": rates}),
        Panel("Cost by number of levels", x, Axis("ns per record"), {"all": costs}),
    ]


def _draw_parallelism(points: Sequence[Point]) -> list[Any]:
    from bench.plots import Axis, Panel

    x = Axis("subtasks per operator", ticks=[point["parallelism"] for point in points])
    rates = [(point["parallelism"], point["records_per_second"]) for point in points]
    return [Panel("Throughput by parallelism, on two cores", x, Axis("records/s"), {"all": rates})]


def _draw_epochs(points: Sequence[Point]) -> list[Any]:
    from bench.plots import Axis, Panel

    x = Axis("records per epoch", True, [point["epoch_records"] for point in points])
    rates = [(point["epoch_records"], point["records_per_second"]) for point in points]
    times = [(point["epoch_records"], point["epoch_seconds"] * 1000) for point in points]
    return [
        Panel("Throughput by epoch size", x, Axis("records/s"), {"all": rates}),
        Panel("Duration of an epoch by its size", x, Axis("ms", True), {"all": times}),
    ]


def _draw_rates(points: Sequence[Point]) -> list[Any]:
    from bench.plots import Axis, Panel

    lines = {name: [(point["rate"], point[f"{name}_ms"]) for point in points] for name in ("p50", "p99")}
    broken = [point["rate"] for point in points if not point["holds"]]
    marks = {"breaks": min(broken)} if broken else {}
    return [Panel("Latency by rate", Axis("records/s", True), Axis("ms", True), lines, marks)]
