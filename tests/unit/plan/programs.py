"""Small programs as graphs, built node by node, and compiled."""

from __future__ import annotations

from functools import partial
from typing import Any

from firesteel.common import Configuration
from firesteel.connectors.number_seq import NumberSequenceSource
from firesteel.model.functions.adapt import as_map_function, as_sink_function
from firesteel.plan.builder import GraphBuilder
from firesteel.plan.compiler import CompileSettings, compile_graph
from firesteel.plan.graph import OperatorTransformation, SourceTransformation, Transformation
from firesteel.plan.job_plan import JobPlan
from firesteel.runtime import partitioners
from firesteel.runtime.basic import MapOperator
from firesteel.runtime.partitioners import Partitioning
from firesteel.runtime.sinks import SinkFunctionOperator

KEYED = Partitioning(partitioners.HASH, key_selector=str)


def same(value: Any) -> Any:
    return value


class Program(GraphBuilder):
    """A builder with short words for what programs are made of."""

    def numbers(self, name: str = "numbers", **settings: Any) -> SourceTransformation:
        node = self.source(name, NumberSequenceSource(1, 10))
        vars(node).update(settings)
        return node

    def map(self, source: Transformation, name: str = "map", **settings: Any) -> OperatorTransformation:
        return self.operator(name, [source], partial(MapOperator, as_map_function(same)), **settings)

    def key_by(self, source: Transformation) -> Transformation:
        return self.partition(source, "key_by()", KEYED)

    def end(self, source: Transformation, name: str = "end", **settings: Any) -> OperatorTransformation:
        return self.sink(name, source, partial(SinkFunctionOperator, as_sink_function(same)), **settings)

    def compiled(self, parallelism: int = 2, **settings: Any) -> JobPlan:
        return compile_graph(self.graph, Configuration(), CompileSettings("job", parallelism, **settings))


def word_count(parallelism: int = 2) -> JobPlan:
    """Two levels: the source and a map; behind a key_by another one and the sink."""
    program = Program()
    counted = program.map(program.key_by(program.map(program.numbers(), "split")), "count", key_selectors=(str,))
    program.end(counted)
    return program.compiled(parallelism)
