"""A line on the terminal that shows how a job is doing."""

from __future__ import annotations

import sys
import time
from datetime import datetime, timezone
from typing import TextIO

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.execution.job_metrics import EpochStats, JobMetrics

_PAUSE_ON_TERMINAL = 0.2
_PAUSE_IN_FILE = 1.0


class ProgressLine:
    """Shows records, records/s, watermark and its lag, and the epoch's time.

    On a terminal the line is rewritten in place, a few times a second; elsewhere a line is added now and then.
    Records/s are those since the line before. The lag is how far the watermark is behind the newest record that was
    read, which for live data is now; data that is replayed faster or later has a clock of its own.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._in_place = self._stream.isatty()
        self._pause = _PAUSE_ON_TERMINAL if self._in_place else _PAUSE_IN_FILE
        self._shown_at = time.monotonic()
        self._shown_records = 0
        self._text = ""
        self._last_shown = ""

    def show(self, metrics: JobMetrics, stats: EpochStats) -> None:
        """Show the state after an epoch, if the last time was long enough ago."""
        now = time.monotonic()
        elapsed = now - self._shown_at
        rate = (metrics.records - self._shown_records) / max(elapsed, 1e-3)
        self._text = (
            f"epoch {stats.epoch:3d} | {metrics.records:,} records | {rate:,.0f} records/s | "
            f"{_event_time(stats)} | epoch time {stats.seconds * 1000:.0f} ms"
        )
        if elapsed >= self._pause or not self._last_shown:
            self._shown_at = now
            self._shown_records = metrics.records
            self._write()

    def _write(self) -> None:
        self._last_shown = self._text
        self._stream.write(f"\r\x1b[K{self._text}" if self._in_place else f"{self._text}\n")
        self._stream.flush()

    def end(self) -> None:
        """Leave the last state standing."""
        if self._text != self._last_shown:
            self._write()
        if self._in_place and self._text:
            self._stream.write("\n")
            self._stream.flush()


def _event_time(stats: EpochStats) -> str:
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
