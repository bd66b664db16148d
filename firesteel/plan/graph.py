"""The graph that a program builds: transformations, each remembering the user's line that made it.

The API adds nodes to a :class:`StreamGraph`; nothing runs. ``firesteel.plan.compiler`` turns the graph into a
:class:`~firesteel.plan.job_plan.JobPlan`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from firesteel.common import TypeInformation, WatermarkStrategy
from firesteel.model.coordinator import Coordinator
from firesteel.model.output_tag import OutputTag
from firesteel.model.sink import Committer
from firesteel.model.source import Boundedness, DriverSource, Source
from firesteel.runtime.batch import Format
from firesteel.runtime.operator import Operator
from firesteel.runtime.partitioners import BROADCAST, HASH, Partitioning

_PACKAGE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def user_call_site() -> str:
    """``file:line`` of the innermost frame outside this package: the line of the program that is being run."""
    frame = inspect.currentframe()
    assert frame is not None
    while os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE_DIR + os.sep):
        if frame.f_back is None:
            break
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


@dataclass(eq=False)
class Transformation:
    """One node of the graph. Identity is object identity; ``id`` gives a stable order of creation."""

    id: int
    name: str
    inputs: list[Transformation]
    call_site: str
    output_type: TypeInformation | None = None
    parallelism: int | None = None
    """None: the environment's default when the job is compiled."""


@dataclass(eq=False)
class PhysicalTransformation(Transformation):
    """A node that becomes an operator."""

    uid: str | None = None
    description: str | None = None
    max_parallelism: int | None = None
    chaining: str = "always"
    """``always``, ``head`` (starts a new chain) or ``never``."""
    slot_sharing_group: str | None = None
    declared_tags: set[str] = field(default_factory=set)
    """The side outputs that the program has asked for, in this job or another one."""
    fixed_parallelism: bool = False
    """The operator cannot have another parallelism (a collection source, window_all); setting one is an error."""


@dataclass(eq=False)
class SourceTransformation(PhysicalTransformation):
    """Reads a source; ``watermark_strategy`` runs inside it, per split."""

    source: Source | DriverSource = field(kw_only=True)
    watermark_strategy: WatermarkStrategy | None = None
    ingestion_time: bool = False
    """Stamp records with the time at which the source reads them."""


@dataclass(eq=False)
class OperatorTransformation(PhysicalTransformation):
    """Runs an operator on its inputs, one or more.

    :param factory: Makes the operator in a worker; picklable (``functools.partial(MapOperator, function)``).
    :param key_selectors: One per input for an operator with keyed state: the function from record to key.
    :param is_sink: The end of a line: a program without any is an error.
    """

    factory: Callable[[], Operator] = field(kw_only=True)
    key_selectors: tuple[Callable[[Any], Any], ...] | None = None
    is_sink: bool = False
    coordinator: Callable[[], Coordinator] | None = None
    """Makes the operator's half in the driver, if it has one."""
    committer_factory: Callable[[], Committer] | None = None
    """For two-phase sinks: makes the committer, in the driver, from a copy of the sink."""
    collector_id: str | None = None
    """For sinks whose records go to the driver (print, collect): under which name."""
    takes: Format | None = None
    """In which format it wants its input, if that is not what the operator's class says."""
    gives: Format | None = None
    """In which format it gives its output, if that is not what the operator's class says."""


@dataclass(eq=False)
class IterationTransformation(OperatorTransformation):
    """The head of a loop. What closes it is not among its inputs: the graph has no circle."""

    feedback: list[FeedbackTransformation] = field(default_factory=list)


@dataclass(eq=False)
class FeedbackTransformation(OperatorTransformation):
    """A tail of a loop: runs with the head's parallelism, and its records come out of the head in the next epoch."""

    head: IterationTransformation = field(kw_only=True)


@dataclass(eq=False)
class PartitionTransformation(Transformation):
    """Decides how records travel from its input to whatever reads it. Becomes part of an edge."""

    partitioning: Partitioning = field(kw_only=True)


@dataclass(eq=False)
class UnionTransformation(Transformation):
    """All records of all inputs. Becomes several edges."""


@dataclass(eq=False)
class SideOutputTransformation(Transformation):
    """The records that its input sent to a tag. Becomes a tagged edge."""

    tag: OutputTag = field(kw_only=True)


class StreamGraph:
    """All transformations of one program, in order of creation."""

    def __init__(self, transformations: Iterable[Transformation] = ()) -> None:
        self.transformations: list[Transformation] = list(transformations)

    def add(self, node: Transformation) -> None:
        """Add a node whose inputs are in the graph already."""
        self.transformations.append(node)

    def sinks(self) -> list[OperatorTransformation]:
        """The sinks of the program so far."""
        return [node for node in self.transformations if isinstance(node, OperatorTransformation) and node.is_sink]

    def sources(self) -> list[SourceTransformation]:
        """The sources of the program so far."""
        return [node for node in self.transformations if isinstance(node, SourceTransformation)]

    def unbounded_sources(self) -> list[SourceTransformation]:
        """Those that may never end."""
        return [node for node in self.sources() if node.source.boundedness is not Boundedness.BOUNDED]


def keys_of(node: Transformation) -> Partitioning | None:
    """How a node's records are keyed, if they are: behind a ``key_by`` they are split by a function of the record."""
    if isinstance(node, PartitionTransformation) and node.partitioning.kind == HASH:
        return node.partitioning
    return None


def is_broadcast(node: Transformation) -> bool:
    """Whether every subtask of whatever reads the node gets all of its records."""
    return isinstance(node, PartitionTransformation) and node.partitioning.kind == BROADCAST
