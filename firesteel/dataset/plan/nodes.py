"""The graph of a DataSet program. Nodes are made by the API and read by optimizer and runner."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from firesteel.dataset.keys import Keys

_ids = itertools.count(1)


class Order(Enum):
    """In which direction records are sorted."""

    ASCENDING = "ascending"
    DESCENDING = "descending"


class JoinHint(Enum):
    """How a join is carried out. A *broadcast* side is sent whole to every task; a *hash* side is held in a table while
    the other one streams by; *sort merge* sorts both. Sides that do not fit into memory are written to disk.
    """

    OPTIMIZER_CHOOSES = "optimizer chooses"
    BROADCAST_HASH_FIRST = "broadcast hash first"
    BROADCAST_HASH_SECOND = "broadcast hash second"
    REPARTITION_HASH_FIRST = "repartition hash first"
    REPARTITION_HASH_SECOND = "repartition hash second"
    REPARTITION_SORT_MERGE = "repartition sort merge"


class JoinKind(Enum):
    """Which records without a partner are kept."""

    INNER = "join"
    LEFT = "left outer join"
    RIGHT = "right outer join"
    FULL = "full outer join"

    @property
    def keeps_first(self) -> bool:
        """Whether records of the first input without a partner are kept."""
        return self in (JoinKind.LEFT, JoinKind.FULL)

    @property
    def keeps_second(self) -> bool:
        """Whether records of the second input without a partner are kept."""
        return self in (JoinKind.RIGHT, JoinKind.FULL)


Forwarded = Mapping[int | str, int | str]
"""Field of the input -> field of the output that always holds the same value."""

SortKey = tuple[Keys, Order]


@dataclass(eq=False)
class Node:
    """One step of a program.

    :param inputs: Where its records come from.
    :param parallelism: None for the environment's.
    :param broadcast: Data sets that every task of this step gets whole, by name.
    :param forwarded: For each input, which fields go through unchanged, as the user says.
    """

    name: str
    call_site: str
    inputs: tuple[Node, ...] = ()
    parallelism: int | None = None
    broadcast: dict[str, Node] = field(default_factory=dict)
    parameters: Any = None
    forwarded: dict[int, Forwarded] = field(default_factory=dict)
    id: int = field(default_factory=lambda: next(_ids))

    @property
    def kind(self) -> str:
        """What the step does, for people."""
        return type(self).__name__.removesuffix("Node").lower()

    def parents(self) -> Iterator[Node]:
        """Everything that has to be there before this step: inputs and broadcast sets."""
        yield from self.inputs
        yield from self.broadcast.values()


@dataclass(eq=False)
class CollectionNode(Node):
    """Records that are in the program."""

    records: Sequence[Any] = ()


@dataclass(eq=False)
class SequenceNode(Node):
    """Whole numbers, both ends included."""

    first: int = 0
    last: int = -1


@dataclass(eq=False)
class TextNode(Node):
    """The lines of files, and what becomes of each.

    :param parse: From the lines of a part of a file to records; None for the lines themselves.
    :param skip_first: Whether the first line of each file is left out.
    """

    path: str = ""
    delimiter: str | None = None
    parse: Callable[[Iterator[str]], Iterator[Any]] | None = None
    skip_first: bool = False


@dataclass(eq=False)
class InputFormatNode(Node):
    """The records of an input format."""

    input_format: Any = None


@dataclass(eq=False)
class ApplyNode(Node):
    """A function of one record or of all records of a task, without any exchange.

    :param method: What is called: ``map``, ``flat_map``, ``filter`` or ``map_partition``.
    """

    function: Any = None
    method: str = "map"

    @property
    def kind(self) -> str:
        """The method."""
        return self.method


@dataclass(eq=False)
class ReduceNode(Node):
    """Records of a key (or all) are reduced to one, two at a time."""

    keys: Keys | None = None
    function: Any = None


@dataclass(eq=False)
class AggregateNode(Node):
    """Fields are summed up or their extremes are taken.

    :param steps: (name of the aggregation, field) each.
    """

    keys: Keys | None = None
    steps: tuple[tuple[str, int | str], ...] = ()


@dataclass(eq=False)
class GroupReduceNode(Node):
    """A function sees all records of a key (or all there are) at once.

    :param order: In which order.
    :param combines: Whether the function has a ``combine`` that may be called on a part of the records first.
    """

    keys: Keys | None = None
    order: tuple[SortKey, ...] = ()
    function: Any = None
    combines: bool = False


@dataclass(eq=False)
class CombineGroupNode(Node):
    """A function sees records of a key, those that happen to be in one task. Nothing is exchanged."""

    keys: Keys | None = None
    order: tuple[SortKey, ...] = ()
    function: Any = None


@dataclass(eq=False)
class DistinctNode(Node):
    """One record per key."""

    keys: Keys = field(default_factory=Keys)


@dataclass(eq=False)
class JoinNode(Node):
    """Pairs of records with the same key.

    :param projection: (input, field) for each field of the result, instead of a function; an empty tuple for pairs.
    """

    first: Keys = field(default_factory=Keys)
    second: Keys = field(default_factory=Keys)
    join: JoinKind = JoinKind.INNER
    hint: JoinHint = JoinHint.OPTIMIZER_CHOOSES
    function: Any = None
    method: str = "join"
    projection: tuple[tuple[int, int | str | None], ...] = ()
    partitioner: Any = None

    @property
    def kind(self) -> str:
        """Which join."""
        return self.join.value


@dataclass(eq=False)
class CoGroupNode(Node):
    """A function sees all records of a key from both inputs."""

    first: Keys = field(default_factory=Keys)
    second: Keys = field(default_factory=Keys)
    first_order: tuple[SortKey, ...] = ()
    second_order: tuple[SortKey, ...] = ()
    function: Any = None
    partitioner: Any = None


@dataclass(eq=False)
class CrossNode(Node):
    """All pairs.

    :param small: Which input is sent whole to every task: 0, 1, or None for the smaller one.
    """

    small: int | None = None
    function: Any = None
    projection: tuple[tuple[int, int | str | None], ...] = ()


@dataclass(eq=False)
class UnionNode(Node):
    """The records of all inputs."""


@dataclass(eq=False)
class PartitionNode(Node):
    """Records are dealt out anew.

    :param method: ``hash``, ``range``, ``custom`` or ``rebalance``.
    """

    keys: Keys = field(default_factory=Keys)
    method: str = "hash"
    partitioner: Any = None
    order: tuple[SortKey, ...] = ()

    @property
    def kind(self) -> str:
        """How."""
        return "rebalance" if self.method == "rebalance" else f"partition by {self.method}"


@dataclass(eq=False)
class SortPartitionNode(Node):
    """The records of each task are sorted."""

    order: tuple[SortKey, ...] = ()


@dataclass(eq=False)
class FirstNode(Node):
    """Any ``count`` records."""

    count: int = 0


@dataclass(eq=False)
class IndexNode(Node):
    """Each record with its number: unique, and with ``consecutive`` without gaps."""

    consecutive: bool = True


@dataclass(eq=False)
class StepInputNode(Node):
    """Inside an iteration: the data set that the step begins with. Its input is what the iteration begins with."""

    role: str = "partial solution"


@dataclass(eq=False)
class BulkIterationNode(Node):
    """A step that is repeated on its own result. Inputs: what it begins with."""

    step_input: StepInputNode | None = None
    result: Node | None = None
    criterion: Node | None = None
    max_iterations: int = 0
    aggregators: dict[str, Any] = field(default_factory=dict)
    convergence: tuple[str, Any] | None = None

    def parents(self) -> Iterator[Node]:
        """What it begins with, and whatever its step reads from outside."""
        yield from self.inputs
        yield from outside(self, [node for node in (self.result, self.criterion) if node is not None])


@dataclass(eq=False)
class DeltaIterationNode(Node):
    """A step that changes some records of a solution and says what to look at next. Inputs: solution set, workset."""

    keys: Keys = field(default_factory=Keys)
    solution_input: StepInputNode | None = None
    workset_input: StepInputNode | None = None
    delta: Node | None = None
    next_workset: Node | None = None
    max_iterations: int = 0
    aggregators: dict[str, Any] = field(default_factory=dict)
    convergence: tuple[str, Any] | None = None

    def parents(self) -> Iterator[Node]:
        """Solution set and workset, and whatever the step reads from outside."""
        yield from self.inputs
        yield from outside(self, [node for node in (self.delta, self.next_workset) if node is not None])


@dataclass(eq=False)
class MessagePartNode(Node):
    """One of the functions of an iteration in which records send messages. It has no inputs and no step of its own."""

    function: Any = None


@dataclass(eq=False)
class MessageIterationNode(Node):
    """Records that send each other messages along edges. Inputs: records, edges. See ``firesteel.dataset.messages``.

    :param along: Whether messages go from source to target, and whether from target to source.
    """

    receive: MessagePartNode | None = None
    send: MessagePartNode | None = None
    combine: MessagePartNode | None = None
    along: tuple[bool, bool] = (True, False)
    everyone: bool = False
    sends_at_once: bool = False
    max_iterations: int = 0
    aggregators: dict[str, Any] = field(default_factory=dict)
    convergence: tuple[str, Any] | None = None

    @property
    def kind(self) -> str:
        """What it does."""
        return "iteration by messages"

    @property
    def parts(self) -> list[MessagePartNode]:
        """Its functions."""
        return [part for part in (self.send, self.combine, self.receive) if part is not None]

    def parents(self) -> Iterator[Node]:
        """Records and edges, and the broadcast sets of its functions."""
        yield from self.inputs
        for part in self.parts:
            yield from part.broadcast.values()


@dataclass(eq=False)
class SinkNode(Node):
    """Where records go.

    :param write: Called in each task with its number, how many there are, and its records.
    """

    target: Any = None


def dynamic_nodes(step_inputs: Sequence[Node], ends: Sequence[Node]) -> set[int]:
    """The ids of the nodes of a step that differ from superstep to superstep: those that depend on its inputs."""
    depends: dict[int, bool] = {node.id: True for node in step_inputs}

    def visit(node: Node) -> bool:
        if node.id not in depends:
            depends[node.id] = False  # no cycles: only to end the recursion early
            answers = [visit(parent) for parent in node.parents()]  # all of them: each is asked for later
            depends[node.id] = any(answers)
        return depends[node.id]

    for end in ends:
        visit(end)
    return {number for number, is_dynamic in depends.items() if is_dynamic}


def outside(iteration: Node, ends: Sequence[Node]) -> list[Node]:
    """The nodes outside a step that the step reads: static ones with a dynamic consumer, or ends that are static."""
    inputs = [
        each
        for each in (
            getattr(iteration, "step_input", None),
            getattr(iteration, "solution_input", None),
            getattr(iteration, "workset_input", None),
        )
        if each is not None
    ]
    dynamic = dynamic_nodes(inputs, ends)
    found: dict[int, Node] = {}
    seen: set[int] = set()

    def visit(node: Node) -> None:
        if node.id in seen or node.id not in dynamic or node in inputs:
            return
        seen.add(node.id)
        for parent in node.parents():
            if parent.id in dynamic:
                visit(parent)
            else:
                found[parent.id] = parent

    for end in ends:
        if end.id in dynamic:
            visit(end)
        else:
            found[end.id] = end
    return list(found.values())


def in_order(ends: Sequence[Node]) -> list[Node]:
    """All nodes that lead to these, each after everything it needs. Steps of iterations are not entered."""
    done: dict[int, Node] = {}
    stack: list[tuple[Node, bool]] = [(end, False) for end in reversed(ends)]
    while stack:
        node, visited = stack.pop()
        if node.id in done:
            continue
        if visited:
            done[node.id] = node
            continue
        stack.append((node, True))
        stack.extend((parent, False) for parent in reversed(list(node.parents())) if parent.id not in done)
    return list(done.values())
