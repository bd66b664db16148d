"""The shape of a compiled job, as workers get it: chains of operators and the edges between them.

Frozen data, made by ``firesteel.plan.compiler``. Plan, workers, harnesses and pictures all speak of the same objects.
"""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.common.typeinfo import RowTypeInfo
from firesteel.model.output_tag import OutputTag
from firesteel.runtime.batch import Format
from firesteel.runtime.failure import OperatorInfo
from firesteel.runtime.partitioners import KeyFields
from firesteel.state.schema import Schema

EdgeName = tuple[int, str, str, int]
"""Input, uid of the producer, tag of the side output, and which one of several edges that are alike in these.

Stored under the consumer's uid. Unlike an edge's number, it is the same after the program has been edited elsewhere.
"""


@dataclass(frozen=True)
class PlannedOperator:
    """One operator of a chain.

    :param factory: The pickled factory that makes the operator in a worker.
    :param keyed: Whether it has keyed state (its input comes with keys).
    """

    id: int
    info: OperatorInfo
    factory: bytes
    inputs: int
    keyed: bool = False
    description: str | None = None
    is_sink: bool = False
    row_names: tuple[str, ...] | None = None
    """The names of the fields, if its output is declared as rows."""
    key_type: Schema = None
    """The declared type of its keys."""
    takes: Format = Format.ROWS
    """The format of its input; never EITHER: that has been decided."""
    gives: Format = Format.ROWS
    """The format of its output."""
    key_fields: KeyFields | None = None
    """The fields that its keys are made of, if they are."""


@dataclass(frozen=True)
class PlannedEdge:
    """A shuffled connection between an operator and the head of a later chain.

    :param operator: The producing operator's id.
    :param producers: The parallelism of the producing operator.
    :param target: The consuming chain's id.
    :param level: The consuming chain's level.
    :param targets: The parallelism of the consuming chain.
    :param max_parallelism: The number of key groups of the consuming chain.
    :param input_index: Which input of the consuming operator.
    :param partitioning: The pickled :class:`~firesteel.runtime.partitioners.Partitioning`.
    :param info: Who made the edge (``key_by`` at a line of the program), for messages.
    :param name: What state that belongs to the edge is stored under; numbers change when the program is edited.
    """

    id: int
    operator: int
    producers: int
    target: int
    level: int
    targets: int
    max_parallelism: int
    input_index: int
    kind: str
    partitioning: bytes
    info: OperatorInfo
    name: EdgeName
    tag: OutputTag | None = None
    format: Format = Format.ROWS
    """How the records travel."""
    key_fields: KeyFields | None = None
    """The fields that the keys are made of, if they are."""
    row_type: RowTypeInfo | None = None
    """The declared type of the records, if rows come and columns are wanted."""


@dataclass(frozen=True)
class ChainedEdge:
    """A connection inside a chain: a plain call."""

    operator: int
    target: int
    tag: OutputTag | None = None
    format: Format = Format.ROWS
    """What the producer gives."""
    row_type: RowTypeInfo | None = None
    """The declared type of the records, if rows come and columns are wanted."""


@dataclass(frozen=True)
class PlannedChain:
    """Operators that run in one pass, in one task. The first one is the head and has all the inputs."""

    id: int
    level: int
    parallelism: int
    max_parallelism: int
    operators: tuple[PlannedOperator, ...]
    chained_edges: tuple[ChainedEdge, ...] = ()
    inputs: tuple[PlannedEdge, ...] = ()
    outputs: tuple[PlannedEdge, ...] = ()

    @property
    def name(self) -> str:
        """The operators' names joined by arrows, as Flink shows a task."""
        return " -> ".join(operator.info.name for operator in self.operators)
