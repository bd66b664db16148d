"""Reading a table: what the connector gives, the columns that are computed, event time, and whole changelogs."""

from __future__ import annotations

from functools import partial
from typing import Any

from firesteel.common.options import table as options
from firesteel.common.time import Duration
from firesteel.common.watermark import Watermark, WatermarkGenerator, WatermarkOutput
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.errors import UnsupportedError
from firesteel.table.catalog import CatalogBaseTable
from firesteel.table.connectors.base import TableContext, TableSource
from firesteel.table.connectors.registry import find_factory
from firesteel.table.evaluation import evaluator
from firesteel.table.from_sql import expression_of
from firesteel.table.functions import Session
from firesteel.table.functions.casting import nanos_per_tick
from firesteel.table.logical.catalogs import schema_fields
from firesteel.table.physical.calc import ProjectOperator
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.normalize import normalized
from firesteel.table.physical.options import read
from firesteel.table.physical.planner import Planner
from firesteel.table.resolution import ColumnValue, Typed, resolve
from firesteel.table.schema import Schema
from firesteel.table.sql import parse_data_type, parse_expression
from firesteel.table.types import DataType, RowField

__all__ = ["RowtimeWatermarks", "scanned", "stored_fields", "table_context", "with_schema"]


def stored_fields(schema: Schema, for_writing: bool = False) -> tuple[RowField, ...]:
    """The columns that a connector has to do with: first the physical ones, then metadata."""
    physical = [each for each in schema.columns if each.data_type is not None and not each.is_metadata]
    metadata = [each for each in schema.columns if each.is_metadata and not (for_writing and each.is_virtual)]
    return tuple(RowField(each.name, _data_type(each.data_type)) for each in (*physical, *metadata))


def _data_type(declared: DataType | str | None) -> DataType:
    assert declared is not None
    return parse_data_type(declared) if isinstance(declared, str) else declared


def table_context(
    path: tuple[str, ...], table: CatalogBaseTable, planner: Planner, hint: tuple[tuple[str, str], ...] = (),
    for_writing: bool = False,
) -> TableContext:  # fmt: skip
    """What the connector of a table is told."""
    schema = table.get_unresolved_schema()
    fields = stored_fields(schema, for_writing)
    names = [field.name for field in fields]
    key = () if schema.primary_key is None else schema.primary_key.columns
    metadata = [
        each.metadata_key or each.name
        for each in schema.columns
        if each.is_metadata and not (for_writing and each.is_virtual)
    ]
    return TableContext(
        path,
        fields,
        {**table.get_options(), **dict(hint)},
        tuple(names.index(name) for name in key if name in names),
        tuple(table.get_partition_keys()),
        tuple(metadata),
        planner.session,
        planner.batch,
    )


def scanned(
    path: tuple[str, ...], table: CatalogBaseTable, planner: Planner, hint: tuple[tuple[str, str], ...] = ()
) -> PhysicalNode:
    """The rows of a table of a catalog."""
    context = table_context(path, table, planner, hint)
    factory = find_factory(context)
    if context.metadata:
        _check_metadata(context, factory.readable_metadata(context))
    source = factory.source(context)
    node = _source_node(path, context, source, planner)
    return with_schema(node, table.get_unresolved_schema(), planner)


def _check_metadata(context: TableContext, known: Any) -> None:
    for key in context.metadata:
        if key not in known:
            raise UnsupportedError(
                f"table {context.name}: the connector '{context.options['connector']}' has no metadata '{key}'"
                f"{': it has ' + ', '.join(known) if known else ''}."
            )


def _source_node(path: tuple[str, ...], context: TableContext, source: TableSource, planner: Planner) -> PhysicalNode:
    names = ", ".join(field.name for field in context.fields)
    keys = (frozenset(context.primary_key),) if context.primary_key else ()
    node = PhysicalNode(
        "TableSourceScan",
        f"table=[[{', '.join(path)}]], fields=[{names}]",
        context.fields,
        source.mode,
        lambda streams: source.connect(planner.environment),
        unique_keys=keys,
    )
    return normalized(node, planner) if source.mode.upsert_key is not None else node


def with_schema(node: PhysicalNode, schema: Schema, planner: Planner) -> PhysicalNode:
    """What is declared upon the stored columns: computed columns, and event time."""
    fields = schema_fields(schema, planner.session)
    expressions = _column_expressions(schema, fields, node.fields, planner.session)
    positions = {each.index: at for at, each in enumerate(expressions) if isinstance(each, ColumnValue)}
    keys = tuple(frozenset(positions[at] for at in key) for key in node.unique_keys if key <= positions.keys())
    if [each.index if isinstance(each, ColumnValue) else None for each in expressions] == list(range(len(node.fields))):
        node = PhysicalNode(node.name, node.detail, fields, node.mode, node.connect, node.inputs, keys)
    else:
        names = ", ".join(field.name for field in fields)
        operator = partial(ProjectOperator, expressions)
        node = PhysicalNode(
            "Calc",
            f"select=[{names}]",
            fields,
            node.mode,
            lambda streams: streams[0].transform("Calc", None, operator),
            (node,),
            keys,
        )
    return _with_watermarks(node, schema, planner)


def _column_expressions(
    schema: Schema, fields: tuple[RowField, ...], stored: tuple[RowField, ...], session: Session
) -> tuple[Typed, ...]:
    names = [field.name for field in stored]
    expressions: list[Typed] = []
    for column, field in zip(schema.columns, fields):
        if column.expression is None:
            expressions.append(ColumnValue(field.data_type, names.index(column.name), column.name))
        else:
            expressions.append(resolve(expression_of(parse_expression(column.expression)), stored, session))
    return tuple(expressions)


# ---- event time ------------------------------------------------------------------------------------------------------


class RowtimeWatermarks(WatermarkGenerator):
    """The largest value that the expression of a WATERMARK clause has had."""

    def __init__(self, expression: Typed) -> None:
        self._of_row = evaluator(expression)
        self._nanos = nanos_per_tick(expression.type)
        self._largest: int | None = None
        self._said: int | None = None

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        """Look at a row."""
        value = self._of_row(event[1])
        if value is not None and (self._largest is None or value > self._largest):
            self._largest = value

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Say how far it is, if it has gone on."""
        if self._largest is not None and self._largest != self._said:
            self._said = self._largest
            output.emit_watermark(Watermark(self._largest * self._nanos // 1_000_000))

    def snapshot(self) -> Any:
        """The largest value."""
        return self._largest

    def restore(self, snapshot: Any) -> None:
        """Go on from it."""
        self._largest = self._said = snapshot


class _Rowtime:
    """The event time of a row in milliseconds."""

    def __init__(self, index: int, field: RowField) -> None:
        self._index, self._name = index, field.name
        self._nanos = nanos_per_tick(field.data_type)

    def __call__(self, record: Any, _: int) -> int:
        value = record[1][self._index]
        if value is None:
            raise ValueError(f"the column '{self._name}' is the event time of the table, and must not be NULL.")
        return int(value) * self._nanos // 1_000_000


def _with_watermarks(node: PhysicalNode, schema: Schema, planner: Planner) -> PhysicalNode:
    if not schema.watermarks or planner.batch:
        return node
    declared = schema.watermarks[0]
    index = [field.name for field in node.fields].index(declared.column)
    expression = resolve(expression_of(parse_expression(declared.expression)), node.fields, planner.session)
    rowtime = _Rowtime(index, node.fields[index])
    idle = read(planner.options, options.IDLE_TIMEOUT)

    def connect(streams: Any) -> Any:
        strategy = WatermarkStrategy.for_generator(partial(RowtimeWatermarks, expression))
        strategy = strategy.with_timestamp_assigner(rowtime)
        if idle:
            strategy = strategy.with_idleness(Duration.of_millis(idle))
        return streams[0].assign_timestamps_and_watermarks(strategy)

    detail = f"rowtime=[{declared.column}], watermark=[{declared.expression}]"
    return PhysicalNode("WatermarkAssigner", detail, node.fields, node.mode, connect, (node,), node.unique_keys)
