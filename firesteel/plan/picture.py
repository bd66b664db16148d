"""The job plan as a picture: SVG that needs nothing but a browser, alone or in a page of HTML.

Levels are columns from left to right, as the records go. In a level stand its chains, in a chain its operators, one
below the other. What crosses between columns is a shuffle. An edge that passes over a level gets a lane of its own
there, so that no edge runs through a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from firesteel.plan.explain import explain_text
from firesteel.plan.job_plan import JobPlan
from firesteel.runtime.layout import PlannedChain, PlannedEdge, PlannedOperator

_CHARACTER = 7.0
"""The width of a character, about."""
_ROW = 26
_HEADER = 22
_PADDING = 10
_ROW_GAP = 10
_GAP = 26
_LANE = 14
_COLUMN_GAP = 130
_TOP = 64
_MARGIN = 24
_LONGEST_NAME = 44

_STYLE = """
  svg.plan { font: 12px system-ui, sans-serif; background: #fff }
  .plan text { fill: #1c2430 } .plan .quiet { fill: #66707f; font-size: 11px }
  .plan .title { font-size: 16px; font-weight: 600 }
  .plan .level { fill: #f3f5f8 } .plan .chain { fill: #fff; stroke: #9aa5b4 }
  .plan .operator { fill: #e6effa; stroke: #7ba0cc } .plan .source { fill: #e2f3e6; stroke: #6fae7f }
  .plan .sink { fill: #fbecdc; stroke: #d09a5f }
  .plan path { fill: none; stroke: #55606f; stroke-width: 1.4 } .plan path.side { stroke-dasharray: 5 4 }
  .plan marker path { fill: #55606f; stroke: none }
  .plan .label { paint-order: stroke; stroke: #fff; stroke-width: 4px }
  @media (prefers-color-scheme: dark) {
    svg.plan { background: #14181f } .plan text { fill: #e4e9f0 } .plan .quiet { fill: #98a3b3 }
    .plan .level { fill: #1b212b } .plan .chain { fill: #222a36; stroke: #566274 }
    .plan .operator { fill: #24405f; stroke: #5f8cc0 } .plan .source { fill: #234632; stroke: #5d9c70 }
    .plan .sink { fill: #54402a; stroke: #bd8a50 } .plan path { stroke: #a5b0bf }
    .plan marker path { fill: #a5b0bf } .plan .label { stroke: #14181f }
  }
"""


@dataclass
class _Item:
    """What takes up room in a column: a chain, or the lane of an edge that passes (no chain)."""

    column: int
    height: float
    width: float = 0.0
    chain: PlannedChain | None = None
    x: float = 0.0
    y: float = 0.0
    before: list[_Item] = field(default_factory=list)
    """The items of the column before that lead here."""

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


class _Layout:
    """Where everything is."""

    def __init__(self, plan: JobPlan) -> None:
        self.plan = plan
        self.boxes = {chain.id: _box(chain) for chain in plan.chains}
        self.home = {operator.id: chain for chain in plan.chains for operator in chain.operators}
        self.lanes: dict[int, list[_Item]] = {}
        self.columns: list[list[_Item]] = [[] for _ in range(plan.level_count)]
        for box in self.boxes.values():
            self.columns[box.column].append(box)
        for edge in plan.edges:
            self._route(edge)
        self.height = _TOP + _HEADER + max(map(_stacked_height, self.columns)) + _MARGIN
        self.width = self._place()

    def _route(self, edge: PlannedEdge) -> None:
        """Reserve a lane in each level that the edge passes over."""
        item = self.boxes[self.home[edge.operator].id]
        target = self.boxes[edge.target]
        lanes = self.lanes.setdefault(edge.id, [])
        for column in range(item.column + 1, target.column):
            lane = _Item(column, _LANE, before=[item])
            self.columns[column].append(lane)
            lanes.append(lane)
            item = lane
        target.before.append(item)

    def _place(self) -> float:
        """Give all items their places, column by column, each near what leads to it. Returns the width of all."""
        x = float(_MARGIN)
        for column in self.columns:
            width = max(item.width for item in column)
            column.sort(key=_wanted_place)  # stable: by the order of the program where nothing else decides
            y = _TOP + _HEADER + (self.height - _TOP - _HEADER - _MARGIN - _stacked_height(column)) / 2
            for item in column:
                item.x, item.y = x, y
                item.width = item.width or width
                y += item.height + _GAP
            x += width + _COLUMN_GAP
        return x - _COLUMN_GAP + _MARGIN

    def row(self, operator: int) -> float:
        """The middle of an operator's row."""
        chain = self.home[operator]
        index = next(index for index, each in enumerate(chain.operators) if each.id == operator)
        return self.boxes[chain.id].y + _HEADER + index * (_ROW + _ROW_GAP) + _ROW / 2

    def points(self, edge: PlannedEdge) -> list[tuple[float, float]]:
        """The places an edge runs through, in pairs: where it leaves a column and where it enters the next."""
        start, end = self.boxes[self.home[edge.operator].id], self.boxes[edge.target]
        points = [(start.x + start.width - _PADDING, self.row(edge.operator))]
        for lane in self.lanes[edge.id]:
            points += [(lane.x, lane.middle), (lane.x + lane.width, lane.middle)]
        # Several edges into one chain arrive below each other, in the order of the inputs.
        arriving = [each.id for each in self.plan.edges if each.target == edge.target]
        share = (arriving.index(edge.id) + 1) / (len(arriving) + 1)
        return [*points, (end.x + _PADDING, self.row(_end_operator(self.plan, edge)) + (share - 0.5) * _ROW)]


def _end_operator(plan: JobPlan, edge: PlannedEdge) -> int:
    """The operator that an edge leads to: the head of its chain."""
    return next(chain.operators[0].id for chain in plan.chains if chain.id == edge.target)


def _box(chain: PlannedChain) -> _Item:
    longest = max(len(_short(operator.info.name)) for operator in chain.operators)
    rows = len(chain.operators)
    return _Item(
        column=chain.level,
        height=_HEADER + rows * _ROW + (rows - 1) * _ROW_GAP + _PADDING,
        width=max(longest * _CHARACTER, 90) + 4 * _PADDING,
        chain=chain,
    )


def _stacked_height(column: Sequence[_Item]) -> float:
    return sum(item.height for item in column) + _GAP * (len(column) - 1)


def _wanted_place(item: _Item) -> float:
    return sum(before.middle for before in item.before) / len(item.before) if item.before else 0.0


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def plan_svg(plan: JobPlan) -> str:
    """The plan as an SVG picture of its own. Pointing at an operator shows its uid and the line that made it."""
    layout = _Layout(plan)
    mode = "BATCH" if plan.batch_mode else "STREAMING"
    about = f"{plan.level_count} level(s), {len(plan.edges)} shuffled edge(s), {plan.parallelism} slot(s), {mode}"
    width = max(layout.width, _MARGIN * 2 + _CHARACTER * max(len(about), 1.4 * len(plan.name)))
    parts = [
        f'<svg class="plan" xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{layout.height:.0f}" '
        f'viewBox="0 0 {width:.0f} {layout.height:.0f}" role="img">',
        f"<title>Plan of the job {escape(plan.name)}</title>",
        f"<style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z"/></marker></defs>',
        _text(_MARGIN, 26, plan.name, "title"),
        _text(_MARGIN, 44, about, "quiet"),
    ]
    parts += [_level(layout, level) for level in range(plan.level_count)]
    parts += [_chain(layout, chain) for chain in plan.chains]
    parts += [_edge(layout, edge) for edge in plan.edges]
    return "\n".join([*parts, "</svg>\n"])


def plan_html(plan: JobPlan) -> str:
    """The picture, the operators as a table and the plan as text: one page without anything outside it."""
    rows = "\n".join(
        f"<tr><td>{operator.id}</td><td>{escape(operator.info.name)}</td><td>{chain.level}</td><td>{chain.id}</td>"
        f"<td>{chain.parallelism}</td><td>{escape(operator.info.uid)}</td><td>{escape(operator.info.call_site)}</td></tr>"
        for chain in plan.chains
        for operator in chain.operators
    )
    headings = "".join(
        f"<th>{name}</th>" for name in ("id", "operator", "level", "chain", "parallelism", "uid", "made at")
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(plan.name)}</title>\n<style>\n'
        ":root { color-scheme: light dark } body { font: 14px system-ui, sans-serif; margin: 24px }\n"
        ".picture { overflow-x: auto } table { border-collapse: collapse }\n"
        "th, td { text-align: left; padding: 4px 14px 4px 0; border-bottom: 1px solid #8884 }\n"
        f'</style></head><body>\n<div class="picture">\n{plan_svg(plan)}</div>\n'
        f"<h2>Operators</h2>\n<table><thead><tr>{headings}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>\n"
        f"<h2>As text</h2>\n<pre>{escape(explain_text(plan))}</pre>\n</body></html>\n"
    )


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'


def _level(layout: _Layout, level: int) -> str:
    column = layout.columns[level]
    x, width = column[0].x - _PADDING, max(item.width for item in column) + 2 * _PADDING
    return (
        f'<rect class="level" x="{x:.0f}" y="{_TOP - 6}" width="{width:.0f}" '
        f'height="{layout.height - _TOP - 6:.0f}" rx="8"/>'
        + _text(x + _PADDING, _TOP + 10, f"level {level}: {layout.plan.width(level)} task(s)", "quiet")
    )


def _chain(layout: _Layout, chain: PlannedChain) -> str:
    box = layout.boxes[chain.id]
    parts = [
        f'<rect class="chain" x="{box.x:.0f}" y="{box.y:.0f}" '
        f'width="{box.width:.0f}" height="{box.height:.0f}" rx="6"/>',
        _text(box.x + _PADDING, box.y + 15, f"x{chain.parallelism}", "quiet"),
    ]
    parts += [_operator(layout, chain, operator) for operator in chain.operators]
    order = [operator.id for operator in chain.operators]
    for edge in chain.chained_edges:
        top, bottom = layout.row(edge.operator) + _ROW / 2, layout.row(edge.target) - _ROW / 2
        side = ' class="side"' if edge.tag is not None else ""
        if order.index(edge.target) == order.index(edge.operator) + 1:
            x = box.x + box.width / 2
            parts.append(f'<path{side} d="M{x:.0f} {top:.0f}V{bottom:.0f}" marker-end="url(#tip)"/>')
        else:  # round the operators between, on the left, where nothing leaves the chain
            x, far = box.x + _PADDING, box.x + 3
            start, end = layout.row(edge.operator) + _ROW / 3, layout.row(edge.target)
            parts.append(f'<path{side} d="M{x:.0f} {start:.0f}H{far:.0f}V{end:.0f}H{x:.0f}" marker-end="url(#tip)"/>')
    return "\n".join(parts)


def _operator(layout: _Layout, chain: PlannedChain, operator: PlannedOperator) -> str:
    box, middle = layout.boxes[chain.id], layout.row(operator.id)
    kind = "source" if operator.inputs == 0 else "sink" if operator.is_sink else "operator"
    about = f"{operator.info.name}\nuid {operator.info.uid}\nmade at {operator.info.call_site}"
    if operator.description:
        about += f"\n{operator.description}"
    x, width = box.x + _PADDING, box.width - 2 * _PADDING
    return (
        f"<g><title>{escape(about)}</title>"
        f'<rect class="{kind}" x="{x:.0f}" y="{middle - _ROW / 2:.0f}" width="{width:.0f}" height="{_ROW}" rx="4"/>'
        f"{_text(x + width / 2, middle + 4, _short(operator.info.name), 'name', 'middle')}</g>"
    )


def _edge(layout: _Layout, edge: PlannedEdge) -> str:
    points = layout.points(edge)
    path = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    for number, ((x1, y1), (x2, y2)) in enumerate(pairwise(points)):
        bend = (x2 - x1) / 2
        straight = number % 2 == 1  # along a lane
        path += (
            f"L{x2:.0f} {y2:.0f}"
            if straight
            else f"C{x1 + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"
        )
    (x1, y1), (x2, y2) = points[-2:]
    label = edge.kind if edge.tag is None else f"{edge.kind} [{edge.tag.name}]"
    side = ' class="side"' if edge.tag is not None else ""
    return f'<path{side} d="{path}" marker-end="url(#tip)"/>\n' + _text(
        (x1 + x2) / 2, (y1 + y2) / 2 - 5, label, "quiet label", "middle"
    )
