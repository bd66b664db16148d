"""The job graph as SVG: vertices in the columns of their levels, coloured by how busy they are, with what flows."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.dashboard.text import Html, amount, el, event_time, lasting, short
from firesteel.events import JobView, VertexDescription
from firesteel.events.metrics import operator_numbers, task_metrics

__all__ = ["VertexFigures", "event_time_of", "figures_of", "graph", "is_source"]

_WIDTH, _HEIGHT, _ACROSS, _DOWN, _MARGIN = 250, 104, 110, 26, 12


@dataclass(frozen=True)
class VertexFigures:
    """What is told of a vertex: rates over all subtasks, shares of the worst one, event time of the latest one.

    A source takes in what it reads.
    """

    records_in: float
    records_out: float
    busy: float
    waiting: float
    watermark: int
    state_entries: int


def figures_of(view: JobView, vertex: VertexDescription) -> VertexFigures:
    """The figures of a vertex."""
    metrics = [task_metrics(view, vertex, each) for each in range(vertex.parallelism)]
    operators = [each for index in range(vertex.parallelism) for each in view.numbers(vertex, index).operators]
    ends = [view.numbers(vertex, index).operators[-1:] for index in range(vertex.parallelism)]
    marks = [each.output_watermark for last in ends for each in last]
    return VertexFigures(
        _read_rate(view, vertex) if is_source(vertex) else sum(each["numRecordsInPerSecond"] for each in metrics),
        sum(each["numRecordsOutPerSecond"] for each in metrics),
        max((each["busyTimeMsPerSecond"] / 1000 for each in metrics), default=0.0),
        max((each["backPressuredTimeMsPerSecond"] / 1000 for each in metrics), default=0.0),
        min(marks, default=MIN_WATERMARK),
        sum(each.keyed_state_entries for each in operators),
    )


def is_source(vertex: VertexDescription) -> bool:
    """Whether a vertex begins with a source."""
    return bool(vertex.operators) and vertex.operators[0].source


def _read_rate(view: JobView, vertex: VertexDescription) -> float:
    uid = vertex.operators[0].uid
    several = [operator_numbers(view, vertex, index).get(uid, []) for index in range(vertex.parallelism)]
    return sum(float(each.value) for one in several for each in one if each.name == "numRecordsOutPerSecond")


def event_time_of(view: JobView) -> int:
    """Where event time stands: where the last of all subtasks is."""
    return min((figures_of(view, each).watermark for each in view.job.vertices), default=MIN_WATERMARK)


def _places(view: JobView) -> dict[str, tuple[int, int]]:
    """Where each vertex stands: its level is its column."""
    rows: dict[int, int] = {}
    places = {}
    for vertex in view.job.vertices:
        row = rows.get(vertex.level, 0)
        rows[vertex.level] = row + 1
        places[vertex.id] = (
            _MARGIN + vertex.level * (_WIDTH + _ACROSS),
            _MARGIN + row * (_HEIGHT + _DOWN),
        )
    return places


def _box(view: JobView, vertex: VertexDescription, at: tuple[int, int]) -> Html:
    figures = figures_of(view, vertex)
    x, y = at
    heat = min(int(figures.busy * 5), 4)
    pressed = " pressed" if figures.waiting > 0.5 else ""
    flows = (
        f"{'reads' if is_source(vertex) else 'in'} {amount(figures.records_in)}/s, out {amount(figures.records_out)}/s"
    )
    lines = [
        flows,
        f"busy {figures.busy:.0%}, back pressure {figures.waiting:.0%}",
        _time_line(view, figures.watermark),
    ]
    texts = [el("text", short(vertex.name), x=x + 12, y=y + 24, class_="name")]
    texts += [el("text", line, x=x + 12, y=y + 46 + 18 * place) for place, line in enumerate(lines)]
    width = el("text", f"\N{MULTIPLICATION SIGN}{vertex.parallelism}", x=x + _WIDTH - 12, y=y + 24, class_="width")
    title = el("title", vertex.name)
    box = el("rect", x=x, y=y, width=_WIDTH, height=_HEIGHT, rx=8, class_=f"heat-{heat}{pressed}")
    return el("g", title, box, width, *texts)


def _time_line(view: JobView, watermark: int) -> str:
    if watermark <= MIN_WATERMARK or watermark >= MAX_WATERMARK:
        return event_time(watermark)
    newest = 0 if view.latest is None else view.latest.newest
    behind = f", {lasting(newest - watermark)} behind" if newest > watermark > 0 else ""
    return f"{event_time(watermark)[11:] or event_time(watermark)}{behind}"


def _edges(view: JobView, places: dict[str, tuple[int, int]]) -> list[Html]:
    drawn = []
    for vertex in view.job.vertices:
        x2, y2 = places[vertex.id]
        for place, source in enumerate(vertex.inputs):
            if source.id not in places:
                continue
            x1, y1 = places[source.id]
            start, end = (x1 + _WIDTH, y1 + _HEIGHT // 2), (x2, y2 + _HEIGHT * (place + 1) // (len(vertex.inputs) + 1))
            bend = _ACROSS // 2
            path = f"M{start[0]},{start[1]} C{start[0] + bend},{start[1]} {end[0] - bend},{end[1]} {end[0]},{end[1]}"
            middle = ((start[0] + end[0]) // 2, (start[1] + end[1]) // 2 - 6)
            label = el("text", source.ship_strategy, x=middle[0], y=middle[1], class_="edge", text_anchor="middle")
            drawn.append(el("g", el("path", d=path, marker_end="url(#arrow)"), label))
    return drawn


def graph(view: JobView) -> Html:
    """The graph of a job as it is now."""
    places = _places(view)
    width = max((x for x, _ in places.values()), default=0) + _WIDTH + _MARGIN
    height = max((y for _, y in places.values()), default=0) + _HEIGHT + _MARGIN
    tip = el("path", d="M0,0 L8,4 L0,8 z")
    arrow = el("marker", tip, id="arrow", markerWidth=8, markerHeight=8, refX=8, refY=4, orient="auto")
    boxes = [_box(view, vertex, places[vertex.id]) for vertex in view.job.vertices]
    named = f"Graph of job {view.job.name}"
    svg = el(
        "svg",
        el("defs", arrow),
        *_edges(view, places),
        *boxes,
        class_="graph",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=named,
    )
    return el("div", svg, class_="scroll")
