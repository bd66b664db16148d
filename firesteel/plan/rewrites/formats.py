"""In which format records travel: columns between those who give and take them, rows everywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from firesteel.common.typeinfo import RowTypeInfo
from firesteel.errors import ProgramError
from firesteel.model.source import Source
from firesteel.plan.graph import (
    OperatorTransformation,
    PhysicalTransformation,
    SourceTransformation,
)
from firesteel.plan.rewrites.edges import ResolvedEdge
from firesteel.runtime.batch import Format
from firesteel.runtime.operator import Operator


class EdgeFormats:
    """The formats of all operators and of the edges between them.

    :param nodes: The operators, producers before consumers.
    :ivar takes: By node id: the format of its input.
    :ivar gives: By node id: the format of its output.
    :ivar key_fields: By node id: the fields that the keys of its first input are made of.
    """

    def __init__(self, nodes: Iterable[PhysicalTransformation], edges: Sequence[ResolvedEdge]) -> None:
        self.takes: dict[int, Format] = {}
        self.gives: dict[int, Format] = {}
        self.key_fields = {
            edge.consumer.id: edge.key_fields for edge in edges if edge.input_index == 0 and edge.key_fields is not None
        }
        for node in nodes:
            takes, gives = declared_formats(node)
            if isinstance(node, SourceTransformation):
                readers = [edge.consumer for edge in edges if edge.producer is node]
                wanted = any(declared_formats(reader)[0] is not Format.ROWS for reader in readers)
                gives = Format.COLUMNS if gives is Format.COLUMNS and wanted else Format.ROWS
            came = [self.gives[edge.producer.id] for edge in edges if edge.consumer is node]
            same = Format.COLUMNS if came and all(each is Format.COLUMNS for each in came) else Format.ROWS
            self.takes[node.id] = same if takes is Format.EITHER else takes
            self.gives[node.id] = self.takes[node.id] if gives is Format.EITHER else gives

    def of_edge(self, edge: ResolvedEdge) -> Format:
        """How records travel to another subtask: as they are given, if they can be routed like that."""
        gives = self.gives[edge.producer.id]
        return gives if edge.partitioning.carries_columns else Format.ROWS

    def row_type(self, edge: ResolvedEdge, format: Format) -> RowTypeInfo | None:
        """The declared type of rows that have to become columns for the consumer; None if they have not."""
        if format is Format.COLUMNS or self.takes[edge.consumer.id] is Format.ROWS:
            return None
        declared = edge.producer.output_type
        if isinstance(declared, RowTypeInfo):
            return declared
        raise ProgramError(
            f"{edge.consumer.name!r} (made at {edge.consumer.call_site}) works on columns, but {edge.producer.name!r} "
            f"(made at {edge.producer.call_site}) gives records of no declared row type. Declare it: "
            "output_type=Types.ROW_NAMED(['id'], [Types.LONG()])"
        )


def declared_formats(node: PhysicalTransformation) -> tuple[Format, Format]:
    """What a node takes and gives, as far as itself is concerned. A source gives columns if it can."""
    if isinstance(node, SourceTransformation):
        can = isinstance(node.source, Source) and node.source.gives_columns
        return Format.ROWS, Format.COLUMNS if can else Format.ROWS
    assert isinstance(node, OperatorTransformation)
    kind = _class_of(node.factory)
    takes = node.takes if node.takes is not None else kind.takes
    return takes, node.gives if node.gives is not None else kind.gives


def _class_of(factory: Callable[[], Any]) -> type[Operator]:
    """The class of the operators that a factory makes, if it is the class itself or a partial of it."""
    while isinstance(factory, partial):
        factory = factory.func
    return factory if isinstance(factory, type) and issubclass(factory, Operator) else Operator
