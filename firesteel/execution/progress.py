"""A line on the terminal that shows how a job is doing."""

from __future__ import annotations

import shutil
import sys
import time
from datetime import datetime, timezone
from typing import TextIO

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.events import EpochEnded, JobEnded, JobEvent

_PAUSE_ON_TERMINAL = 0.2
_PAUSE_IN_FILE = 1.0
_QUIET_SECONDS = 2.0


class ProgressLine:
    """Shows records, records/s, watermark and its lag, and the epoch's time.

    On a terminal and in a notebook it is one line, rewritten a few times a second; elsewhere a line is added now and
    then. Records/s are those since the line before. The lag is how far the watermark is behind the newest record that
    was read, which for live data is now; data that is replayed faster or later has a clock of its own.

    :param quiet_seconds: How long a job runs before the line appears: one that ends sooner has none.
    """

    def __init__(self, stream: TextIO | None = None, quiet_seconds: float = 0.0) -> None:
        self._stream = stream or sys.stderr
        self._width = shutil.get_terminal_size((10_000, 24)).columns - 1 if self._stream.isatty() else 10_000
        self._in_place = self._stream.isatty() or _in_notebook()
        self._pause = _PAUSE_ON_TERMINAL if self._in_place else _PAUSE_IN_FILE
        self._quiet_until = time.monotonic() + quiet_seconds
        self._shown_at = time.monotonic()
        self._shown_records = 0
        self._records = 0
        self._text = ""
        self._last_shown = ""
        self._on_screen = 0
        """How many characters of the line stand on the terminal."""

    @staticmethod
    def wanted(setting: bool | None) -> ProgressLine | None:
        """The line as ``firesteel.progress`` says; without a setting only people who watch a terminal get one."""
        if setting is None:
            return ProgressLine(quiet_seconds=_QUIET_SECONDS) if sys.stderr.isatty() else None
        return ProgressLine() if setting else None

    def __call__(self, event: JobEvent) -> None:
        """Take in what has happened to the job: the line shows epochs, and stands still at the end."""
        if isinstance(event, EpochEnded):
            self._records += event.records
            self.show(self._records, event)
        elif isinstance(event, JobEnded):
            self.end()

    def show(self, records: int, stats: EpochEnded) -> None:
        """Show the state after an epoch, if the last time was long enough ago."""
        now = time.monotonic()
        elapsed = now - self._shown_at
        rate = (records - self._shown_records) / max(elapsed, 1e-3)
        self._text = (
            f"epoch {stats.epoch:3d} | {records:,} records | {rate:,.0f} records/s | "
            f"{_event_time(stats)} | epoch time {stats.seconds * 1000:.0f} ms"
        )
        if now >= self._quiet_until and (elapsed >= self._pause or not self._last_shown):
            self._shown_at = now
            self._shown_records = records
            self._write()

    def _write(self) -> None:
        self._last_shown = self._text
        text = self._text[: self._width]
        self._stream.write(f"\r{text.ljust(self._on_screen)}" if self._in_place else f"{text}\n")
        self._on_screen = len(text)
        self._stream.flush()

    def make_room(self) -> None:
        """Take the line away, so that something else can be written; it comes back with the next epoch."""
        if self._in_place and self._on_screen:
            self._stream.write(f"\r{' ' * self._on_screen}\r")
            self._stream.flush()
            self._on_screen = 0

    def end(self) -> None:
        """Leave the last state standing, if the line was ever there."""
        if not self._last_shown:
            return
        if self._text != self._last_shown or (self._in_place and not self._on_screen):
            self._write()
        if self._in_place:
            self._stream.write("\n")
            self._stream.flush()


def _in_notebook() -> bool:
    """Whether this is the kernel of a notebook, which rewrites a line as a terminal does."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _event_time(stats: EpochEnded) -> str:
    if stats.watermark == MIN_WATERMARK:
        return "no watermark yet"
    if stats.watermark == MAX_WATERMARK:
        return "event time at its end"
    text = f"watermark {_moment(stats.watermark)}"
    if stats.newest == MIN_WATERMARK:
        return text
    return f"{text}, lag {max(stats.newest - stats.watermark, 0) / 1000:,.1f} s"


def _moment(timestamp: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp / 1000, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):  # timestamps need not be times of a calendar
        return str(timestamp)
