"""Whether a job treats its input as a stream or as a whole."""

from __future__ import annotations

from enum import Enum


class RuntimeExecutionMode(Enum):
    """How a job is executed. The final results are the same; what is emitted on the way differs."""

    STREAMING = "STREAMING"
    """Results are updated as records come: a rolling aggregation emits one result per record."""

    BATCH = "BATCH"
    """All sources must end; rolling aggregations emit once per key, at the end."""

    AUTOMATIC = "AUTOMATIC"
    """BATCH if all sources end by themselves, STREAMING otherwise."""
