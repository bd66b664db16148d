"""Where the time of a record goes: each step of the running sum by itself, in this process, on one core.

The steps are timed per batch; the quickest batch counts, because everything else is what other processes did to it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import wraps
from typing import Any
from unittest.mock import patch

from bench import programs
from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.runtime.basic import FilterOperator, MapOperator
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.emitters import HashEmitter
from firesteel.runtime.process import KeyedProcessOperator
from firesteel.state import codec

_FEWEST = 1000
"""Smaller batches say more about the cost of a batch than of a record."""


@dataclass(frozen=True)
class Step:
    """A method that does one thing to a batch of records.

    :param size: Tells from its result and arguments how many records it was given.
    :param part: A part of it that can be done again by itself, to be told apart: its name, and how.
    """

    name: str
    owner: Any
    method: str
    size: Callable[..., int]
    part: tuple[str, Callable[..., None]] | None = None


class Stopwatch:
    """Times nested calls: each step is charged with its own time, without that of the steps inside it."""

    def __init__(self) -> None:
        self.best: dict[str, float] = defaultdict(lambda: float("inf"))
        self._inner: list[float] = []

    def wrap(self, step: Step) -> Callable[..., Any]:
        """The step's method, timed."""
        function = getattr(step.owner, step.method)

        @wraps(function)
        def timed(*arguments: Any) -> Any:
            self._inner.append(0.0)
            started = time.perf_counter()
            result = function(*arguments)
            ended = time.perf_counter()
            own = ended - started - self._inner.pop()
            records = step.size(result, *arguments)
            if records >= _FEWEST:
                self._note(step.name, own, records)
                self._time_part(step, arguments, records)
            if self._inner:
                self._inner[-1] += time.perf_counter() - started
            return result

        return timed

    def _time_part(self, step: Step, arguments: tuple[Any, ...], records: int) -> None:
        if step.part is not None:
            name, again = step.part
            started = time.perf_counter()
            again(*arguments)
            self._note(name, time.perf_counter() - started, records)

    def _note(self, name: str, seconds: float, records: int) -> None:
        self.best[name] = min(self.best[name], seconds / records * 1e9)


def _of_batch(_: Any, __: Any, batch: Any) -> int:
    return len(batch)


def _of_entries(entries: Any, _: Any) -> int:
    return sum(len(entry[0]) for entry in entries if isinstance(entry, tuple)) if isinstance(entries, list) else 0


def _select_keys(emitter: HashEmitter, batch: RowBatch) -> None:
    select = emitter._select
    for value in batch.values:
        select(value)


def _touch_state(operator: KeyedProcessOperator, batch: RowBatch) -> None:
    assert isinstance(operator.function, programs.RunningSum) and batch.keys is not None
    scope, state = operator.scope, operator.function.total
    for scope.key in batch.keys:
        state.update(state.value())


STEPS = [
    Step("user function: map", MapOperator, "process", _of_batch),
    Step(
        "route: look up the key's target, add record and key to its lists",
        HashEmitter,
        "emit",
        _of_batch,
        ("key: the user's selector", _select_keys),
    ),
    Step("encode: pickle", codec, "dumps", lambda _, value: _of_entries(value, None)),
    Step("decode: unpickle", codec, "loads", _of_entries),
    Step(
        "user function: process_element, a generator, and the loop around it",
        KeyedProcessOperator,
        "process",
        _of_batch,
        ("state: one read, one write", _touch_state),
    ),
    Step("user function: filter", FilterOperator, "process", _of_batch),
]


def nanoseconds_per_record(records: int = 1_000_000, keys: int = 10_000) -> dict[str, float]:
    """The steps of the keyed running sum, in the order in which a record meets them."""
    watch = Stopwatch()
    configuration = Configuration.from_dict({"execution.target": "in-process", "parallelism.default": 2})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    programs.running_sum(env, records, keys)
    with ExitStack() as patches:
        for step in STEPS:
            patches.enter_context(patch.object(step.owner, step.method, watch.wrap(step)))
        env.execute("stages")
    best: dict[str, float] = {}
    for step in STEPS:
        if step.part is not None:
            best[step.part[0]] = watch.best[step.part[0]]
        best[step.name] = watch.best[step.name] - (best[step.part[0]] if step.part else 0.0)
    return best
