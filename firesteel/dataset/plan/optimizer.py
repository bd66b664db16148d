"""Decides how each step is carried out: what is exchanged, what is kept, which side of a join is built.

An exchange is what costs: records are pickled, written, sent and read again. So it is left out where records of a key
are together already, and made once where two steps want the same one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from firesteel.dataset.keys import Keys
from firesteel.dataset.plan.estimates import estimate
from firesteel.dataset.plan.nodes import (
    AggregateNode,
    ApplyNode,
    BulkIterationNode,
    CoGroupNode,
    CollectionNode,
    CombineGroupNode,
    CrossNode,
    DeltaIterationNode,
    DistinctNode,
    FirstNode,
    GroupReduceNode,
    IndexNode,
    JoinHint,
    JoinNode,
    MessageIterationNode,
    Node,
    PartitionNode,
    ReduceNode,
    SequenceNode,
    SinkNode,
    SortPartitionNode,
    StepInputNode,
    UnionNode,
    in_order,
)

FORWARD, HASH, CUSTOM, RANGE, REBALANCE, GATHER, BROADCAST = (
    "forward",
    "hash",
    "custom",
    "range",
    "rebalance",
    "gather",
    "broadcast",
)
_BROADCAST_MOST = 10_000
"""A side of so many records is small enough to be sent to every task, if the other one is larger by far."""
_BROADCAST_FACTOR = 20


@dataclass(frozen=True)
class Partitioned:
    """Records of a key are together: in the task that its hash, or the user's partitioner, says."""

    keys: Keys
    tasks: int
    partitioner: object = None

    @property
    def signature(self) -> Hashable:
        """Equal for data sets that are dealt out alike."""
        return (self.keys.identity, self.tasks, id(self.partitioner) if self.partitioner is not None else None)


@dataclass(frozen=True)
class Ship:
    """How records get from one step to the next.

    :param reused: The same exchange is made for another step already.
    :param kept: No exchange is needed: records are where they should be.
    """

    kind: str
    keys: Keys | None = None
    partitioner: object = None
    reused: bool = False
    kept: bool = False

    def signature(self, tasks: int) -> Hashable:
        """Equal for exchanges that give the same."""
        keys = None if self.keys is None else self.keys.identity
        return (self.kind, keys, id(self.partitioner) if self.partitioner is not None else None, tasks)


@dataclass
class Step:
    """How a node is carried out."""

    node: Node
    ships: tuple[Ship, ...]
    tasks: int
    local: str = ""
    partitioned: Partitioned | None = None
    records: int | None = None
    cached: bool = False
    inner: dict[int, Step] = field(default_factory=dict)
    """The steps inside an iteration."""


def optimize(ends: Sequence[Node], parallelism: int, known: Mapping[int, Step] | None = None) -> dict[int, Step]:
    """Steps by node, in order. ``known`` are those around an iteration, whose inner steps are asked for."""
    return _Optimizer(parallelism, known or {}).run(ends)


class _Optimizer:
    def __init__(self, parallelism: int, known: Mapping[int, Step]) -> None:
        self._parallelism = parallelism
        self._known = known
        self._steps: dict[int, Step] = {}

    def run(self, ends: Sequence[Node]) -> dict[int, Step]:
        nodes = [node for node in in_order(ends) if node.id not in self._known]
        for node in nodes:
            step = self._plan(node)
            step.records = estimate(node, [self._step(each).records for each in node.inputs])
            self._steps[node.id] = step
        self._share_exchanges(nodes)
        self._cache(nodes)
        return self._steps

    def _step(self, node: Node) -> Step:
        return self._steps[node.id] if node.id in self._steps else self._known[node.id]

    def _tasks(self, node: Node) -> int:
        return node.parallelism or self._parallelism

    # --- one node -----------------------------------------------------------------------------------

    def _plan(self, node: Node) -> Step:
        tasks = self._tasks(node)
        if isinstance(node, (BulkIterationNode, DeltaIterationNode)):
            return self._plan_iteration(node, tasks)
        if isinstance(node, MessageIterationNode):
            return self._plan_messages(node, tasks)
        if isinstance(node, (ReduceNode, AggregateNode, GroupReduceNode)):
            return self._plan_grouped(node, node.keys, tasks)
        if isinstance(node, DistinctNode):
            return self._plan_grouped(node, node.keys, tasks)
        if isinstance(node, JoinNode):
            return self._plan_join(node, tasks)
        if isinstance(node, CoGroupNode):
            ships = (
                self._by_key(node.inputs[0], node.first, tasks, node.partitioner),
                self._by_key(node.inputs[1], node.second, tasks, node.partitioner),
            )
            return Step(node, ships, tasks, "hash co-group", _after_co_group(node, tasks))
        if isinstance(node, CrossNode):
            return self._plan_cross(node, tasks)
        if isinstance(node, PartitionNode):
            return self._plan_partition(node, tasks)
        if isinstance(node, UnionNode):
            return Step(node, tuple(Ship(FORWARD) for _ in node.inputs), sum(self._step(n).tasks for n in node.inputs))
        if isinstance(node, (FirstNode, IndexNode)):
            return Step(node, (Ship(GATHER if isinstance(node, FirstNode) else FORWARD),), self._width(node))
        return self._plan_narrow(node, tasks)

    def _width(self, node: Node) -> int:
        return 1 if isinstance(node, FirstNode) else self._step(node.inputs[0]).tasks

    def _plan_narrow(self, node: Node, tasks: int) -> Step:
        """A step that takes records as they are, unless it is to have another number of tasks."""
        if not node.inputs:
            return Step(node, (), tasks)
        before = self._step(node.inputs[0])
        if node.parallelism is None or node.parallelism == before.tasks:
            return Step(node, (Ship(FORWARD),), before.tasks, partitioned=_after(node, 0, before.partitioned))
        if isinstance(node, (SinkNode, SortPartitionNode)) and node.parallelism == 1:
            return Step(node, (Ship(GATHER),), 1)
        return Step(node, (Ship(REBALANCE),), node.parallelism)

    def _plan_grouped(self, node: Node, keys: Keys | None, tasks: int) -> Step:
        combines = not isinstance(node, GroupReduceNode) or node.combines
        local = f"{'combine, then ' if combines else ''}{'sorted ' if getattr(node, 'order', ()) else ''}hash group"
        if keys is None:
            return Step(node, (Ship(GATHER),), 1, "combine, then all in one task" if combines else "all in one task")
        ship = self._by_key(node.inputs[0], keys, tasks)
        if ship.kept:
            local = local.removeprefix("combine, then ")
        partitioned = Partitioned(keys, tasks)
        keeps = not isinstance(node, GroupReduceNode) and keys.positions is not None
        after = partitioned if keeps else _after(node, 0, partitioned)
        return Step(node, (ship,), tasks, local, after)

    def _by_key(self, node: Node, keys: Keys, tasks: int, partitioner: object = None) -> Ship:
        wanted = Partitioned(keys, tasks, partitioner)
        have = self._step(node).partitioned
        if have is not None and have.signature == wanted.signature:
            return Ship(FORWARD, keys, partitioner, kept=True)
        return Ship(HASH if partitioner is None else CUSTOM, keys, partitioner)

    def _plan_partition(self, node: PartitionNode, tasks: int) -> Step:
        if node.method == "rebalance":
            return Step(node, (Ship(REBALANCE),), tasks)
        if node.method == "range":
            return Step(node, (Ship(RANGE, node.keys),), tasks)
        ship = self._by_key(node.inputs[0], node.keys, tasks, node.partitioner)
        return Step(node, (ship,), tasks, partitioned=Partitioned(node.keys, tasks, node.partitioner))

    # --- two inputs ---------------------------------------------------------------------------------

    def _plan_join(self, node: JoinNode, tasks: int) -> Step:
        hint = self._choose(node)
        if hint in (JoinHint.BROADCAST_HASH_FIRST, JoinHint.BROADCAST_HASH_SECOND):
            small = 0 if hint is JoinHint.BROADCAST_HASH_FIRST else 1
            large = self._step(node.inputs[1 - small])
            ships = [Ship(FORWARD), Ship(FORWARD)]
            ships[small] = Ship(BROADCAST)
            local = f"hash join, {'first' if small == 0 else 'second'} input built in every task"
            return Step(node, tuple(ships), large.tasks, local, _after(node, 1 - small, large.partitioned))
        ships_by_key = (
            self._by_key(node.inputs[0], node.first, tasks, node.partitioner),
            self._by_key(node.inputs[1], node.second, tasks, node.partitioner),
        )
        return Step(node, ships_by_key, tasks, _LOCAL_JOINS[hint], _after_join(node, tasks))

    def _choose(self, node: JoinNode) -> JoinHint:
        """The smaller side is built; one that is small by far goes to every task, if no partner can be missed there."""
        if node.hint is not JoinHint.OPTIMIZER_CHOOSES:
            return node.hint
        first, second = (self._step(each).records for each in node.inputs)
        if node.partitioner is None and not self._together(node):
            if not node.join.keeps_first and _small(first, second):
                return JoinHint.BROADCAST_HASH_FIRST
            if not node.join.keeps_second and _small(second, first):
                return JoinHint.BROADCAST_HASH_SECOND
        if first is not None and (second is None or first < second):
            return JoinHint.REPARTITION_HASH_FIRST
        return JoinHint.REPARTITION_HASH_SECOND

    def _together(self, node: JoinNode) -> bool:
        """Whether the larger side need not be exchanged anyway."""
        ships = [
            self._by_key(each, keys, self._tasks(node)) for each, keys in zip(node.inputs, (node.first, node.second))
        ]
        return any(ship.kept for ship in ships)

    def _plan_cross(self, node: CrossNode, tasks: int) -> Step:
        small = node.small
        if small is None:
            first, second = (self._step(each).records for each in node.inputs)
            small = 0 if first is not None and (second is None or first < second) else 1
        ships = [Ship(FORWARD), Ship(FORWARD)]
        ships[small] = Ship(BROADCAST)
        local = f"nested loop, {'first' if small == 0 else 'second'} input in every task"
        return Step(node, tuple(ships), self._step(node.inputs[1 - small]).tasks, local)

    # --- iterations ---------------------------------------------------------------------------------

    def _plan_iteration(self, node: BulkIterationNode | DeltaIterationNode, tasks: int) -> Step:
        """If records are dealt out alike before and after a superstep, those that it begins with always are."""
        step, known, varying, ends = self._iteration_inputs(node, tasks)
        assumed = known[varying]
        step.inner = optimize(ends, self._parallelism, known)
        if assumed.partitioned is not None and not _alike(assumed, step.inner.get(ends[-1].id)):
            known[varying] = replace(assumed, partitioned=None)
            step.inner = optimize(ends, self._parallelism, known)
        return step

    def _plan_messages(self, node: MessageIterationNode, tasks: int) -> Step:
        """Records and edges stay where their keys say; nothing but messages is exchanged in a superstep."""
        keys = Keys(fields=(0,))
        at = Keys(fields=(0 if node.along[0] else 1,))
        ships = (self._by_key(node.inputs[0], keys, tasks), Ship(HASH, at))
        local = f"at most {node.max_iterations} supersteps, one exchange of messages in each"
        return Step(node, ships, tasks, local, Partitioned(keys, tasks))

    def _iteration_inputs(
        self, node: BulkIterationNode | DeltaIterationNode, tasks: int
    ) -> tuple[Step, dict[int, Step], int, list[Node]]:
        """The step, all that the inner ones know of, which of these the last of the ends replaces, and the ends."""
        known = {**self._known, **self._steps}
        step = Step(node, tuple(Ship(FORWARD) for _ in node.inputs), tasks)
        if isinstance(node, BulkIterationNode):
            assert node.step_input is not None and node.result is not None
            known[node.step_input.id] = self._step_input(node.step_input, node.inputs[0])
            ends = [end for end in (node.criterion, node.result) if end is not None]
            step.local = f"at most {node.max_iterations} supersteps"
            return step, known, node.step_input.id, ends
        assert node.solution_input is not None and node.workset_input is not None
        assert node.delta is not None and node.next_workset is not None
        step.partitioned = Partitioned(node.keys, tasks)
        records = self._step(node.inputs[0]).records
        known[node.solution_input.id] = Step(
            node.solution_input, (), tasks, partitioned=step.partitioned, records=records
        )
        known[node.workset_input.id] = self._step_input(node.workset_input, node.inputs[1])
        step.local = f"at most {node.max_iterations} supersteps, solution set by {node.keys}"
        return step, known, node.workset_input.id, [node.delta, node.next_workset]

    def _step_input(self, node: StepInputNode, initial: Node) -> Step:
        before = self._step(initial)
        return Step(node, (), before.tasks, partitioned=before.partitioned, records=before.records)

    # --- sharing ------------------------------------------------------------------------------------

    def _share_exchanges(self, nodes: Sequence[Node]) -> None:
        """Mark the exchanges that another step has made already."""
        made: set[Hashable] = set()
        for node in nodes:
            step = self._steps[node.id]
            ships = []
            for source, ship in zip(node.inputs, step.ships):
                signature = (source.id, ship.signature(step.tasks))
                exchanged = ship.kind in (HASH, CUSTOM, BROADCAST) and not _combined_before(node)
                ships.append(replace(ship, reused=True) if exchanged and signature in made else ship)
                if exchanged:
                    made.add(signature)
            step.ships = tuple(ships)

    def _cache(self, nodes: Sequence[Node]) -> None:
        """Keep what is read more than once and is not there anyway."""
        readings: dict[int, set[Hashable]] = {}
        for node in nodes:
            step = self._steps[node.id]
            for source, ship in zip(node.inputs, step.ships):
                shared = ship.kind in (HASH, CUSTOM, BROADCAST) and not _combined_before(node)
                reading = ship.signature(step.tasks) if shared else (node.id, len(readings.get(source.id, ())))
                readings.setdefault(source.id, set()).add(reading)
            for name, source in node.broadcast.items():
                readings.setdefault(source.id, set()).add((node.id, name))
            for inner in step.inner.values():
                for source in inner.node.parents():
                    if source.id not in step.inner:
                        readings.setdefault(source.id, set()).update({(inner.node.id, turn) for turn in range(2)})
        for number, all_readings in readings.items():
            if number in self._steps and len(all_readings) > 1:
                self._steps[number].cached = not isinstance(
                    self._steps[number].node, (CollectionNode, SequenceNode, StepInputNode)
                )


_LOCAL_JOINS = {
    JoinHint.REPARTITION_HASH_FIRST: "hash join, first input built",
    JoinHint.REPARTITION_HASH_SECOND: "hash join, second input built",
    JoinHint.REPARTITION_SORT_MERGE: "sort-merge join",
}


def _alike(before: Step, after: Step | None) -> bool:
    if after is None or before.partitioned is None or after.partitioned is None:
        return False
    return before.tasks == after.tasks and before.partitioned.signature == after.partitioned.signature


def _small(records: int | None, other: int | None) -> bool:
    return (
        records is not None and records <= _BROADCAST_MOST and (other is None or records * _BROADCAST_FACTOR <= other)
    )


def _combined_before(node: Node) -> bool:
    """Whether the node changes records before they are exchanged, so that nobody else can use what it sends."""
    if isinstance(node, GroupReduceNode):
        return node.combines
    return isinstance(node, (MessageIterationNode, ReduceNode, AggregateNode, DistinctNode))


def _after(node: Node, index: int, before: Partitioned | None) -> Partitioned | None:
    """How records are dealt out after a step, if that is known: where the key's fields go through unchanged."""
    if before is None:
        return None
    if isinstance(node, (SortPartitionNode, CombineGroupNode)) or (
        isinstance(node, ApplyNode) and node.method == "filter"
    ):
        return before if not isinstance(node, CombineGroupNode) else None
    positions = before.keys.positions
    forwarded = node.forwarded.get(index) or _projected(node, index)
    if positions is None or not forwarded or any(position not in forwarded for position in positions):
        return None
    keys = Keys(fields=tuple(forwarded[position] for position in positions))
    return Partitioned(keys, before.tasks, before.partitioner)


def _after_join(node: JoinNode, tasks: int) -> Partitioned | None:
    """By the key of a side whose record is in every pair: one without a partner has no key on the other side."""
    after = None
    if not node.join.keeps_second:
        after = _after(node, 0, Partitioned(node.first, tasks, node.partitioner))
    if after is None and not node.join.keeps_first:
        after = _after(node, 1, Partitioned(node.second, tasks, node.partitioner))
    return after


def _after_co_group(node: CoGroupNode, tasks: int) -> Partitioned | None:
    """By the key, if it goes to the same fields from both sides: each of them may be empty."""
    first = _after(node, 0, Partitioned(node.first, tasks, node.partitioner))
    second = _after(node, 1, Partitioned(node.second, tasks, node.partitioner))
    return first if first is not None and second is not None and first.signature == second.signature else None


def _projected(node: Node, index: int) -> dict[int | str, int | str]:
    """The fields that a projection takes over from an input."""
    projection = getattr(node, "projection", ())
    return {name: place for place, (side, name) in enumerate(projection) if side == index and name is not None}
