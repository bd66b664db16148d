"""Which executors a test runs on: in-process by default, ``@on_both`` adds Spark (where every job costs seconds)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from firesteel.dataset import ExecutionEnvironment
from firesteel.datastream import DataStream, StreamExecutionEnvironment

MakeEnv = Callable[..., StreamExecutionEnvironment]
MakeBatchEnv = Callable[..., ExecutionEnvironment]

on_both = pytest.mark.parametrize("executor", ["in-process", "spark"], indirect=True)


def on_each(names: str | tuple[str, ...], in_process: Sequence[Any], on_spark: Sequence[Any]) -> pytest.MarkDecorator:
    """Some values of parameters in-process, and others (fewer, as a rule) on Spark."""
    together = [names] if isinstance(names, str) else list(names)
    cases = [("in-process", value) for value in in_process] + [("spark", value) for value in on_spark]
    values = [(executor, value) if isinstance(names, str) else (executor, *value) for executor, value in cases]
    return pytest.mark.parametrize(["executor", *together], values, indirect=["executor"])


def collect(stream: DataStream) -> list[Any]:
    """Run the job and return all records of a stream."""
    with stream.execute_and_collect() as results:
        return list(results)
