"""From steps to RDDs. An iteration's step is translated once per superstep, in a scope within that of the program."""

from __future__ import annotations

import bisect
from collections import ChainMap
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from firesteel.dataset.keys import Keys
from firesteel.dataset.plan import nodes
from firesteel.dataset.plan.nodes import Node, Order
from firesteel.dataset.plan.optimizer import CUSTOM, FORWARD, GATHER, HASH, REBALANCE, Partitioned, Ship, Step
from firesteel.errors import FiresteelError
from firesteel.execution.dataset import iterations, messages, sources, stages
from firesteel.execution.dataset.exchange import (
    Route,
    Row,
    by_hash,
    by_partitioner,
    chunked,
    in_turn,
    records_of,
    to_one,
)
from firesteel.execution.dataset.kernels import sort_value
from firesteel.execution.dataset.task import Packed, Superstep, TaskSettings, run_task
from firesteel.model.functions.adapt import bound_call
from firesteel.runtime.failure import OperatorInfo

Rdd = Any
_SAMPLE = 2000
"""So many keys are looked at to find the borders of ranges, or all if there are fewer."""


@dataclass(frozen=True)
class Engine:
    """What carries RDDs out: Spark, or this process.

    :param context: A SparkContext, or what has its methods.
    :param keep: Has an RDD computed once.
    :param materialize: Computes an RDD up to here, without looking at its records.
    :param lines: The lines of files: of a path, in so many tasks, with this between lines, without the first of each.
    """

    context: Any
    keep: Callable[[Rdd], Rdd]
    materialize: Callable[[Rdd], object]
    lines: Callable[[str, int, str | None, bool], Rdd]


class Translation:
    """One program, or one superstep of an iteration in it.

    :param bound: Inside an iteration: what its step begins with.
    :param own: Inside an iteration: the nodes that are translated anew for each superstep. All others are the parent's.
    """

    def __init__(
        self,
        engine: Engine,
        steps: Mapping[int, Step],
        memory: int,
        channel: Any,
        job_parameters: dict[str, str],
        parent: Translation | None = None,
        bound: Mapping[int, Rdd] | None = None,
        own: frozenset[int] = frozenset(),
        superstep: Superstep | None = None,
    ) -> None:
        self.engine = engine
        self.context = engine.context
        self.steps: Mapping[int, Step] = steps if parent is None else ChainMap(dict(steps), dict(parent.steps))
        self.channel = channel
        self.memory = memory
        self.job_parameters = job_parameters
        self.persisted: list[Rdd] = [] if parent is None else parent.persisted
        self._parent = parent
        self._rdds: dict[int, Rdd] = dict(bound or {})
        self._own = own
        self._superstep = superstep
        self.exchanges: dict[Hashable, tuple[int, Rdd]] = {}
        self.broadcasts: dict[int, Any] = {}
        self.rows_of: dict[int, tuple[Hashable, int, Rdd]] = {}
        self.numbers: Iterator[int] = iter(range(1, 1 << 30)) if parent is None else parent.numbers

    def inside(self, step: Step, bound: Mapping[int, Rdd], own: frozenset[int], superstep: Superstep) -> Translation:
        """The scope of a superstep of an iteration."""
        return Translation(
            self.engine, step.inner, self.memory, self.channel, self.job_parameters, self, bound, own, superstep
        )

    # --- data sets ----------------------------------------------------------------------------------

    def scope_of(self, node: Node) -> Translation:
        """Where a node's data set is kept: here, or in the program around this iteration."""
        if self._parent is None or node.id in self._own or node.id in self._rdds:
            return self
        return self._parent.scope_of(node)

    def rdd(self, node: Node) -> Rdd:
        """The records of a data set."""
        scope = self.scope_of(node)
        if scope is not self:
            return scope.rdd(node)
        if node.id not in self._rdds:
            step = self.steps[node.id]
            made = _STAGES[type(node)](self, step)
            if step.cached:
                self.keep(made)
            self._rdds[node.id] = made
        return self._rdds[node.id]

    def keep(self, rdd: Rdd) -> Rdd:
        """Compute an RDD once, until the program has ended."""
        self.persisted.append(self.engine.keep(rdd))
        return rdd

    def input(self, step: Step, place: int) -> Rdd:
        """The records of an input, as they are."""
        return self.rdd(step.node.inputs[place])

    def shipped(self, step: Step, place: int) -> Rdd:
        """The records of an input, where the step wants them."""
        kind = step.ships[place].kind
        if kind == FORWARD:
            return self.input(step, place)
        if kind == GATHER:
            return self.gathered(self.input(step, place), step)
        return self.exchange_of(step, place).mapPartitions(records_of, preservesPartitioning=True)

    # --- exchanges ----------------------------------------------------------------------------------

    def exchange_of(self, step: Step, place: int) -> Rdd:
        """The chunks of an input after the exchange that the plan says: made once for all steps that want it."""
        return self._exchange(step, place)[1]

    def is_placed(self, node: Node, by: Partitioned, number: int, rows: Rdd) -> None:
        """Say that the records of a node are there as chunks, dealt out by a key: nothing need be exchanged for it."""
        self.rows_of[node.id] = (by.signature, number, rows)

    def _placed_before(self, step: Step, place: int) -> tuple[int, Rdd] | None:
        source, ship = step.node.inputs[place], step.ships[place]
        found = self.scope_of(source).rows_of.get(source.id)
        if found is None or ship.keys is None:
            return None
        signature, number, rows = found
        return (number, rows) if signature == Partitioned(ship.keys, step.tasks, ship.partitioner).signature else None

    def _exchange(self, step: Step, place: int) -> tuple[int, Rdd]:
        source, ship = step.node.inputs[place], step.ships[place]
        ready = self._placed_before(step, place)
        if ready is not None:
            return ready
        scope = self.scope_of(source)
        wanted = (source.id, ship.signature(step.tasks))
        if wanted not in scope.exchanges:
            number = next(self.numbers)
            made = self._chunks(self.input(step, place), step, ship, step.tasks, number)
            scope.exchanges[wanted] = (number, made)
        return scope.exchanges[wanted]

    def exchanged(self, rdd: Rdd, step: Step, place: int) -> Rdd:
        """The chunks of records that the step itself has made of its input."""
        return self._chunks(rdd, step, step.ships[place], step.tasks, 0)

    def gathered(self, rdd: Rdd, step: Step) -> Rdd:
        """All records in one task."""
        return self._chunks(rdd, step, Ship(GATHER), 1, 0).mapPartitions(records_of)

    def _chunks(self, rdd: Rdd, step: Step, ship: Ship, tasks: int, number: int) -> Rdd:
        settings = self.settings(step)
        packed = Packed(_route(ship, step), settings.info)

        def task(index: int, records: Iterator[Any]) -> Iterator[Row]:
            route = packed.load()
            own = in_turn(index) if route is None else route
            return run_task(settings, index, None, lambda records: chunked(records, own, tasks, number), records)

        return rdd.mapPartitionsWithIndex(task).partitionBy(tasks, int)

    def local_chunks(self, rdd: Rdd, step: Step, place: int, number: int = 0) -> Rdd:
        """Records that are where they should be, as chunks."""
        return rdd.mapPartitionsWithIndex(
            lambda index, records: ((index, row) for _, row in chunked(iter(records), to_one, 1, number)),
            preservesPartitioning=True,
        )

    def co_partitioned(self, step: Step, first: int) -> tuple[Rdd, dict[int, int]]:
        """The chunks of both inputs, those of input ``first`` before the others; and which number is which input."""
        sides: dict[int, int] = {}
        parts: list[Rdd] = []
        for place in (first, 1 - first):
            number, rdd = self._placed(step, place)
            if number in sides:  # an input that is joined with itself
                number = next(self.numbers)
                rdd = _renumbered(rdd, number)
            sides[number] = place
            parts.append(rdd)
        return self.together(parts, step.tasks), sides

    def _placed(self, step: Step, place: int) -> tuple[int, Rdd]:
        if not step.ships[place].kept:
            return self._exchange(step, place)
        ready = self._placed_before(step, place)
        if ready is not None:
            return ready
        number = next(self.numbers)
        return number, self.local_chunks(self.input(step, place), step, place, number)

    def together(self, parts: list[Rdd], tasks: int) -> Rdd:
        """RDDs of chunks that are dealt out alike, task by task, one after the other."""
        joined = parts[0].union(parts[1])
        if joined.getNumPartitions() != tasks:
            raise FiresteelError(
                f"two inputs of {tasks} tasks came together in {joined.getNumPartitions()}: a bug of ours"
            )
        return joined

    def placed_by(self, rdd: Rdd, step: Step, wanted: Partitioned, have: Partitioned | None) -> tuple[int, Rdd]:
        """Chunks of an RDD, dealt out by a key; with their number."""
        number = next(self.numbers)
        if have is not None and have.signature == wanted.signature:
            return number, self.local_chunks(rdd, step, 0, number)
        return number, self._chunks(rdd, step, Ship(HASH, wanted.keys), wanted.tasks, number)

    def range_exchange(self, step: Step) -> Rdd:
        """Chunks by ranges of a key, with borders found by a sample."""
        node = step.node
        assert isinstance(node, nodes.PartitionNode)
        order = node.order or ((node.keys, Order.ASCENDING),)
        value = Packed(sort_value(order), self._info(step))
        source = self.input(step, 0)
        sample = sorted(source.map(lambda record: value.load()(record)).takeSample(False, _SAMPLE, seed=1))
        borders = [sample[len(sample) * number // step.tasks] for number in range(1, step.tasks)] if sample else []
        return self._ranged(source, step, order, borders)

    def _ranged(self, source: Rdd, step: Step, order: Any, borders: list[Any]) -> Rdd:
        settings, tasks = self.settings(step), step.tasks
        packed = Packed((sort_value(order), borders), settings.info)

        def task(index: int, records: Iterator[Any]) -> Iterator[Row]:
            value, own_borders = packed.load()

            def route(batch: list[Any], tasks: int) -> list[int]:
                return [bisect.bisect_right(own_borders, value(record)) for record in batch]

            return run_task(settings, index, None, lambda records: chunked(records, route, tasks, 0), records)

        return source.mapPartitionsWithIndex(task).partitionBy(tasks, int)

    # --- what tasks know ----------------------------------------------------------------------------

    def broadcast_of(self, step: Step, place: int) -> Any:
        """All records of an input, as a Spark broadcast."""
        return self._broadcast(step.node.inputs[place])

    def _broadcast(self, node: Node) -> Any:
        scope = self.scope_of(node)
        if node.id not in scope.broadcasts:
            scope.broadcasts[node.id] = self.context.broadcast(self.rdd(node).collect())
        return scope.broadcasts[node.id]

    def settings(self, step: Step) -> TaskSettings:
        """What the tasks of a step know."""
        node = step.node
        return TaskSettings(
            info=self._info(step),
            step=node.id,
            tasks=step.tasks,
            broadcast={name: self._broadcast(each) for name, each in node.broadcast.items()},
            parameters=node.parameters,
            job_parameters=self.job_parameters,
            superstep=self._superstep if node.id in self._own else None,
            channel=self.channel,
            memory=self.memory,
        )

    @staticmethod
    def _info(step: Step) -> OperatorInfo:
        return OperatorInfo(step.node.name, str(step.node.id), step.node.call_site)


def _renumbered(rdd: Rdd, number: int) -> Rdd:
    return rdd.map(lambda row: (row[0], (number, row[1][1])), preservesPartitioning=True)


def _route(ship: Ship, step: Step) -> Route | None:
    """How records find their task; None for in turn, which depends on the task that sends them."""
    if ship.kind == GATHER:
        return to_one
    if ship.kind == REBALANCE:
        return None
    extract = (ship.keys or Keys()).extractor()
    if ship.kind == CUSTOM:
        return by_partitioner(extract, bound_call(ship.partitioner, "partition"), step.node.name)  # type: ignore[arg-type]
    return by_hash(extract)


_STAGES: dict[type[Node], Any] = {
    nodes.CollectionNode: sources.collection,
    nodes.SequenceNode: sources.sequence,
    nodes.TextNode: sources.text,
    nodes.InputFormatNode: sources.input_format,
    nodes.ApplyNode: stages.apply,
    nodes.ReduceNode: stages.reduce,
    nodes.AggregateNode: stages.aggregate,
    nodes.GroupReduceNode: stages.group_reduce,
    nodes.CombineGroupNode: stages.combine_group,
    nodes.DistinctNode: stages.distinct,
    nodes.JoinNode: stages.join,
    nodes.CoGroupNode: stages.co_group,
    nodes.CrossNode: stages.cross,
    nodes.UnionNode: stages.union,
    nodes.PartitionNode: stages.partition,
    nodes.SortPartitionNode: stages.sort_partition,
    nodes.FirstNode: stages.first,
    nodes.IndexNode: stages.index,
    nodes.SinkNode: stages.sink,
    nodes.StepInputNode: stages.no_step,
    nodes.BulkIterationNode: iterations.bulk,
    nodes.DeltaIterationNode: iterations.delta,
    nodes.MessageIterationNode: messages.iterate,
}
