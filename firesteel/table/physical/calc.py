"""Filter and projection: what is computed of each row by itself."""

from __future__ import annotations

from functools import partial
from itertools import compress
from typing import Any

from firesteel.operators import Operator, RowBatch
from firesteel.table.evaluation import evaluator
from firesteel.table.logical.plan import Filter, Project
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.planner import Planner, translation
from firesteel.table.physical.rows import row_function, written
from firesteel.table.resolution import ColumnValue, Typed

__all__ = ["FilterOperator", "ProjectOperator", "filtered", "projected"]


class ProjectOperator(Operator):
    """A row made of each row."""

    def __init__(self, expressions: tuple[Typed, ...]) -> None:
        self._expressions = expressions

    def open(self) -> None:
        """Make the function of a row."""
        self._project = row_function(self._expressions)

    def process(self, batch: Any) -> None:
        """Each row by itself."""
        project = self._project
        self.cursor = cursor = iter(batch.values)
        self.output.emit(RowBatch([(kind, project(row)) for kind, row in cursor], batch.timestamps))


class FilterOperator(Operator):
    """The rows for which a condition is true."""

    def __init__(self, condition: Typed) -> None:
        self._condition = condition

    def open(self) -> None:
        """Make the function of a row."""
        self._keep = evaluator(self._condition)

    def process(self, batch: Any) -> None:
        """Each row by itself."""
        keep = self._keep
        self.cursor = cursor = iter(batch.values)
        kept = [keep(row) is True for _, row in cursor]
        timestamps = None if batch.timestamps is None else list(compress(batch.timestamps, kept))
        self.output.emit(RowBatch(list(compress(batch.values, kept)), timestamps))


@translation(Project)
def translate_project(relation: Project, planner: Planner) -> PhysicalNode:
    """A projection; where only names change, nothing happens to the rows."""
    source = planner.translate(relation.input)
    return projected(source, relation)


def projected(source: PhysicalNode, relation: Project) -> PhysicalNode:
    """A node behind which rows are projected."""
    names = [field.name for field in source.fields]
    shown = [
        written(each, names) if isinstance(each, ColumnValue) and each.name == field.name
        else f"{written(each, names)} AS {field.name}"
        for each, field in zip(relation.expressions, relation.fields)
    ]  # fmt: skip
    positions: dict[int, int] = {}
    for position, each in enumerate(relation.expressions):
        if isinstance(each, ColumnValue):
            positions.setdefault(each.index, position)
    keys = tuple(frozenset(positions[index] for index in key) for key in source.unique_keys if key <= positions.keys())
    same = len(positions) == len(source.fields) and all(
        isinstance(each, ColumnValue) and each.index == position for position, each in enumerate(relation.expressions)
    )
    if same:
        return PhysicalNode(
            source.name, source.detail, relation.fields, source.mode, source.connect, source.inputs, keys
        )
    operator = partial(ProjectOperator, relation.expressions)
    return PhysicalNode(
        "Calc",
        f"select=[{', '.join(shown)}]",
        relation.fields,
        source.mode,
        lambda streams: streams[0].transform("Calc", None, operator),
        (source,),
        keys,
    )


@translation(Filter)
def translate_filter(relation: Filter, planner: Planner) -> PhysicalNode:
    """A filter by a condition over the row alone."""
    return filtered(planner.translate(relation.input), relation.condition)


def filtered(source: PhysicalNode, condition: Typed) -> PhysicalNode:
    """A node behind which only those rows go on for which a condition is true."""
    names = [field.name for field in source.fields]
    operator = partial(FilterOperator, condition)
    return PhysicalNode(
        "Calc",
        f"where=[{written(condition, names)}]",
        source.fields,
        source.mode,
        lambda streams: streams[0].transform("Calc", None, operator),
        (source,),
        source.unique_keys,
    )
