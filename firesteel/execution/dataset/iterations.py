"""Iterations: their step is translated once per superstep; what does not change between supersteps is shared.

Records of a superstep are kept until the next one is done. Every so often their history is cut off: Spark would
otherwise remember how to compute them from the very beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from firesteel.dataset.functions import Aggregator
from firesteel.dataset.plan import nodes
from firesteel.dataset.plan.optimizer import Partitioned, Step
from firesteel.execution.dataset import stages
from firesteel.execution.dataset.exchange import Row, chunked, records_of, to_one
from firesteel.execution.dataset.task import Superstep, run_task

if TYPE_CHECKING:
    from firesteel.execution.dataset.translation import Translation

Rdd = Any
_STEPS_PER_HISTORY = 10


class Aggregates:
    """The aggregators of an iteration, between supersteps."""

    def __init__(self, translation: Translation, node: Any) -> None:
        self._channel = translation.channel
        self._aggregators: dict[str, Aggregator] = node.aggregators
        self._convergence = node.convergence
        self._values: dict[str, Any] = {}

    def __bool__(self) -> bool:
        return bool(self._aggregators)

    def superstep(self, number: int) -> Superstep:
        """What the tasks of a superstep know."""
        return Superstep(number, self._aggregators, dict(self._values))

    def converged(self, number: int, own: frozenset[int]) -> bool:
        """Take in what the tasks of a superstep have added. Returns whether that ends the iteration."""
        for name, aggregator in self._aggregators.items():
            aggregator.reset()
            for (step, superstep, *_), (_, aggregates) in sorted(
                self._channel.value.items(), key=lambda entry: entry[0]
            ):
                if superstep == number and step in own and name in aggregates:
                    aggregator.aggregate(aggregates[name])
            self._values[name] = aggregator.get_aggregate()
        if self._convergence is None:
            return False
        name, criterion = self._convergence
        return bool(criterion.is_converged(number, self._values[name]))


def bulk(translation: Translation, step: Step) -> Rdd:
    """A step that is repeated on its own result."""
    node = step.node
    assert isinstance(node, nodes.BulkIterationNode) and node.step_input is not None and node.result is not None
    ends = [end for end in (node.result, node.criterion) if end is not None]
    own = frozenset(nodes.dynamic_nodes([node.step_input], ends))
    aggregates = Aggregates(translation, node)
    chain = None if node.criterion is not None or aggregates else _chain(node)
    if chain is not None:
        return _within_tasks(translation, step, chain, node.max_iterations)
    current, loop = translation.input(step, 0), _Loop(translation)
    for number in range(1, node.max_iterations + 1):
        scope = translation.inside(step, {node.step_input.id: current}, own, aggregates.superstep(number))
        current = loop.keep(scope.rdd(node.result))
        if node.criterion is not None and scope.rdd(node.criterion).isEmpty():
            break
        if aggregates:
            current.count()
            if aggregates.converged(number, own):
                break
        loop.end_superstep(number, current)
    return current


class _Loop:
    """What an iteration keeps from superstep to superstep."""

    def __init__(self, translation: Translation) -> None:
        self._translation = translation
        self._kept: list[Rdd] = []

    def keep(self, rdd: Rdd) -> Rdd:
        """Compute it once."""
        if not rdd.is_cached:
            self._kept.append(self._translation.keep(rdd))
        return rdd

    def end_superstep(self, number: int, *current: Rdd) -> None:
        """Cut off the history of what the next superstep begins with, now and then, and forget what came before."""
        if number % _STEPS_PER_HISTORY:
            return
        for rdd in current:
            rdd.localCheckpoint()
            rdd.count()
        for rdd in self._kept:
            if rdd not in current:
                rdd.unpersist()
        self._kept = list(current)


# --- steps that need no exchange --------------------------------------------------------------------


def _chain(node: nodes.BulkIterationNode) -> list[nodes.ApplyNode] | None:
    """The functions of a step that does nothing but apply functions to records, one after the other; else None."""
    found: list[nodes.ApplyNode] = []
    at = node.result
    while at is not node.step_input:
        if not isinstance(at, nodes.ApplyNode) or at.broadcast or at.parallelism is not None:
            return None
        found.append(at)
        at = at.inputs[0]
    return found[::-1]


def _within_tasks(translation: Translation, step: Step, chain: list[nodes.ApplyNode], supersteps: int) -> Rdd:
    """All supersteps in the tasks: nothing has to go from one to another."""
    parts = [(translation.settings(step.inner[each.id]), each.function, stages.work_of(each)) for each in chain]
    settings = translation.settings(step)

    def repeated(_: Any) -> Any:
        def work(records: Iterator[Any]) -> Iterator[Any]:
            held: Iterable[Any] = records
            for number in range(1, supersteps + 1):
                for own, function, prepare in parts:
                    at = stages.at_superstep(own, Superstep(number))
                    held = list(run_task(at, 0, function, prepare(function), iter(held)))
            return iter(held)

        return work

    return stages.stage(translation.input(step, 0), settings, None, repeated)


# --- delta iterations -------------------------------------------------------------------------------


def delta(translation: Translation, step: Step) -> Rdd:
    """A solution set of which each superstep changes a part, until there is nothing more to look at."""
    node = step.node
    assert isinstance(node, nodes.DeltaIterationNode) and node.solution_input is not None
    assert node.workset_input is not None and node.delta is not None and node.next_workset is not None
    own = frozenset(nodes.dynamic_nodes([node.solution_input, node.workset_input], [node.delta, node.next_workset]))
    wanted = Partitioned(node.keys, step.tasks)
    aggregates, loop = Aggregates(translation, node), _Loop(translation)
    before = translation.steps[node.inputs[0].id].partitioned
    number_of_rows, rows = translation.placed_by(translation.input(step, 0), step, wanted, before)
    solution = loop.keep(_latest(translation, step, rows, number_of_rows))
    workset, placed = translation.input(step, 1), None
    for number in range(1, node.max_iterations + 1):
        bound = {node.solution_input.id: _records(solution), node.workset_input.id: workset}
        scope = translation.inside(step, bound, own, aggregates.superstep(number))
        scope.is_placed(node.solution_input, wanted, number_of_rows, solution)
        if placed is not None:
            scope.is_placed(node.workset_input, wanted, *placed)
        changes = loop.keep(scope.rdd(node.delta))
        workset = loop.keep(scope.rdd(node.next_workset))
        left = workset.count()
        if aggregates:
            changes.count()  # of what the workset does not depend on, too
        changed = scope.placed_by(changes, step, wanted, scope.steps[node.delta.id].partitioned)
        placed = changed if node.delta is node.next_workset else None
        together = scope.together([solution, changed[1]], step.tasks)
        solution = loop.keep(_latest(scope, step, together, number_of_rows))
        if aggregates and aggregates.converged(number, own):
            break
        if left == 0:
            break
        loop.end_superstep(number, solution, workset)
    return _records(solution)


def _records(rows: Rdd) -> Rdd:
    return rows.mapPartitions(records_of, preservesPartitioning=True)


def _latest(translation: Translation, step: Step, rows: Rdd, number: int) -> Rdd:
    """The last record of each key, again as chunks: so they travel from superstep to superstep."""
    node, settings = step.node, translation.settings(step)
    assert isinstance(node, nodes.DeltaIterationNode)
    extract = node.keys.extractor()

    def task(index: int, rows: Iterator[Row]) -> Iterator[Row]:
        def work(rows: Iterator[Row]) -> Iterator[Row]:
            latest = iter({extract(record): record for record in records_of(rows)}.values())
            return ((index, row) for _, row in chunked(latest, to_one, 1, number))

        return run_task(settings, index, None, work, rows)

    return rows.mapPartitionsWithIndex(task, preservesPartitioning=True)
