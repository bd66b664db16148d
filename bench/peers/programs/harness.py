"""What every program shares: its arguments, marks of progress, and what it hands back."""

from __future__ import annotations

import argparse
import json
import os
import pickle
import socket
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARKS = 200
"""About so many marks of progress per run: often enough to find 30% of the records, too seldom to cost anything."""

Works = dict[str, Callable[..., Any]]


@dataclass(frozen=True)
class Task:
    """What a program is asked to do.

    :param check: Hand back a digest of the results; otherwise they are thrown away, and only times count.
    :param variant: A way to configure the engine, where there are several.
    :param inputs: Where the files are that a prepared run reads.
    :param prepare: Only write these files.
    :param service: Where the address of what stands ready for this engine is written down, if something does.
    """

    work: str
    records: int
    parallelism: int
    out: Path
    check: bool = False
    variant: str = ""
    inputs: Path | None = None
    prepare: bool = False
    service: Path | None = None

    @property
    def marks(self) -> Marks:
        """Marks of progress for one subtask, in whatever process it runs."""
        return Marks(str(self.out), max(self.records // MARKS // self.parallelism, 1))


class Marks:
    """Progress of one subtask: ``hit()`` is called after the first record, then after each ``every`` records.

    Lines of (time, records since the last line), in a file per process. The system's clock is the same for all.
    """

    def __init__(self, out: str, every: int) -> None:
        self._out = out
        self._every = every
        self._distance = 1

    def hit(self) -> int:
        """Note that as many records as announced have passed; say after how many more to call again."""
        self.note(self._distance)
        self._distance = self._every
        return self._distance

    def note(self, records: int) -> None:
        """Note that so many more records have passed."""
        with open(f"{self._out}.marks-{os.getpid()}", "a", encoding="utf-8") as file:
            file.write(f"{time.time()} {records}\n")


def digest(results: Iterable[Any]) -> dict[str, int]:
    """The number of results and a sum that does not depend on their order. A result is a tuple, or a number."""
    count = total = 0
    for result in results:
        count += 1
        shown = repr(tuple(result) if isinstance(result, (tuple, list)) else (result,))
        total += zlib.crc32(shown.encode())
    return {"results": count, "sum": total}


def final(results: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The last running sum of each key. Sums only grow, and the order of a key's records differs between engines."""
    totals: dict[int, int] = {}
    for key, total in results:
        totals[key] = max(total, totals.get(key, 0))
    return list(totals.items())


def arguments(given: list[str] | None = None) -> Task:
    """The task of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("work")
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--variant", default="")
    parser.add_argument("--inputs", type=Path)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--service", type=Path)
    return Task(**vars(parser.parse_args(given)))


def written_results(task: Task) -> Iterator[Any]:
    """Everything that subtasks have pickled into their files of results, for the check."""
    for path in task.out.parent.glob(f"{task.out.name}.results-*"):
        with path.open("rb") as file:
            while file.peek(1):
                yield pickle.load(file)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, for engines that have to be told one."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def report(task: Task, version: str, results: Iterable[Any] | None = None) -> None:
    """Write what the run has to tell."""
    said: dict[str, Any] = {"version": version, "ended": time.time()}
    if results is not None:
        said["digest"] = digest(final(results) if task.work == "running_sum" else results)
    task.out.write_text(json.dumps(said), encoding="utf-8")
