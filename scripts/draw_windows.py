"""Draw the pictures of the user guide's pages on windows and joins: docs/pictures/*.svg.

Usage: python scripts/draw_windows.py

The records are those of the pages' examples, and time windows come from the assigners themselves, so that a picture
shows what a program does. Colours are of medium brightness: they can be read on light and on dark backgrounds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from firesteel.model.assigners import (  # noqa: E402 (the path has to be set first)
    EventTimeSessionWindows,
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from firesteel.model.windows import TimeWindow  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"

WIDTH, LEFT, RIGHT = 760, 92, 24
ROW, GAP = 34, 10
GREY, BLUE, ORANGE, GREEN, RED = "#767f89", "#3b82d6", "#cf6a1f", "#2f9456", "#d1495b"

Click = tuple[str, int, str]
CLICKS: list[Click] = [
    ("ann", 2, "news"),
    ("bob", 4, "news"),
    ("ann", 7, "video"),
    ("ann", 13, "news"),
    ("bob", 16, "news"),
    ("bob", 18, "video"),
    ("ann", 31, "news"),
    ("ann", 34, "news"),
    ("bob", 37, "news"),
]
COLOURS = {"ann": BLUE, "bob": ORANGE}


def gap_of(click: Click) -> int:
    """The dynamic session gap of the page's example, in seconds."""
    return 20 if click[2] == "video" else 6


# ---- shapes ------------------------------------------------------------------------------------------------------


@dataclass
class Drawing:
    """A picture with a time axis from ``first`` to ``last`` seconds; shapes are added from top to bottom."""

    title: str
    first: int
    last: int
    height: int = GAP
    shapes: list[str] = field(default_factory=list)

    def x(self, second: float) -> float:
        """Where a time is."""
        return round(LEFT + (second - self.first) / (self.last - self.first) * (WIDTH - LEFT - RIGHT), 1)

    def add_row(self, name: str = "", height: int = ROW, colour: str = GREY) -> float:
        """Make room for a row; returns its middle."""
        middle = self.height + height / 2
        self.height += height
        if name:
            self.text(LEFT - 14, middle, name, colour, "end", bold=True)
        return middle

    def text(
        self, x: float, y: float, words: str, colour: str = GREY, anchor: str = "middle", bold: bool = False
    ) -> None:
        """Write words, centred on ``y``."""
        weight = ' font-weight="600"' if bold else ""
        self.shapes.append(
            f'<text x="{x:g}" y="{y + 4.5:g}" fill="{colour}" text-anchor="{anchor}"{weight}>{escape(words)}</text>'
        )

    def box(self, left: float, right: float, y: float, colour: str, height: float = 26, dashed: bool = False) -> None:
        """A window: a box from one x to another around ``y``."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.shapes.append(
            f'<rect x="{left + 1.5:g}" y="{y - height / 2:g}" width="{right - left - 3:g}" height="{height:g}" rx="6" '
            f'fill="{colour}" fill-opacity="0.13" stroke="{colour}" stroke-width="1.5"{dash}/>'
        )

    def dot(self, x: float, y: float, colour: str, hollow: bool = False) -> None:
        """A record."""
        inside = 'fill="none" stroke-width="2"' if hollow else f'fill="{colour}"'
        self.shapes.append(f'<circle cx="{x:g}" cy="{y:g}" r="5" {inside} stroke="{colour}"/>')

    def line(
        self, x1: float, y1: float, x2: float, y2: float, colour: str = GREY, width: float = 1, dash: str = ""
    ) -> None:
        """A line."""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.shapes.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" '
            f'stroke="{colour}" stroke-width="{width:g}"{dashes}/>'
        )

    def flag(self, x: float, y: float, words: str, colour: str) -> None:
        """A mark below a row: here the window fires."""
        self.shapes.append(f'<path d="M{x:g} {y - 5:g} l6 9 h-12 z" fill="{colour}"/>')
        self.text(x + 11, y, words, colour, "start")

    def axis(self, step: int = 10) -> None:
        """The time axis; goes last. Its grid is behind everything else."""
        y = self.height + 8
        grid = []
        for second in range(self.first, self.last + 1):
            if second % step == 0:
                x = self.x(second)
                grid.append(
                    f'<line x1="{x:g}" y1="{GAP / 2:g}" x2="{x:g}" y2="{y:g}" stroke="{GREY}" stroke-opacity="0.35"/>'
                )
                self.text(x, y + 13, f"{second} s")
        self.shapes[:0] = grid
        self.line(LEFT - 4, y, WIDTH - RIGHT + 4, y)
        self.height += 34

    def svg(self) -> str:
        """The file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.height}" '
            f'viewBox="0 0 {WIDTH} {self.height}" role="img" font-family="Helvetica, Arial, sans-serif" '
            'font-size="13">'
        )
        return "\n".join([head, f"<title>{escape(self.title)}</title>", *self.shapes, "</svg>"]) + "\n"


# ---- windows of the example ----------------------------------------------------------------------------------------


class _Merges(MergingWindowAssigner.MergeCallback[TimeWindow]):
    def __init__(self) -> None:
        self.merged: dict[TimeWindow, TimeWindow] = {}

    def merge(self, to_be_merged: Collection[TimeWindow], merge_result: TimeWindow) -> None:
        self.merged.update(dict.fromkeys(to_be_merged, merge_result))


def assigned(assigner: WindowAssigner[Any, TimeWindow], clicks: Iterable[Click]) -> dict[TimeWindow, list[Click]]:
    """The clicks of each window (in milliseconds) that an event-time assigner gives the clicks of one user."""
    no_context = cast(WindowAssigner.WindowAssignerContext, None)  # event-time assigners do not look at it
    windows: dict[TimeWindow, list[Click]] = {}
    for click in clicks:
        for window in assigner.assign_windows(click, click[1] * 1000, no_context):
            windows.setdefault(window, []).append(click)
        if isinstance(assigner, MergingWindowAssigner):
            merges = _Merges()
            assigner.merge_windows(list(windows), merges)
            for old, new in merges.merged.items():
                if old != new:
                    windows.setdefault(new, []).extend(windows.pop(old))
    return windows


def of_user(user: str) -> list[Click]:
    """The clicks of a user."""
    return [click for click in CLICKS if click[0] == user]


def rows_without_overlap(windows: Iterable[TimeWindow]) -> list[list[TimeWindow]]:
    """The windows, in as few rows as they need."""
    rows: list[list[TimeWindow]] = []
    for window in sorted(windows):
        for row in rows:
            if row[-1].end <= window.start:
                row.append(window)
                break
        else:
            rows.append([window])
    return rows


def time_windows(
    title: str,
    assigner: WindowAssigner[Any, TimeWindow],
    first: int = 0,
    last: int = 40,
    gap: Callable[[Click], int] | None = None,
) -> Drawing:
    """Each user's windows, with the records that are in them; sessions also with the gap behind each record."""
    drawing = Drawing(title, first, last)
    for user, colour in COLOURS.items():
        windows = assigned(assigner, of_user(user))
        for number, row in enumerate(rows_without_overlap(windows)):
            y = drawing.add_row(user if number == 0 else "", colour=colour)
            for window in row:
                _window(drawing, window, windows[window], y, colour, gap)
        drawing.height += GAP
    drawing.axis()
    return drawing


def _window(
    drawing: Drawing,
    window: TimeWindow,
    clicks: list[Click],
    y: float,
    colour: str,
    gap: Callable[[Click], int] | None,
) -> None:
    drawing.box(drawing.x(window.start / 1000), drawing.x(window.end / 1000), y, colour)
    for number, click in enumerate(clicks):
        x = drawing.x(click[1])
        if gap is not None:
            level = y + 3 * (number % 3 - 1)
            drawing.line(x, level, drawing.x(click[1] + gap(click)) - 3, level, colour, 1.5, "2 3")
        drawing.dot(x, y, colour, hollow=gap is not None and click[2] == "video" and gap is gap_of)


def count_windows() -> Drawing:
    """Windows of two clicks, and of the last three, every two."""
    drawing = Drawing("Count windows: count_window(2) above, count_window(3, 2) below", 0, 40)
    for size, slide in ((2, 2), (3, 2)):
        for user, colour in COLOURS.items():
            clicks = of_user(user)
            groups = [clicks[max(0, end - size) : end] for end in range(slide, len(clicks) + 1, slide)]
            used = len(groups) * slide
            rest = clicks[used:] if slide == size else clicks[used - size + slide :]
            y = drawing.add_row(user, colour=colour)
            below = y if slide == size else drawing.add_row()
            if used < len(clicks):
                groups.append(rest)
            for number, group in enumerate(groups):
                row = below if number % 2 else y
                unfinished = used < len(clicks) and number == len(groups) - 1
                left, right = drawing.x(group[0][1]) - 12, drawing.x(group[-1][1]) + 12
                drawing.box(left, right, row, colour, dashed=unfinished)
                for click in group:
                    drawing.dot(drawing.x(click[1]), row, colour)
        drawing.height += GAP * 2
    drawing.axis()
    return drawing


def global_window() -> Drawing:
    """One window per user that never ends, and a trigger that fires every two records."""
    drawing = Drawing("The global window with a trigger that fires every two records", 0, 45)
    for user, colour in COLOURS.items():
        y = drawing.add_row(user, colour=colour)
        drawing.box(LEFT, WIDTH + 20, y, colour)
        marks = drawing.add_row(height=20)
        for number, click in enumerate(of_user(user), 1):
            drawing.dot(drawing.x(click[1]), y, colour)
            if number % 2 == 0:
                drawing.flag(drawing.x(click[1]), marks, f"fires with {number}", colour)
        drawing.height += GAP
    drawing.axis()
    return drawing


class CappedSessions(EventTimeSessionWindows):
    """The custom assigner of the page's example: sessions that do not grow beyond 20 seconds."""

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        """Merge as long as the result is no longer than that."""
        group: list[TimeWindow] = []
        covered = TimeWindow(0, 0)
        for window in sorted(windows):
            if group and covered.intersects(window) and covered.cover(window).end - covered.start <= 20_000:
                group.append(window)
                covered = covered.cover(window)
                continue
            if len(group) > 1:
                callback.merge(group, covered)
            group, covered = [window], window
        if len(group) > 1:
            callback.merge(group, covered)


# ---- what happens around windows -----------------------------------------------------------------------------------


def panes() -> Drawing:
    """Windows of 40 seconds, one every 10, put together from panes."""
    drawing = Drawing("Sliding windows are put together from panes", 0, 70)
    y = drawing.add_row("records")
    for second in (2, 4, 7, 13, 16, 18, 31, 34, 37, 45, 52, 58, 66):
        drawing.dot(drawing.x(second), y, BLUE)
    y = drawing.add_row("panes")
    for start, count in zip(range(0, 70, 10), (3, 3, 0, 3, 1, 2, 1), strict=True):
        if count:
            drawing.box(drawing.x(start), drawing.x(start + 10), y, GREEN)
            drawing.text(drawing.x(start + 5), y, str(count), GREEN, bold=True)
    drawing.height += GAP
    for number, (start, terms) in enumerate(
        ((0, "3 + 3 + 3 = 9"), (10, "3 + 3 + 1 = 7"), (20, "3 + 1 + 2 = 6"), (30, "3 + 1 + 2 + 1 = 7"))
    ):
        y = drawing.add_row("windows" if number == 0 else "")
        drawing.box(drawing.x(start), drawing.x(start + 40), y, ORANGE)
        drawing.text(drawing.x(start + 20), y, terms, ORANGE)
    drawing.axis()
    return drawing


def lateness() -> Drawing:
    """What happens to a record of the window from 0 to 10, depending on where the watermark is when it comes."""
    drawing = Drawing("A window of 10 seconds with 5 seconds of allowed lateness, by the watermark", 0, 22)
    y = drawing.add_row("window")
    drawing.box(drawing.x(0), drawing.x(10), y, BLUE)
    drawing.text(drawing.x(5), y, "0 s to 10 s", BLUE)
    drawing.box(drawing.x(10), drawing.x(15), y, GREEN, dashed=True)
    drawing.text(drawing.x(12.5), y, "its state stays", GREEN)
    drawing.text(drawing.x(18.5), y, "deleted", RED)
    marks = drawing.add_row(height=24)
    drawing.flag(drawing.x(10), marks, "fires", BLUE)
    drawing.flag(drawing.x(15), marks, "is deleted", RED)
    y = drawing.add_row("a record")
    for start, end, words, colour in (
        (0, 10, "on time: it is kept", BLUE),
        (10, 15, "late: fires again", GREEN),
        (15, 22, "too late: side output", RED),
    ):
        drawing.text(drawing.x((start + end) / 2), y, words, colour)
    drawing.text(LEFT - 18, drawing.height + 21, "watermark", anchor="end")
    drawing.axis(5)
    return drawing


ORDERS = (("tea", 3), ("cup", 12), ("pot", 24))
PAYMENTS = (("tea", 1), ("tea", 6), ("cup", 11), ("cup", 18), ("pot", 26), ("pot", 31))
LINES = {"tea": BLUE, "cup": ORANGE, "pot": GREEN}


def interval_join() -> Drawing:
    """Orders, the interval of each, and the payments that are in it."""
    drawing = Drawing("Interval join: payments from 2 seconds before an order to 5 seconds after it", 0, 34)
    top = drawing.add_row("orders")
    drawing.height += GAP
    middle = drawing.add_row("intervals")
    drawing.height += GAP
    bottom = drawing.add_row("payments")
    for name, second in ORDERS:
        x, colour = drawing.x(second), LINES[name]
        drawing.box(drawing.x(second - 2) - 3, drawing.x(second + 5) + 3, middle, colour)
        drawing.text(drawing.x(second + 1.5), middle, f"{second - 2} s to {second + 5} s", colour)
        drawing.dot(x, top, colour)
        drawing.text(x + 12, top, name, colour, "start")
        drawing.line(x, top + 8, x, middle - 14, colour, 1.5, "4 3")
    for name, second in PAYMENTS:
        joined = any(name == other and at - 2 <= second <= at + 5 for other, at in ORDERS)
        if joined:
            drawing.line(drawing.x(second), middle + 14, drawing.x(second), bottom - 8, LINES[name], 1.5, "4 3")
        drawing.dot(drawing.x(second), bottom, LINES[name], hollow=not joined)
        drawing.text(drawing.x(second) + 10, bottom, name, LINES[name], "start")
    drawing.axis()
    return drawing


def window_join() -> Drawing:
    """The same orders and payments in tumbling windows: pairs do not cross the border of a window."""
    drawing = Drawing("Window join: orders and payments of the same window of 10 seconds", 0, 40)
    top = drawing.add_row("orders")
    drawing.height += GAP
    bottom = drawing.add_row("payments")
    for start in range(0, 40, 10):
        drawing.box(drawing.x(start), drawing.x(start + 10), (top + bottom) / 2, GREY, height=bottom - top + 30)
    for name, second in ORDERS:
        drawing.dot(drawing.x(second), top, LINES[name])
        drawing.text(drawing.x(second) + 10, top, name, LINES[name], "start")
        for other, paid in PAYMENTS:
            if other == name and second // 10 == paid // 10:
                drawing.line(drawing.x(second), top + 6, drawing.x(paid), bottom - 6, LINES[name], 1.5, "4 3")
    for name, second in PAYMENTS:
        joined = any(name == other and second // 10 == at // 10 for other, at in ORDERS)
        drawing.dot(drawing.x(second), bottom, LINES[name], hollow=not joined)
        side, anchor = (-9, "end") if second % 10 > 7 else (9, "start")  # not across the border of the window
        drawing.text(drawing.x(second) + side, bottom, name, LINES[name], anchor)
    drawing.height += GAP
    drawing.axis()
    return drawing


# ---- all of them ---------------------------------------------------------------------------------------------------


def pictures() -> dict[str, str]:
    """The text of each picture, by file name."""
    sessions = EventTimeSessionWindows.with_gap(10_000)
    dynamic = EventTimeSessionWindows.with_dynamic_gap(lambda click: gap_of(click) * 1000)
    tumbling = TumblingEventTimeWindows
    drawings = {
        "tumbling": time_windows("Tumbling windows of 10 seconds", tumbling.of(10_000)),
        "offset": time_windows("Tumbling windows of 10 seconds, offset by 5", tumbling.of(10_000, 5_000), -5, 45),
        "sliding": time_windows(
            "Sliding windows of 20 seconds, one every 10", SlidingEventTimeWindows.of(20_000, 10_000), -10, 50
        ),
        "sessions": time_windows("Sessions with a gap of 10 seconds", sessions, 0, 50, lambda click: 10),
        "sessions-dynamic": time_windows("Sessions whose gap depends on the record", dynamic, 0, 50, gap_of),
        "sessions-capped": time_windows(
            "A custom assigner: sessions of up to 20 seconds", CappedSessions(10_000), 0, 50, lambda click: 10
        ),
        "count": count_windows(),
        "global": global_window(),
        "panes": panes(),
        "lateness": lateness(),
        "window-join": window_join(),
        "interval-join": interval_join(),
    }
    return {f"{name}.svg": drawing.svg() for name, drawing in drawings.items()}


def main(arguments: Sequence[str]) -> None:
    """Write the pictures."""
    if arguments:
        raise SystemExit(__doc__)
    PICTURES.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (PICTURES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
