"""The automaton of a pattern, in words and as a picture."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from firesteel.cep.automaton import Action, Automaton, State, StateKind, Transition
from firesteel.cep.automaton.compiler import END
from firesteel.cep.conditions import describe
from firesteel.errors import ConfigurationError

if TYPE_CHECKING:
    from firesteel.cep.pattern import Pattern

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 130, 40, 170, 96, 70
_LONGEST_LABEL: Final = 34
_STYLE = """
  svg.automaton { font: 12px system-ui, sans-serif; background: #fff }
  .automaton text { fill: #1c2430; text-anchor: middle } .automaton .label { font-size: 10px; paint-order: stroke;
    stroke: #fff; stroke-width: 4px } .automaton .title { font-size: 14px; font-weight: 600; text-anchor: start }
  .automaton rect { fill: #e6effa; stroke: #7ba0cc } .automaton .start rect { fill: #e2f3e6; stroke: #6fae7f }
  .automaton .final rect { fill: #fbecdc; stroke: #d09a5f } .automaton .stop rect { fill: #f8dfdf; stroke: #c46a6a }
  .automaton .pending rect { fill: #f4efd8; stroke: #b3a24d }
  .automaton path { fill: none; stroke: #55606f; stroke-width: 1.4 } .automaton path.ignore { stroke-dasharray: 2 3 }
  .automaton path.proceed { stroke-dasharray: 7 4 } .automaton marker path { fill: #55606f; stroke: none }
"""


def explain(pattern: Pattern, format: str = "text") -> str:
    """The automaton of a pattern as text or SVG."""
    if format not in ("text", "svg"):
        raise ConfigurationError(f"explain: format must be 'text' or 'svg', got {format!r}.")
    automaton = pattern.compile()
    return _text(pattern, automaton) if format == "text" else _svg(pattern, automaton)


# ---- text ---------------------------------------------------------------------------------------------------------


def _text(pattern: Pattern, automaton: Automaton) -> str:
    lines = [f"pattern {summary(pattern)}"]
    for state in _in_order(automaton):
        kind = "" if state.kind is StateKind.NORMAL else f" ({state.kind.value})"
        lines.append(f"{_shown(state)}{kind}")
        lines += [f"  {_transition(each)}" for each in state.transitions if state.kind is not StateKind.STOP]
    return "\n".join(lines)


def _transition(transition: Transition) -> str:
    stays = transition.target is transition.source
    where = "stay" if stays else f"-> {_shown(transition.target)}"
    return f"{transition.action.value:8}{where:24} if {describe(transition.condition)}"


def summary(pattern: Pattern) -> str:
    """The pattern in one line, as it could be written."""
    from firesteel.cep.pattern import GroupPattern
    from firesteel.cep.quantifier import Contiguity

    words: list[str] = []
    arrows = {
        Contiguity.RELAXED: "->",
        Contiguity.ANY: "->>",
        Contiguity.NOT_FOLLOWED: "-> !",
        Contiguity.NOT_NEXT: "!",
    }
    for stage in pattern.stages():
        quantifier = stage.get_quantifier()
        name = f"({summary(stage.get_raw_pattern())})" if isinstance(stage, GroupPattern) else stage.get_name()
        arrow = arrows.get(quantifier.contiguity, "")
        joined = f"{arrow}{name}{quantifier}" if arrow.endswith("!") else f"{arrow} {name}{quantifier}"
        words.append(joined.strip() + ("[greedy]" if quantifier.greedy else ""))
    windows = [window for stage in pattern.stages() if (window := stage.get_window_time()) is not None]
    strategy = pattern.get_after_match_skip_strategy()
    return (
        " ".join(words)
        + (f" within {min(windows)} ms" if windows else "")
        + (f", {strategy}" if strategy.skips else "")
    )


def _shown(state: State) -> str:
    if state.kind is StateKind.FINAL:
        return "(match)" if state.name == END else f"(match){state.name.removeprefix(END)}"
    return f"{state.name}!" if state.kind is StateKind.STOP else state.name


def _in_order(automaton: Automaton) -> list[State]:
    """States as an event could reach them from the start; those that none can reach are left out."""
    found = [automaton.states[automaton.start]]
    for state in found:
        for transition in state.transitions:
            if transition.target not in found:
                found.append(transition.target)
    return found


# ---- picture ------------------------------------------------------------------------------------------------------


def _svg(pattern: Pattern, automaton: Automaton) -> str:
    places = _places(automaton)
    width = max(x for x, _ in places.values()) + _WIDTH + _MARGIN
    height = max(y for _, y in places.values()) + _HEIGHT + _MARGIN
    parts = [
        f'<svg class="automaton" xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>',
        f'<text class="title" x="16" y="24">{escape(summary(pattern))}</text>',
    ]
    for state in places:
        parts += [_edge(each, places, lane) for lane, each in enumerate(state.transitions) if _drawn(each)]
    parts += [_box(state, *places[state]) for state in places]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _drawn(transition: Transition) -> bool:
    return transition.source.kind is not StateKind.STOP


def _places(automaton: Automaton) -> dict[State, tuple[int, int]]:
    """Columns by the number of steps from the start, the match behind all others; stop states in a row below."""
    order = _in_order(automaton)
    column = {order[0]: 0}
    for state in order:
        for transition in state.transitions:
            column.setdefault(transition.target, column[state] + (transition.action is not Action.IGNORE))
    last = max([column[state] for state in order if state.kind is not StateKind.FINAL], default=0) + 1
    rows: dict[int, int] = {}
    places: dict[State, tuple[int, int]] = {}
    for state in sorted(order, key=lambda each: each.kind is StateKind.STOP):
        at = last if state.kind is StateKind.FINAL else column[state]
        row = rows.get(at, 0)
        rows[at] = row + 1
        places[state] = (_MARGIN + at * (_WIDTH + _GAP_X), _MARGIN + 20 + row * (_HEIGHT + _GAP_Y))
    return {state: places[state] for state in order}


def _box(state: State, x: int, y: int) -> str:
    return (
        f'<g class="{state.kind.value}"><rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="12"/>'
        f'<text x="{x + _WIDTH / 2}" y="{y + _HEIGHT / 2 + 4}">{escape(_shown(state))}</text></g>'
    )


def _edge(transition: Transition, places: dict[State, tuple[int, int]], lane: int) -> str:
    (x1, y1), (x2, y2) = places[transition.source], places[transition.target]
    label = f"{transition.action.value}: {describe(transition.condition)}"
    if len(label) > _LONGEST_LABEL:
        label = label[: _LONGEST_LABEL - 1] + "…"
    anchor = "middle"
    if transition.target is transition.source:
        at = x1 + _WIDTH / 2 + (lane - 1) * 34
        path = f"M{at - 12} {y1} C{at - 26} {y1 - 34} {at + 26} {y1 - 34} {at + 12} {y1}"
        text = (at, y1 - 30.0 - 12 * (lane % 2))
    elif x2 > x1:
        start, end = (x1 + _WIDTH, y1 + 8 + 8 * lane), (x2, y2 + 12 + 5 * lane)
        middle = (start[0] + end[0]) / 2
        path = f"M{start[0]} {start[1]} C{middle} {start[1]} {middle} {end[1]} {end[0]} {end[1]}"
        text = (middle, (start[1] + end[1]) / 2 - 4 + 12 * (lane - 1))
    else:
        down = 1 if y2 > y1 else -1
        start = (x1 + 30 + 20 * lane, y1 + (_HEIGHT if down > 0 else 0))
        end = (x2 + 30 + 20 * lane, y2 + (0 if down > 0 else _HEIGHT))
        path = (
            f"M{start[0]} {start[1]} C{start[0]} {start[1] + 40 * down} {end[0]} {end[1] - 40 * down} {end[0]} {end[1]}"
        )
        # Beside the line, near its beginning: loops of the state at its end have their labels above that state.
        text, anchor = (start[0] + 6 * down, start[1] + 16 * down + 4), "start" if down > 0 else "end"
    return (
        f'<path class="{transition.action.value}" d="{path}" marker-end="url(#tip)"/>'
        f'<text class="label" style="text-anchor: {anchor}" x="{text[0]}" y="{text[1]}">{escape(label)}</text>'
    )
