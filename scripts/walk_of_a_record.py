"""Counts the calls that a record costs on its way from the source to the commit of a checkpoint: `--list` names them.

One process, one record, one subtask: source, map, key_by, keyed process function, two-phase sink. The figures are in
docs/architecture.md, "The walk of a record".
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import firesteel
from firesteel.common import Configuration, Types
from firesteel.connectors.two_phase import TwoPhaseCommitSinkFunction
from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor

PACKAGE = Path(firesteel.__file__).parent


class Walk:
    """The calls of Firesteel's functions, in the order in which they were first made."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.running = False

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(str(PACKAGE)):
            return
        file = str(Path(path).relative_to(PACKAGE))
        if not self.running and file == "runtime/source.py" and frame.f_code.co_name in STARTS:
            self.running = True
        if self.running:
            self.calls[(file, frame.f_code.co_qualname)] += 1

    @property
    def files(self) -> set[str]:
        return {file for file, _ in self.calls}


STARTS = {"read", "on_order"}  # of the source operator
WALK = Walk()


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


class Shelf(TwoPhaseCommitSinkFunction):
    """A sink whose transactions are lists."""

    def begin_transaction(self) -> list[Any]:
        return []

    def invoke(self, transaction: Any, value: Any, context: Any) -> None:
        transaction.append(value)

    def pre_commit(self, transaction: Any) -> None: ...

    def commit(self, transaction: Any) -> None:
        if transaction:
            sys.setprofile(None)

    def abort(self, transaction: Any) -> None: ...


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        settings = {
            "execution.target": "in-process",
            "parallelism.default": "1",
            "execution.runtime-mode": "STREAMING",
            "execution.checkpointing.interval": "1 ms",
            "execution.checkpointing.dir": directory,
            "restart-strategy.type": "none",
        }
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
        stream = env.from_sequence(1, 1).map(lambda number: number * 2).key_by(lambda number: number % 2)
        stream.process(Count()).sink_to(Shelf())
        sys.setprofile(WALK.profile)
        try:
            env.execute("walk")
        finally:
            sys.setprofile(None)
    if "--list" in sys.argv:
        for (file, function), count in WALK.calls.items():
            print(f"{count:4}  {file}: {function}")
    print(f"{WALK.calls.total()} calls of {len(WALK.calls)} functions in {len(WALK.files)} files")


if __name__ == "__main__":
    main()
