"""Numbers, times and sizes as people read them, and HTML that is safe to put together."""

from __future__ import annotations

from datetime import datetime, timezone
from html import escape

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK

__all__ = ["Html", "amount", "clock", "el", "event_time", "lasting", "short", "size"]


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def el(tag: str, *children: object, **attributes: object) -> Html:
    """An element. Children that are not HTML are escaped.

    Attributes have underscores for hyphens, and one at the end where Python has the word for itself.
    """
    inside = "".join(each if isinstance(each, Html) else escape(str(each)) for each in children)
    shown = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Html(f"<{tag}{shown}>{inside}</{tag}>")


def amount(value: float) -> str:
    """A number in four characters or so: 999, 12.3k, 4.5M."""
    for unit in ("", "k", "M", "G"):
        if abs(value) < 1000 or unit == "G":
            return f"{value:.0f}{unit}" if not unit and value == int(value) else f"{value:.3g}{unit}"
        value /= 1000
    raise AssertionError


def size(count: int) -> str:
    """Bytes."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def lasting(milliseconds: float) -> str:
    """A duration, by its two largest units."""
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = int(milliseconds // 1000)
    if seconds < 60:
        return f"{milliseconds / 1000:.1f} s"
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
    while not parts[0][0]:
        parts.pop(0)
    return " ".join(f"{number} {unit}" for number, unit in parts[:2])


def clock(timestamp: int) -> str:
    """A moment, in UTC."""
    return f"{datetime.fromtimestamp(timestamp / 1000, timezone.utc):%Y-%m-%d %H:%M:%S}"


def event_time(watermark: int) -> str:
    """Where event time stands."""
    if watermark <= MIN_WATERMARK:
        return "no watermark yet"
    if watermark >= MAX_WATERMARK:
        return "the end of time"
    try:
        return clock(watermark)
    except (OverflowError, ValueError, OSError):  # a program may count anything as its time
        return str(watermark)


def short(name: str, most: int = 24) -> str:
    """A name that fits."""
    return name if len(name) <= most else f"{name[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
