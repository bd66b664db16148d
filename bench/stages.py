"""Where the time of a record goes: each step of the running sum by itself, in this process, on one core.

The steps are timed per batch; the quickest batch counts, because everything else is what other processes did to it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from typing import Any
from unittest.mock import patch

from bench import programs
from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.runtime.basic import FilterOperator, MapOperator
from firesteel.runtime.emitters import HashEmitter
from firesteel.runtime.process import KeyedProcessOperator
from firesteel.state import codec

_FEWEST = 1000
"""Smaller batches say more about the cost of a batch than of a record."""


class Stopwatch:
    """Times nested calls: each step is charged with its own time, without that of the steps inside it."""

    def __init__(self) -> None:
        self.best: dict[str, float] = defaultdict(lambda: float("inf"))
        self._inner: list[float] = []

    def wrap(self, step: str, function: Callable[..., Any], size: Callable[..., int]) -> Callable[..., Any]:
        """The function, timed; ``size`` tells from its arguments and result how many records it was given."""

        @wraps(function)
        def timed(*arguments: Any) -> Any:
            self._inner.append(0.0)
            started = time.perf_counter()
            result = function(*arguments)
            whole = time.perf_counter() - started
            own = whole - self._inner.pop()
            if self._inner:
                self._inner[-1] += whole
            records = size(result, *arguments)
            if records >= _FEWEST:
                self.best[step] = min(self.best[step], own / records * 1e9)
            return result

        return timed


def _of_batch(_: Any, __: Any, batch: Any) -> int:
    return len(batch)


def _of_entries(entries: Any, _: Any) -> int:
    return sum(len(entry[0]) for entry in entries if isinstance(entry, tuple)) if isinstance(entries, list) else 0


def nanoseconds_per_record(records: int = 1_000_000, keys: int = 10_000) -> dict[str, float]:
    """The steps of the keyed running sum, in the order in which a record meets them."""
    watch = Stopwatch()
    steps: list[tuple[str, Any, str, Callable[..., int]]] = [
        ("map: the user's function", MapOperator, "process", _of_batch),
        ("key_by: key, target, append", HashEmitter, "emit", _of_batch),
        ("pickle", codec, "dumps", lambda _, value: _of_entries(value, None)),
        ("unpickle", codec, "loads", _of_entries),
        ("process: the user's function with state", KeyedProcessOperator, "process", _of_batch),
        ("filter: the user's function", FilterOperator, "process", _of_batch),
    ]
    configuration = Configuration.from_dict({"execution.target": "in-process", "parallelism.default": 2})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    programs.running_sum(env, records, keys)
    patches = [
        patch.object(owner, name, watch.wrap(step, getattr(owner, name), size)) for step, owner, name, size in steps
    ]
    for each in patches:
        each.start()
    try:
        env.execute("stages")
    finally:
        for each in patches:
            each.stop()
    return {step: watch.best[step] for step, *_ in steps}
