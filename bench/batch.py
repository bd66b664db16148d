"""DataSet programs against the same written by hand on Spark's RDDs, in turns: what the API costs, or saves."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from operator import add
from pathlib import Path
from typing import Any

from bench.machine import sentence
from bench.measure import Bench
from bench.page import PERFORMANCE, replace_section, table
from firesteel.dataset import DataSet, ExecutionEnvironment

TASKS = 2
SUPERSTEPS = 10
Works = dict[str, tuple[Callable[[], Any], Callable[[], Any]]]
"""Name -> the work by hand, and as a DataSet program; both return something that can be compared."""


def measure(bench: Bench, scale: float, repetitions: int) -> dict[str, Any]:
    """Seconds of each work, by hand and as a program, and their ratio: the median over turns."""
    session = bench.session
    found = []
    with tempfile.TemporaryDirectory(prefix="firesteel-bench-") as folder:
        text = Path(folder, "text")
        write_text(text, int(400_000 * scale))
        for name, (by_hand, as_program) in works(session, str(text), scale).items():
            if by_hand() != as_program():
                raise AssertionError(f"{name}: the two ways give different results")
            turns = [(_seconds(by_hand), _seconds(as_program)) for _ in range(repetitions)]
            hand, program = (statistics.median(column) for column in zip(*turns))
            ratio = statistics.median(mine / theirs for theirs, mine in turns)
            print(f"{name:34} by hand {hand:6.2f} s, DataSet {program:6.2f} s: {ratio:.2f}", flush=True)
            found.append({"name": name, "hand_seconds": hand, "seconds": program, "ratio": ratio})
    return {"batch": found}


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def write_text(path: Path, lines: int) -> None:
    """Lines of ten words out of 20,000, common ones more often."""
    choice = random.Random(1)
    words = [f"word{number}" for number in range(20_000)]
    with path.open("w") as file:
        for _ in range(lines):
            picked = (words[int(len(words) * choice.random() ** 3)] for _ in range(10))
            file.write(" ".join(picked) + "\n")


def works(session: Any, text: str, scale: float) -> Works:
    """The works, ready to run on a session."""
    context = session.sparkContext
    env = ExecutionEnvironment.get_execution_environment(session=session).set_parallelism(TASKS)
    count = int(400_000 * scale)
    vertices, edges = _graph(int(60_000 * scale))
    return {
        "word count": (
            lambda: _words_by_hand(context, text),
            lambda: env.read_text_file(text).flat_map(_pairs).group_by(0).sum(1).count(),
        ),
        "join of two sets": (lambda: _join_by_hand(context, count), lambda: _join(env, count)),
        f"connected components, {SUPERSTEPS} supersteps": (
            lambda: _components_by_hand(context, vertices, edges),
            lambda: dict(_components(env, vertices, edges).collect()),
        ),
    }


def _pairs(line: str) -> Iterator[tuple[str, int]]:
    return ((word, 1) for word in line.split())


def _words_by_hand(context: Any, text: str) -> int:
    words = context.textFile(text, TASKS).flatMap(str.split).map(lambda word: (word, 1))
    counted: int = words.reduceByKey(add, TASKS).count()
    return counted


def _join_by_hand(context: Any, count: int) -> int:
    left = context.range(count, numSlices=TASKS).map(lambda number: (number % (count // 4), number))
    right = context.range(count // 4, numSlices=TASKS).map(lambda number: (number, -number))
    total: int = left.join(right, TASKS).map(lambda pair: pair[1][0] + pair[1][1]).sum()
    return total


def _join(env: ExecutionEnvironment, count: int) -> int:
    left = env.generate_sequence(0, count - 1).map(lambda number: (number % (count // 4), number))
    right = env.generate_sequence(0, count // 4 - 1).map(lambda number: (number, -number))
    joined = left.join(right).where(0).equal_to(0).with_(lambda one, other: one[1] + other[1])
    return sum(joined.map_partition(lambda values: [sum(values)]).collect())


def _graph(vertices: int) -> tuple[range, list[tuple[int, int]]]:
    choice = random.Random(2)
    edges = [(choice.randrange(vertices), choice.randrange(vertices)) for _ in range(vertices)]
    return range(vertices), [*edges, *((target, source) for source, target in edges)]


def _components_by_hand(context: Any, vertices: range, edges: list[tuple[int, int]]) -> dict[int, int]:
    both = context.parallelize(edges, TASKS).partitionBy(TASKS).cache()
    labels = context.parallelize([(vertex, vertex) for vertex in vertices], TASKS)
    for _ in range(SUPERSTEPS):
        offered = labels.join(both, TASKS).map(lambda entry: (entry[1][1], entry[1][0]))
        labels = labels.union(offered).reduceByKey(min, TASKS).cache()
    found = dict(labels.collect())
    both.unpersist()
    return found


def _components(env: ExecutionEnvironment, vertices: range, edges: list[tuple[int, int]]) -> DataSet:
    both = env.from_collection(edges)
    labels = env.from_collection([(vertex, vertex) for vertex in vertices])
    iteration = labels.iterate_delta(labels, SUPERSTEPS, 0)
    offered = iteration.get_workset().join(both).where(0).equal_to(0).with_(lambda vertex, edge: (edge[1], vertex[1]))
    better = offered.group_by(0).min(1).join(iteration.get_solution_set()).where(0).equal_to(0)
    changed = better.with_(lambda new, old, out: out.collect(new) if new[1] < old[1] else None)
    return iteration.close_with(changed, changed)


def write_page(report: dict[str, Any]) -> None:
    """The section "batch" of the performance page."""
    rows = [
        (each["name"], f"{each['hand_seconds']:.2f} s", f"{each['seconds']:.2f} s", f"{each['ratio']:.2f}")
        for each in report["batch"]
    ]
    measured = table(["work", "by hand, RDDs", "DataSet", "ratio"], rows)
    replace_section(PERFORMANCE, "batch", f"{measured}\n\n{sentence(report['machine'])}")
