"""Draw the pictures of the user guide's page on patterns: docs/pictures/cep-*.svg.

Usage: python scripts/draw_matches.py

The matches are found by the automaton itself, so that a picture shows what a program does. Colours are of medium
brightness: they can be read on light and on dark backgrounds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from firesteel.cep import AfterMatchSkipStrategy, Pattern  # noqa: E402 (the path has to be set first)
from firesteel.cep.automaton import Matcher  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
LEFT, STEP, ROW, TOP = 250, 62, 26, 96
GREY, COLOURS = "#767f89", {"a": "#3b82d6", "b": "#cf6a1f", "c": "#2f9456", "x": "#767f89"}

Row = tuple[str, Pattern]


def letter(wanted: str) -> Callable[[str], bool]:
    """Events that begin with a letter."""
    return lambda event: event[0] == wanted


def _a(strategy: AfterMatchSkipStrategy | None = None) -> Pattern:
    return Pattern.begin("a", strategy).where(letter("a"))


def distances() -> list[Row]:
    """What may come between two stages."""
    return [
        ("next", _a().next("b").where(letter("b"))),
        ("followed_by", _a().followed_by("b").where(letter("b"))),
        ("followed_by_any", _a().followed_by_any("b").where(letter("b"))),
        ("not_followed_by c", _a().not_followed_by("c").where(letter("c")).followed_by("b").where(letter("b"))),
    ]


def repetitions() -> list[Row]:
    """How often a stage takes events."""

    def some_bs() -> Pattern:
        return _a().followed_by("b").where(letter("b")).one_or_more()

    def then_c(pattern: Pattern) -> Pattern:
        return pattern.followed_by("c").where(letter("c"))

    return [
        ("one_or_more", then_c(some_bs())),
        (".consecutive", then_c(some_bs().consecutive())),
        (".allow_combinations", then_c(some_bs().allow_combinations())),
        (".greedy", then_c(some_bs().greedy())),
        ("times(2)", then_c(_a().followed_by("b").where(letter("b")).times(2))),
    ]


def skips() -> list[Row]:
    """What is given up after a match."""
    strategies = [
        AfterMatchSkipStrategy.no_skip(),
        AfterMatchSkipStrategy.skip_to_next(),
        AfterMatchSkipStrategy.skip_past_last_event(),
        AfterMatchSkipStrategy.skip_to_first("a"),
        AfterMatchSkipStrategy.skip_to_last("a"),
    ]
    return [
        (str(strategy), _a(strategy).one_or_more().followed_by("b").where(letter("b")).one_or_more())
        for strategy in strategies
    ]


def windows() -> list[Row]:
    """The time a match may take."""
    return [(f"within({size})", _a().followed_by("b").where(letter("b")).within(size)) for size in (2, 3, 5)]


def drawing(title: str, events: Sequence[str], rows: Sequence[Row]) -> str:
    """Events on a line, and under it one line for each match of each pattern."""
    width = LEFT + STEP * len(events) + 20
    parts = [_event(event, place, 60) for place, event in enumerate(events)]
    y = TOP
    for name, pattern in rows:
        parts.append(f'<text x="14" y="{y + 5}" font-weight="600">{escape(name)}</text>')
        found = _matches(pattern, events)
        if not found:
            parts.append(f'<text x="{LEFT}" y="{y + 5}">no match</text>')
        for match in found:
            parts += _match(match, y)
            y += ROW
        y += ROW // 2 + (0 if found else ROW)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y + 6}" width="{width}" height="{y + 6}" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="{GREY}"><title>{escape(title)}</title>'
    )
    heading = f'<text x="14" y="24" font-size="15" font-weight="600">{escape(title)}</text>'
    return "\n".join([head, heading, *parts, "</svg>"]) + "\n"


def _matches(pattern: Pattern, events: Sequence[str]) -> list[list[int]]:
    matcher = Matcher(pattern.compile())
    found: list[list[int]] = []
    for time, event in enumerate(events):
        matches = matcher.process((event[0], time), time)
        found += [sorted(place for taken in match.values() for _, place in taken) for match in matches]
    return found


def _event(event: str, place: int, y: int) -> str:
    x, colour = LEFT + place * STEP, COLOURS[event[0]]
    return (
        f'<circle cx="{x}" cy="{y}" r="14" fill="none" stroke="{colour}" stroke-width="2"/>'
        f'<text x="{x}" y="{y + 5}" text-anchor="middle" fill="{colour}">{event}</text>'
    )


def _match(places: list[int], y: int) -> list[str]:
    first, last = LEFT + places[0] * STEP, LEFT + places[-1] * STEP
    line = f'<line x1="{first}" y1="{y}" x2="{last}" y2="{y}" stroke="{GREY}" stroke-width="2"/>'
    return [line, *(f'<circle cx="{LEFT + place * STEP}" cy="{y}" r="6" fill="#3b82d6"/>' for place in places)]


def pictures() -> dict[str, str]:
    """The text of each picture, by file name."""
    drawings: dict[str, Any] = {
        "cep-distances": drawing("a, then b", ["a", "x", "b", "c", "b"], distances()),
        "cep-repetitions": drawing("a, then b, again and again, then c", ["a", "b", "x", "b", "b", "c"], repetitions()),
        "cep-skips": drawing("a, once or more, then b, once or more", ["a", "a", "b", "b"], skips()),
        "cep-windows": drawing("a followed by b, within some time", ["a", "x", "b", "x", "b", "a", "b"], windows()),
    }
    names = {"small": letter("s"), "large": letter("l"), "refund": letter("r")}
    automaton = Pattern.from_text("small -> !refund -> large+ within 1 min", names).explain("svg")
    title = "<title>The automaton of a pattern</title>"
    drawings["cep-automaton"] = automaton.replace("\n<style>", f"\n{title}<style>", 1)
    return {f"{name}.svg": text for name, text in drawings.items()}


def main(arguments: Sequence[str]) -> None:
    """Write the pictures."""
    if arguments:
        raise SystemExit(__doc__)
    for name, text in pictures().items():
        (PICTURES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
