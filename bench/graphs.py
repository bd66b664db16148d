"""Graph algorithms over a million edges: Firesteel's Gelly, networkx, and GraphX (its Pregel) on the same session.

All read the same file of edges; what is timed is reading it and the algorithm. GraphX is called through its library of
algorithms, the only door to it from Python: its connected components are a Pregel program.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python

from bench.machine import sentence
from bench.measure import Bench
from bench.page import PERFORMANCE, replace_section, table
from firesteel.dataset import ExecutionEnvironment
from firesteel.gelly import Graph
from firesteel.gelly.library import ConnectedComponents, PageRank

TASKS = 2
EDGES = 1_000_000
SUPERSTEPS = 10
MOST = 100
"""Supersteps of connected components, more than any needs."""
Way = Callable[[], int]
"""Does the work, and returns a number that must be the same for all ways."""


def measure(bench: Bench, scale: float, repetitions: int) -> dict[str, Any]:
    """Seconds of each algorithm, each way: the median over turns."""
    found = []
    with tempfile.TemporaryDirectory(prefix="firesteel-bench-") as folder:
        path = Path(folder, "edges")
        write_edges(path, int(EDGES * scale))
        for name, ways in works(bench.session, str(path)).items():
            seconds: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(repetitions):
                results = {way: _timed(work, seconds[way]) for way, work in ways.items()}
                if len(set(results.values())) != 1:
                    raise AssertionError(f"{name}: different results: {results}")
            medians = {way: statistics.median(times) for way, times in seconds.items()}
            print(f"{name:24} " + ", ".join(f"{way} {each:.1f} s" for way, each in medians.items()), flush=True)
            found.append({"name": name, "seconds": medians})
    return {"graphs": found}


def _timed(work: Way, seconds: list[float]) -> int:
    started = time.perf_counter()
    result = work()
    seconds.append(time.perf_counter() - started)
    return result


def write_edges(path: Path, count: int) -> None:
    """Random edges between a quarter as many vertices, some of which have very many; separated by blanks."""
    choice = random.Random(1)
    vertices = count // 4
    with path.open("w") as file:
        for _ in range(count):
            file.write(f"{int(vertices * choice.random() ** 2)} {choice.randrange(vertices)}\n")


def works(session: Any, path: str) -> dict[str, dict[str, Way]]:
    """Algorithm -> way -> work."""
    return {
        "connected components": {
            "Firesteel": lambda: _components(session, path),
            "networkx": lambda: nx.number_connected_components(nx.read_edgelist(path, nodetype=int)),
            "GraphX": lambda: _components_in_graphx(session, path),
        },
        f"PageRank, {SUPERSTEPS} supersteps": {
            "Firesteel": lambda: _page_rank(session, path),
            "networkx": lambda: _page_rank_in_networkx(path),
            "GraphX": lambda: _page_rank_in_graphx(session, path),
        },
    }


def _graph(session: Any, path: str) -> Graph:
    env = ExecutionEnvironment.get_execution_environment(session=session).set_parallelism(TASKS)
    return Graph.from_csv_reader(path, env).field_delimiter_edges(" ").key_type(int)


def _components(session: Any, path: str) -> int:
    found = _graph(session, path).run(ConnectedComponents(MOST))
    return found.filter(lambda vertex: vertex.id == vertex.value).count()


def _page_rank(session: Any, path: str) -> int:
    return _graph(session, path).run(PageRank(0.85, SUPERSTEPS)).count()


def _page_rank_in_networkx(path: str) -> int:
    """The algorithm in Python; the other one needs SciPy. It says that it has not converged, after these supersteps."""
    graph = nx.read_edgelist(path, nodetype=int, create_using=nx.DiGraph)
    try:
        _pagerank_python(graph, max_iter=SUPERSTEPS, tol=0.0)
    except nx.PowerIterationFailedConvergence:
        return int(graph.number_of_nodes())
    raise AssertionError("it cannot converge to a threshold of 0")


def _loaded(session: Any, path: str) -> tuple[Any, Any, Any]:
    """GraphX's packages, the graph, and the mark of its vertices' and edges' class, which Scala passes by itself."""
    jvm, context = session._jvm, session.sparkContext._jsc.sc()
    level = jvm.org.apache.spark.storage.StorageLevel.MEMORY_AND_DISK()
    graphx = jvm.org.apache.spark.graphx
    loaded = graphx.GraphLoader.edgeListFile(context, path, False, TASKS, level, level)
    return graphx, loaded, jvm.scala.reflect.ClassTag.Int()


def _components_in_graphx(session: Any, path: str) -> int:
    graphx, graph, number = _loaded(session, path)
    found = graphx.lib.ConnectedComponents.run(graph, MOST, number, number).vertices()
    pairs = session._jvm.org.apache.spark.api.java.JavaPairRDD.fromJavaRDD(found.toJavaRDD())
    return int(pairs.values().distinct().count())


def _page_rank_in_graphx(session: Any, path: str) -> int:
    graphx, graph, number = _loaded(session, path)
    return int(graphx.lib.PageRank.run(graph, SUPERSTEPS, 0.15, number, number).vertices().count())


def write_page(report: dict[str, Any]) -> None:
    """The section "graphs" of the performance page."""
    ways = ("Firesteel", "networkx", "GraphX")
    rows = [(each["name"], *(f"{each['seconds'][way]:.1f} s" for way in ways)) for each in report["graphs"]]
    measured = table(["algorithm", *ways], rows)
    replace_section(PERFORMANCE, "graphs", f"{measured}\n\n{sentence(report['machine'])}")
