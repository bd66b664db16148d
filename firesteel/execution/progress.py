"""A line on the terminal that shows how a job is doing."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.execution.job_metrics import EpochStats, JobMetrics


class ProgressLine:
    """Shows records, records/s, watermark and its lag, and the epoch's time; rewritten in place on a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._started = time.monotonic()
        self._shown = 0.0
        self._open_line = False

    def show(self, metrics: JobMetrics, stats: EpochStats, now_ms: int) -> None:
        """Show the state after an epoch, at most a few times a second."""
        elapsed = time.monotonic() - self._started
        if elapsed - self._shown < 0.2 and self._shown:
            return
        self._shown = elapsed
        rate = stats.records / stats.seconds if stats.seconds else 0.0
        text = (
            f"epoch {stats.epoch}: {metrics.records:,} records, {rate:,.0f}/s, "
            f"watermark {_lag(stats.watermark, now_ms)}, epoch time {stats.seconds * 1000:.0f} ms"
        )
        if self._stream.isatty():
            self._stream.write(f"\r\x1b[K{text}")
            self._open_line = True
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def end(self) -> None:
        """Leave the last state standing."""
        if self._open_line:
            self._stream.write("\n")
            self._stream.flush()


def _lag(watermark: int, now_ms: int) -> str:
    if watermark == MIN_WATERMARK:
        return "none yet"
    if watermark == MAX_WATERMARK:
        return "at the end"
    return f"{(now_ms - watermark) / 1000:,.1f} s behind"
