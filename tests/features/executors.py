"""Which executors a test runs on: in-process by default, ``@on_both`` adds Spark (where every job costs seconds)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firesteel.datastream import DataStream, StreamExecutionEnvironment

MakeEnv = Callable[..., StreamExecutionEnvironment]

on_both = pytest.mark.parametrize("executor", ["in-process", "spark"], indirect=True)


def collect(stream: DataStream) -> list[Any]:
    """Run the job and return all records of a stream."""
    with stream.execute_and_collect() as results:
        return list(results)
