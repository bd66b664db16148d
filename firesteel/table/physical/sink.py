"""Writing a table: constraints of its columns, and as much of a changelog as the connector takes."""

from __future__ import annotations

from functools import partial
from itertools import compress
from typing import Any

from firesteel.common.options import table as options
from firesteel.errors import ProgramError
from firesteel.operators import Operator, RowBatch
from firesteel.table.catalog import CatalogBaseTable
from firesteel.table.changelog import UPDATE_BEFORE, ChangelogMode
from firesteel.table.connectors.registry import find_factory
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.options import read
from firesteel.table.physical.planner import Planner
from firesteel.table.physical.scan import table_context
from firesteel.table.types import RowField

__all__ = ["ConstraintError", "ConstraintOperator", "sink_node"]


class ConstraintError(ProgramError, ValueError):
    """A row that the table it is written to must not have."""


class ConstraintOperator(Operator):
    """Looks for NULL where a column must not have it, and leaves out old rows if nobody wants them.

    :param required: The columns that must not be NULL: position and name.
    :param drops: Whether such a row is left out, rather than an error.
    """

    def __init__(self, table: str, required: tuple[tuple[int, str], ...], drops: bool, without_old_rows: bool) -> None:
        self._table, self._required, self._drops = table, required, drops
        self._without_old_rows = without_old_rows

    def process(self, batch: Any) -> None:
        """Each row by itself."""
        self.cursor = cursor = iter(batch.values)
        keep = [self._keeps(kind, row) for kind, row in cursor]
        if all(keep):
            self.output.emit(RowBatch(batch.values, batch.timestamps))
            return
        timestamps = None if batch.timestamps is None else list(compress(batch.timestamps, keep))
        self.output.emit(RowBatch(list(compress(batch.values, keep)), timestamps))

    def _keeps(self, kind: int, row: tuple[Any, ...]) -> bool:
        if self._without_old_rows and kind == UPDATE_BEFORE:
            return False
        for position, name in self._required:
            if row[position] is None:
                if self._drops:
                    return False
                raise ConstraintError(
                    f"Column '{name}' of {self._table} is NOT NULL, however, a null value is being written into it. "
                    f"You can set job configuration '{options.NOT_NULL_ENFORCER.key}'='DROP' to suppress this "
                    "exception and drop such records silently."
                )
        return True


def sink_node(
    path: tuple[str, ...],
    table: CatalogBaseTable,
    source: PhysicalNode,
    planner: Planner,
    hint: tuple[tuple[str, str], ...] = (),
) -> PhysicalNode:
    """The node that writes rows of the table's stored columns, in their order."""
    context = table_context(path, table, planner, hint, for_writing=True)
    sink = find_factory(context).sink(context)
    wanted = sink.wants(source.mode)
    if wanted is None:
        raise ProgramError(
            f"table {context.name}: the connector '{context.options['connector']}' takes no changelog with "
            f"{_changes(source.mode)} changes, which {source.name} gives: {source.detail}."
        )
    required = tuple((at, field.name) for at, field in enumerate(context.fields) if not field.data_type.is_nullable)
    drops = read(planner.options, options.NOT_NULL_ENFORCER) == "DROP"
    upserts = wanted.upsert_key is not None and source.mode.updates
    check = partial(ConstraintOperator, context.name, required, drops, upserts)

    def connect(streams: Any) -> Any:
        stream = streams[0]
        if required or upserts:
            stream = stream.transform("ConstraintEnforcer", None, check)
        return sink.connect(stream)

    names = ", ".join(field.name for field in context.fields)
    return PhysicalNode("Sink", f"table=[{context.name}], fields=[{names}]", context.fields, wanted, connect, (source,))


def _changes(mode: ChangelogMode) -> str:
    return " and ".join([*(["update"] if mode.updates else []), *(["delete"] if mode.deletes else [])])


def same_types(fields: tuple[RowField, ...], others: tuple[RowField, ...]) -> bool:
    """Whether rows of one can be written as rows of the other without a cast."""
    return len(fields) == len(others) and all(
        one.data_type.nullable() == other.data_type.nullable() for one, other in zip(fields, others)
    )
