"""The one place where nodes of a program's graph are made: with their number, and the user's line that made them."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from firesteel.common import TypeInformation, WatermarkStrategy
from firesteel.model.output_tag import OutputTag
from firesteel.model.sink import DriverSink
from firesteel.model.source import DriverSource, Source
from firesteel.plan import unexecuted
from firesteel.plan.graph import (
    FeedbackTransformation,
    IterationTransformation,
    OperatorTransformation,
    PartitionTransformation,
    PhysicalTransformation,
    SideOutputTransformation,
    SourceTransformation,
    StreamGraph,
    Transformation,
    UnionTransformation,
    user_call_site,
)
from firesteel.runtime.coordination.loops import LoopCoordinator
from firesteel.runtime.coordination.results import ResultCoordinator
from firesteel.runtime.operator import Operator
from firesteel.runtime.partitioners import Partitioning

_N = TypeVar("_N", bound=Transformation)
_programs = itertools.count(1)


class GraphBuilder:
    """Builds the graph of one program after the other.

    :ivar graph: What was built since the last job.
    :ivar driver_sinks: The objects in the driver that take the records of collecting operators, by collector id.
    """

    def __init__(self) -> None:
        self.graph = StreamGraph()
        self.driver_sinks: dict[str, DriverSink] = {}
        self._ids = itertools.count(1)
        self._contained: set[int] = set()
        self._program = next(_programs)

    # ---- nodes ---------------------------------------------------------------------------------------------

    def source(
        self,
        name: str,
        source: Source | DriverSource,
        output_type: TypeInformation | None = None,
        watermark_strategy: WatermarkStrategy | None = None,
        single: bool = False,
    ) -> SourceTransformation:
        """Read a source.

        :param single: It runs in one subtask only.
        """
        node = self.make(
            SourceTransformation,
            f"Source: {name}",
            output_type=output_type,
            parallelism=1 if single else None,
            fixed_parallelism=single,
            source=source,
            watermark_strategy=watermark_strategy,
        )
        return self.add(node)

    def operator(
        self,
        name: str,
        inputs: Sequence[Transformation],
        factory: Callable[[], Operator],
        output_type: TypeInformation | None = None,
        **settings: Any,
    ) -> OperatorTransformation:
        """Run an operator on any number of inputs.

        :param settings: Further fields of :class:`~firesteel.plan.graph.OperatorTransformation`.
        """
        return self.add(
            self.make(OperatorTransformation, name, inputs, output_type=output_type, factory=factory, **settings)
        )

    def sink(
        self, name: str, source: Transformation, factory: Callable[[], Operator], **settings: Any
    ) -> OperatorTransformation:
        """End a line with an operator."""
        return self.operator(f"Sink: {name}", [source], factory, is_sink=True, **settings)

    def collecting_sink(
        self,
        name: str,
        source: Transformation,
        factory: Callable[[], Operator],
        taker: DriverSink,
        **settings: Any,
    ) -> OperatorTransformation:
        """End a line with an operator that sends records to an object in the driver."""
        collector_id = uuid.uuid4().hex
        self.driver_sinks[collector_id] = taker
        coordinator = partial(ResultCoordinator, collector_id, taker.exactly_once)
        return self.sink(name, source, factory, coordinator=coordinator, collector_id=collector_id, **settings)

    def partition(self, source: Transformation, name: str, partitioning: Partitioning) -> PartitionTransformation:
        """Say how records travel. Only the last partitioning before an operator counts: a former one is skipped."""
        if isinstance(source, PartitionTransformation):
            source = source.inputs[0]
        node = self.make(
            PartitionTransformation, name, [source], output_type=source.output_type, partitioning=partitioning
        )
        return self.add(node)

    def union(self, inputs: Sequence[Transformation]) -> UnionTransformation:
        """All records of several nodes."""
        types = {node.output_type for node in inputs}
        return self.add(
            self.make(UnionTransformation, "Union", inputs, output_type=types.pop() if len(types) == 1 else None)
        )

    def side_output(self, producer: PhysicalTransformation, tag: OutputTag) -> SideOutputTransformation:
        """What an operator sends to a tag."""
        producer.declared_tags.add(tag.name)
        name = f"Side Output {tag.tag_id}"
        return self.add(self.make(SideOutputTransformation, name, [producer], output_type=tag.type_info, tag=tag))

    def loop(self, source: Transformation, factory: Callable[[], Operator]) -> IterationTransformation:
        """Begin a loop."""
        node = self.make(
            IterationTransformation,
            "Iterate",
            [source],
            output_type=source.output_type,
            factory=factory,
            coordinator=LoopCoordinator,
            chaining="head",  # it outlives its input, which no operator inside a chain can
        )
        return self.add(node)

    def feedback(
        self, head: IterationTransformation, source: Transformation, factory: Callable[[], Operator]
    ) -> FeedbackTransformation:
        """Close a loop."""
        tail = self.make(FeedbackTransformation, "Feedback", [source], factory=factory, head=head)
        head.feedback.append(tail)
        return self.add(tail)

    def make(
        self,
        kind: type[_N],
        name: str,
        inputs: Sequence[Transformation] = (),
        call_site: str | None = None,
        **fields: Any,
    ) -> _N:
        """A node with a number and a call site that is not part of the job: :meth:`add` makes it one."""
        return kind(
            id=next(self._ids), name=name, inputs=list(inputs), call_site=call_site or user_call_site(), **fields
        )

    def add(self, node: _N) -> _N:
        """Add a node, and whatever it reads that is not part of this job yet: streams of former jobs are run again."""
        if node.id in self._contained:
            return node
        for source in node.inputs:
            self.add(source)
        if node.id not in self._contained:  # else the head of a loop has brought it with the way back
            self._contained.add(node.id)
            self.graph.add(node)
            if isinstance(node, OperatorTransformation) and node.is_sink:
                unexecuted.defined(self._program, node.call_site)
            if isinstance(node, IterationTransformation):
                for tail in node.feedback:  # a loop of a former job: what closes it is nobody's input
                    self.add(tail)
        return node

    # ---- the job -------------------------------------------------------------------------------------------

    def contains(self, node: Transformation) -> bool:
        """Whether a node is part of what was built since the last job."""
        return node.id in self._contained

    def looked_at(self) -> None:
        """The plan was drawn: who looks at it knows that nothing has run."""
        unexecuted.forget(self._program)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Build and run a job by itself; what was built before stays as it is."""
        kept = self.graph, self.driver_sinks, self._contained
        self.graph, self.driver_sinks, self._contained = StreamGraph(), {}, set()
        try:
            yield
        finally:
            self.graph, self.driver_sinks, self._contained = kept

    def clear(self) -> None:
        """The next program begins; nodes of this one may be part of it."""
        unexecuted.forget(self._program)
        self.graph = StreamGraph()
        self.driver_sinks = {}
        self._contained.clear()
